import type { Contract, Operation } from '@millwright/api/contract.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import type { AnonymousCaller } from '../service.ts'

/** `IncomingRequest` is a request before its body is read. It does not depend on the HTTP library. */
export type IncomingRequest = {
  id: string
  method: string
  /** The URL as the client requested it, before a deprecated prefix was replaced. */
  url: string
  headers: Record<string, string | string[] | undefined>
  address: string
}

/** The result of the front for an accepted request, before the body is read. */
export type AuthorizedRequest = { caller: Caller | AnonymousCaller; headers?: Record<string, string> }

export type Authorize = (
  incoming: IncomingRequest,
  operation: Operation,
  contract: Contract,
) => Promise<AuthorizedRequest>

export function incomingRequestOf(request: FastifyRequest): IncomingRequest {
  return {
    id: request.id,
    method: request.method,
    url: request.originalUrl,
    headers: request.headers,
    address: request.ip,
  }
}

/** Converts a path such as `/users/{id}` to the syntax of the router. */
export function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
