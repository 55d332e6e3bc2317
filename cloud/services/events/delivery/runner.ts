import { type Attempt, filterErrorStart, type SubscriptionReason } from '@millwright/api/event-subscriptions.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { currentCaller } from '../../../platform/access/current-caller.ts'
import { isFilterProblem } from '../../../platform/asset-visibility.ts'
import { timeOfId } from '../../../platform/database/id.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { isTransient } from '../../../platform/database/transient.ts'
import { type EventRow, extent } from '../../../platform/events/store.ts'
import type { Tail, Message as TailMessage } from '../../../platform/events/tail.ts'
import type { Context } from '../../../platform/service.ts'
import { cloudEvent, eventText } from '../message.ts'
import { requireFilter, selectEvents } from '../selection.ts'
import type { SubscriptionRow, WebhookDetails } from '../subscription-store.ts'
import { attemptsOf, type Parts, takeBatch } from './batch.ts'
import type { Channel, Outcome } from './channel.ts'
import type { CreateChannel } from './channels.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Clock } from './clock.ts'
import { makeDue } from './delivery-store.ts'
import { messageOf } from './message.ts'
import { type CheckedEvent, DeliveryQueue, type Item, type Line } from './queue.ts'
import { type DeliveryResult, Results } from './results.ts'
import { nextAttemptAt, retryMs } from './retry.ts'
import * as limits from './runner-limits.ts'
import * as store from './runner-store.ts'
import { reportStopped } from './stop-report.ts'

type StopReason = Exclude<SubscriptionReason, 'user'>

export type RunnerOptions = {
  context: Context
  tenant: { tenantId: string; tenantName: string }
  subscription: SubscriptionRow
  progress: store.ClaimedProgress
  clock: Clock
  createChannel: CreateChannel
  /** At this number of stored events, no newer events are read. */
  waitingLimit: number
  /** The end of the lease, in the time of `performance.now()`. */
  leaseEndsAtMs: number
  /** Returns whether a channel may stay open without messages for longer than a minute. */
  mayStayOpen: () => boolean
}

/** What remains to do at the end of a runner. Times are in milliseconds. */
export type RunnerEnd = {
  /** The time of the next attempt, if the runner knows one. */
  wakeAt: number | null
  /** True if there are newer events, or if the lease was lost. Then events may have been read and not sent. */
  hasMore: boolean
}

/** One request. */
type Parcel = { parts: Parts; isProbe: boolean; messageId: string }

/**
 * `Runner` sends the events of one subscription while it has the lease. It reads events after the position, selects those
 * that the owner may read, and sends them. Events of one subject are sent in order, one request at a time. Events of
 * other subjects are sent at the same time.
 *
 * An event that fails is stored in the log, and later events of its subject are stored behind it, so that the position
 * can move. Results are stored in groups, in one transaction with the position. A crash repeats at most these events.
 *
 * The circuit breaker opens after failed attempts for several subjects without a success. While it is open, one event is
 * tried at a time. A success closes it.
 */
export class Runner {
  readonly lease: store.Lease
  readonly tenantId: string
  readonly #options: RunnerOptions
  readonly #queue: DeliveryQueue
  readonly #circuit: CircuitBreaker
  readonly #batchSize: number
  readonly #parcelsAtOnce: number
  /** Aborted when the runner must not send anything. */
  readonly #abort = new AbortController()
  #channel: Channel | undefined
  #tail: Tail | undefined
  #owner: Caller | undefined
  #ownerAtMs = Number.NEGATIVE_INFINITY
  #wakeup = Promise.withResolvers<void>()
  #clockWait: { at: number; end: AbortController } | undefined
  /** `lost`: another runner may have the lease, so nothing is written. */
  #ending: 'lost' | 'stopping' | undefined
  #hasLeftLoop = false
  #failure: unknown
  #stopReason: StopReason | undefined
  #running = 0
  #reading = false
  #loading = false
  /** True if all events were read. */
  #atEnd = false
  /** While the circuit breaker is open for long: true if all events that are too old were read. */
  #expiredAll = false
  #stale: Line[] = []
  #pausedUntilMs = 0
  /** True if results could not be stored. Nothing is sent until they are stored. */
  #flushFailed = false
  #lastWorkAtMs = performance.now()
  /** No request starts after this time, because another process may have the lease then. */
  #leaseEndsAtMs: number

  #results = new Results()
  #flushing: Promise<void> | undefined
  #flushAtMs = performance.now()
  #savedPosition: number

  #last: Pick<store.ProgressWrite, 'lastSuccessAt' | 'lastFailureAt' | 'lastError'>

  constructor(options: RunnerOptions) {
    const { progress, subscription, tenant } = options
    this.#options = options
    this.#leaseEndsAtMs = options.leaseEndsAtMs
    this.lease = { subscriptionId: progress.subscriptionId, runnerId: progress.runnerId }
    this.tenantId = tenant.tenantId
    this.#queue = new DeliveryQueue(progress)
    this.#savedPosition = progress.position
    this.#batchSize = subscription.kind === 'webhook' ? (subscription.details as WebhookDetails).batchSize : 1
    this.#parcelsAtOnce = this.#batchSize > 1 ? limits.batchesAtOnce : limits.requestsAtOnce
    this.#circuit = new CircuitBreaker(progress)
    this.#last = {
      lastSuccessAt: timeOf(progress.lastSuccessAt),
      lastFailureAt: timeOf(progress.lastFailureAt),
      lastError: progress.lastError,
    }
  }

  get isEnding(): boolean {
    return this.#ending !== undefined
  }

  /** True if the runner reads no more events. */
  get hasLeftLoop(): boolean {
    return this.#hasLeftLoop
  }

  /** Called when another process may have the lease. Nothing more is sent or written. */
  abandon(): void {
    this.#ending = 'lost'
    this.#abort.abort()
    this.#wake()
  }

  /** Called when a subscription of the tenant was changed. No request starts until the lease is renewed. */
  hold(): void {
    this.#leaseEndsAtMs = Number.NEGATIVE_INFINITY
  }

  /** Called when the lease was renewed. `endsAtMs` is in the time of `performance.now()`. */
  extend(endsAtMs: number): void {
    const hadEnded = performance.now() >= this.#leaseEndsAtMs
    this.#leaseEndsAtMs = endsAtMs
    if (hadEnded) this.#wake()
  }

  /** Called when the process stops. Running requests can end in a short time. All known results are stored. */
  stop(): void {
    this.#ending ??= 'stopping'
    this.#wake()
  }

  /** Sends events until there are none for some time, or until the runner must end. */
  async run(): Promise<RunnerEnd> {
    const { context, tenant, subscription, createChannel } = this.#options
    const { newest } = await context.database.read(tenant, extent)
    const { tail, leave } = context.feed.join(tenant, newest)
    this.#tail = tail
    try {
      this.#channel = await createChannel(context, tenant, subscription)
      const rows = await context.database.read(tenant, (handle) => store.listUnsent(handle, this.lease.subscriptionId))
      this.#queue.addStored(rows)
      while (this.#ending === undefined && !(await this.#step())) await this.#pause()
      this.#hasLeftLoop = true
      await this.#end()
      return this.#remaining(tail)
    } finally {
      this.#abort.abort()
      this.#clockWait?.end.abort()
      leave()
      await this.#channel?.close()
    }
  }

  /** Starts everything that can start now. Returns true at the end of the runner. */
  async #step(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    if (performance.now() - this.#ownerAtMs >= limits.ownerMs) await this.#checkOwner()
    if (this.#stopReason !== undefined) return true
    const now = this.#now()
    if (!this.#circuit.isOpen) this.#queue.makeReady(now)
    else if (this.#circuit.isExpired(now)) this.#expireStored(now)
    if (performance.now() >= this.#pausedUntilMs) {
      if (this.#mayRead(now)) void this.#guard(() => this.#readPage())
      this.#startSending(now)
      if (this.#stale.length > 0 && !this.#loading) void this.#guard(() => this.#loadStale())
      if (this.#mustFlush()) void this.#flush()
    }
    return this.#isIdle()
  }

  #isIdle(): boolean {
    const isBusy =
      this.#running > 0 ||
      this.#reading ||
      this.#loading ||
      this.#flushing !== undefined ||
      this.#results.size > 0 ||
      (!this.#circuit.isOpen && (this.#queue.hasReady || !this.#atEnd))
    if (isBusy) {
      this.#lastWorkAtMs = performance.now()
      return false
    }
    const openMs = this.#channel?.idleMs ?? limits.idleMs
    const mostMs = this.#options.mayStayOpen() ? openMs : Math.min(openMs, limits.maximumIdleMs)
    return performance.now() - this.#lastWorkAtMs >= mostMs
  }

  /** Waits until something happens. */
  async #pause(): Promise<void> {
    const { clock } = this.#options
    const dueAt = this.#circuit.isOpen ? (this.#circuit.blockedUntil ?? 0) : this.#queue.nextDueAt
    if (Number.isFinite(dueAt) && dueAt > clock.now() && this.#clockWait?.at !== dueAt) {
      this.#clockWait?.end.abort()
      const end = new AbortController()
      this.#clockWait = { at: dueAt, end }
      void clock.wait(dueAt - clock.now(), end.signal).then(() => this.#wake())
    }
    const timer = setTimeout(() => this.#wake(), this.#tickMs())
    await this.#wakeup.promise
    clearTimeout(timer)
    this.#wakeup = Promise.withResolvers()
  }

  /** Returns the time until results must be stored, or until the owner is checked again. */
  #tickMs(): number {
    if (this.#results.firstAtMs === undefined || this.#flushing !== undefined) return limits.tickMs
    return Math.max(1, limits.groups.ms - (performance.now() - this.#results.firstAtMs))
  }

  #wake(): void {
    this.#wakeup.resolve()
  }

  #now(): number {
    return this.#options.clock.now()
  }

  /** Runs work of the loop. During an outage of the database, the work is repeated after a pause. */
  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Problem && error.code === 'events_gone') this.#stopReason = 'events_gone'
      else if (isFilterProblem(error)) this.#failFilter(error)
      else if (isTransient(error)) this.#pauseWork(error)
      else this.#failure = error
    }
    this.#wake()
  }

  /** Notes that the inventory no longer accepts the filter. It is tried again with growing pauses. */
  #failFilter({ message }: Problem): void {
    const now = this.#now()
    this.#last.lastFailureAt = now
    this.#last.lastError = `${filterErrorStart}${message}`
    this.#circuit.block(now)
    this.#results.touch()
  }

  get #isFilterInvalid(): boolean {
    return this.#circuit.isOpen && this.#last.lastError?.startsWith(filterErrorStart) === true
  }

  #pauseWork(error: unknown): void {
    const { context, subscription } = this.#options
    context.log.warn({ error, subscription: subscription.id }, 'The events of a subscription wait for the database')
    this.#pausedUntilMs = performance.now() + limits.pauseMs
  }

  /** Reads the owner and the tenant from the caches. A disabled owner stops the subscription. */
  async #checkOwner(): Promise<void> {
    const { context, subscription } = this.#options
    try {
      const held = await context.access.of(this.tenantId, subscription.principalId)
      if (held === undefined || held.principal.disabled) this.#stopReason ??= 'owner_disabled'
      this.#owner = await currentCaller(context, this.tenantId, subscription)
      if ((await context.tenants.byId(this.tenantId))?.state !== 'active') this.#ending ??= 'stopping'
      this.#ownerAtMs = performance.now()
    } catch (error) {
      if (!isTransient(error)) throw error
      this.#pauseWork(error)
    }
  }

  #mayRead(now: number): boolean {
    const { inMemory, characters, stored } = this.#queue
    const { readAhead } = limits
    if (this.#reading || this.#atEnd || inMemory >= readAhead.events || characters >= readAhead.characters) return false
    const isFull = stored >= this.#options.waitingLimit
    if (!this.#circuit.isOpen) return !isFull
    // While the circuit breaker is open, events are read only if there is none that was not tried before, or if they are
    // too old.
    const isProbeDue = this.#circuit.isProbeDue(now) && this.#running === 0 && !this.#queue.hasUntried
    if (isProbeDue && !isFull) return true
    return this.#circuit.isExpired(now) && !this.#expiredAll && !this.#isFilterInvalid
  }

  async #readPage(): Promise<void> {
    this.#reading = true
    try {
      const tail = this.#tail as Tail
      const messages = await tail.after(this.#queue.read)
      if (messages.length === 0) {
        this.#atEnd = true
        void this.#awaitEvents(tail)
        return
      }
      const checked = await this.#select(messages.filter(({ position }) => !this.#queue.wasFinished(position)))
      if (!this.#abort.signal.aborted) this.#addPage(messages, checked)
    } finally {
      this.#reading = false
    }
  }

  async #awaitEvents(tail: Tail): Promise<void> {
    while (!this.#abort.signal.aborted && tail.newest <= this.#queue.read)
      await tail.wait(this.#queue.read, { signal: this.#abort.signal, ms: 60_000 })
    this.#atEnd = false
    this.#wake()
  }

  /** Adds the selected events of a page, in order. */
  #addPage(messages: readonly TailMessage[], checked: readonly CheckedEvent[]): void {
    const now = this.#now()
    const isExpiring = this.#circuit.isExpired(now)
    const selected = new Map(checked.map((event) => [event.row.position, event]))
    for (const { id, position } of messages) {
      if (isExpiring && timeOfId(id) + retryMs > now) {
        this.#expiredAll = true
        return
      }
      this.#queue.moveTo(position)
      const event = selected.get(position)
      if (event === undefined) continue
      const waiting = this.#queue.add(event)
      if (waiting !== undefined) this.#storeWaiting(waiting)
    }
    if (isExpiring) this.#expireStored(now)
  }

  /**
   * Returns the events that the owner may read and the subscription selects, in order. The lease is checked too: another
   * process can have changed the subscription before these events happened.
   */
  async #select(events: readonly (EventRow & { characters?: number })[]): Promise<CheckedEvent[]> {
    const { context, subscription, tenant } = this.#options
    await this.#checkOwner()
    const owner = this.#owner
    if (owner === undefined || this.#stopReason !== undefined) throw new Problem('unavailable', 'The owner is unknown')
    if (this.#isFilterInvalid) {
      if (subscription.filter !== null) await requireFilter(context, owner, subscription.filter)
      this.#closeCircuit()
    }
    const checkedAtMs = performance.now()
    const [selected, isHeld] = await Promise.all([
      selectEvents(context, owner, subscription, events),
      context.database.lookup(tenant, (handle) => store.isHeld(handle, this.lease)),
    ])
    if (!isHeld) this.abandon()
    return selected.map((row) => ({ row, characters: row.characters ?? 0, rights: owner.rights, checkedAtMs }))
  }

  #isFresh({ event }: Item): boolean {
    if (event === undefined || event.rights !== this.#owner?.rights) return false
    return performance.now() - event.checkedAtMs < limits.freshMs
  }

  #startSending(now: number): void {
    const isStalled =
      performance.now() >= this.#leaseEndsAtMs ||
      this.#flushFailed ||
      this.#results.size >= limits.unstored.results ||
      (this.#flushing !== undefined && performance.now() - this.#flushAtMs > limits.unstored.ms)
    if (isStalled || this.#stopReason !== undefined) return
    if (this.#circuit.isOpen) {
      const isBusy = this.#running > 0 || this.#stale.length > 0 || this.#loading || this.#reading
      if (!isBusy && this.#circuit.isProbeDue(now)) this.#probe()
      return
    }
    while (this.#running < this.#parcelsAtOnce) {
      const parts = takeBatch(this.#queue, {
        batchSize: this.#batchSize,
        isFresh: (item) => this.#isFresh(item),
        stale: this.#stale,
      })
      if (parts.length === 0) return
      void this.#send(parts, false)
    }
  }

  /** Tries one event while the circuit breaker is open. */
  #probe(): void {
    const line = this.#queue.takeForProbe()
    if (line === undefined) return
    if (this.#isFresh(line.items[0] as Item)) void this.#send([{ line, count: 1 }], true)
    else this.#stale.push(line)
  }

  /**
   * Reads the content of the first events of stale lines again, and checks again whether the owner may read them. Events
   * that are no longer selected are skipped.
   */
  async #loadStale(): Promise<void> {
    const { context, tenant } = this.#options
    const lines = this.#stale
    this.#stale = []
    this.#loading = true
    try {
      const items: Item[] = []
      for (const line of lines) {
        const room = Math.min(limits.reload.events - items.length, Math.max(limits.reload.perSubject, this.#batchSize))
        items.push(...line.items.slice(0, Math.max(1, room)))
      }
      const positions = items.map(({ position }) => position)
      const rows = await context.database.read(tenant, (handle) => store.listEventsAt(handle, positions))
      const checked = await this.#select(rows.toSorted((a, b) => a.position - b.position))
      if (this.#abort.signal.aborted) return
      const byPosition = new Map(checked.map((event) => [event.row.position, event]))
      const skipped = new Set<Item>()
      for (const item of items) {
        const event = byPosition.get(item.position)
        if (event === undefined) skipped.add(item)
        else this.#queue.setEvent(item, event)
      }
      for (const line of lines) this.#skip(line, skipped)
    } finally {
      this.#loading = false
      for (const line of lines) this.#queue.release(line, { isPrepared: true })
    }
  }

  #skip(line: Line, skipped: ReadonlySet<Item>): void {
    for (const item of line.items.filter((one) => skipped.has(one))) {
      line.items.splice(line.items.indexOf(item), 1)
      if (item.stored !== undefined) this.#results.add(item, { state: 'skipped', nextAt: null })
      this.#queue.drop(item)
    }
  }

  async #send(parts: Parts, isProbe: boolean): Promise<void> {
    const { tenant, clock } = this.#options
    this.#running++
    const items = parts.flatMap(({ line, count }) => line.items.slice(0, count))
    if (parts.length > 1) items.sort((a, b) => a.position - b.position)
    const rows = items.map((item) => (item.event as CheckedEvent).row)
    const events = rows.map((row) => cloudEvent(row, tenant.tenantName)) as [CloudEvent, ...CloudEvent[]]
    const texts = rows.map((row) => eventText(row, tenant.tenantName))
    const message = messageOf(events, { isBatch: this.#batchSize > 1, texts })
    const startedAt = clock.now()
    let outcome: Outcome
    try {
      outcome = await (this.#channel as Channel).send(message, this.#abort.signal)
    } catch (error) {
      this.#options.context.log.error({ error, subscription: this.lease.subscriptionId }, 'A delivery failed')
      const time = new Date(startedAt).toISOString()
      const attempt = {
        time,
        durationMs: clock.now() - startedAt,
        status: null,
        error: 'Internal error of the platform',
      }
      outcome = { isDelivered: false, isGone: false, attempt }
    }
    this.#running--
    // A request that was aborted at the end of the runner has no result. The event is sent again by the next runner.
    if (this.#ending !== 'lost' && (outcome.isDelivered || !this.#abort.signal.aborted))
      this.#settle({ parts, isProbe, messageId: message.id }, outcome)
    this.#wake()
  }

  #settle(parcel: Parcel, outcome: Outcome): void {
    const now = this.#now()
    const attempts = jsonText([outcome.attempt])
    if (outcome.isDelivered) this.#settleSuccess(parcel, { attempts, now })
    else this.#settleFailure(parcel, { attempts, now, attempt: outcome.attempt, isGone: outcome.isGone })
  }

  /** Closes the circuit breaker. If it was open, all stored events are due. */
  #closeCircuit(): void {
    if (!this.#circuit.succeed()) return
    this.#expiredAll = false
    this.#results.dueNow = true
    this.#results.touch()
    this.#queue.makeReady(Number.POSITIVE_INFINITY)
  }

  #settleSuccess({ parts, messageId }: Parcel, { attempts, now }: { attempts: string; now: number }): void {
    this.#last.lastSuccessAt = now
    this.#closeCircuit()
    for (const { line, count } of parts) {
      for (const item of line.items.slice(0, count)) {
        const attemptCount = attemptsOf(item) + 1
        this.#results.add(item, { state: 'succeeded', attemptCount, attempts, messageId, nextAt: null })
      }
      this.#queue.remove(line, count)
      // Stored events whose content was read are sent before the content of other lines is read, to limit the memory.
      const next = line.items[0]
      this.#queue.release(line, { isPrepared: next?.stored !== undefined && next.event !== undefined })
    }
  }

  #settleFailure(
    { parts, isProbe, messageId }: Parcel,
    { attempts, now, attempt, isGone }: { attempts: string; now: number; attempt: Attempt; isGone: boolean },
  ): void {
    this.#last.lastFailureAt = now
    this.#last.lastError = attempt.error
    if (isGone) this.#stopReason ??= 'receiver_gone'
    // A failed batch counts as one failure, because the receiver may only refuse one of its events.
    this.#circuit.fail(parts[0]?.line.subject ?? '', { now, isProbe })
    for (const { line, count } of parts) {
      const [first, ...others] = line.items.slice(0, count) as [Item, ...Item[]]
      const attemptCount = attemptsOf(first) + 1
      const firstFailedAt = first.stored?.firstFailedAt ?? now
      const failed = { state: 'failed' as const, attemptCount, firstFailedAt, messageId, attempts }
      const dueAt = nextAttemptAt({ now, firstFailedAt, failedAttempts: attemptCount, random: Math.random })
      // The other events of the subject wait for the first one.
      for (const item of others)
        this.#store(item, { state: 'waiting', attemptCount: attemptsOf(item) + 1, messageId, attempts, nextAt: null })
      if (dueAt === undefined) {
        this.#makeDeadLetter(line, first, failed)
        this.#queue.release(line)
      } else {
        this.#store(first, { ...failed, nextAt: dueAt })
        this.#block(line, dueAt)
      }
    }
  }

  /** Blocks a line. The other events of the line are stored, and their content leaves the memory. */
  #block(line: Line, dueAt: number): void {
    for (const item of line.items) {
      if (item.stored === undefined) this.#storeWaiting(item)
      item.event = undefined
    }
    this.#queue.block(line, dueAt)
  }

  #makeDeadLetter(line: Line, item: Item, result: Omit<DeliveryResult, 'nextAt'>): void {
    this.#results.add(item, { ...result, isDeadLetter: true, nextAt: null })
    line.items.splice(line.items.indexOf(item), 1)
    this.#queue.drop(item)
  }

  /** Stores an event that waits behind an earlier event of its subject. */
  #storeWaiting(item: Item): void {
    this.#store(item, { state: 'waiting', attemptCount: 0, firstFailedAt: null, nextAt: null })
  }

  #store(item: Item, result: DeliveryResult): void {
    const before = item.stored
    const stored = this.#results.add(item, result)
    if (before === undefined) this.#queue.store(item, stored)
    else {
      item.stored = stored
      item.event = undefined
    }
  }

  /**
   * Makes events dead letters that are too old, while the circuit breaker is open for longer than the time for retries.
   * Without this, the events could be deleted before they are dead letters.
   */
  #expireStored(now: number): void {
    const isExpired = ({ eventId, stored }: Item) =>
      Math.max(timeOfId(eventId), this.#circuit.openedAt ?? 0, stored?.firstFailedAt ?? 0) + retryMs <= now
    for (const line of this.#queue.lines()) {
      if (line.state === 'busy' || !line.items.some(isExpired)) continue
      const { state, dueAt } = line
      this.#queue.takeLine(line)
      for (const item of line.items.filter(isExpired)) {
        this.#makeDeadLetter(line, item, { state: 'failed' })
      }
      if (state === 'blocked' && line.items.length > 0) this.#queue.block(line, dueAt)
      else this.#queue.release(line)
    }
  }

  #mustFlush(): boolean {
    if (this.#flushing !== undefined) return false
    if (this.#results.size >= limits.groups.results) return true
    if (this.#results.firstAtMs !== undefined) return performance.now() - this.#results.firstAtMs >= limits.groups.ms
    return this.#queue.position > this.#savedPosition && performance.now() - this.#flushAtMs >= limits.skippedMs
  }

  /** Stores results until they are stored or the lease is lost. */
  #flush(): Promise<void> {
    const results = this.#results
    this.#results = new Results()
    this.#flushAtMs = performance.now()
    this.#flushing = this.#save(results)
      .then(() => {
        this.#flushFailed = false
      })
      .catch((error: unknown) => {
        if (!isTransient(error)) {
          this.#failure = error
          return
        }
        this.#results = new Results(results, this.#results)
        this.#flushFailed = true
        this.#pauseWork(error)
      })
      .finally(() => {
        this.#flushing = undefined
        this.#wake()
      })
    return this.#flushing
  }

  /** Stores results and the position in one transaction. If the lease is lost, nothing is stored and the runner ends. */
  async #save({ inserts, updates, dueNow }: Results, { releases = false } = {}): Promise<void> {
    const { context, tenant, subscription } = this.#options
    const now = this.#now()
    const { subscriptionId } = this.lease
    const position = this.#queue.position
    const progress: store.ProgressWrite = {
      position,
      ...this.#queue.finished,
      ...this.#circuit.state,
      wakeAt: this.#wakeAt(),
      ...this.#last,
      stoppedReason: releases ? (this.#stopReason ?? null) : null,
      releases,
    }
    const isSaved = await context.database
      .transaction(tenant, async (tx) => {
        const saving = store.saveProgress(tx, this.lease, { progress, now })
        const writing = Promise.all([
          ...(dueNow ? [makeDue(tx, subscriptionId, new Date(now))] : []),
          store.insertDeliveries(tx, subscriptionId, { rows: inserts, now }),
          store.updateDeliveries(tx, subscriptionId, updates),
        ])
        const [saved] = await Promise.all([saving, writing])
        if (!saved) throw new LeaseLost()
        if (progress.stoppedReason !== null)
          await reportStopped(tx, { tenantName: tenant.tenantName, subscription, reason: progress.stoppedReason })
        return true
      })
      .catch((error: unknown) => {
        if (error instanceof LeaseLost) return false
        throw error
      })
    if (isSaved) this.#savedPosition = position
    else this.abandon()
  }

  #remaining(tail: Tail): RunnerEnd {
    if (this.#ending !== undefined || this.#stopReason !== undefined)
      return { wakeAt: null, hasMore: this.#ending === 'lost' }
    return { wakeAt: this.#wakeAt(), hasMore: !this.#circuit.isOpen && tail.newest > this.#queue.read }
  }

  /** Returns the time of the next attempt. */
  #wakeAt(): number | null {
    if (this.#circuit.isOpen) return this.#circuit.blockedUntil
    if (this.#queue.hasReady || this.#running > 0 || this.#stale.length > 0) return this.#now()
    const next = this.#queue.nextDueAt
    return Number.isFinite(next) ? next : null
  }

  /** Waits for running requests for a short time, stores all known results, and releases the lease. */
  async #end(): Promise<void> {
    const deadline = performance.now() + limits.graceMs
    while (this.#ending !== 'lost' && this.#running > 0 && performance.now() < deadline) {
      const timer = setTimeout(() => this.#wake(), deadline - performance.now())
      await this.#wakeup.promise
      clearTimeout(timer)
      this.#wakeup = Promise.withResolvers()
    }
    this.#abort.abort()
    await this.#flushing
    if (this.#ending === 'lost') return
    await this.#save(this.#results, { releases: true })
  }
}

class LeaseLost extends Error {}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}
