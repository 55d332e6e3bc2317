import type { Connection } from './connection.ts'

/** The maximum number of lookups in a batch. It is small, so that a slow lookup delays few other lookups. */
export const lookupsPerBatch = 8

type Batch = { connection: Connection; tenantId: string | undefined; lease: number; sent: boolean }

/**
 * `LookupBatcher` sends the lookups of one tenant that start in the same turn of the event loop on one connection, in
 * one write to the socket. A write is the most expensive part of sending a lookup. The batch is sent at the end of the
 * turn, or when it is full, so a lookup never waits for lookups of later turns.
 */
export class LookupBatcher {
  readonly #batches = new Map<string | undefined, Batch>()

  /** Starts a batch on the connection that a lookup has just acquired. The socket is corked until the batch is sent. */
  start(connection: Connection, tenantId: string | undefined): void {
    const batch: Batch = { connection, tenantId, lease: connection.lease, sent: false }
    this.#batches.set(tenantId, batch)
    connection.client.connection.stream.cork()
    setImmediate(() => this.#send(batch))
    this.#sendIfFull(batch)
  }

  join(tenantId: string | undefined): Connection | undefined {
    const batch = this.#batches.get(tenantId)
    if (batch === undefined || batch.lease !== batch.connection.lease) return undefined
    batch.connection.users++
    this.#sendIfFull(batch)
    return batch.connection
  }

  #sendIfFull(batch: Batch): void {
    if (batch.connection.users < lookupsPerBatch) return
    this.#batches.delete(batch.tenantId)
    // The batch is sent in the next tick, because the last lookup writes its statement after this call.
    process.nextTick(() => this.#send(batch))
  }

  #send(batch: Batch): void {
    if (batch.sent) return
    batch.sent = true
    if (this.#batches.get(batch.tenantId) === batch) this.#batches.delete(batch.tenantId)
    batch.connection.client.connection.stream.uncork()
  }
}
