import { v7 } from 'uuid'
import type { Handle, Transaction } from '../database/database.ts'
import type { MigrationSource } from '../database/migrations.ts'
import type { JobKinds } from './job.ts'
import { endedTicket } from './run.ts'
import { nextRuns, requireRun } from './schedule.ts'
import * as store from './store.ts'
import { Worker, type WorkerOptions } from './worker.ts'

export type { Again, Job, JobKind, JobKinds, Standing } from './job.ts'
export { LeaseLost } from './job.ts'

export const jobsMigrations: MigrationSource = { module: 'jobs', folder: new URL('./migrations/', import.meta.url) }

export type JobRequest = {
  kind: string
  /** Of jobs with the same kind and key one waits and one runs at most; without a key they have nothing in common. */
  key?: string
  payload?: unknown
  /** Now unless given. */
  runAt?: Date
}

export type ScheduleName = { kind: string; key: string }

/** `cron` has five fields; `timezone` is an IANA name and UTC unless given. */
export type ScheduleRequest = ScheduleName & {
  cron: string
  timezone?: string
  payload?: unknown
  /** The place of the schedule in the request body: errors point to its fields. */
  pointer?: string
}

export type Schedule = ScheduleName & {
  cron: string
  timezone: string
  payload: unknown
  paused: boolean
  lastRunAt: string | null
  /** Empty while paused. */
  nextRuns: string[]
}

export type JobState = store.JobRow

const enqueuedTopic = 'jobs'
const shownRuns = 5
const shownJobs = 100

/**
 * All background work of the platform. Jobs are rows in the transaction of what causes them; a worker claims them
 * with a lease, and a handler can end its job in the transaction of its effect, so that the effect comes once.
 */
export class Jobs {
  readonly #worker: Worker
  readonly #kindsByTopic = new Map<string, string[]>()

  constructor(options: WorkerOptions) {
    this.#worker = new Worker(options)
    options.database.onCommit(({ tenantId, topics }) => {
      for (const topic of topics) this.#hear(tenantId, topic)
    })
  }

  /** What this process can do; jobs of other kinds are left to others. */
  define(kinds: JobKinds): void {
    for (const [name, kind] of Object.entries(kinds)) {
      if (this.#worker.kinds.has(name)) throw new TypeError(`The job kind ${name} is defined twice`)
      this.#worker.define(name, kind)
      const topic = kind.standing?.wakeOn
      if (topic !== undefined) this.#kindsByTopic.set(topic, [...(this.#kindsByTopic.get(topic) ?? []), name])
    }
  }

  start(): void {
    this.#worker.start()
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
  }

  async enqueue(tx: Transaction, job: JobRequest): Promise<string> {
    const [id = ''] = await this.enqueueAll(tx, [job])
    return id
  }

  /** One statement for all. Of several with the same kind and key the last counts. */
  async enqueueAll(tx: Transaction, jobs: readonly JobRequest[]): Promise<string[]> {
    if (jobs.length === 0) return []
    const rows = jobs.map(({ kind, key, payload, runAt }) => {
      const id = v7()
      return { id, kind, key: key ?? id, payload, runAt: runAt ?? null }
    })
    const distinct = new Map(rows.map((row) => [JSON.stringify([row.kind, row.key]), row]))
    tx.signal(enqueuedTopic)
    return store.putJobs(tx, [...distinct.values()])
  }

  /** Takes a waiting job back; one that runs goes on. */
  async cancel(tx: Transaction, job: { kind: string; key: string }): Promise<boolean> {
    return store.cancel(tx, job)
  }

  /** Gives a failed job all its attempts again. */
  async retry(tx: Transaction, id: string): Promise<boolean> {
    const job = await store.takeFailed(tx, id)
    if (job === undefined) return false
    await store.wait(tx, job, { attempts: 0, lastError: null, at: null, inMs: 0 })
    tx.signal(enqueuedTopic)
    return true
  }

  /** Newest first. */
  async list(handle: Handle, filter: { kind?: string; state?: JobState['state']; limit?: number } = {}) {
    return store.listJobs(handle, { ...filter, limit: filter.limit ?? shownJobs })
  }

  /** Runs a standing job soon. Costs nothing now; many calls are one run. */
  wake(tenantId: string, kind: string): void {
    if (this.#worker.kinds.get(kind)?.standing === undefined) throw new TypeError(`${kind} is no standing job`)
    this.#worker.wake(tenantId, kind)
  }

  /** Makes or replaces the schedule of this name. */
  async schedule(tx: Transaction, request: ScheduleRequest): Promise<void> {
    const timing = { cron: request.cron, timezone: request.timezone ?? 'UTC' }
    const next = requireRun(timing, new Date(), request.pointer)
    await store.putSchedule(tx, {
      ...timing,
      id: v7(),
      kind: request.kind,
      key: request.key,
      payload: request.payload,
      next,
    })
    tx.signal(enqueuedTopic)
  }

  /** False when there was none. A run that is already waiting or running goes on. */
  async unschedule(tx: Transaction, name: ScheduleName): Promise<boolean> {
    return store.deleteSchedule(tx, name)
  }

  /** Pauses or resumes; what would have run in between is not made up for. False when there is none. */
  async pause(tx: Transaction, { paused, ...name }: ScheduleName & { paused: boolean }): Promise<boolean> {
    const schedule = await store.lockSchedule(tx, name)
    if (schedule === undefined) return false
    await store.pauseSchedule(tx, { id: schedule.id, paused, next: requireRun(schedule, new Date()) })
    tx.signal(enqueuedTopic)
    return true
  }

  async listSchedules(handle: Handle, kind?: string): Promise<Schedule[]> {
    const now = new Date()
    return (await store.listSchedules(handle, kind)).map(({ id, nextRunAt, ...schedule }) => ({
      ...schedule,
      nextRuns: schedule.paused || nextRunAt === null ? [] : nextRuns(schedule, now, shownRuns).map(toText),
    }))
  }

  /** Runs all that is due now, or would be at the given time, and answers how many jobs that were. For tests. */
  async runDue(tenantId: string, { at }: { at?: Date } = {}): Promise<number> {
    return this.#worker.runDue(tenantId, at ?? null)
  }

  stats() {
    return { ...this.#worker.counts, running: this.#worker.running, queuedTenants: this.#worker.queued }
  }

  #hear(tenantId: string, topic: string): void {
    const ticket = endedTicket(topic)
    if (ticket !== undefined) this.#worker.confirmEnded(ticket)
    else if (topic === enqueuedTopic) this.#worker.attend(tenantId)
    else for (const kind of this.#kindsByTopic.get(topic) ?? []) this.#worker.wake(tenantId, kind)
  }
}

function toText(time: Date): string {
  return time.toISOString()
}
