import type { Transaction } from '../database/database.ts'
import type { Statement } from '../database/statement.ts'

/** One run of a task, as its handler receives it. */
export type Task<Payload = unknown> = {
  readonly tenantId: string
  readonly id: string
  readonly key: string
  readonly payload: Payload
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** Aborted when the lease is lost or the process stops. */
  readonly signal: AbortSignal
  /**
   * Ends the task in the transaction of its effect, so that both are committed or neither. Throws `LeaseLost`, which
   * rolls the effect back, if another worker holds the task now. If a handler does not call it, the task ends after
   * `run`, and its effect may happen twice after a crash.
   */
  complete(tx: Transaction, next?: RunAgain): Promise<void>
}

/** Runs the same task again at this time. */
export type RunAgain = { runAgainAt: Date }

/**
 * A task that every tenant always has. It runs when the topic is signalled in a committed transaction. It also runs at
 * an interval, in case a process died between commit and run.
 */
export type Periodic = {
  everyMs: number
  /** The topic of `tx.signal` that makes the task due at once. */
  wakeOn?: string
  /** The shortest time between two runs that a signal starts. A pause makes batches larger and cheaper. */
  minPauseMs?: number
  /** Yields a row when there is work. A tenant without work has no run. */
  pending?: Statement
}

export type TaskKind<Payload = unknown> = {
  run(task: Task<Payload>): Promise<undefined | RunAgain> | Promise<void>
  /** After this many attempts the task is `failed` and stays visible. Periodic tasks are always tried again. */
  maxAttempts?: number
  /** How long a lease lasts without renewal, so how long the task of a dead worker waits. */
  leaseMs?: number
  /** The pause after a failed attempt; by default exponential with jitter. */
  retryMs?(attempt: number): number
  periodic?: Periodic
}

export type TaskKinds = Record<string, TaskKind>

/** Another worker holds the task now, so the transaction of this worker must roll back. */
export class LeaseLost extends Error {
  constructor(taskId: string) {
    super(`The lease of task ${taskId} was lost to another worker`)
    this.name = 'LeaseLost'
  }
}
