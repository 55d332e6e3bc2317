import { v7 } from 'uuid'
import type { Handle, Transaction } from '../database/database.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { traceHeaders } from '../work.ts'
import { endedTicket } from './run.ts'
import { nextRuns, requireRun } from './schedule.ts'
import * as store from './store.ts'
import type { TaskKinds } from './task.ts'
import { Worker, type WorkerOptions } from './worker.ts'

export type { Periodic, RunAgain, Task, TaskKind, TaskKinds } from './task.ts'
export { LeaseLost } from './task.ts'

export const tasksMigrations: MigrationSource = { module: 'jobs', folder: new URL('./migrations/', import.meta.url) }

export type TaskRequest = {
  kind: string
  /** For each kind and key, at most one task waits and at most one task runs. Tasks without a key are independent. */
  key?: string
  payload?: unknown
  /** The time at which the task becomes due. The default is now. */
  runAt?: Date
}

export type ScheduleName = { kind: string; key: string }

/** `ScheduleRequest` describes a schedule. `cron` has five fields. `timezone` is an IANA name; the default is UTC. */
export type ScheduleRequest = ScheduleName & {
  cron: string
  timezone?: string
  payload?: unknown
  /** The position of the schedule in the request body. Error pointers start with it. */
  pointer?: string
}

export type Schedule = ScheduleName & {
  cron: string
  timezone: string
  payload: unknown
  paused: boolean
  lastRunAt: string | null
  /** The times of the next runs. The list is empty while the schedule is paused. */
  nextRuns: string[]
}

export type TaskState = store.TaskRow

const enqueuedTopic = 'tasks'
const shownRuns = 5
const shownTasks = 100

/**
 * `Tasks` manages the background tasks of the platform. A task is a row that is written in the transaction of the
 * change that needs it. A worker claims the task with a lease. A handler can end its task in the transaction of its
 * effect, so that the effect happens exactly once.
 */
export class Tasks {
  readonly #worker: Worker
  readonly #kindsByTopic = new Map<string, string[]>()

  constructor(options: WorkerOptions) {
    this.#worker = new Worker(options)
    options.database.onCommit(({ tenantId, topics }) => {
      for (const topic of topics) this.#onTopic(tenantId, topic)
    })
  }

  /** Adds the kinds of tasks that this process runs. Other processes run tasks of other kinds. */
  define(kinds: TaskKinds): void {
    for (const [name, kind] of Object.entries(kinds)) {
      if (this.#worker.kinds.has(name)) throw new TypeError(`The task kind ${name} is defined twice`)
      this.#worker.define(name, kind)
      const topic = kind.periodic?.wakeOn
      if (topic !== undefined) this.#kindsByTopic.set(topic, [...(this.#kindsByTopic.get(topic) ?? []), name])
    }
  }

  start(): void {
    this.#worker.start()
  }

  /** Searches all tenants for the work of another process that has ended. */
  takeOver(): void {
    this.#worker.takeOver()
  }

  /** Adds work that `stop` waits for, up to the grace period. A task uses it for work that continues after its run. */
  beforeStop(work: () => Promise<void>): void {
    this.#worker.beforeStop(work)
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
  }

  async enqueue(tx: Transaction, task: TaskRequest): Promise<string> {
    const [id = ''] = await this.enqueueAll(tx, [task])
    return id
  }

  /** Enqueues tasks with one statement. If several tasks have the same kind and key, only the last one is enqueued. */
  async enqueueAll(tx: Transaction, tasks: readonly TaskRequest[]): Promise<string[]> {
    if (tasks.length === 0) return []
    const rows = tasks.map(({ kind, key, payload, runAt }) => {
      const id = v7()
      return { id, kind, key: key ?? id, payload, runAt: runAt ?? null, ...traceHeaders() }
    })
    const distinct = new Map(rows.map((row) => [JSON.stringify([row.kind, row.key]), row]))
    tx.signal(enqueuedTopic)
    return store.putTasks(tx, [...distinct.values()])
  }

  /** Deletes a waiting task. A task that runs is not affected. */
  async cancel(tx: Transaction, task: { kind: string; key: string }): Promise<boolean> {
    return store.cancel(tx, task)
  }

  /** Enqueues a failed task again, with the full number of attempts. */
  async retry(tx: Transaction, id: string): Promise<boolean> {
    const task = await store.takeFailed(tx, id)
    if (task === undefined) return false
    await store.wait(tx, task, { attempts: 0, lastError: null, at: null, inMs: 0 })
    tx.signal(enqueuedTopic)
    return true
  }

  /** Lists tasks, newest first. */
  async list(handle: Handle, filter: { kind?: string; state?: TaskState['state']; limit?: number } = {}) {
    return store.listTasks(handle, { ...filter, limit: filter.limit ?? shownTasks })
  }

  /** Makes a periodic task run soon. The call sends no statement, and many calls cause one run. */
  wake(tenantId: string, kind: string): void {
    if (this.#worker.kinds.get(kind)?.periodic === undefined) throw new TypeError(`${kind} is not a periodic task`)
    this.#worker.wake(tenantId, kind)
  }

  /** Creates or replaces the schedule with this name. */
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

  /**
   * Deletes a schedule. Returns false if it does not exist. Tasks that the schedule has already created are not
   * affected.
   */
  async unschedule(tx: Transaction, name: ScheduleName): Promise<boolean> {
    return store.deleteSchedule(tx, name)
  }

  /**
   * Pauses or resumes a schedule. Runs that were missed during the pause are not repeated. Returns false if the
   * schedule does not exist.
   */
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

  /** Runs all tasks that are due now or at the given time. Returns their number. Only tests use it. */
  async runDue(tenantId: string, { at }: { at?: Date } = {}): Promise<number> {
    return this.#worker.runDue(tenantId, at ?? null)
  }

  stats() {
    return { ...this.#worker.counts, running: this.#worker.running, queuedTenants: this.#worker.queued }
  }

  #onTopic(tenantId: string, topic: string): void {
    const ticket = endedTicket(topic)
    if (ticket !== undefined) this.#worker.confirmEnded(ticket)
    else if (topic === enqueuedTopic) this.#worker.searchSoon(tenantId)
    else for (const kind of this.#kindsByTopic.get(topic) ?? []) this.#worker.wake(tenantId, kind)
  }
}

function toText(time: Date): string {
  return time.toISOString()
}
