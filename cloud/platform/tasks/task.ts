import type { Transaction } from '../database/database.ts'
import type { Statement } from '../database/statement.ts'

/** One run of a task, as its handler receives it. */
export type Task<Payload = unknown> = {
  readonly tenantId: string
  readonly id: string
  readonly key: string
  readonly payload: Payload
  /** The number of this attempt. The first attempt is 1. */
  readonly attempt: number
  /** The signal is aborted when the lease is lost or the process stops. */
  readonly signal: AbortSignal
  /** Returns whether as many tasks run as the process allows, so that other tasks may wait for the end of this run. */
  mayDelayOthers(): boolean
  /** Resolves when the topic of the task is signalled the next time. */
  nextWake(): Promise<void>
  /**
   * Ends the task in the transaction of its effect, so that both are committed or neither. If another worker holds the
   * task now, `complete` throws `LeaseLost`, which rolls the effect back. If a handler does not call `complete`, the
   * task ends after `run`, and its effect may happen twice after a crash.
   */
  complete(tx: Transaction, next?: RunAgain): Promise<void>
}

/**
 * The interval of a periodic task that other work waits for. If a process dies after a commit and before it runs the task,
 * another process finds the work at its next sweep. The interval is shorter than the time between two sweeps, so that each
 * sweep checks for work.
 */
export const takeoverMs = 4_000

/** `RunAgain` makes the same task run again at this time. */
export type RunAgain = { runAgainAt: Date }

/**
 * `Periodic` describes a task that every tenant always has. The task runs when the topic is signalled in a committed
 * transaction. It also runs at an interval, in case a process died between commit and run.
 */
export type Periodic = {
  everyMs: number
  /** The topic of `tx.signal` that makes the task due at once. */
  wakeOn?: string
  /** The shortest time between two runs that a signal starts. A longer pause makes batches larger and cheaper. */
  minPauseMs?: number
  /** A statement that returns a row if the tenant has work. The task does not run for a tenant without work. */
  pending?: Statement
}

export type TaskKind<Payload = unknown> = {
  run(task: Task<Payload>): Promise<undefined | RunAgain> | Promise<void>
  /**
   * After this many failed attempts the task has the state `failed` and is kept. Periodic tasks are always tried again.
   */
  maxAttempts?: number
  /** How long a lease lasts without renewal. If a worker dies, its task waits for this time. */
  leaseMs?: number
  /** Returns the pause after a failed attempt. The default is exponential with jitter. */
  retryMs?(attempt: number): number
  periodic?: Periodic
}

export type TaskKinds = Record<string, TaskKind>

/** `LeaseLost` means that another worker holds the task now. The transaction of this worker must roll back. */
export class LeaseLost extends Error {
  constructor(taskId: string) {
    super(`The lease of task ${taskId} was lost to another worker`)
    this.name = 'LeaseLost'
  }
}
