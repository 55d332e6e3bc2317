import { setTimeout as sleep } from 'node:timers/promises'
import { pause } from '@millwright/api/back-off.ts'
import { v7 } from 'uuid'
import type { Database } from '../database/database.ts'
import { isTransient } from '../database/transient.ts'
import type { Log } from '../log.ts'
import { claimWork, type Found, laneOf, type Room, standingKey } from './claim.ts'
import type { JobKind } from './job.ts'
import { retryDelayMs } from './retry.ts'
import { Run, type RunOutcome } from './run.ts'
import * as store from './store.ts'

export type WorkerOptions = {
  database: Database
  log: Log
  /** How many jobs run at once in this process, besides `standing` ones. */
  concurrency?: number
  standingConcurrency?: number
  /** How often every tenant is looked at, so that work of a process that died is found. */
  sweepMs?: number
  /** How long a signal waits for more of its kind. */
  debounceMs?: number
  /** How long `stop` waits for what runs. */
  graceMs?: number
}

/** No more tenants than fifty a second are looked at for no reason. */
const sweepPerTenantMs = 20
const elsewhereMs = 5
/** Between two looks at a database that does not work. */
const longestPauseMs = 5_000

type Tenant = {
  woken: Set<string>
  /** Until when kinds rest that ran a moment ago. */
  restUntil: Map<string, number>
  askedAt: Map<string, number>
  /** Has its standing jobs, as far as this process knows. */
  prepared: boolean
  runs: Map<Run, Promise<RunOutcome>>
  timer: { at: number; handle: NodeJS.Timeout } | undefined
  /** Settled when nobody looks at it. */
  turn: Promise<unknown>
}

/** Decides which tenant is looked at when, and runs what is found. */
export class Worker {
  readonly kinds = new Map<string, JobKind>()
  readonly counts = { done: 0, retried: 0, failed: 0, lost: 0, looks: 0, sweeps: 0 }
  readonly #options: Required<WorkerOptions>
  readonly #tenants = new Map<string, Tenant>()
  readonly #urgent = new Set<string>()
  readonly #routine = new Set<string>()
  readonly #starved = new Set<string>()
  readonly #runs = new Map<string, Run>()
  #stopped: AbortController | undefined
  #pumping: Promise<void> | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #failures = 0

  constructor(options: WorkerOptions) {
    const defaults = { concurrency: 4, standingConcurrency: 2, sweepMs: 5_000, debounceMs: 10, graceMs: 3_000 }
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

  define(name: string, kind: JobKind): void {
    this.kinds.set(name, kind)
    for (const tenant of this.#tenants.values()) tenant.prepared = false
  }

  start(): void {
    if (this.#working) return
    this.#stopped = new AbortController()
    void this.#sweep()
  }

  /** Takes nothing new, lets what runs come to its end for a while, then asks it to stop. */
  async stop(): Promise<void> {
    this.#stopped?.abort()
    clearTimeout(this.#sweepTimer)
    for (const tenant of this.#tenants.values()) {
      clearTimeout(tenant.timer?.handle)
      tenant.timer = undefined
    }
    await this.#pumping
    const ended = () => Promise.all([...this.#tenants.values()].flatMap((tenant) => [...tenant.runs.values()]))
    await within(this.#options.graceMs, ended())
    if (this.#runs.size === 0) return
    for (const run of this.#runs.values()) run.stop()
    await within(this.#options.graceMs / 10, ended())
  }

  /** What runs here is looked for again when it ends: until then there is nothing to see. */
  wake(tenantId: string, kind: string): void {
    const { woken, runs } = this.#tenant(tenantId)
    woken.add(kind)
    if ([...runs.keys()].some((run) => run.claimed.kind === kind)) return
    this.#attendIn(tenantId, Math.max(this.#options.debounceMs, this.#restMs(tenantId, kind)))
  }

  /** Soon, not at once: a burst of commits becomes one look. */
  attend(tenantId: string): void {
    this.#attendIn(tenantId, this.#options.debounceMs)
  }

  /** The job of a run was ended in a transaction that has been committed. */
  confirmEnded(ticket: string): void {
    this.#runs.get(ticket)?.confirmEnded()
  }

  /** Everything that is due in a tenant, one after the other; answers how many jobs ran. */
  async runDue(tenantId: string, at: Date | null): Promise<number> {
    const tenant = this.#tenant(tenantId)
    const rested = new Set<string>()
    for (let count = 0; ; ) {
      // Waited for outside the turn: a job may wait for the effect of another, which then must get its own.
      await Promise.all(tenant.runs.values())
      const { found, runs } = await this.#inTurn(tenant, async () => {
        tenant.askedAt.clear()
        tenant.restUntil.clear()
        const kinds = new Map([...this.kinds].filter(([name]) => !rested.has(name)))
        const work = await this.#look(tenantId, { kinds, room: { standing: 1, ordinary: 1 }, at })
        return { found: work, runs: work.claimed.map((job) => this.#run(tenantId, job)) }
      })
      await Promise.all(runs)
      count += found.claimed.length
      // A standing job is due again in a while, which a look far ahead would take for now, without end.
      if (at !== null) for (const { kind } of found.claimed) if (this.#isStanding(kind)) rested.add(kind)
      if (found.claimed.length > 0 || tenant.runs.size > 0) continue
      if (!found.standingElsewhere) return count
      await sleep(elsewhereMs)
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
      this.#options.log.warn({ error }, 'The tenants could not be listed for background work')
    }
    if (!this.#working) return
    const sweepMs = Math.max(this.#options.sweepMs, tenants.length * sweepPerTenantMs)
    this.#sweepTimer = setTimeout(() => void this.#sweep(), sweepMs * (0.9 + 0.2 * Math.random()))
  }

  #attendIn(tenantId: string, delayMs: number): void {
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
      // Something may have come in between the last look at the queue and here.
      if (this.#working && this.queued > 0 && hasRoom(this.#room())) this.#pump()
    })
  }

  async #drain(): Promise<void> {
    while (this.#working && this.queued > 0) {
      const room = this.#room()
      if (!hasRoom(room)) return
      const [tenantId = ''] = this.#urgent.size > 0 ? this.#urgent : this.#routine
      this.#urgent.delete(tenantId)
      this.#routine.delete(tenantId)
      try {
        await this.#visit(tenantId, room)
        this.#failures = 0
      } catch (error) {
        await this.#backOff(error)
      }
    }
  }

  async #visit(tenantId: string, room: Room): Promise<void> {
    const tenant = this.#tenant(tenantId)
    // Who rests now is looked at again when that is over, also when it is over before this look is.
    const resting = [...tenant.woken].filter((kind) => this.#restMs(tenantId, kind) > 0)
    const found = await this.#inTurn(tenant, async () => {
      const work = await this.#look(tenantId, { kinds: this.kinds, room, at: null })
      for (const job of work.claimed) void this.#run(tenantId, job)
      return work
    })
    const isStarved = found.more || [...tenant.woken].some((kind) => !resting.includes(kind))
    if (isStarved) this.#starved.add(tenantId)
    const rests = resting.map((kind) => this.#restMs(tenantId, kind))
    const nextInMs = Math.min(found.nextInMs ?? Infinity, ...rests)
    if (nextInMs < this.#options.sweepMs) this.#attendIn(tenantId, Math.max(1, nextInMs))
  }

  /** How long a kind still rests in a tenant. */
  #restMs(tenantId: string, kind: string): number {
    return Math.max(0, (this.#tenant(tenantId).restUntil.get(kind) ?? 0) - performance.now())
  }

  /** One look at a tenant at a time: who comes second knows what the first one started. */
  #inTurn<Result>(tenant: Tenant, look: () => Promise<Result>): Promise<Result> {
    const turn = tenant.turn.then(look)
    tenant.turn = turn.catch(() => {})
    return turn
  }

  /** The next sweep visits the tenant again. While the database does not work, the worker pauses before the next tenant. */
  async #backOff(error: unknown): Promise<void> {
    this.#options.log.warn({ error }, 'Looking for background work failed')
    if (!isTransient(error)) return
    this.#failures++
    await pause(Math.min(longestPauseMs, retryDelayMs(this.#failures)), this.#stopped?.signal)
  }

  async #look(
    tenantId: string,
    { kinds, room, at }: { kinds: ReadonlyMap<string, JobKind>; room: Room; at: Date | null },
  ): Promise<Found> {
    const { database } = this.#options
    const tenant = this.#tenant(tenantId)
    this.counts.looks++
    if (!tenant.prepared) {
      await this.#prepare(tenantId)
      tenant.prepared = true
    }
    // What runs here, or rests, stays woken: it is taken again afterwards.
    const busy = new Set([...tenant.runs.keys()].map((run) => run.claimed.kind))
    const woken = [...tenant.woken]
      .filter((kind) => !busy.has(kind) && this.#restMs(tenantId, kind) === 0)
      .slice(0, Math.max(0, room.standing))
    for (const kind of woken) tenant.woken.delete(kind)
    try {
      return await claimWork(database, { tenantId, kinds, woken, room, askedAt: tenant.askedAt, at })
    } catch (error) {
      for (const kind of woken) tenant.woken.add(kind)
      throw error
    }
  }

  /** A process that starts makes all standing jobs due: another may have died before it ran them. */
  async #prepare(tenantId: string): Promise<void> {
    const kinds = [...this.kinds.keys()].filter((name) => this.#isStanding(name))
    if (kinds.length === 0) return
    await this.#options.database.transaction({ tenantId }, (tx) =>
      store.forwardStanding(tx, { ids: kinds.map(() => v7()), kinds, key: standingKey }),
    )
  }

  async #run(tenantId: string, claimed: store.Claimed): Promise<RunOutcome> {
    const { database, log } = this.#options
    const kind = this.kinds.get(claimed.kind)
    if (kind === undefined) throw new TypeError(`Nobody defined the job kind ${claimed.kind}`)
    const tenant = this.#tenant(tenantId)
    if (kind.standing?.restMs !== undefined)
      tenant.restUntil.set(claimed.kind, performance.now() + kind.standing.restMs)
    const run = new Run({ database, log, tenantId, claimed, kind })
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
      this.#afterRun(tenantId)
    }
  }

  #afterRun(tenantId: string): void {
    if (!this.#working) return
    for (const starved of this.#starved) this.#urgent.add(starved)
    this.#starved.clear()
    this.#urgent.add(tenantId)
    this.#pump()
  }

  #room(): Room {
    const room = { standing: this.#options.standingConcurrency, ordinary: this.#options.concurrency }
    for (const run of this.#runs.values()) room[laneOf(run.kind)]--
    return room
  }

  #isStanding(kind: string): boolean {
    return this.kinds.get(kind)?.standing !== undefined
  }

  #tenant(tenantId: string): Tenant {
    let tenant = this.#tenants.get(tenantId)
    if (tenant === undefined) {
      tenant = {
        woken: new Set(),
        restUntil: new Map(),
        askedAt: new Map(),
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

function hasRoom(room: Room): boolean {
  return room.standing > 0 || room.ordinary > 0
}

/** Waits, but not for ever; leaves no timer behind. */
async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, sleep(limitMs, undefined, { signal: timer.signal })]).catch(() => {})
  timer.abort()
}
