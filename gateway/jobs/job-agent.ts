import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { Log } from '../log.ts'
import type { Outgoing } from '../outgoing.ts'
import { type Ending, HeldJob } from './held-job.ts'

type Options = {
  workflows: string[]
  /** Jobs that are worked on at the same time. */
  atOnce: number
  outgoing: Outgoing
  log: Log
  renewEveryMs?: number | undefined
  /** What must be over before more work is asked for. */
  ready: (signal: AbortSignal) => Promise<void>
  work: (held: HeldJob) => Promise<Ending>
  end: (held: HeldJob, ending: Ending) => Promise<void>
}

/** An answer without a job that came sooner than this did not wait for one: then we do. */
const leastWaitMs = 1_000

/** Asks the cloud for jobs and has them done, several at once. */
export class JobAgent {
  readonly #options: Options
  readonly #held = new Map<string, HeldJob>()
  readonly #work = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #asking: Promise<void> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    this.#asking = this.#ask()
  }

  /** Lets go of all jobs: the cloud offers them again. Whoever waits for the cloud must be ended elsewhere. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const held of this.#held.values()) held.stop('stopping')
    await Promise.all([this.#asking, ...this.#work])
  }

  /** How many jobs are being worked on. */
  get running(): number {
    return this.#held.size
  }

  async #ask(): Promise<void> {
    const { signal } = this.#stopping
    const { outgoing, workflows, atOnce, ready, log } = this.#options
    const backOff = new BackOff()
    while (!signal.aborted) {
      if (this.#work.size >= atOnce) await Promise.race([...this.#work, aborted(signal)])
      await ready(signal)
      if (signal.aborted) return
      const askedAtMs = performance.now()
      try {
        const taken = await outgoing.gatekeeper.leaseJob({ body: { data: { workflows } } })
        backOff.reset()
        if (taken !== undefined) this.#take(taken.data)
        else await pause(Math.max(0, leastWaitMs - (performance.now() - askedAtMs)), signal)
      } catch (error) {
        log.debug({ error, workflows }, 'no job could be asked for')
        await pause(backOff.nextMs(), signal)
      }
    }
  }

  #take({ job, lease }: { job: HeldJob['job']; lease: { id: string } }): void {
    const known = this.#held.get(job.id)
    if (known !== undefined) {
      known.adopt(lease.id)
      return
    }
    const { outgoing, renewEveryMs } = this.#options
    const held = new HeldJob({ job, lease: lease.id, outgoing, renewEveryMs })
    this.#held.set(job.id, held)
    if (this.#stopping.signal.aborted) held.stop('stopping')
    const work = this.#do(held).finally(() => {
      this.#held.delete(job.id)
      this.#work.delete(work)
    })
    this.#work.add(work)
  }

  async #do(held: HeldJob): Promise<void> {
    const { work, end, log } = this.#options
    const about = { job: held.job.id, workflow: held.job.workflow.name }
    log.info(about, 'a job begins')
    try {
      const ending = await held.keepDuring(() => work(held))
      if (held.stopReason === 'stopping' || held.stopReason === 'abandoned') {
        log.info({ ...about, reason: held.stopReason }, 'a job is let go')
        return
      }
      await end(held, ending)
      log.info({ ...about, state: ending.state, message: ending.message }, 'a job ended')
    } catch (error) {
      // Its lease runs out, and the cloud offers it again.
      log.error({ ...about, error }, 'a job could not be brought to its end')
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
