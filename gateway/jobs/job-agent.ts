import { BackOff, pause } from '@millwright/api/back-off.ts'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { Log } from '../log.ts'
import { continueTrace } from '../trace-context.ts'
import { LeasedJob } from './leased-job.ts'

type Options<Outcome> = {
  workflows: string[]
  /** The maximum number of concurrent jobs. */
  concurrentJobs: number
  cloud: CloudConnection
  log: Log
  renewEveryMs?: number | undefined
  /** Whether renewals wait at the platform, so that a cancellation arrives at once. See `LeasedJob`. */
  waitsForCancel?: boolean | undefined
  /** Resolves when the agent may request the next job. */
  ready: (signal: AbortSignal) => Promise<void>
  /** Works on a job. Returns undefined if the job is released without an end. */
  work: (leased: LeasedJob) => Promise<Outcome | undefined>
  end: (leased: LeasedJob, ending: Outcome) => Promise<void>
  /**
   * Returns whether a job that was offered again in this state, while its end was reported, is new work. Without this function,
   * each job is offered again only with the same work.
   */
  isNextPart?: (ending: Outcome, state: string) => boolean
}

type OfferedJob = { job: LeasedJob['job']; lease: { id: string }; traceparent?: string }

/**
 * The minimum time between two polls that return no job. It limits the rate of polls if the cloud responds immediately.
 */
const minPollMs = 1_000

/** `JobAgent` polls the cloud for jobs and runs several jobs concurrently. */
export class JobAgent<Outcome extends { state: string; message?: string }> {
  readonly #options: Options<Outcome>
  readonly #leased = new Map<string, LeasedJob>()
  /** The last offer of each job that was offered again while this agent worked on it. */
  readonly #offeredAgain = new Map<string, OfferedJob>()
  /** The active jobs that the current request for a job names, except those whose end was reported since. */
  #requested = new Set<string>()
  readonly #work = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #asking: Promise<void> = Promise.resolve()

  constructor(options: Options<Outcome>) {
    this.#options = options
  }

  start(): void {
    this.#asking = this.#poll()
  }

  /**
   * Releases all jobs, so that the cloud offers them again. `CloudConnection.close` ends pending requests to the cloud.
   */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const leased of this.#leased.values()) leased.stop('stopping')
    await Promise.all([this.#asking, ...this.#work])
  }

  /** The number of running jobs. */
  get running(): number {
    return this.#leased.size
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping
    const { workflows, concurrentJobs, ready, log } = this.#options
    const backOff = new BackOff()
    while (!signal.aborted) {
      if (this.#work.size >= concurrentJobs) await Promise.race([...this.#work, aborted(signal)])
      await ready(signal)
      if (signal.aborted) return
      const askedAtMs = performance.now()
      try {
        const taken = await this.#lease()
        backOff.reset()
        if (taken !== undefined) this.#start(taken.data)
        else await pause(Math.max(0, minPollMs - (performance.now() - askedAtMs)), signal)
      } catch (error) {
        log.debug({ error, workflows }, 'the next job could not be requested')
        await pause(backOff.nextMs(), signal)
      }
    }
  }

  /**
   * Requests the next job and names the active jobs, so that the platform does not report a new start if it offers one of them
   * again. An older version of the platform refuses the names, so the request is repeated without them.
   */
  async #lease() {
    const { cloud, workflows } = this.#options
    const activeJobs = [...this.#leased.keys()].slice(0, gatekeeperLimits.activeJobs)
    this.#requested = new Set(activeJobs)
    if (activeJobs.length === 0) return cloud.gatekeeper.leaseJob({ body: { data: { workflows } } })
    try {
      return await cloud.gatekeeper.leaseJob({ body: { data: { workflows, activeJobs } } })
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'invalid_body') throw error
      this.#requested.clear()
      return cloud.gatekeeper.leaseJob({ body: { data: { workflows } } })
    }
  }

  #start(offered: OfferedJob): void {
    const { job, lease } = offered
    const current = this.#leased.get(job.id)
    if (current !== undefined) {
      current.adopt(lease.id)
      this.#offeredAgain.set(job.id, offered)
      return
    }
    const { cloud, renewEveryMs, waitsForCancel, log } = this.#options
    if (this.#requested.has(job.id)) {
      // The platform does not know that the work starts again. It offers the job again when the lease has expired.
      log.info({ job: job.id }, 'job not started, because it was released while it was requested')
      return
    }
    const leased = new LeasedJob({ job, lease: lease.id, cloud, renewEveryMs, waitsForCancel })
    this.#leased.set(job.id, leased)
    if (this.#stopping.signal.aborted) leased.stop('stopping')
    const work = this.#traced(leased, offered.traceparent).then((ending) => {
      this.#leased.delete(job.id)
      this.#work.delete(work)
      if (ending !== undefined) this.#requested.delete(job.id)
      const again = this.#offeredAgain.get(job.id)
      this.#offeredAgain.delete(job.id)
      if (again === undefined || ending === undefined || this.#stopping.signal.aborted) return
      if (this.#options.isNextPart?.(ending, again.job.status.state)) this.#start(again)
    })
    this.#work.add(work)
  }

  /** Works on a job. The work continues the trace of the request that created the job. */
  #traced(leased: LeasedJob, parent: string | undefined): Promise<Outcome | undefined> {
    const { name } = leased.job.workflow
    const span = this.#options.cloud.tracer?.start(`job ${name}`, {
      kind: 'consumer',
      parent,
      attributes: { 'millwright.workflow': name, 'millwright.job': leased.job.id },
    })
    return continueTrace(span?.traceparent ?? parent, async () => {
      const ending = await this.#run(leased)
      const state = ending?.state ?? leased.stopReason ?? 'released'
      span?.set({ 'millwright.job.state': state })
      span?.end(state === 'FAILED' ? { error: state } : {})
      return ending
    })
  }

  /** Works on a job and reports its end. Returns the end if the platform has it. */
  async #run(leased: LeasedJob): Promise<Outcome | undefined> {
    const { work, end, log } = this.#options
    const about = { job: leased.job.id, workflow: leased.job.workflow.name }
    log.info(about, 'job started')
    try {
      const ending = await leased.keepDuring(() => work(leased))
      const { stopReason } = leased
      if (ending === undefined || stopReason === 'stopping' || stopReason === 'abandoned') {
        log.info({ ...about, reason: stopReason }, 'job released')
        return undefined
      }
      await end(leased, ending)
      log.info({ ...about, state: ending.state, message: ending.message }, 'job ended')
      return ending
    } catch (error) {
      // The error is only logged. When the lease expires, the cloud offers the job again.
      log.error({ ...about, error }, 'the end of a job could not be reported')
      return undefined
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
