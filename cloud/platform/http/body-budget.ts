import { type Operation, takesFile } from '@millwright/api/contract.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { nextTurn, noteUse } from '../event-loop.ts'
import { limits } from '../limits.ts'

/** The approximate number of bytes of a body that are read, parsed and validated in one millisecond. */
const parsedPerMs = 40_000

/**
 * `BodyBudget` limits the memory of requests with large bodies. A request waits before its body is read, so that a
 * waiting request only uses the buffers of its connection. Tenants take turns.
 */
export class BodyBudget {
  readonly #semaphore = new Semaphore({
    capacity: limits.bodiesInFlight,
    perKey: limits.bodiesInFlightPerTenant,
    waitingPerKey: limits.bodiesWaitingPerTenant,
    refusal: `${limits.bodiesWaitingPerTenant} requests of this tenant with large bodies are already waiting (limit bodiesWaitingPerTenant). Send fewer requests at the same time`,
  })

  /** Files are counted separately, so that a slow upload does not delay other requests of its tenant. */
  readonly #uploads = new Semaphore({
    capacity: limits.uploads,
    perKey: limits.uploadsPerTenant,
    waitingPerKey: limits.bodiesWaitingPerTenant,
    refusal: `${limits.bodiesWaitingPerTenant} uploads of this tenant are already waiting (limit bodiesWaitingPerTenant). Send fewer files at the same time`,
  })

  /**
   * Waits until there is memory for the body. The memory is released when the request has been answered or its
   * connection ends.
   */
  async reserve(request: FastifyRequest, reply: FastifyReply, operation: Operation): Promise<void> {
    const bytes = bytesOf(request, operation)
    if (bytes <= limits.largeBodyBytes) return
    const tenantId = (request.caller as Caller | undefined)?.tenantId ?? ''
    const isFile = takesFile(operation)
    const leave = await (isFile ? this.#uploads.enter(tenantId) : this.#semaphore.enter(tenantId, bytes))
    // Reading and parsing the body cannot be split into slices, so the request first waits for its turn.
    if (!isFile) noteUse(tenantId, bytes / parsedPerMs)
    await nextTurn(tenantId)
    if (reply.raw.destroyed) return leave()
    // Without a deadline, a client could reserve memory for bytes that it never sends.
    const { raw } = request
    const deadline = setTimeout(
      () => {
        if (!raw.complete) raw.destroy()
      },
      limits.bodyMs + (bytes / limits.bodyBytesPerSecond) * 1_000,
    )
    raw.once('end', () => clearTimeout(deadline))
    reply.raw.once('close', () => {
      clearTimeout(deadline)
      leave()
    })
  }
}

/**
 * Returns the maximum body size of an operation. It is small for public operations, so that clients without a token use
 * no budget.
 */
export function bodyBytesOf({ bodyBytes, access }: Operation): number {
  return bodyBytes ?? (access === 'public' ? limits.largeBodyBytes : limits.bodyBytes)
}

/** Returns the memory to reserve for a body. A body without a length may have as many bytes as its operation allows. */
function bytesOf({ headers }: FastifyRequest, operation: Operation): number {
  const bodyBytes = bodyBytesOf(operation)
  const length = headers['content-length']
  // A body that is too large is refused without being read, so it needs no memory.
  if (length !== undefined) return Number(length) > bodyBytes ? 0 : Number(length)
  return headers['transfer-encoding'] === undefined ? 0 : bodyBytes
}
