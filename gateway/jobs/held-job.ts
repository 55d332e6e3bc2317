import { pause } from '@millwright/api/back-off.ts'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import type { Outgoing } from '../outgoing.ts'

/** How a job ended, as the cloud is told. */
export type Ending = {
  state: 'FINISHED' | 'FAILED' | 'CANCELED'
  message?: string
  result?: Record<string, unknown>
}

/** Why work on a job stops before it is done. */
export type StopReason = 'canceled' | 'abandoned' | 'stopping'

/** Well before the lease runs out, also when one attempt is lost. */
const renewEveryMs = 10_000

/** The first renewals follow each other faster, so that a short scan reports its progress too. The interval doubles. */
const firstRenewalMs = 1_000

/** A job whose lease was lost is offered again to this gateway at once, if it is still wanted. */
const adoptWithinMs = 60_000

const longestMessage = 1_024

type Options = { job: WorkflowJob; lease: string; outgoing: Outgoing; renewEveryMs?: number | undefined }

/** A job that this gateway works on: kept by renewing its lease, given up when the cloud wants that. */
export class HeldJob {
  readonly job: WorkflowJob
  readonly #outgoing: Outgoing
  readonly #renewEveryMs: number
  #intervalMs: number
  readonly #stopping = new AbortController()
  readonly #done = new AbortController()
  #lease: string
  #lostAtMs: number | undefined
  #note: { progress?: number; message?: string } = {}

  constructor({ job, lease, outgoing, ...options }: Options) {
    this.job = job
    this.#lease = lease
    this.#outgoing = outgoing
    this.#renewEveryMs = options.renewEveryMs ?? renewEveryMs
    this.#intervalMs = Math.min(firstRenewalMs, this.#renewEveryMs)
  }

  get lease(): string {
    return this.#lease
  }

  /** Says that work on the job must stop, with a `StopReason`. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  get stopReason(): StopReason | undefined {
    return this.signal.aborted ? this.signal.reason : undefined
  }

  stop(reason: StopReason): void {
    this.#stopping.abort(reason)
  }

  /** Sets the message, and the percentage where it is known, that the next renewal reports. 100 is for finished jobs. */
  note(message: string, progress?: number): void {
    this.#note.message = message.slice(0, longestMessage)
    if (progress !== undefined) this.#note.progress = Math.min(progress, 99)
  }

  /** The cloud had given up on us and offers the job again: what was begun goes on. */
  adopt(lease: string): void {
    this.#lease = lease
    this.#lostAtMs = undefined
  }

  /** Renews the lease while the work lasts. A cloud that cannot be reached is no reason to stop. */
  async keepDuring<Result>(work: () => Promise<Result>): Promise<Result> {
    const renewing = this.#keep()
    try {
      return await work()
    } finally {
      this.#done.abort()
      await renewing
    }
  }

  async #keep(): Promise<void> {
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

  /** The cloud answers when it is time for the next one, or as soon as the job is canceled. */
  async #renew(): Promise<void> {
    const lease = this.#lease
    const waitSeconds = Math.min(Math.floor(this.#intervalMs / 1_000), gatekeeperLimits.renewalWaitSeconds)
    try {
      const { data } = await this.#outgoing.gatekeeper.renewLease({
        params: { id: lease },
        body: { data: { jobId: this.job.id, waitSeconds, ...this.#note } },
      })
      if (data.cancelRequested) this.stop('canceled')
    } catch (error) {
      const isLost = error instanceof Problem && (error.code === 'lease_lost' || error.code === 'not_found')
      if (isLost && this.#lease === lease) this.#lostAtMs = performance.now()
    }
  }
}
