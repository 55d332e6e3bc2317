import type { Transaction } from '../database/database.ts'
import type { Statement } from '../database/statement.ts'

/** One run of a job, as its handler sees it. */
export type Job<Payload = unknown> = {
  readonly tenantId: string
  readonly id: string
  readonly key: string
  readonly payload: Payload
  /** 1 at the first try. */
  readonly attempt: number
  /** Aborted when the lease is lost or the process will not wait any longer. */
  readonly signal: AbortSignal
  /**
   * Ends the job in the transaction of its effect: both are there or neither. Throws `LeaseLost`, which rolls the
   * effect back, when the job has meanwhile been given to another worker. A handler that does not call it has its
   * job ended after `run`, so its effect may come twice after a crash.
   */
  complete(tx: Transaction, next?: Again): Promise<void>
}

/** The same job once more, at this time. */
export type Again = { again: Date }

/**
 * A job that every tenant has, all the time. It runs when the topic is signalled in a committed transaction, and
 * every so often in case a process died between commit and run.
 */
export type Standing = {
  everyMs: number
  /** The topic of `tx.signal` that makes it due at once. */
  wakeOn?: string
  /** At least this long from one run to the next that is signalled: what nobody waits for is cheaper in larger portions. */
  restMs?: number
  /** Yields a row when there is something to do: spares idle tenants the run. */
  pending?: Statement
}

export type JobKind<Payload = unknown> = {
  run(job: Job<Payload>): Promise<undefined | Again> | Promise<void>
  /** After so many the job is `failed` and stays visible; standing jobs never give up. */
  maxAttempts?: number
  /** How long a dead worker goes unnoticed; a live one renews. */
  leaseMs?: number
  /** How long to wait after this attempt failed; exponential with jitter unless given. */
  retryMs?(attempt: number): number
  standing?: Standing
}

export type JobKinds = Record<string, JobKind>

/** The job belongs to another worker now: whatever this one did in its transaction must not count. */
export class LeaseLost extends Error {
  constructor(jobId: string) {
    super(`The lease of job ${jobId} was lost to another worker`)
    this.name = 'LeaseLost'
  }
}
