import { pause } from '@millwright/api/back-off.ts'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { RefusedError } from '../identity/token.ts'

/** `JobOutcome` is the outcome of a job, as reported to the cloud. */
export type JobOutcome = {
  state: 'FINISHED' | 'FAILED' | 'CANCELED'
  message?: string
  result?: Record<string, unknown>
}

/**
 * `StopReason` is the reason why the work on a job stops early: a user canceled or deleted the job, the gateway lost its
 * lease or its access to the platform, or the gateway stops.
 */
export type StopReason = 'canceled' | 'abandoned' | 'stopping'

/** The renewal interval. It is short enough that the lease does not expire after one lost renewal. */
const renewEveryMs = 10_000

/**
 * The first renewal interval. It is short, so that a short scan also reports its progress. The interval doubles after
 * each renewal.
 */
const firstRenewalMs = 1_000

/**
 * How long a job continues after its lease was lost. Within this time, the cloud can offer the same job to this gateway
 * again.
 */
const adoptWithinMs = 60_000

const longestMessage = 1_024

type Options = {
  job: WorkflowJob
  lease: string
  cloud: CloudConnection
  renewEveryMs?: number | undefined
  /**
   * Whether a renewal waits at the platform until the next one is due, so that a cancellation arrives at once. Each waiting
   * renewal needs a connection, so agents with many concurrent jobs do not wait. The default is true.
   */
  waitsForCancel?: boolean | undefined
}

/**
 * `LeasedJob` is a job that this gateway works on. It renews the lease, and stops the work when the cloud cancels the
 * job.
 */
export class LeasedJob {
  readonly job: WorkflowJob
  readonly #cloud: CloudConnection
  readonly #renewEveryMs: number
  #intervalMs: number
  readonly #stopping = new AbortController()
  readonly #done = new AbortController()
  #lease: string
  #lostAtMs: number | undefined
  readonly #waitsForCancel: boolean
  #note: { progress?: number; message?: string; phase?: string } = {}

  constructor({ job, lease, cloud, ...options }: Options) {
    this.job = job
    this.#lease = lease
    this.#cloud = cloud
    this.#renewEveryMs = options.renewEveryMs ?? renewEveryMs
    this.#waitsForCancel = options.waitsForCancel ?? true
    this.#intervalMs = Math.min(firstRenewalMs, this.#renewEveryMs)
  }

  get lease(): string {
    return this.#lease
  }

  /** Returns a signal that aborts with a `StopReason` when the work on the job must stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  get stopReason(): StopReason | undefined {
    return this.signal.aborted ? this.signal.reason : undefined
  }

  stop(reason: StopReason): void {
    this.#stopping.abort(reason)
  }

  /**
   * Sets the message and, if known, the percentage that the next renewal reports. The percentage is at most 99, because
   * only a finished job has 100 percent.
   */
  note(message: string, progress?: number): void {
    this.#note.message = message.slice(0, longestMessage)
    if (progress !== undefined) this.#note.progress = Math.min(progress, 99)
  }

  /** Sets the phase that the next renewals report. The progress starts again at 0. */
  enterPhase(phase: string): void {
    this.#note = { ...this.#note, phase, progress: 0 }
  }

  /** Continues with a new lease after the old lease expired and the cloud offered the job again. */
  adopt(lease: string): void {
    this.#lease = lease
    this.#lostAtMs = undefined
  }

  /** Renews the lease until the work is done. The work continues while the cloud is not reachable. */
  async keepDuring<Result>(work: () => Promise<Result>): Promise<Result> {
    const renewing = this.#renewUntilDone()
    try {
      return await work()
    } finally {
      this.#done.abort()
      await renewing
    }
  }

  async #renewUntilDone(): Promise<void> {
    const signal = AbortSignal.any([this.#done.signal, this.#stopping.signal])
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    while (!signal.aborted) {
      const askedAtMs = performance.now()
      if (this.#lostAtMs === undefined) await Promise.race([this.#renew(), over])
      else if (askedAtMs - this.#lostAtMs > adoptWithinMs) this.stop('abandoned')
      await pause(Math.max(0, this.#intervalMs - (performance.now() - askedAtMs)), signal)
      this.#intervalMs = Math.min(2 * this.#intervalMs, this.#renewEveryMs)
    }
  }

  /** Renews the lease once. The cloud delays the response until the next renewal is due or the job is canceled. */
  async #renew(): Promise<void> {
    const lease = this.#lease
    const waitMs = this.#waitsForCancel ? this.#intervalMs : 0
    const waitSeconds = Math.min(Math.floor(waitMs / 1_000), gatekeeperLimits.renewalWaitSeconds)
    try {
      const { data } = await this.#cloud.gatekeeper.renewLease({
        params: { id: lease },
        body: { data: { jobId: this.job.id, waitSeconds, ...this.#note } },
      })
      if (data.cancelRequested) this.stop('canceled')
    } catch (error) {
      if (isRejected(error)) return this.stop('abandoned')
      if (!(error instanceof Problem)) return
      // A user deleted the job.
      if (error.code === 'not_found') this.stop('canceled')
      if (error.code === 'lease_lost' && this.#lease === lease) this.#lostAtMs = performance.now()
    }
  }
}

/** Returns true when the platform rejects the gateway, because the gateway was revoked or deleted. */
function isRejected(error: unknown): boolean {
  return error instanceof RefusedError || (error instanceof Problem && (error.status === 401 || error.status === 403))
}
