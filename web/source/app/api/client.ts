import { operations } from 'virtual:operations'
import type { Client } from '@millwright/api/client.ts'
import type { Access } from '@millwright/api/contract.ts'
import type { contracts } from '@millwright/api/contracts.ts'
import type { Session } from '../session/session.ts'
import { jsonOf } from './http.ts'

type Contracts = typeof contracts
export type ContractName = keyof Contracts

/** Every public operation by contract and name, typed by the contracts. */
export type Api = { [Name in ContractName]: Client<Contracts[Name]> }

export type OperationName<Name extends ContractName> = keyof Api[Name] & string
export type Input<Name extends ContractName, Operation extends OperationName<Name>> = Api[Name][Operation] extends (
  input: infer Given,
) => unknown
  ? Given
  : never
export type Output<Name extends ContractName, Operation extends OperationName<Name>> = Api[Name][Operation] extends (
  input: never,
) => Promise<infer Answer>
  ? Answer
  : never

type Given = {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string | undefined>
  /** Ends the call early; understood by every operation. */
  signal?: AbortSignal
}

/** Answers of an operation that has no body in JSON: a file, a stream. */
export type Raw = (contract: ContractName, operation: string, input: Given) => Promise<Response>

export function apiOf(session: Session): { api: Api; raw: Raw } {
  const raw: Raw = (contract, operation, input) => session.request(...requestFor(contract, operation, input))
  const clients = Object.entries(operations).map(([contract, named]) => [
    contract,
    Object.fromEntries(
      Object.keys(named).map((operation) => [
        operation,
        async (input: Given) => jsonOf(await raw(contract as ContractName, operation, input)),
      ]),
    ),
  ])
  return { api: Object.fromEntries(clients), raw }
}

/** Who may call an operation. */
export function accessOf(contract: ContractName, operation: string): Access | undefined {
  return operations[contract]?.[operation]?.[2]
}

function requestFor(contract: ContractName, operation: string, input: Given): [string, RequestInit] {
  const described = operations[contract]?.[operation]
  if (described === undefined) throw new TypeError(`${contract} has no operation ${operation}`)
  const [method, path] = described
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.append(name, String(value))
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.params?.[name] ?? ''))
  const headers = new Headers()
  for (const [name, value] of Object.entries(input.headers ?? {})) if (value !== undefined) headers.set(name, value)
  const init: RequestInit = { method, headers, ...(input.signal && { signal: input.signal }) }
  if (input.body !== undefined) {
    headers.set('content-type', 'application/json')
    init.body = JSON.stringify(input.body)
  }
  return [query.size === 0 ? filled : `${filled}?${query}`, init]
}
