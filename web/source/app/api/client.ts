import { operations } from 'virtual:operations'
import type { Client, Exchange } from '@millwright/api/client.ts'
import type { contracts } from '@millwright/api/contracts.ts'
import type { Session } from '../session/session.ts'
import { jsonOf } from './http.ts'

type Contracts = typeof contracts
export type ContractName = keyof Contracts

/** `Api` has a typed method for every public operation. It is indexed by contract name and operation name. */
export type Api = { [Name in ContractName]: Client<Contracts[Name]> }

export type OperationName<Name extends ContractName> = keyof Api[Name] & string
export type Input<Name extends ContractName, Operation extends OperationName<Name>> = Api[Name][Operation] extends (
  input: infer OperationInput,
) => unknown
  ? OperationInput
  : never
export type Output<Name extends ContractName, Operation extends OperationName<Name>> = Api[Name][Operation] extends (
  input: never,
) => Promise<infer Answer>
  ? Answer
  : never

type OperationInput = {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string | undefined>
  /** A signal that aborts the call. Every operation supports it. */
  signal?: AbortSignal
}

/**
 * `FetchOperation` calls an operation and returns the raw response. Use it for files and streams, which are not JSON.
 */
export type FetchOperation = (contract: ContractName, operation: string, input: OperationInput) => Promise<Response>

export function createApi(session: Session): { api: Api; fetchOperation: FetchOperation } {
  const fetchOperation: FetchOperation = (contract, operation, input) =>
    session.request(...requestFor(contract, operation, input))
  const clients = Object.entries(operations).map(([contract, named]) => [
    contract,
    Object.fromEntries(
      Object.keys(named).map((operation) => [
        operation,
        async (input: OperationInput, heard?: (answer: Exchange) => void) => {
          const response = await fetchOperation(contract as ContractName, operation, input)
          const body = await jsonOf(response)
          heard?.({ status: response.status, headers: response.headers, body })
          return body
        },
      ]),
    ),
  ])
  return { api: Object.fromEntries(clients), fetchOperation }
}

function requestFor(contract: ContractName, operation: string, input: OperationInput): [string, RequestInit] {
  const definition = operations[contract]?.[operation]
  if (definition === undefined) throw new TypeError(`${contract} has no operation ${operation}`)
  const [method, path] = definition
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.append(name, String(value))
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.params?.[name] ?? ''))
  const headers = new Headers()
  for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers.set(name, value)
  const init: RequestInit = { method, headers, ...(input.signal && { signal: input.signal }) }
  if (isFile(input.body)) {
    headers.set('content-type', input.body.mediaType)
    init.body = input.body.content
  } else if (input.body !== undefined) {
    headers.set('content-type', 'application/json')
    init.body = JSON.stringify(input.body)
  }
  return [query.size === 0 ? filled : `${filled}?${query}`, init]
}

/** Returns whether a body is a file, which is sent as it is. */
function isFile(body: unknown): body is { mediaType: string; content: Blob } {
  return typeof body === 'object' && body !== null && 'content' in body && body.content instanceof Blob
}
