import { join } from 'node:path'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { updateLimits } from '@millwright/api/updates.ts'
import type { Clock } from '../clock.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import type { GatewayPermits } from '../permits/gateway-permits.ts'
import type { GatewaySettings } from '../settings.ts'
import { ArtefactCache } from './artefact-cache.ts'
import { updateTrustFileName } from './artefact-trust.ts'
import {
  DeviceUpdate,
  defaultTiming,
  type JobReporter,
  type UpdateEnd,
  type UpdateParts,
  type UpdateTiming,
} from './device-update.ts'
import { DeviceReader } from './device-version.ts'
import { Retrievals } from './retrieval.ts'
import { definitionOf, RetrievalDefinition, UpdateDefinition } from './update-job.ts'
import { UpdateJournal } from './update-journal.ts'

type Options = UpdateParts & { retrievals: Retrievals; renewEveryMs?: number | undefined }

/** The number of devices that the gateway updates at the same time. */
const concurrentJobs = 128

/** The maximum number of updates in the status of the gateway. */
const shownUpdates = 50

type AnyOutcome = UpdateEnd | JobOutcome

type Report = { state: string; message?: string; result?: Record<string, unknown> }

/** `UpdateAgent` runs the jobs that update devices and that read artefacts from devices. */
export class UpdateAgent {
  readonly #options: Options
  readonly #agent: JobAgent<AnyOutcome>
  /** Limits each device to one job at a time. */
  readonly #devices = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  readonly #stopping = new AbortController()
  readonly #updates = new Set<DeviceUpdate>()

  constructor(options: Options) {
    this.#options = options
    const { cloud, log, renewEveryMs } = options
    this.#agent = new JobAgent<AnyOutcome>({
      workflows: ['artefact-update', 'artefact-retrieval'],
      concurrentJobs,
      cloud,
      log,
      renewEveryMs,
      // A waiting renewal of each job would use all connections to the platform.
      waitsForCancel: false,
      ready: () => Promise.resolve(),
      work: (leased) => (isRetrieval(leased) ? this.#retrieve(leased) : this.#update(leased)),
      end: (leased, end) => (isRetrieval(leased) ? this.#endRetrieval(leased, end) : this.#endUpdate(leased, end)),
      // The platform can request the activation before the gateway has read the response to `PREPARED`.
      isNextPart: (end, state) => end.state === 'PREPARED' && state !== 'CREATED' && state !== 'PREPARING',
    })
  }

  start(): void {
    this.#agent.start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#options.reader.stop()
    await this.#agent.stop()
  }

  get status() {
    return {
      running: this.#agent.running,
      devices: [...this.#updates].slice(0, shownUpdates).map(({ status }) => status),
      cache: this.#options.cache.status,
    }
  }

  async #update(leased: LeasedJob): Promise<UpdateEnd | undefined> {
    const parsed = definitionOf(UpdateDefinition, leased)
    const reporter: JobReporter = {
      advance: (state) => this.#advance(leased, { state }),
      tryAdvance: (state) => this.#tryAdvance(leased, { state }),
    }
    if ('fault' in parsed) {
      // A new job can fail only after its start.
      if (leased.job.status.state === 'CREATED') await reporter.advance('PREPARING')
      return { state: 'FAILED', message: parsed.fault }
    }
    const { definition } = parsed
    return this.#devices.run(definition.assetId, async () => {
      using update = new DeviceUpdate({
        ...{ leased, definition, reporter, parts: this.#options },
        stopping: this.#stopping.signal,
      })
      this.#updates.add(update)
      try {
        return await update.run()
      } finally {
        this.#updates.delete(update)
      }
    })
  }

  async #retrieve(leased: LeasedJob): Promise<JobOutcome | undefined> {
    const parsed = definitionOf(RetrievalDefinition, leased)
    if ('fault' in parsed) return { state: 'FAILED', message: parsed.fault }
    const { definition } = parsed
    const signal = AbortSignal.any([leased.signal, this.#stopping.signal])
    return this.#devices.run(definition.assetId, () => this.#options.retrievals.run({ leased, definition, signal }))
  }

  async #endUpdate(leased: LeasedJob, end: AnyOutcome): Promise<void> {
    const state = await this.#advance(leased, end)
    if (state !== undefined && end.state !== 'PREPARED') await this.#options.journal.confirm(leased.job.id)
  }

  async #endRetrieval(leased: LeasedJob, { state, message, result }: AnyOutcome): Promise<void> {
    const { cloud, retrievals } = this.#options
    const data = { jobId: leased.job.id, state: state as JobOutcome['state'], ...optional({ message, result }) }
    await this.#retried(leased, () => cloud.gatekeeper.endJob({ params: { id: leased.lease }, body: { data } }))
    await retrievals.remove(leased)
  }

  /**
   * Moves a job to a state. Retries until the platform responds, also while it is not reachable. Returns the state of the job
   * at the platform, or undefined if the gateway stops or loses the job.
   */
  async #advance(leased: LeasedJob, report: Report): Promise<string | undefined> {
    const answer = await this.#retried(leased, () => this.#send(leased, report))
    return answer?.data.state
  }

  async #tryAdvance(leased: LeasedJob, report: Report): Promise<void> {
    await this.#send(leased, report).catch((error: unknown) =>
      this.#options.log.debug({ job: leased.job.id, error }, 'the state of an update was not reported'),
    )
  }

  async #send(leased: LeasedJob, { state, message, result }: Report) {
    const send = (fields: Omit<Report, 'state'>) =>
      this.#options.cloud.gatekeeper.advanceJob({
        params: { id: leased.lease },
        body: { data: { jobId: leased.job.id, state, ...optional({ message, ...fields }) } },
      })
    try {
      return await send(optional({ result }))
    } catch (error) {
      const isTooLarge = error instanceof Problem && error.code === 'body_too_large' && result?.asset !== undefined
      if (!isTooLarge) throw error
      const { asset: _, ...others } = result
      return send({ result: others })
    }
  }

  /** Repeats a request until the platform accepts or rejects it. Returns undefined if the work on the job stops. */
  async #retried<Result>(leased: LeasedJob, request: () => Promise<Result>): Promise<Result | undefined> {
    const backOff = new BackOff({ firstMs: 250, longestMs: 15_000 })
    const isStopped = () =>
      this.#stopping.signal.aborted || leased.stopReason === 'abandoned' || leased.stopReason === 'stopping'
    // A canceled job is not renewed. It can continue with a new lease for some time.
    const canceledUntilMs = performance.now() + canceledMs
    while (!isStopped()) {
      try {
        return await request()
      } catch (error) {
        if (isFinal(error)) throw error
        if (leased.stopReason === 'canceled' && performance.now() > canceledUntilMs) throw error
        await pause(backOff.nextMs(), this.#stopping.signal)
      }
    }
    return undefined
  }
}

type OpenOptions = Pick<UpdateParts, 'cloud' | 'registry' | 'monitor' | 'connections' | 'metadata' | 'log'> & {
  settings: Pick<GatewaySettings, 'home' | 'artefactCacheBytes' | 'linkSilenceMs'>
  clock: Clock
  permits: GatewayPermits
  scans: Semaphore
  renewEveryMs: number | undefined
  timing: UpdateTiming | undefined
}

/** Opens the artefact cache and the journal in the home of the gateway. */
export async function openUpdateAgent({
  settings,
  clock,
  permits,
  scans,
  ...options
}: OpenOptions): Promise<UpdateAgent> {
  const { cloud, registry, monitor, connections, metadata, log, renewEveryMs, timing = defaultTiming } = options
  const { home, artefactCacheBytes: limitBytes, linkSilenceMs } = settings
  const link = { registry, monitor, connections, metadata, linkSilenceMs, cloud, log }
  return new UpdateAgent({
    ...link,
    cache: await ArtefactCache.open({ folder: join(home, 'artefacts'), limitBytes, log }),
    journal: await UpdateJournal.open({ folder: join(home, 'updates'), log }),
    reader: new DeviceReader({ ...link, permits, scans }),
    retrievals: await Retrievals.open({
      ...{ ...link, folder: join(home, 'retrievals') },
      ...{ retryMs: timing.retryMs, longestCallMs: timing.longestCallMs },
      limitBytes: Math.min(limitBytes, updateLimits.artefactBytes),
    }),
    trustFile: join(home, updateTrustFileName),
    now: () => new Date(clock.now()),
    timing,
    renewEveryMs,
  })
}

/** How long the end of a canceled job is reported while the platform is not reachable. */
const canceledMs = 120_000

function isRetrieval({ job }: LeasedJob): boolean {
  return job.workflow.name === 'artefact-retrieval'
}

/** Returns whether the platform rejects a request permanently. A lost lease is replaced when the job is offered again. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code === 'lease_lost') return false
  return error.status < 500 && ![401, 403, 408, 429].includes(error.status)
}

/** Returns the fields that are not undefined. */
function optional<Fields extends Record<string, unknown>>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>
  }
}
