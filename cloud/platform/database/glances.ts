import type { Connection } from './connection.ts'

/** How many go out on one connection together: few enough that one slow among them does little harm. */
export const glancesTogether = 8

type Group = { connection: Connection; tenantId: string | undefined; lease: number; sent: boolean }

/**
 * Who glances in the same turn of the event loop asks on the same connection, in one write: a write costs more than all
 * else that is done to ask. The turn ends when everything that had arrived was looked at, so nobody waits for whoever
 * may come.
 */
export class Glances {
  readonly #groups = new Map<string | undefined, Group>()

  /** A connection that was just given to who glances: what is asked on it is held back, and others may join. */
  gather(connection: Connection, tenantId: string | undefined): void {
    const group: Group = { connection, tenantId, lease: connection.lease, sent: false }
    this.#groups.set(tenantId, group)
    connection.client.connection.stream.cork()
    setImmediate(() => this.#send(group))
    this.#sendIfFull(group)
  }

  join(tenantId: string | undefined): Connection | undefined {
    const group = this.#groups.get(tenantId)
    if (group === undefined || group.lease !== group.connection.lease) return undefined
    group.connection.users++
    this.#sendIfFull(group)
    return group.connection
  }

  #sendIfFull(group: Group): void {
    if (group.connection.users < glancesTogether) return
    this.#groups.delete(group.tenantId)
    // Whoever came last asks in this tick.
    process.nextTick(() => this.#send(group))
  }

  #send(group: Group): void {
    if (group.sent) return
    group.sent = true
    if (this.#groups.get(group.tenantId) === group) this.#groups.delete(group.tenantId)
    group.connection.client.connection.stream.uncork()
  }
}
