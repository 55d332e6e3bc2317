import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { newId } from '../../../platform/database/id.ts'
import { isTransient } from '../../../platform/database/transient.ts'
import { placedTopic } from '../../../platform/events/relay.ts'
import type { Context } from '../../../platform/service.ts'
import { findSubscription } from '../subscription-store.ts'
import { type CreateChannel, createChannel } from './channels.ts'
import { type Clock, systemClock } from './clock.ts'
import { subscriptionsTopic } from './delivery-store.ts'
import { Runner, type RunnerEnd } from './runner.ts'
import * as store from './runner-store.ts'

/** The name of the task that starts runners. */
export const deliverTask = 'events.deliver'
/** After this time without a renewal, another process continues with the subscription. */
const leaseMs = 5_000
const renewMs = 1_500
/** The maximum number of runners in one process. Other subscriptions wait until a runner ends. */
const runnersAtOnce = 500
/** How many tenants renew their leases at the same time. A tenant whose rows are locked does not delay the others. */
const renewalsAtOnce = 4
/** Above this number of runners, those that only stay connected without events end, so that others can start. */
const keptOpenAtOnce = 250
/** How long the process remembers whether a tenant has subscriptions. */
const knownMs = 10_000
/** The maximum number of tenants that the process remembers. */
const knownTenants = 10_000

type Running = {
  runner: Runner
  renewedAtMs: number
  ended: Promise<void>
  /** True if events were published while the runner ended. It may not have read them. */
  hasNewEvents: boolean
}
type Parts = {
  clock: Clock
  createChannel: CreateChannel
  runnersAtOnce: number
  /** At this number of stored events of a subscription, its runner reads no newer events. */
  waitingLimit: number
}

const deliverers = new WeakMap<Context, Deliverer>()

/**
 * `Deliverer` holds the runners of this process. The task `events.deliver` calls `start`, which claims subscriptions that
 * have something to send and starts their runners. The deliverer renews the leases of all runners together.
 */
export class Deliverer {
  /** The clock, the channels and the limits of runners. Tests replace them before the first runner starts. */
  readonly parts: Parts = {
    clock: systemClock,
    createChannel,
    runnersAtOnce,
    waitingLimit: subscriptionLimits.waiting,
  }
  readonly #context: Context
  readonly #running = new Map<string, Running>()
  readonly #starts = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  /** The active subscriptions of each tenant with events, as they were read last. */
  readonly #known = new Map<string, { ids: readonly string[]; readAtMs: number }>()
  /** The time at which the task of a tenant is woken for a retry. */
  readonly #wakes = new Map<string, { at: number; end: AbortController }>()
  /** The tenants whose leases are being renewed by the timer. */
  readonly #renewing = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #isStopping = false

  constructor(context: Context) {
    this.#context = context
    deliverers.set(context, this)
    context.stopping.addEventListener('abort', () => void this.stop(), { once: true })
    context.tasks.beforeStop(() => this.stop())
    context.database.onCommit(({ tenantId, topics }) => {
      if (topics.has(subscriptionsTopic)) void this.#onChange(tenantId)
      else if (topics.has(placedTopic)) void this.#onEvents(tenantId)
    })
  }

  /** Returns the deliverer of a process. */
  static of(context: Context): Deliverer {
    const deliverer = deliverers.get(context)
    if (deliverer === undefined) throw new TypeError('The process does not run the service for events')
    return deliverer
  }

  get runners(): number {
    return this.#running.size
  }

  /**
   * Claims the subscriptions of a tenant that have something to send, and starts their runners. Calls for one tenant wait for
   * each other, so that each counts the runners of the earlier ones. A task that lost its lease can still be in a call.
   */
  start(tenantId: string): Promise<void> {
    return this.#starts.run(tenantId, () => this.#start(tenantId))
  }

  async #start(tenantId: string): Promise<void> {
    if (this.#isStopping) return
    const { database, tenants } = this.#context
    const limit = this.#placesFor(tenantId)
    if (limit <= 0) return
    const tenant = await tenants.byId(tenantId)
    if (tenant?.state !== 'active') return
    const now = new Date(this.parts.clock.now())
    const options = { now, limit, keepsOpen: this.#mayStayOpen() }
    const runnable = await database.read({ tenantId }, (handle) => store.listRunnable(handle, options))
    const free = runnable.filter(({ subscriptionId }) => !this.#running.has(subscriptionId))
    if (free.length === 0) return
    const leases = free.map(({ subscriptionId }) => ({ subscriptionId, runnerId: newId() }))
    const claimedAtMs = performance.now()
    const claimed = await database.transaction({ tenantId }, (tx) => store.claim(tx, leases, leaseMs))
    const { clock, createChannel: openChannel, waitingLimit } = this.parts
    const kinds = new Map(free.map(({ subscriptionId, kind }) => [subscriptionId, kind]))
    for (const progress of claimed) {
      const kind = kinds.get(progress.subscriptionId) ?? 'webhook'
      const subscription = await database.read({ tenantId }, (handle) =>
        findSubscription(handle, { id: progress.subscriptionId, kind }),
      )
      // The subscription can be paused between the list of subscriptions and the claim.
      if (subscription?.active !== true || this.#isStopping) continue
      const runner = new Runner({
        context: this.#context,
        tenant: { tenantId, tenantName: tenant.name },
        subscription,
        progress,
        clock,
        createChannel: openChannel,
        waitingLimit,
        leaseEndsAtMs: claimedAtMs + leaseMs,
        mayStayOpen: () => this.#mayStayOpen(),
      })
      this.#run(runner, claimedAtMs)
    }
  }

  /** Ends all runners. Returns when they have stored all known results. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const { end } of this.#wakes.values()) end.abort()
    for (const { runner } of this.#running.values()) runner.stop()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /**
   * Returns how many more runners a tenant can start. A tenant has at most half of the places that the other tenants do not
   * use, so that slow receivers of one tenant do not stop the deliveries of the others.
   */
  #placesFor(tenantId: string): number {
    const own = [...this.#running.values()].filter(({ runner }) => runner.tenantId === tenantId).length
    const free = this.parts.runnersAtOnce - this.#running.size
    const share = Math.max(1, Math.floor((free + own) / 2))
    return Math.min(free, share - own)
  }

  #mayStayOpen(): boolean {
    return this.#running.size <= keptOpenAtOnce
  }

  #run(runner: Runner, renewedAtMs: number): void {
    const { subscriptionId } = runner.lease
    const ended = runner
      .run()
      .then((end) => this.#onEnd(runner, end))
      .catch((error: unknown) => {
        // The lease expires. Then another runner starts, in this process or in another one.
        this.#context.log.error({ error, subscription: subscriptionId }, 'The runner of a subscription failed')
      })
      .finally(() => {
        const hasNewEvents = this.#running.get(subscriptionId)?.hasNewEvents === true
        this.#running.delete(subscriptionId)
        if (hasNewEvents) this.#wake(runner.tenantId)
        if (this.#running.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      })
    this.#running.set(subscriptionId, { runner, renewedAtMs, ended, hasNewEvents: false })
    this.#timer ??= setInterval(() => void this.#renewAll(), renewMs).unref()
  }

  #onEnd({ tenantId }: Runner, { wakeAt, hasMore }: RunnerEnd): void {
    if (this.#isStopping) return
    if (hasMore) this.#wake(tenantId)
    if (wakeAt !== null) this.#wakeAt(tenantId, wakeAt)
  }

  async #renewAll(): Promise<void> {
    const tenants = new Set([...this.#running.values()].map(({ runner }) => runner.tenantId))
    const waiting = [...tenants.difference(this.#renewing)]
    const renewNext = async () => {
      for (let tenantId = waiting.pop(); tenantId !== undefined; tenantId = waiting.pop()) {
        this.#renewing.add(tenantId)
        await this.#renew(tenantId).finally(() => this.#renewing.delete(tenantId ?? ''))
      }
    }
    await Promise.all(Array.from({ length: renewalsAtOnce }, renewNext))
  }

  /** Renews the leases of a tenant. Runners without a lease end. */
  async #renew(tenantId: string): Promise<void> {
    const own = [...this.#running.values()].filter(({ runner }) => runner.tenantId === tenantId)
    if (own.length === 0) return
    const requestedAtMs = performance.now()
    try {
      const leases = own.map(({ runner }) => runner.lease)
      const { database } = this.#context
      const renewed = await database.transaction({ tenantId }, (tx) => store.renew(tx, leases, leaseMs))
      const runnerIds = new Set(renewed.map(({ runnerId }) => runnerId))
      for (const one of own) {
        if (runnerIds.has(one.runner.lease.runnerId)) {
          one.renewedAtMs = requestedAtMs
          one.runner.extend(requestedAtMs + leaseMs)
        } else one.runner.abandon()
      }
    } catch (error) {
      if (!isTransient(error)) this.#context.log.error({ error }, 'The leases of subscriptions cannot be renewed')
      for (const { runner, renewedAtMs } of own) if (performance.now() - renewedAtMs > leaseMs) runner.abandon()
    }
  }

  /** Ends runners whose subscription was changed, and starts new ones. */
  async #onChange(tenantId: string): Promise<void> {
    this.#known.delete(tenantId)
    for (const { runner } of this.#running.values()) if (runner.tenantId === tenantId) runner.hold()
    await this.#renew(tenantId)
    const own = [...this.#running.values()].filter(({ runner }) => runner.tenantId === tenantId && runner.isEnding)
    await Promise.all(own.map(({ ended }) => ended))
    this.#wake(tenantId)
  }

  /** Wakes the task of a tenant with new events, unless this process runs all its subscriptions. */
  async #onEvents(tenantId: string): Promise<void> {
    if (this.#isStopping) return
    const ids = await this.#subscriptionsOf(tenantId)
    const running = ids.map((id) => this.#running.get(id))
    for (const one of running) if (one?.runner.hasLeftLoop === true) one.hasNewEvents = true
    if (running.includes(undefined)) this.#wake(tenantId)
  }

  async #subscriptionsOf(tenantId: string): Promise<readonly string[]> {
    const known = this.#known.get(tenantId)
    if (known !== undefined && performance.now() - known.readAtMs < knownMs) return known.ids
    // Further calls use the former list during the read.
    const before = known?.ids ?? []
    if (this.#known.size >= knownTenants) this.#known.clear()
    const reading = { ids: before, readAtMs: performance.now() }
    this.#known.set(tenantId, reading)
    const ids = await this.#context.database
      .read({ tenantId }, (handle) => store.listActive(handle))
      .catch(() => undefined)
    // A change during the read removed the entry. The list may then be without the change.
    if (this.#known.get(tenantId) !== reading) return ids ?? before
    if (ids === undefined) this.#known.delete(tenantId)
    else this.#known.set(tenantId, { ids, readAtMs: performance.now() })
    return ids ?? before
  }

  #wake(tenantId: string): void {
    if (!this.#isStopping) this.#context.tasks.wake(tenantId, deliverTask)
  }

  /** Wakes the task of a tenant at the time of a retry. */
  #wakeAt(tenantId: string, at: number): void {
    const before = this.#wakes.get(tenantId)
    if (before !== undefined && before.at <= at) return
    before?.end.abort()
    const end = new AbortController()
    const wake = { at, end }
    this.#wakes.set(tenantId, wake)
    const { clock } = this.parts
    void clock.wait(at - clock.now(), end.signal).then(() => {
      if (this.#wakes.get(tenantId) === wake) this.#wakes.delete(tenantId)
      if (!end.signal.aborted) this.#wake(tenantId)
    })
  }
}
