import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type MonitoredDevice, monitoringLimits } from '@millwright/api/monitoring-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { LeasedJob } from '../jobs/leased-job.ts'

type Options = { leased: LeasedJob; cloud: CloudConnection }

const limits = {
  /** A group of results is sent when it has this many devices or bytes, or when its first result has this age. */
  devices: 100,
  bytes: monitoringLimits.resultBytes / 4,
  ageMs: 1_000,
} as const

/**
 * `ResultUploads` sends the results of a job in groups, one group at a time. A group is sent again until the platform accepts it.
 * The results are not stored on disk: after a restart, devices without a stored result are read again.
 */
export class ResultUploads {
  readonly #options: Options
  #group: MonitoredDevice[] = []
  #bytes = 0
  #startedAtMs = 0
  #sending: Promise<void> = Promise.resolve()
  /** The numbers of devices whose results the platform has, by state. */
  readonly #counts: Record<MonitoredDevice['state'], number> = { reached: 0, failed: 0, unknown: 0 }
  #isOver = false

  constructor(options: Options) {
    this.#options = options
  }

  /** The number of results that the platform has. */
  get uploaded(): number {
    const { reached, failed, unknown } = this.#counts
    return reached + failed + unknown
  }

  /** The results that the platform has, in words: `76 devices reached, 4 not reachable`. */
  get summary(): string {
    const { reached, failed, unknown } = this.#counts
    const parts = [
      `${reached} ${reached === 1 ? 'device' : 'devices'} reached`,
      failed > 0 && `${failed} not reachable`,
      unknown > 0 && `${unknown} not checked`,
    ]
    return parts.filter((part) => part !== false).join(', ')
  }

  /** Whether the run has ended, so that further results have no effect. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Adds a result. Waits while a full group is sent. */
  async add(result: MonitoredDevice): Promise<void> {
    const limited = limitedResult(result)
    if (this.#group.length === 0) this.#startedAtMs = performance.now()
    this.#group.push(limited)
    this.#bytes += Buffer.byteLength(JSON.stringify(limited))
    const isOld = performance.now() - this.#startedAtMs >= limits.ageMs
    if (this.#group.length >= limits.devices || this.#bytes >= limits.bytes || isOld) await this.flush()
  }

  /** Sends all results. */
  flush(): Promise<void> {
    const results = this.#group
    this.#group = []
    this.#bytes = 0
    const sent = this.#sending.then(() => this.#send(results))
    this.#sending = sent.catch(() => undefined)
    return sent
  }

  async #send(results: MonitoredDevice[]): Promise<void> {
    if (results.length === 0 || this.#isOver) return
    const { leased, cloud } = this.#options
    const backOff = new BackOff({ firstMs: 250, longestMs: 10_000 })
    for (;;) {
      try {
        const { data } = await cloud.gatekeeper.uploadMonitoringResults({
          params: { id: leased.job.id },
          body: { data: { lease: leased.lease, results } },
        })
        this.#isOver = !data.isOpen
        for (const { state } of results) this.#counts[state]++
        return
      } catch (error) {
        if (leased.signal.aborted) return
        // The platform offers the job again after the lease was lost, and this job continues with the new lease.
        const isTemporary = !(error instanceof Problem) || error.code === 'lease_lost' || error.status >= 500
        if (!isTemporary && ![401, 408, 429].includes(error.status)) throw error
        await pause(backOff.nextMs(), leased.signal)
      }
    }
  }
}

/** Returns a result whose report and values are within the limits. */
function limitedResult(result: MonitoredDevice): MonitoredDevice {
  const { asset, values, message, ...rest } = result
  const isReportSmall = asset !== undefined && bytesOf(asset) <= monitoringLimits.reportBytes
  return {
    ...rest,
    ...(message === undefined ? {} : { message: message.slice(0, monitoringLimits.message) }),
    ...(isReportSmall ? { asset } : {}),
    ...(values === undefined ? {} : { values: values.map(limitedValue) }),
  }
}

type Value = NonNullable<MonitoredDevice['values']>[number]

function limitedValue({ key, value, problem }: Value): Value {
  if (value !== undefined && bytesOf(value) > monitoringLimits.valueBytes)
    return { key, problem: `The value has more than ${monitoringLimits.valueBytes} bytes` }
  return {
    key,
    ...(value === undefined ? {} : { value }),
    ...(problem === undefined ? {} : { problem: problem.slice(0, monitoringLimits.message) }),
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
