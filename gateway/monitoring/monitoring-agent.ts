import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type MonitoringTarget, monitoringLimits } from '@millwright/api/monitoring-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import { textsIn } from '../device-info/device-info.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import type { GatewayPermits } from '../permits/gateway-permits.ts'
import type { Registry } from '../registry/registry.ts'
import { MonitoredDevices } from './monitored-devices.ts'
import { ResultUploads } from './result-uploads.ts'
import { TemplateCredentials } from './template-credentials.ts'

type Options = {
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  permits: GatewayPermits
  log: Log
  renewEveryMs?: number | undefined
}

const concurrentJobs = 4
/** The number of devices that one job reads at the same time. The budget of the gateway limits what is sent. */
const concurrentDevices = 32
/** The number of times a job requests its targets from the beginning. Targets are left if their results were lost. */
const passes = 3
/** The number of attempts to report the end of a job. If all fail, the platform offers the job again. */
const endAttempts = 10

/**
 * `MonitoringAgent` runs monitoring jobs. A job reads devices through their links and uploads the results in groups. Only devices
 * without a stored result are targets, so a repeated job continues where the last one stopped.
 */
export class MonitoringAgent {
  readonly #options: Options
  readonly #agent: JobAgent<JobOutcome>

  constructor(options: Options) {
    this.#options = options
    const { cloud, log, renewEveryMs } = options
    this.#agent = new JobAgent({
      workflows: ['monitoring'],
      concurrentJobs,
      cloud,
      log,
      renewEveryMs,
      ready: () => Promise.resolve(),
      work: (leased) => this.#work(leased),
      end: (leased, outcome) => this.#end(leased, outcome),
    })
  }

  start(): void {
    this.#agent.start()
  }

  stop(): Promise<void> {
    return this.#agent.stop()
  }

  async #work(leased: LeasedJob): Promise<JobOutcome | undefined> {
    const { definition, status } = leased.job
    if (status.state === 'CANCELING') return { state: 'CANCELED' }
    const { cloud } = this.#options
    const keys = textsIn(definition.keys).slice(0, monitoringLimits.keys)
    using credentials = definition.hasCredentials === true ? new TemplateCredentials({ leased, cloud }) : undefined
    using devices = new MonitoredDevices({ ...this.#options, keys, credentials, signal: leased.signal })
    const uploads = new ResultUploads({ leased, cloud })
    try {
      for (let pass = 0; pass < passes; pass++) {
        const isDone = await this.#readAll(leased, { devices, uploads })
        if (leased.signal.aborted || isDone) break
      }
    } catch (error) {
      if (!leased.signal.aborted && !isLeaseLost(error)) return { state: 'FAILED', message: messageOf(error) }
      if (isLeaseLost(error)) return undefined
    }
    if (leased.stopReason === 'canceled') return { state: 'CANCELED' }
    if (leased.signal.aborted) return undefined
    const result = { devices: uploads.uploaded, ...devices.traffic() }
    return { state: 'FINISHED', message: uploads.summary, result }
  }

  /** Reads all targets once. Returns true if there were none, or the run has ended. */
  async #readAll(
    leased: LeasedJob,
    { devices, uploads }: { devices: MonitoredDevices; uploads: ResultUploads },
  ): Promise<boolean> {
    let read = 0
    const targets = this.#targets(leased)
    const worker = async () => {
      for (;;) {
        const { value: target, done } = await targets.next()
        if (done === true || leased.signal.aborted || uploads.isOver) return
        read += 1
        const result = await devices.read(target)
        if (leased.signal.aborted) return
        await uploads.add(result)
        leased.note(`${uploads.uploaded} devices checked`)
      }
    }
    await Promise.all(Array.from({ length: concurrentDevices }, worker))
    await uploads.flush()
    return read === 0 || uploads.isOver
  }

  /** Requests the targets page by page, while the devices of the pages before are read. */
  async *#targets(leased: LeasedJob): AsyncGenerator<MonitoringTarget, undefined> {
    let after: string | undefined
    for (;;) {
      const page = await this.#page(leased, after)
      yield* page
      after = page.at(-1)?.assetId
      if (after === undefined || page.length < monitoringLimits.targetsPerPage) return undefined
    }
  }

  /** Requests a page. Retries while the platform is not reachable or the lease is renewed. */
  async #page(leased: LeasedJob, after: string | undefined): Promise<MonitoringTarget[]> {
    const backOff = new BackOff({ firstMs: 250, longestMs: 10_000 })
    for (;;) {
      try {
        const { data } = await this.#options.cloud.gatekeeper.listMonitoringTargets({
          params: { id: leased.job.id },
          body: { data: { lease: leased.lease, ...(after === undefined ? {} : { after }) } },
        })
        return data
      } catch (error) {
        if (leased.signal.aborted) return []
        if (error instanceof Problem && error.code !== 'lease_lost' && error.status < 500) throw error
        await pause(backOff.nextMs(), leased.signal)
      }
    }
  }

  async #end(leased: LeasedJob, { state, message, result }: JobOutcome): Promise<void> {
    const backOff = new BackOff({ firstMs: 200, longestMs: 10_000 })
    const data = {
      jobId: leased.job.id,
      state,
      ...(message === undefined ? {} : { message }),
      ...(result === undefined ? {} : { result }),
    }
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#options.cloud.gatekeeper.endJob({ params: { id: leased.lease }, body: { data } })
        return
      } catch (error) {
        const isFinal = error instanceof Problem && error.status < 500
        if (isFinal || attempt >= endAttempts || leased.stopReason === 'stopping') throw error
        await pause(backOff.nextMs(), leased.signal)
      }
    }
  }
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof Problem && error.code === 'lease_lost'
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, monitoringLimits.message)
}
