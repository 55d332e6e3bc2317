import type { CloudConnection } from '../cloud-connection.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import type { Log } from '../log.ts'
import { type LinkRunner, UnknownLinkError } from './link-runner.ts'

type Options = { cloud: CloudConnection; runner: LinkRunner; log: Log }

/**
 * `LinkSwitchAgent` runs the jobs of the platform that enable or disable a built-in link. A job can run twice without
 * harm, so a job whose end could not be reported is offered again.
 */
export class LinkSwitchAgent {
  readonly #runner: LinkRunner
  readonly #agent: JobAgent<JobOutcome>

  constructor({ cloud, runner, log }: Options) {
    this.#runner = runner
    this.#agent = new JobAgent({
      workflows: ['link-inventory'],
      concurrentJobs: 1,
      cloud,
      log,
      ready: () => Promise.resolve(),
      work: (leased) => this.#work(leased),
      end: async (leased, outcome) => {
        const data = { jobId: leased.job.id, ...outcome }
        await cloud.gatekeeper.endJob({ params: { id: leased.lease }, body: { data } })
      },
    })
  }

  start(): void {
    this.#agent.start()
  }

  stop(): Promise<void> {
    return this.#agent.stop()
  }

  async #work({ job: { definition, status } }: LeasedJob): Promise<JobOutcome> {
    if (status.state === 'CANCELING') return { state: 'CANCELED' }
    const { link, enabled } = definition
    if (typeof link !== 'string' || typeof enabled !== 'boolean')
      return { state: 'FAILED', message: 'The job names no link' }
    try {
      await this.#runner.switch(link, enabled)
      return { state: 'FINISHED' }
    } catch (error) {
      if (error instanceof UnknownLinkError) return { state: 'FAILED', message: error.message }
      return { state: 'FAILED', message: `The gateway could not store the change: ${(error as Error).message}` }
    }
  }
}
