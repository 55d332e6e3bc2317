import { setTimeout as sleep } from 'node:timers/promises'
import { pause } from '@millwright/api/back-off.ts'
import { v7 } from 'uuid'
import type { Database } from '../database/database.ts'
import { isTransient, lostWorkerOf } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { type Capacity, type ClaimedWork, claimWork, type Lane, laneOf, periodicKey } from './claim.ts'
import { retryDelayMs } from './retry.ts'
import { Run, type RunOutcome } from './run.ts'
import * as store from './store.ts'
import type { TaskKind } from './task.ts'

export type WorkerOptions = {
  database: Database
  log: Log
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
/** The longest pause between two attempts during an outage of the database. */
const longestPauseMs = 5_000

type Tenant = {
  woken: Set<string>
  /** The time at which the minimum pause ends, for each kind that ran recently. */
  pausedUntil: Map<string, number>
  idleSince: Map<string, number>
  /** True if this process has created the periodic tasks of the tenant. */
  prepared: boolean
  runs: Map<Run, Promise<RunOutcome>>
  timer: { at: number; handle: NodeJS.Timeout } | undefined
  /** A promise that settles when the last check of the tenant has ended. */
  turn: Promise<unknown>
}

/**
 * `Worker` decides when each tenant is checked for due tasks. It claims the tasks and runs them. After a signal, a
 * tenant is checked soon. A sweep checks all tenants at an interval, after the tenants with signals. A tenant whose
 * tasks exceed the capacity is checked again when a run of the same lane ends.
 */
export class Worker {
  readonly kinds = new Map<string, TaskKind>()
  readonly counts = { done: 0, retried: 0, failed: 0, lost: 0, checks: 0, sweeps: 0 }
  readonly #options: Required<WorkerOptions>
  readonly #tenants = new Map<string, Tenant>()
  readonly #urgent = new Set<string>()
  readonly #routine = new Set<string>()
  /** The tenants that wait for a free place in a lane, each with the queue that it waits in afterwards. */
  readonly #starved: Record<Lane, Map<string, Set<string>>> = { periodic: new Map(), ordinary: new Map() }
  readonly #runs = new Map<string, Run>()
  readonly #beforeStop: (() => Promise<void>)[] = []
  #stopped: AbortController | undefined
  #pumping: Promise<void> | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #failures = 0

  constructor(options: WorkerOptions) {
    const defaults = { concurrency: 4, periodicConcurrency: 2, sweepMs: 5_000, debounceMs: 10, graceMs: 3_000 }
    this.#options = { ...defaults, ...options }
  }

  get running(): number {
    return this.#runs.size
  }

  get queued(): number {
    return this.#urgent.size + this.#routine.size
  }

  get #working(): boolean {
    return this.#stopped !== undefined && !this.#stopped.signal.aborted
  }

  define(name: string, kind: TaskKind): void {
    this.kinds.set(name, kind)
    for (const tenant of this.#tenants.values()) tenant.prepared = false
  }

  start(): void {
    if (this.#working) return
    this.#stopped = new AbortController()
    void this.#sweep()
  }

  beforeStop(work: () => Promise<void>): void {
    this.#beforeStop.push(work)
  }

  /** Stops claiming tasks, waits for running tasks up to the grace period, then aborts them. */
  async stop(): Promise<void> {
    this.#stopped?.abort()
    clearTimeout(this.#sweepTimer)
    for (const tenant of this.#tenants.values()) {
      clearTimeout(tenant.timer?.handle)
      tenant.timer = undefined
    }
    await this.#pumping
    const ended = () => Promise.all([...this.#tenants.values()].flatMap((tenant) => [...tenant.runs.values()]))
    await within(this.#options.graceMs, Promise.all([ended(), ...this.#beforeStop.map((work) => work())]))
    if (this.#runs.size === 0) return
    for (const run of this.#runs.values()) run.stop()
    await within(this.#options.graceMs / 10, ended())
  }

  /** Makes a periodic task due soon. If a run of its kind is in progress, the check after that run claims the task. */
  wake(tenantId: string, kind: string): void {
    const { woken, runs } = this.#tenant(tenantId)
    woken.add(kind)
    const ownRuns = [...runs.keys()].filter((run) => run.claimed.kind === kind)
    for (const run of ownRuns) run.wake()
    if (ownRuns.length > 0) return
    this.#checkIn(tenantId, Math.max(this.#options.debounceMs, this.#pauseMs(tenantId, kind)))
  }

  /** Checks a tenant soon. A burst of commits causes one check. */
  checkSoon(tenantId: string): void {
    this.#checkIn(tenantId, this.#options.debounceMs)
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
      const { work, runs } = await this.#serialized(tenant, async () => {
        tenant.idleSince.clear()
        tenant.pausedUntil.clear()
        const kinds = new Map([...this.kinds].filter(([name]) => !ranOnce.has(name)))
        const claimed = await this.#claim(tenantId, { kinds, capacity: { periodic: 1, ordinary: 1 }, at })
        return { work: claimed, runs: claimed.tasks.map((task) => this.#run(tenantId, task)) }
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
    const sweepMs = Math.max(this.#options.sweepMs, tenants.length * sweepPerTenantMs)
    this.#sweepTimer = setTimeout(() => void this.#sweep(), sweepMs * (0.9 + 0.2 * Math.random()))
  }

  #checkIn(tenantId: string, delayMs: number): void {
    if (!this.#working) return
    const tenant = this.#tenant(tenantId)
    const at = performance.now() + delayMs
    if (tenant.timer !== undefined && tenant.timer.at <= at) return
    clearTimeout(tenant.timer?.handle)
    const handle = setTimeout(() => {
      tenant.timer = undefined
      this.#urgent.add(tenantId)
      this.#pump()
    }, delayMs)
    tenant.timer = { at, handle }
  }

  #pump(): void {
    this.#pumping ??= this.#drain().finally(() => {
      this.#pumping = undefined
      // The worker continues if a tenant was queued after the last check of the queue.
      if (this.#working && this.#nextQueue(this.#capacity()) !== undefined) this.#pump()
    })
  }

  async #drain(): Promise<void> {
    while (this.#working) {
      const capacity = this.#capacity()
      const queue = this.#nextQueue(capacity)
      if (queue === undefined) return
      const [tenantId = ''] = queue
      this.#urgent.delete(tenantId)
      this.#routine.delete(tenantId)
      try {
        await this.#check(tenantId, { capacity, queue })
        this.#failures = 0
      } catch (error) {
        await this.#backOff(error)
      }
    }
  }

  /** Returns the queue whose first tenant is checked next. A sweep mainly finds periodic tasks, so it waits for their lane. */
  #nextQueue({ periodic, ordinary }: Capacity): Set<string> | undefined {
    if (this.#urgent.size > 0) return periodic > 0 || ordinary > 0 ? this.#urgent : undefined
    return this.#routine.size > 0 && periodic > 0 ? this.#routine : undefined
  }

  async #check(tenantId: string, { capacity, queue }: { capacity: Capacity; queue: Set<string> }): Promise<void> {
    const tenant = this.#tenant(tenantId)
    // The woken kinds whose minimum pause has not ended. They are checked again after their pause, even if the pause
    // ends during this check.
    const paused = [...tenant.woken].filter((kind) => this.#pauseMs(tenantId, kind) > 0)
    const work = await this.#serialized(tenant, async () => {
      const claimed = await this.#claim(tenantId, { kinds: this.kinds, capacity, at: null })
      for (const task of claimed.tasks) void this.#run(tenantId, task)
      return claimed
    })
    for (const lane of work.full) this.#awaitPlace(tenantId, { lane, queue })
    const isWaiting = (kind: string) => !paused.includes(kind) && !busyKinds(tenant).has(kind)
    if ([...tenant.woken].some(isWaiting)) this.#awaitPlace(tenantId, { lane: 'periodic', queue: this.#urgent })
    const pauses = paused.map((kind) => this.#pauseMs(tenantId, kind))
    const nextInMs = Math.min(work.nextInMs ?? Infinity, ...pauses)
    if (nextInMs < this.#options.sweepMs) this.#checkIn(tenantId, Math.max(1, nextInMs))
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
    if (!isTransient(error) || lostWorkerOf(error) !== undefined) return
    this.#failures++
    await pause(Math.min(longestPauseMs, retryDelayMs(this.#failures)), this.#stopped?.signal)
  }

  async #claim(
    tenantId: string,
    { kinds, capacity, at }: { kinds: ReadonlyMap<string, TaskKind>; capacity: Capacity; at: Date | null },
  ): Promise<ClaimedWork> {
    const { database } = this.#options
    const tenant = this.#tenant(tenantId)
    this.counts.checks++
    if (!tenant.prepared) {
      await this.#prepare(tenantId)
      tenant.prepared = true
    }
    // A kind that runs or pauses stays in `woken`, and is claimed later.
    const busy = busyKinds(tenant)
    const woken = [...tenant.woken]
      .filter((kind) => !busy.has(kind) && this.#pauseMs(tenantId, kind) === 0)
      .slice(0, Math.max(0, capacity.periodic))
    for (const kind of woken) tenant.woken.delete(kind)
    try {
      return await claimWork(database, { tenantId, kinds, woken, capacity, idleSince: tenant.idleSince, at })
    } catch (error) {
      for (const kind of woken) tenant.woken.add(kind)
      throw error
    }
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

  async #run(tenantId: string, claimed: store.ClaimedTask): Promise<RunOutcome> {
    const { database, log } = this.#options
    const kind = this.kinds.get(claimed.kind)
    if (kind === undefined) throw new TypeError(`The task kind ${claimed.kind} is not defined`)
    const tenant = this.#tenant(tenantId)
    if (kind.periodic?.minPauseMs !== undefined)
      tenant.pausedUntil.set(claimed.kind, performance.now() + kind.periodic.minPauseMs)
    const mayDelayOthers = () => this.#capacity()[laneOf(kind)] <= 0
    const run = new Run({ database, log, tenantId, claimed, kind, mayDelayOthers })
    const outcome = run.execute()
    this.#runs.set(run.ticket, run)
    tenant.runs.set(run, outcome)
    try {
      const result = await outcome
      this.counts[result]++
      return result
    } finally {
      this.#runs.delete(run.ticket)
      tenant.runs.delete(run)
      this.#afterRun(tenantId, laneOf(kind))
    }
  }

  #afterRun(tenantId: string, lane: Lane): void {
    if (!this.#working) return
    for (const [starved, queue] of this.#starved[lane]) queue.add(starved)
    this.#starved[lane].clear()
    this.#urgent.add(tenantId)
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
        pausedUntil: new Map(),
        idleSince: new Map(),
        prepared: false,
        runs: new Map(),
        timer: undefined,
        turn: Promise.resolve(),
      }
      this.#tenants.set(tenantId, tenant)
    }
    return tenant
  }
}

/** Returns the kinds of which a run is in progress. The check after that run claims them again. */
function busyKinds({ runs }: Pick<Tenant, 'runs'>): ReadonlySet<string> {
  return new Set([...runs.keys()].map((run) => run.claimed.kind))
}

/** Waits until the work ends or the time limit is reached. No timer is left afterwards. */
async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, sleep(limitMs, undefined, { signal: timer.signal })]).catch(() => {})
  timer.abort()
}
