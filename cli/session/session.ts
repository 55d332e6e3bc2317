import { type AnyInput, type Client, client, type Exchange, overHttp, requestFor } from '@millwright/api/client.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { type FieldError, Problem, type ProblemCode, problemFrom } from '@millwright/api/problem.ts'
import type { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { unreachable } from './address.ts'
import type { Bearer } from './bearer.ts'

/** `Session` is the connection of a command to a platform, together with the output of the command. */
export type Session = {
  terminal: Terminal
  output: Output
  bearer: Bearer
  /** Returns the typed client of a service. The client throws a `Problem` for an error response. */
  api<C extends Contract>(contract: C): Client<C>
  /** Calls an operation and returns status, headers and body. */
  exchange(contract: Contract, operation: string, input: AnyInput): Promise<Exchange>
  /** Calls an operation and returns the response for streaming. */
  open(contract: Contract, operation: string, input: AnyInput, signal?: AbortSignal): Promise<Response>
  /** Lets the user confirm their identity, and renews the token. */
  confirmIdentity(): Promise<void>
}

/**
 * How often a request is retried after status 429. Retries are safe, because the platform has not processed a request
 * with this status.
 */
const maxRetries = 4
const longestWaitSeconds = 10

export function openSession({ terminal, output, bearer }: Pick<Session, 'terminal' | 'output' | 'bearer'>): Session {
  const fetchOrReport: typeof fetch = (input, init) =>
    fetch(input, init).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'AbortError') throw error
      throw unreachable(bearer.url, error)
    })
  const transportWith = (token: string) => overHttp({ baseUrl: bearer.url, token: () => token, fetch: fetchOrReport })
  let confirmation: Promise<void> | undefined
  // Concurrent requests share one prompt.
  const confirmIdentity = () => {
    confirmation ??= import('./step-up.ts')
      .then((stepUp) => stepUp.confirmIdentity({ terminal, bearer, transport: transportWith }))
      .then(async () => void (await bearer.token({ fresh: true })))
      .finally(() => {
        confirmation = undefined
      })
    return confirmation
  }
  const withRetries = async <Answer extends { status: number; headers: Headers }>(
    send: (token: string) => Promise<Answer>,
    needsStepUp: (answer: Answer) => boolean | Promise<boolean>,
  ): Promise<Answer> => {
    let answer = await send(await bearer.token())
    // The token may have become invalid before its expiry, for example because of a new signing key or a new address of
    // the platform. A new token may also contain a confirmation from another command.
    if (answer.status === 401) answer = await send(await bearer.token({ fresh: true }))
    if (answer.status === 401 && (await needsStepUp(answer))) {
      await confirmIdentity()
      answer = await send(await bearer.token())
      // Another request may have renewed the token just before the confirmation.
      if (answer.status === 401) answer = await send(await bearer.token({ fresh: true }))
    }
    for (let retry = 0; answer.status === 429 && retry < maxRetries; retry++) {
      const seconds = Number(answer.headers.get('retry-after') ?? 1)
      if (seconds > longestWaitSeconds) break
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      answer = await send(await bearer.token())
    }
    return answer
  }
  const exchange = (contract: Contract, operation: string, input: AnyInput) =>
    withRetries(
      (token) => transportWith(token)(contract, operation, input),
      (answer) => problemOf(contract, answer).code === 'step_up_required',
    )
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
      return withRetries(
        (token) =>
          fetchOrReport(new URL(path, bearer.url), {
            method,
            headers: operation.access === 'public' ? headers : { authorization: `Bearer ${token}`, ...headers },
            redirect: 'manual',
            ...(body === undefined ? {} : { body }),
            ...(signal === undefined ? {} : { signal }),
          }),
        async (response) => {
          const { status } = response
          const answer = await response
            .clone()
            .json()
            .catch(() => undefined)
          return problemOf(contract, { status, headers: response.headers, body: answer }).code === 'step_up_required'
        },
      )
    },
    confirmIdentity,
  }
}

/** Returns the problem of an error response, with the request id that the log of the platform contains. */
export function problemOf(contract: Contract, { status, headers, body }: Exchange): Problem {
  const problem = problemFrom(contract.errorFormat?.toProblem(body) ?? body, status)
  const { code, message, errors } = problem
  return problemWith(code, message, { status: problem.status, errors, requestId: headers.get('x-request-id') })
}

type ProblemDetails = { status: number; errors: FieldError[] | undefined; requestId: string | null }

function problemWith(code: ProblemCode, detail: string, { status, errors, requestId }: ProblemDetails): Problem {
  return new Problem(code, detail, {
    status,
    ...(errors === undefined ? {} : { errors }),
    ...(requestId === null ? {} : { headers: { 'x-request-id': requestId } }),
  })
}
