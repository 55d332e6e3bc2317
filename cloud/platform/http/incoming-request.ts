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
    address: addressOf(request),
  }
}

/**
 * Returns the address of the client. Some proxies add the port of the client to the address in `X-Forwarded-For`. The port is
 * removed, because the limits of an address apply to all its connections.
 */
export function addressOf({ ip }: FastifyRequest): string {
  const [, bare] = /^\[([\da-f:.]+)\](?::\d+)?$/i.exec(ip) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(ip) ?? []
  return bare ?? ip
}

/** Converts a path such as `/users/{id}` to the syntax of the router. */
export function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}
