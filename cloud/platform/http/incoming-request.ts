import type { Contract, Operation } from '@millwright/api/contract.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import type { AnonymousCaller } from '../service.ts'

/** A request as the front sees it: before its body, and without the library that received it. */
export type IncomingRequest = {
  id: string
  method: string
  /** As it was asked for, before any former name of it was replaced. */
  url: string
  headers: Record<string, string | string[] | undefined>
  address: string
}

/** What the front decides about a request before anything of it is read. */
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

/** `/users/{id}` as the router writes it. */
export function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
