import { setTimeout as sleep } from 'node:timers/promises'
import { pause } from '@millwright/api/back-off.ts'
import type { Tracer } from '@millwright/api/tracing.ts'
import { v7 } from 'uuid'
import type { Database } from '../database/database.ts'
import { isLostWorker, isTransient } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { createWork, runAs } from '../work.ts'
import {
  type Capacity,
  type ClaimedWork,
  claimWork,
  findDue,
  type Lane,
  laneOf,
  nothingClaimed,
  nothingDue,
  pendingKindsOf,
  periodicKey,
} from './claim.ts'
import { heartbeatMs, silenceMs } from './heartbeats.ts'
import { retryDelayMs } from './retry.ts'
import { Run, type RunOutcome, defaults as taskDefaults } from './run.ts'
import * as store from './store.ts'
import { type TaskKind, takeoverMs } from './task.ts'

export type WorkerOptions = {
  database: Database
  log: Log
  /** Undefined if no traces are exported. */
  tracer?: Tracer | undefined
  /** Called when a run has ended. */
  onRan?: (run: { kind: string; outcome: RunOutcome; ms: number }) => void
  /** The maximum number of ordinary tasks that run at the same time in this process. */
  concurrency?: number
  periodicConcurrency?: number
  /** How often the worker checks all tenants. This check finds the tasks of processes that died. */
  sweepMs?: number
  /** How long the worker waits for more signals before it checks a tenant. */
  debounceMs?: number
  /** How long `stop` waits for running tasks. */
  graceMs?: number
}

/** The pause per tenant in a sweep. It limits the sweep to fifty tenants per second. */
const sweepPerTenantMs = 20
const pollElsewhereMs = 5
/** The number of tenants that are checked at the same time. A sweep checks one tenant at a time. */
const checksAtOnce = 4
/** After this time, the leases of a process that has ended are over, and a takeover checks all tenants again. */
const secondTakeoverMs = taskDefaults.leaseMs - silenceMs + heartbeatMs + 500
/** The shortest time between the first searches of two takeovers. */
const takeoverPauseMs = 1_000
/** The longest pause between two attempts during an outage of the database. */
const longestPauseMs = 5_000

const defaults = { concurrency: 4, periodicConcurrency: 2, sweepMs: 5_000, debounceMs: 10, graceMs: 3_000 }

/** `search` finds and claims due tasks and woken tasks. `claim` only claims woken tasks, which costs no search. */
type Check = 'search' | 'claim'

type Tenant = {
  woken: Set<string>
  /** True if the next check searches for due tasks. Otherwise it only claims the woken tasks. */
  mustSearch: boolean
  /** The time at which the minimum pause ends, for each kind that ran recently. */
  pausedUntil: Map<string, number>
  idleSince: Map<string, number>
  /** True if this process has created the periodic tasks of the tenant. */
  prepared: boolean
  runs: Map<Run, Promise<RunOutcome>>
  timers: Record<Check, { at: number; handle: NodeJS.Timeout } | undefined>
  /** A promise that settles when the last check of the tenant has ended. */
  turn: Promise<unknown>
}

type ClaimOptions = {
  kinds: ReadonlyMap<string, TaskKind>
  mustSearch: boolean
  /** The default is the number of free places. */
  capacity?: Capacity
  /** Claims nothing if this signal is aborted. */
  signal?: AbortSignal | undefined
  at: Date | null
}

type StartedWork = { work: ClaimedWork; runs: Promise<RunOutcome>[] }

/**
 * `Worker` decides when each tenant is checked for due tasks. It claims the tasks and runs them. A signal names the
 * tasks to run, so they are claimed soon and without a search for due tasks. A sweep checks all tenants at an interval,
 * after the tenants with signals. With many tenants, the interval is longer, so that the cost of sweeps is limited. When
 * another process has ended, a takeover checks all tenants as fast as it can. Several tenants are checked at the same time,
 * and their tasks are claimed one tenant at a time. A tenant whose tasks exceed the capacity is checked again when a run of
 * the same lane ends.
 */
export class Worker {
  readonly kinds = new Map<string, TaskKind>()
  readonly counts = { done: 0, retried: 0, failed: 0, lost: 0, checks: 0, searches: 0, sweeps: 0, takeovers: 0 }
  readonly #options: WorkerOptions & typeof defaults
  readonly #tenants = new Map<string, Tenant>()
  readonly #urgent = new Set<string>()
  /** The tenants in which a process that has ended may have left work. */
  readonly #abandoned = new Set<string>()
  readonly #routine = new Set<string>()
  /** The tenants that wait for a free place in a lane, each with the queue that it waits in afterwards. */
  readonly #starved: Record<Lane, Map<string, Set<string>>> = { periodic: new Map(), ordinary: new Map() }
  readonly #runs = new Map<string, Run>()
  readonly #beforeStop: (() => Promise<void>)[] = []
  #stopped: AbortController | undefined
  readonly #checks = new Set<Promise<void>>()
  /** True while a tenant is checked because of a sweep. */
  #isSweeping = false
  /** Settles when the last claim has ended. */
  #lastClaim: Promise<unknown> = Promise.resolve()
  #sweepTimer: NodeJS.Timeout | undefined
  /** The time between two sweeps. */
  #sweepIntervalMs: number
  /** The time of the last takeover. */
  #tookOverAtMs = -Infinity
  #nextTakeover: NodeJS.Timeout | undefined
  #takeoverTimer: NodeJS.Timeout | undefined
  #pendingKinds: store.PendingKinds | undefined
  #failures = 0

  constructor(options: WorkerOptions) {
    this.#options = { ...defaults, ...options }
    this.#sweepIntervalMs = this.#options.sweepMs
  }

  get running(): number {
    return this.#runs.size
  }

  get queued(): number {
    return this.#urgent.size + this.#abandoned.size + this.#routine.size
  }

  get #working(): boolean {
    return this.#stopped !== undefined && !this.#stopped.signal.aborted
  }

  define(name: string, kind: TaskKind): void {
    this.kinds.set(name, kind)
    this.#pendingKinds = undefined
    for (const tenant of this.#tenants.values()) tenant.prepared = false
  }

  start(): void {
    if (this.#working) return
    this.#stopped = new AbortController()
    void this.#sweep()
  }

  /**
   * Searches all tenants for the work of a process that has ended. The second search finds the work whose leases were still
   * valid during the first one. Calls within a second share their searches, because every user of the database can send the
   * notification that a process has ended.
   */
  takeOver(): void {
    if (!this.#working || this.#nextTakeover !== undefined) return
    const delayMs = Math.max(0, this.#tookOverAtMs + takeoverPauseMs - performance.now())
    this.#nextTakeover = setTimeout(() => {
      this.#nextTakeover = undefined
      this.#tookOverAtMs = performance.now()
      this.counts.takeovers++
      void this.#queueAbandoned()
      clearTimeout(this.#takeoverTimer)
      this.#takeoverTimer = setTimeout(() => void this.#queueAbandoned(), secondTakeoverMs).unref()
    }, delayMs).unref()
  }

  beforeStop(work: () => Promise<void>): void {
    this.#beforeStop.push(work)
  }

  /** Stops claiming tasks, waits for running tasks up to the grace period, then aborts them. */
  async stop(): Promise<void> {
    this.#stopped?.abort()
    clearTimeout(this.#sweepTimer)
    clearTimeout(this.#nextTakeover)
    this.#nextTakeover = undefined
    clearTimeout(this.#takeoverTimer)
    for (const { timers } of this.#tenants.values()) {
      for (const check of ['search', 'claim'] as const) {
        clearTimeout(timers[check]?.handle)
        timers[check] = undefined
      }
    }
    await Promise.all(this.#checks)
    const ended = () => Promise.all([...this.#tenants.values()].flatMap((tenant) => [...tenant.runs.values()]))
    await within(this.#options.graceMs, Promise.all([ended(), ...this.#beforeStop.map((work) => work())]))
    if (this.#runs.size === 0) return
    for (const run of this.#runs.values()) run.stop()
    await within(this.#options.graceMs / 10, ended())
  }

  /** Makes a periodic task due soon. If a run of its kind is in progress, the task is claimed after that run. */
  wake(tenantId: string, kind: string): void {
    const { woken, runs } = this.#tenant(tenantId)
    woken.add(kind)
    const ownRuns = [...runs.keys()].filter((run) => run.claimed.kind === kind)
    for (const run of ownRuns) run.wake()
    if (ownRuns.length > 0) return
    this.#checkIn(tenantId, Math.max(this.#options.debounceMs, this.#pauseMs(tenantId, kind)), 'claim')
  }

  /** Searches for due tasks of a tenant soon. A burst of commits causes one search. */
  searchSoon(tenantId: string): void {
    this.#checkIn(tenantId, this.#options.debounceMs, 'search')
  }

  /** Records that the transaction that ended the task of a run is committed. */
  confirmEnded(ticket: string): void {
    this.#runs.get(ticket)?.confirmEnded()
  }

  /** Runs all due tasks of a tenant, in order. Returns the number of tasks that ran. */
  async runDue(tenantId: string, at: Date | null): Promise<number> {
    const tenant = this.#tenant(tenantId)
    const ranOnce = new Set<string>()
    for (let count = 0; ; ) {
      // This wait is outside the critical section. A running task may wait for the effect of another task, and claiming
      // that other task needs the critical section.
      await Promise.all(tenant.runs.values())
      const { work, runs } = await this.#serialized(tenant, () => {
        tenant.idleSince.clear()
        tenant.pausedUntil.clear()
        const kinds = new Map([...this.kinds].filter(([name]) => !ranOnce.has(name)))
        return this.#claim(tenantId, { kinds, mustSearch: true, capacity: { periodic: 1, ordinary: 1 }, at })
      })
      await Promise.all(runs)
      count += work.tasks.length
      // A periodic task becomes due again soon after its run. With a future `at` it would run without end, so it runs
      // once.
      if (at !== null) for (const { kind } of work.tasks) if (this.#isPeriodic(kind)) ranOnce.add(kind)
      if (work.tasks.length > 0 || tenant.runs.size > 0) continue
      if (!work.periodicElsewhere) return count
      await sleep(pollElsewhereMs)
    }
  }

  async #sweep(): Promise<void> {
    let tenants: string[] = []
    try {
      tenants = await this.#options.database.reference(store.activeTenants)
      for (const tenantId of tenants) this.#routine.add(tenantId)
      this.counts.sweeps++
      this.#pump()
    } catch (error) {
      this.#options.log.warn({ error }, 'The tenants cannot be listed for background work')
    }
    if (!this.#working) return
    this.#sweepIntervalMs = Math.max(this.#options.sweepMs, tenants.length * sweepPerTenantMs)
    this.#sweepTimer = setTimeout(() => void this.#sweep(), this.#sweepIntervalMs * (0.9 + 0.2 * Math.random()))
  }

  /** Queues all tenants. Work that another process may have left is searched even if there was none recently. */
  async #queueAbandoned(): Promise<void> {
    try {
      const tenants = await this.#options.database.reference(store.activeTenants)
      // Each process has another order, so that several processes find the work sooner.
      for (const tenantId of shuffled(tenants)) {
        const { idleSince } = this.#tenant(tenantId)
        for (const kind of idleSince.keys())
          if ((this.kinds.get(kind)?.periodic?.everyMs ?? 0) <= takeoverMs) idleSince.delete(kind)
        this.#abandoned.add(tenantId)
      }
      this.#pump()
    } catch (error) {
      this.#options.log.warn({ error }, 'The tenants cannot be listed to take over the work of another process')
    }
  }

  #pending(): store.PendingKinds {
    this.#pendingKinds ??= pendingKindsOf(this.kinds)
    return this.#pendingKinds
  }

  #checkIn(tenantId: string, delayMs: number, check: Check): void {
    if (!this.#working) return
    const tenant = this.#tenant(tenantId)
    const at = performance.now() + delayMs
    const timer = tenant.timers[check]
    if (timer !== undefined && timer.at <= at) return
    clearTimeout(timer?.handle)
    const handle = setTimeout(() => {
      tenant.timers[check] = undefined
      tenant.mustSearch ||= check === 'search'
      this.#urgent.add(tenantId)
      this.#pump()
    }, delayMs)
    tenant.timers[check] = { at, handle }
  }

  /** Checks the queued tenants, several at the same time. */
  #pump(): void {
    while (this.#working && this.#checks.size < checksAtOnce) {
      const queue = this.#nextQueue(this.#capacity())
      if (queue === undefined) return
      const [tenantId = ''] = queue
      this.#urgent.delete(tenantId)
      for (const searched of [this.#abandoned, this.#routine])
        if (searched.delete(tenantId)) this.#tenant(tenantId).mustSearch = true
      this.#isSweeping ||= queue === this.#routine
      const check = this.#check(tenantId, queue)
        .then(
          () => {
            this.#failures = 0
          },
          (error: unknown) => this.#backOff(error),
        )
        .finally(() => {
          this.#checks.delete(check)
          if (queue === this.#routine) this.#isSweeping = false
          this.#pump()
        })
      this.#checks.add(check)
    }
  }

  /** Returns the queue whose first tenant is checked next. A sweep mainly finds periodic tasks, so it waits for their lane. */
  #nextQueue({ periodic, ordinary }: Capacity): Set<string> | undefined {
    for (const queue of [this.#urgent, this.#abandoned])
      if (queue.size > 0) return periodic > 0 || ordinary > 0 ? queue : undefined
    return this.#routine.size > 0 && periodic > 0 && !this.#isSweeping ? this.#routine : undefined
  }

  async #check(tenantId: string, queue: Set<string>): Promise<void> {
    const tenant = this.#tenant(tenantId)
    const { mustSearch } = tenant
    tenant.mustSearch = false
    // The woken kinds whose minimum pause has not ended. They are checked again after their pause, even if the pause
    // ends during this check.
    const paused = [...tenant.woken].filter((kind) => this.#pauseMs(tenantId, kind) > 0)
    const { work } = await this.#serialized(tenant, () =>
      this.#claim(tenantId, { kinds: this.kinds, mustSearch, at: null, signal: this.#stopped?.signal }),
    ).catch((error: unknown) => {
      tenant.mustSearch ||= mustSearch
      throw error
    })
    if (work.full.size > 0) tenant.mustSearch = true
    for (const lane of work.full) this.#awaitPlace(tenantId, { lane, queue })
    const isWaiting = (kind: string) => !paused.includes(kind) && !busyKinds(tenant).has(kind)
    if ([...tenant.woken].some(isWaiting)) this.#awaitPlace(tenantId, { lane: 'periodic', queue: this.#urgent })
    for (const kind of paused) this.#checkIn(tenantId, Math.max(1, this.#pauseMs(tenantId, kind)), 'claim')
    if (work.missed) this.searchSoon(tenantId)
    this.#searchBeforeSweep(tenantId, work.nextInMs)
  }

  /** Searches for due tasks at this time, unless the next sweep comes first. */
  #searchBeforeSweep(tenantId: string, inMs = Infinity): void {
    if (inMs < this.#sweepIntervalMs) this.#checkIn(tenantId, Math.max(1, inMs), 'search')
  }

  /** Queues a tenant when a place of the lane is free. A run can have ended during the check that found no place. */
  #awaitPlace(tenantId: string, { lane, queue }: { lane: Lane; queue: Set<string> }): void {
    if (this.#capacity()[lane] > 0) queue.add(tenantId)
    else if (this.#starved[lane].get(tenantId) !== this.#urgent) this.#starved[lane].set(tenantId, queue)
  }

  /** Returns how long the minimum pause of a kind in a tenant still lasts. */
  #pauseMs(tenantId: string, kind: string): number {
    return Math.max(0, (this.#tenant(tenantId).pausedUntil.get(kind) ?? 0) - performance.now())
  }

  /** Runs one check of a tenant at a time, so that each check sees the runs that earlier checks started. */
  #serialized<Result>(tenant: Tenant, check: () => Promise<Result>): Promise<Result> {
    const turn = tenant.turn.then(check)
    tenant.turn = turn.catch(() => {})
    return turn
  }

  /**
   * Handles a failed check. The next sweep checks the tenant again. During an outage of the database, the worker pauses
   * before the next tenant. It does not pause if only a worker of a cluster is lost, because other tenants are not
   * affected.
   */
  async #backOff(error: unknown): Promise<void> {
    this.#options.log.warn({ error }, 'The check for background work failed')
    if (!isTransient(error) || isLostWorker(error)) return
    this.#failures++
    await pause(Math.min(longestPauseMs, retryDelayMs(this.#failures)), this.#stopped?.signal)
  }

  /** Claims due tasks of a tenant and starts their runs. */
  async #claim(tenantId: string, { kinds, capacity, at, signal, ...options }: ClaimOptions): Promise<StartedWork> {
    const { database } = this.#options
    const tenant = this.#tenant(tenantId)
    const mustSearch = options.mustSearch || !tenant.prepared
    this.counts.checks++
    if (!tenant.prepared) {
      await this.#prepare(tenantId)
      tenant.prepared = true
    }
    const search = { tenantId, kinds, pendingKinds: this.#pending(), idleSince: tenant.idleSince, at }
    if (mustSearch) this.counts.searches++
    const found = mustSearch ? await findDue(database, search) : nothingDue
    const nothing = { work: { ...nothingClaimed, ...found }, runs: [] }
    if (found.due.length === 0 && tenant.woken.size === 0) return nothing
    return this.#oneClaimAtATime(async () => {
      if (signal?.aborted) return nothing
      const places = capacity ?? this.#capacity()
      // A kind that runs or pauses stays in `woken`, and is claimed later.
      const busy = busyKinds(tenant)
      const woken = [...tenant.woken]
        .filter((kind) => !busy.has(kind) && this.#pauseMs(tenantId, kind) === 0)
        .slice(0, Math.max(0, places.periodic))
      for (const kind of woken) tenant.woken.delete(kind)
      try {
        const work = await claimWork(database, { ...search, woken, capacity: places }, found)
        return { work, runs: work.tasks.map((task) => this.#run(tenantId, task)) }
      } catch (error) {
        for (const kind of woken) tenant.woken.add(kind)
        throw error
      }
    })
  }

  /** Runs one claim at a time, so that each claim sees the places that the runs of earlier claims use. */
  #oneClaimAtATime<Result>(claim: () => Promise<Result>): Promise<Result> {
    const claimed = this.#lastClaim.then(claim)
    this.#lastClaim = claimed.catch(() => {})
    return claimed
  }

  /**
   * Makes all periodic tasks of a tenant due at the first check, because another process may have died before it ran
   * them.
   */
  async #prepare(tenantId: string): Promise<void> {
    const kinds = [...this.kinds.keys()].filter((name) => this.#isPeriodic(name))
    if (kinds.length === 0) return
    await this.#options.database.transaction({ tenantId }, (tx) =>
      store.forwardPeriodic(tx, { ids: kinds.map(() => v7()), kinds, key: periodicKey }),
    )
  }

  /** Executes a run. It continues the trace of the request or task that enqueued its task. */
  async #traced(run: Run): Promise<RunOutcome> {
    const { kind, attempts, traceparent } = run.claimed
    const span = this.#options.tracer?.start(`task ${kind}`, {
      kind: 'consumer',
      parent: traceparent ?? undefined,
      attributes: { 'millwright.task.kind': kind, 'millwright.task.attempt': attempts },
    })
    const work = createWork(span)
    const outcome = await runAs(work, () => run.execute())
    span?.set({ 'millwright.task.outcome': outcome, 'millwright.database.statements': work.statements })
    span?.end(outcome === 'done' ? {} : { error: outcome })
    return outcome
  }

  async #run(tenantId: string, claimed: store.ClaimedTask): Promise<RunOutcome> {
    const { database, log } = this.#options
    const kind = this.kinds.get(claimed.kind)
    if (kind === undefined) throw new TypeError(`The task kind ${claimed.kind} is not defined`)
    const tenant = this.#tenant(tenantId)
    if (kind.periodic?.minPauseMs !== undefined)
      tenant.pausedUntil.set(claimed.kind, performance.now() + kind.periodic.minPauseMs)
    const mayDelayOthers = () => this.#capacity()[laneOf(kind)] <= 0
    const run = new Run({ database, log, tenantId, claimed, kind, mayDelayOthers })
    const startedAt = performance.now()
    const outcome = this.#traced(run)
    this.#runs.set(run.ticket, run)
    tenant.runs.set(run, outcome)
    try {
      const result = await outcome
      this.counts[result]++
      this.#options.onRan?.({ kind: claimed.kind, outcome: result, ms: performance.now() - startedAt })
      return result
    } finally {
      this.#runs.delete(run.ticket)
      tenant.runs.delete(run)
      this.#afterRun(tenantId, run)
    }
  }

  /**
   * Checks the tenants that wait for the place of this run. After an ordinary task, a task with the same key may be due.
   * A periodic task is alone, so only its own next time matters.
   */
  #afterRun(tenantId: string, { kind, nextInMs }: Run): void {
    if (!this.#working) return
    const tenant = this.#tenant(tenantId)
    const lane = laneOf(kind)
    for (const [starved, queue] of this.#starved[lane]) queue.add(starved)
    this.#starved[lane].clear()
    if (lane === 'ordinary' || nextInMs === undefined || nextInMs <= 0) tenant.mustSearch = true
    else this.#searchBeforeSweep(tenantId, nextInMs)
    if (tenant.mustSearch || tenant.woken.size > 0) this.#urgent.add(tenantId)
    this.#pump()
  }

  #capacity(): Capacity {
    const capacity = { periodic: this.#options.periodicConcurrency, ordinary: this.#options.concurrency }
    for (const run of this.#runs.values()) capacity[laneOf(run.kind)]--
    return capacity
  }

  #isPeriodic(kind: string): boolean {
    return this.kinds.get(kind)?.periodic !== undefined
  }

  #tenant(tenantId: string): Tenant {
    let tenant = this.#tenants.get(tenantId)
    if (tenant === undefined) {
      tenant = {
        woken: new Set(),
        mustSearch: false,
        pausedUntil: new Map(),
        idleSince: new Map(),
        prepared: false,
        runs: new Map(),
        timers: { search: undefined, claim: undefined },
        turn: Promise.resolve(),
      }
      this.#tenants.set(tenantId, tenant)
    }
    return tenant
  }
}

/** Returns the kinds of which a run is in progress. They are claimed again after that run. */
function busyKinds({ runs }: Pick<Tenant, 'runs'>): ReadonlySet<string> {
  return new Set([...runs.keys()].map((run) => run.claimed.kind))
}

function shuffled(ids: readonly string[]): string[] {
  return ids
    .map((id) => ({ id, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ id }) => id)
}

/** Waits until the work ends or the time limit is reached. No timer is left afterwards. */
async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, sleep(limitMs, undefined, { signal: timer.signal })]).catch(() => {})
  timer.abort()
}
