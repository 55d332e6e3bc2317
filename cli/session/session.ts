import { type AnyInput, type Client, client, type Exchange, overHttp, requestFor } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { type FieldError, Problem, type ProblemCode, problemFrom } from '@millwright/api/problem.ts'
import type { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { unreachable } from './address.ts'
import type { Bearer } from './bearer.ts'

/** A command and the platform it speaks to. */
export type Session = {
  terminal: Terminal
  output: Output
  bearer: Bearer
  /** The typed client of a service; it throws the problem that was answered. */
  api<C extends Contract>(contract: C): Client<C>
  /** One call with its status and headers. */
  exchange(contract: Contract, operation: string, input: AnyInput): Promise<Exchange>
  /** One call whose answer is read as it comes. */
  open(contract: Contract, operation: string, input: AnyInput, signal?: AbortSignal): Promise<Response>
}

/** How often a call is repeated that the platform was too busy for: it was not done then, whatever it was. */
const repeats = 4
const longestWaitSeconds = 10

export function openSession({ terminal, output, bearer }: Pick<Session, 'terminal' | 'output' | 'bearer'>): Session {
  const reach: typeof fetch = (input, init) =>
    fetch(input, init).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'AbortError') throw error
      throw unreachable(bearer.url, error)
    })
  const attempt = async <Answer extends { status: number; headers: Headers }>(
    send: (token: string) => Promise<Answer>,
  ): Promise<Answer> => {
    let answer = await send(await bearer.token())
    // It may have been revoked before its time, by a new signing key or a new address of the platform.
    if (answer.status === 401) answer = await send(await bearer.token({ fresh: true }))
    for (let again = 0; answer.status === 429 && again < repeats; again++) {
      const seconds = Number(answer.headers.get('retry-after') ?? 1)
      if (seconds > longestWaitSeconds) break
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      answer = await send(await bearer.token())
    }
    return answer
  }
  const exchange = (contract: Contract, operation: string, input: AnyInput) =>
    attempt((token) => overHttp({ baseUrl: bearer.url, token: () => token, fetch: reach })(contract, operation, input))
  const transport = async (contract: Contract, operation: string, input: AnyInput) => {
    const answer = await exchange(contract, operation, input)
    if (answer.status >= 400) throw problemOf(contract, answer)
    return answer
  }
  return {
    terminal,
    output,
    bearer,
    exchange,
    api: (contract) => client(contract, transport),
    async open(contract, name, input, signal) {
      const operation = contract.operations[name]
      if (operation === undefined) throw new TypeError(`${contract.name} has no operation ${name}`)
      const { method, path, headers, body } = requestFor(contract, operation, input)
      const response = await attempt((token) =>
        reach(new URL(path, bearer.url), {
          method,
          headers: operation.access === 'public' ? headers : { authorization: `Bearer ${token}`, ...headers },
          redirect: 'manual',
          ...(body === undefined ? {} : { body }),
          ...(signal === undefined ? {} : { signal }),
        }),
      )
      return response
    },
  }
}

/** The problem that was answered, with the id under which the platform logged it. */
export function problemOf(contract: Contract, { status, headers, body }: Exchange): Problem {
  const problem = problemFrom(contract.errorWords?.hear(body) ?? body, status)
  const { code, message, errors } = problem
  return restated(code, message, { errors, requestId: headers.get('x-request-id') })
}

type Restated = { errors: FieldError[] | undefined; requestId: string | null }

function restated(code: ProblemCode, detail: string, { errors, requestId }: Restated): Problem {
  return new Problem(code, detail, {
    ...(errors === undefined ? {} : { errors }),
    ...(requestId === null ? {} : { headers: { 'x-request-id': requestId } }),
  })
}
