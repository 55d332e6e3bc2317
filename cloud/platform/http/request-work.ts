import { isMedia, type Operation, takesFile } from '@millwright/api/contract.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { runAs } from '../work.ts'
import type { CompletedRequest } from './completed-request.ts'

/** Returns a handler that runs as the work of its request. */
export function inWork<Result>(
  handle: (request: FastifyRequest, reply: FastifyReply) => Promise<Result>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Result> {
  return (request, reply) => runAs(request.work, () => handle(request, reply))
}

/** Returns whether the duration of an operation depends on its client, or on an event that it waits for. */
export function dependsOnClient(operation: Operation): boolean {
  if (operation.waits === true || operation.socket !== undefined || takesFile(operation)) return true
  return Object.values(operation.answers).some((answer) => isMedia(answer) && !/json$/.test(answer.mediaType))
}

/** Ends the span of a request. The attributes contain the route, and never the URL, because a URL contains ids. */
export function endSpan({ work, method, route, status, requestId, caller }: CompletedRequest): void {
  const { span, statements, databaseMs } = work
  if (span === undefined) return
  span.rename(`${method} ${route}`)
  span.set({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'millwright.request_id': requestId,
    'millwright.tenant': caller !== undefined && 'tenantName' in caller ? caller.tenantName : undefined,
    'millwright.database.statements': statements,
    'millwright.database.ms': Math.round(databaseMs),
  })
  span.end(status >= 500 ? { error: `status ${status}` } : {})
}
