import type { Database } from '../../platform/database/database.ts'
import type { Log } from '../../platform/log.ts'
import { type Wake, wakeOf } from './job-change.ts'
import { findOffered, findStates } from './lease-store.ts'

/** The interval at which timeouts are checked. */
const tickMs = 250
/** The number of ticks between two polls. A poll finds changes of other processes and expired leases. */
const ticksPerPoll = 4

/** The condition that ends a wait: the client can take a job, or a job ends or is no longer in the state `unlike`. */
type WaitCondition = { clientId: string; workflows: readonly string[] } | { jobId: string; unlike?: string | undefined }

type Waiter = { condition: WaitCondition; until: number; wake: () => void; offer?: Wake }

type Wait = { woken: Promise<void>; passOn: () => void; leave: () => void }

/** The waiting requests of one tenant, in one queue for each client or job, oldest first. */
type TenantWaits = { queues: Map<string, Waiter[]>; isPolling: boolean }

type WaitersOptions = { database: Database; log: Log; stopping: AbortSignal }

/**
 * `Waiters` holds the requests that wait for a change of a job. All requests share one timer. Each second, one or two
 * statements per tenant look for changes, however many requests wait. A commit of this process wakes its requests
 * immediately.
 */
export class Waiters {
  readonly #options: WaitersOptions
  readonly #tenants = new Map<string, TenantWaits>()
  #timer: NodeJS.Timeout | undefined
  #ticks = 0

  constructor(options: WaitersOptions) {
    this.#options = options
    options.database.onCommit(({ tenantId, topics }) => {
      const waits = this.#tenants.get(tenantId)
      if (waits === undefined) return
      for (const topic of topics) {
        const wake = wakeOf(topic)
        if (wake !== undefined) notify(waits, wake)
      }
    })
    options.stopping.addEventListener('abort', () => this.#sweep(Number.POSITIVE_INFINITY), { once: true })
  }

  /**
   * Adds a waiting request. The caller joins before it queries, so that it misses no change in between. `woken` resolves
   * when the caller should query again, or at the timeout. A caller that does not query again must call `passOn`, which
   * gives its offer to the next waiting request.
   */
  join(tenantId: string, condition: WaitCondition, until: number): Wait {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { condition, until, wake: resolve }
    const waits = this.#tenants.get(tenantId) ?? { queues: new Map<string, Waiter[]>(), isPolling: false }
    const queue = queueKey(condition)
    waits.queues.set(queue, [...(waits.queues.get(queue) ?? []), waiter])
    this.#tenants.set(tenantId, waits)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    if (this.#options.stopping.aborted) resolve()
    return {
      woken: promise,
      passOn: () => this.#passOn(tenantId, waiter),
      leave: () => this.#leave(tenantId, waits, waiter),
    }
  }

  get isStopping(): boolean {
    return this.#options.stopping.aborted
  }

  #passOn(tenantId: string, { offer }: Waiter): void {
    const waits = this.#tenants.get(tenantId)
    if (offer !== undefined && waits !== undefined) notify(waits, offer)
  }

  #leave(tenantId: string, waits: TenantWaits, waiter: Waiter): void {
    remove(waits, waiter)
    if (waits.queues.size > 0 || this.#tenants.get(tenantId) !== waits) return
    this.#tenants.delete(tenantId)
    if (this.#tenants.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    this.#sweep(performance.now())
    this.#ticks = (this.#ticks + 1) % ticksPerPoll
    if (this.#ticks === 0) for (const [tenantId, waits] of this.#tenants) void this.#poll(tenantId, waits)
  }

  #sweep(now: number): void {
    for (const waits of this.#tenants.values())
      for (const queue of [...waits.queues.values()]) for (const waiter of queue) if (waiter.until <= now) waiter.wake()
  }

  async #poll(tenantId: string, waits: TenantWaits): Promise<void> {
    if (waits.isPolling) return
    waits.isPolling = true
    try {
      for (const wake of await this.#changes(tenantId, waits)) notify(waits, wake)
    } catch (error) {
      this.#options.log.warn({ error, tenantId }, 'The poll for jobs failed')
    } finally {
      waits.isPolling = false
    }
  }

  async #changes(tenantId: string, waits: TenantWaits): Promise<Wake[]> {
    const conditions = [...waits.queues.values()].flat().map(({ condition }) => condition)
    const clientIds = [
      ...new Set(conditions.flatMap((condition) => ('clientId' in condition ? [condition.clientId] : []))),
    ]
    const left = new Map<string, string | undefined>()
    for (const condition of conditions)
      if ('jobId' in condition) left.set(condition.jobId, condition.unlike ?? left.get(condition.jobId))
    const { database } = this.#options
    const offered =
      clientIds.length === 0 ? [] : await database.read({ tenantId }, (handle) => findOffered(handle, clientIds))
    const states =
      left.size === 0 ? [] : await database.read({ tenantId }, (handle) => findStates(handle, [...left.keys()]))
    const moved = states.filter(({ id, state, isFinal }) => isFinal || (left.get(id) ?? state) !== state)
    return [
      ...offered.map((offer): Wake => ({ kind: 'offered', ...offer })),
      ...moved.map(({ id }): Wake => ({ kind: 'moved', jobId: id })),
    ]
  }
}

/**
 * Wakes waiting requests. A moved job wakes all requests that wait for the job. An offered job wakes only the newest
 * request of the client: after a broken connection, a gateway sends a new request, and the old request must not get the
 * job.
 */
function notify(waits: TenantWaits, wake: Wake): void {
  if (wake.kind === 'moved') {
    for (const waiter of waits.queues.get(queueKey(wake)) ?? []) waiter.wake()
    return
  }
  const queue = waits.queues.get(queueKey({ clientId: wake.clientId, workflows: [] })) ?? []
  const waiter = queue.findLast(
    ({ condition }) => 'workflows' in condition && condition.workflows.includes(wake.workflow),
  )
  if (waiter === undefined) return
  // This waiter is about to query, so it leaves the queue. The next offer wakes the next waiter.
  remove(waits, waiter)
  waiter.offer = wake
  waiter.wake()
}

function remove(waits: TenantWaits, waiter: Waiter): void {
  const queue = queueKey(waiter.condition)
  const left = (waits.queues.get(queue) ?? []).filter((other) => other !== waiter)
  if (left.length === 0) waits.queues.delete(queue)
  else waits.queues.set(queue, left)
}

function queueKey(condition: WaitCondition | { jobId: string }): string {
  return 'jobId' in condition ? `job ${condition.jobId}` : `client ${condition.clientId}`
}
