import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { signReceipt } from '@millwright/api/receipt-signature.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { workflowLimits } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { addressesOf } from '../device-info/device-address.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import { type DeviceDestination, readDevice, readServiceOf } from '../device-info/device-info.ts'
import type { Identity } from '../identity/enrolment.ts'
import type { OwnKey } from '../identity/key.ts'
import { JobCredentials } from '../job-credentials.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import { LinkClient, linkErrorText, offers } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { GatewayPermits, ScanPermits } from '../permits/gateway-permits.ts'
import { trafficFields } from '../permits/scan-receipt.ts'
import type { Registration } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import type { Spool } from '../spool/spool.ts'
import { endEntry, findingsEntry, receiptEntry } from './delivery.ts'
import { Findings } from './findings.ts'
import { type ProtectedDevice, protectedDeviceOf } from './protected-device.ts'
import { SilentLinkError, scan } from './scan.ts'
import { type JournalEntry, ScanJournal, sendInterrupted } from './scan-journal.ts'
import { ScanRelations } from './scan-relations.ts'
import { type ScanRequest, scanRequestOf } from './scan-request.ts'
import { unlock } from './unlock.ts'

type Options = {
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  permits: GatewayPermits
  identity: Identity
  key: OwnKey
  spool: Spool
  /** The folder with the journals of running scans. */
  journalFolder: string
  log: Log
  /** The maximum time between two messages of the link during a scan. */
  linkSilenceMs: number
  renewEveryMs?: number | undefined
}

type BudgetedScan = { leased: LeasedJob; registration: Registration; permits: ScanPermits }

type ScanContext = {
  leased: LeasedJob
  registration: Registration
  scanRequest: ScanRequest
  findings: Findings
  /** The id of the scan for permits. */
  scanId: string
}

/**
 * The maximum number of protected devices of one scan that are read again with credentials. These devices stay in
 * memory until the end of the scan.
 */
const maxProtectedDevices = 100_000

/** The number of concurrent jobs. Each link runs one scan at a time, and further scans of the link wait. */
const concurrentJobs = 32

/** `DiscoveryAgent` runs discovery jobs: it starts a scan on the link and delivers findings while the scan runs. */
export class DiscoveryAgent {
  readonly #options: Options
  readonly #agent: JobAgent
  /** Limits each link to one scan at a time. */
  readonly #scans = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  readonly #stopping = new AbortController()
  /** Resolves when the receipts of scans that a crash interrupted are in the spool. */
  #recovered: Promise<void> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
    const { cloud, spool, log, renewEveryMs } = options
    this.#agent = new JobAgent({
      workflows: ['discovery'],
      concurrentJobs,
      cloud,
      log,
      renewEveryMs,
      // The end of an earlier job may still wait in the spool. The agent requests new jobs only after that entry is
      // delivered, so that no job runs twice.
      ready: async (signal) => {
        await this.#recovered
        await spool.settled(signal)
      },
      work: (leased) => this.#work(leased),
      end: (leased, ending) => this.#end(leased, ending),
    })
  }

  start(): void {
    const { journalFolder: folder, log } = this.#options
    this.#recovered = sendInterrupted({ folder, log }, (entry) => this.#appendReceipt(entry)).catch((error: unknown) =>
      log.error({ error }, 'the receipts of interrupted scans could not be sent'),
    )
    this.#agent.start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([this.#agent.stop(), this.#recovered])
  }

  get running(): number {
    return this.#agent.running
  }

  async #work(leased: LeasedJob): Promise<JobOutcome> {
    const { registry, monitor } = this.#options
    if (leased.job.status.state === 'CANCELING') return { state: 'CANCELED' }
    if (runOf(leased) === undefined)
      return failed('The job has no run of a discovery, so its scan would have no receipt. Start a discovery instead.')
    const link = textOf(leased.job.definition.assetLinkId) ?? ''
    leased.note('Waiting for the asset link')
    return this.#scans.run(link, async () => {
      if (leased.signal.aborted) return { state: 'CANCELED' }
      const registration = registry.find(link)
      if (registration === undefined)
        return failed(`Asset link ${link} is not registered with the gateway. Start the asset link`)
      let scanRequest: ScanRequest
      try {
        scanRequest = scanRequestOf(leased.job.definition, monitor.reportOf(link))
      } catch (error) {
        return failed(linkErrorText(error))
      }
      return this.#scan(leased, registration, scanRequest)
    })
  }

  async #scan(leased: LeasedJob, registration: Registration, scanRequest: ScanRequest): Promise<JobOutcome> {
    const { spool } = this.#options
    let permits: ScanPermits
    try {
      permits = await this.#options.permits.startScan(registration.appInstanceId)
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error))
    }
    let journal: ScanJournal | undefined
    try {
      journal = await this.#startJournal({ leased, registration, permits })
    } catch (error) {
      permits.end()
      return failed(`The gateway cannot store what the scan sends: ${(error as Error).message}`)
    }
    // After a cancellation, the gateway gives no permits, so the links send nothing even if they ignore the cancellation.
    leased.signal.addEventListener('abort', permits.end, { once: true })
    if (leased.signal.aborted) permits.end()
    let sequence = 0
    const findings = new Findings((batch) => {
      const entry = findingsEntry({ jobId: leased.job.id, lease: leased.lease, sequence: sequence++, batch })
      return spool.append(entry, this.#stopping.signal)
    })
    leased.note('Scanning')
    const scanning = { leased, registration, scanRequest, findings, scanId: permits.id }
    let trouble: unknown
    try {
      await this.#unlock(scanning, await this.#scanAll(scanning))
    } catch (error) {
      trouble = error
    }
    permits.end()
    // Findings are delivered even if the scan failed or was canceled.
    await findings.flush()
    const outcome = this.#outcomeOf(leased, permits, trouble)
    await journal?.end(receiptStateOf(leased, outcome))
    return outcome
  }

  #outcomeOf(leased: LeasedJob, permits: ScanPermits, trouble: unknown): JobOutcome {
    // The messages contain no counts of devices, because users who can read the gateway may lack permission to read all
    // devices that it found.
    if (leased.stopReason === 'canceled') return { state: 'CANCELED', message: 'Canceled' }
    if (permits.problem !== undefined) return failed(permits.problem)
    if (trouble instanceof SilentLinkError) return failed(trouble.message)
    if (trouble !== undefined) return failed(`The asset link ended the scan with an error: ${linkErrorText(trouble)}`)
    return { state: 'FINISHED', message: 'Scan complete' }
  }

  /**
   * Starts the journal of a scan. A link that takes no permits has no receipt, because the gateway does not know what the
   * link sent.
   */
  async #startJournal({ leased, registration, permits }: BudgetedScan): Promise<ScanJournal | undefined> {
    const { identity, journalFolder: folder, log } = this.#options
    const run = runOf(leased)
    if (run === undefined || !offers(registration, 'permits')) return
    const about = { ...run, gatewayId: identity.gatewayId, assetLinkId: registration.appInstanceId }
    return ScanJournal.start({
      folder,
      log,
      entry: (state) => ({
        jobId: leased.job.id,
        lease: leased.lease,
        receipt: {
          ...about,
          ...trafficFields({ state, budgets: permits.budgets, traffic: permits.traffic, endedAt: new Date() }),
        },
      }),
      deliver: (entry) => this.#appendReceipt(entry),
    })
  }

  /** Signs a receipt and appends it to the spool. */
  async #appendReceipt({ jobId, lease, receipt }: JournalEntry): Promise<void> {
    const { spool, key, log } = this.#options
    log.info({ job: jobId, state: receipt.state, totals: receipt.totals }, 'scan receipt')
    await spool.append(receiptEntry(lease, jobId, signReceipt(receipt, key)), this.#stopping.signal)
  }

  /**
   * Scans all devices and returns the protected devices. If the link fails, the findings until then are still
   * delivered.
   */
  async #scanAll({ leased, registration, scanRequest, findings, scanId }: ScanContext): Promise<ProtectedDevice[]> {
    const locked = new Map<string, ProtectedDevice>()
    const relations = new ScanRelations()
    const { connections, linkSilenceMs: silenceMs } = this.#options
    const { signal } = leased
    const onWaiting = (why: string) => leased.note(why)
    try {
      const lookUp = () => this.#options.registry.find(registration.appInstanceId)
      for await (const { devices, errors, progress } of scan({
        registration,
        lookUp,
        scanRequest,
        scanId,
        silenceMs,
        signal,
        onWaiting,
      })) {
        const newErrors = errors.filter((error) => {
          const one = locked.size < maxProtectedDevices ? protectedDeviceOf(error) : undefined
          if (one === undefined) return true
          locked.set(one.place.key, one)
          connections.set(scanRequest.assetLinkId, one.place.address, one.place.connection)
          return false
        })
        for (const { mapped, connection } of devices) {
          if (connection === undefined) continue
          for (const address of addressesOf(mapped.asset)) connections.set(scanRequest.assetLinkId, address, connection)
        }
        await findings.add({ devices: relations.take(devices), errors: newErrors.map(({ error }) => error) })
        leased.note('Scanning', progress)
      }
      await findings.add(relations.finding())
    } catch (error) {
      await findings.add({ errors: [...locked.values()].map((one) => one.error) })
      throw error
    }
    return [...locked.values()]
  }

  async #unlock(
    { leased, registration, scanRequest, findings, scanId }: ScanContext,
    locked: readonly ProtectedDevice[],
  ): Promise<void> {
    if (locked.length === 0) return
    const { cloud, monitor, linkSilenceMs: silenceMs } = this.#options
    const service = readServiceOf(monitor.reportOf(scanRequest.assetLinkId) ?? registration)
    using link = new LinkClient(registration, { purpose: 'scan', scanId })
    const unlocking = unlock(locked, {
      read:
        service === undefined
          ? undefined
          : (device: DeviceDestination, signal: AbortSignal) => readDevice(link, { device, service, signal }),
      isFound: (device) => findings.has(device),
      newCredentials: () => new JobCredentials({ leased, assetLinkId: scanRequest.assetLinkId, cloud }),
      discover: (targets, signal) => scan({ registration, scanRequest, scanId, targets, silenceMs, signal }),
      signal: leased.signal,
    })
    leased.note('Reading protected devices')
    for await (const finding of unlocking) await findings.add(finding)
  }

  /** Appends the end of the job to the spool after its findings, so that the cloud receives the findings first. */
  async #end(leased: LeasedJob, { state, message }: JobOutcome): Promise<void> {
    const said = message === undefined ? {} : { message: message.slice(0, workflowLimits.message) }
    const entry = endEntry(leased.lease, { jobId: leased.job.id, state, ...said })
    await this.#options.spool.append(entry, this.#stopping.signal)
  }
}

const receiptStates = { FINISHED: 'finished', FAILED: 'failed', CANCELED: 'canceled' } as const

/** Returns the state of a scan. A scan that the gateway ended without a cancellation is interrupted. */
function receiptStateOf({ stopReason }: LeasedJob, { state }: JobOutcome): SignedReceipt['state'] {
  return stopReason === undefined || stopReason === 'canceled' ? receiptStates[state] : 'interrupted'
}

/** Returns the run and the discovery of a job. A scan without them has no receipt, so the gateway does not start it. */
function runOf({ job }: LeasedJob): { jobId: string; runId: string } | undefined {
  const { runId, discoveryId } = job.definition
  if (typeof runId !== 'string' || typeof discoveryId !== 'string') return undefined
  return { jobId: discoveryId, runId }
}

function failed(message: string): JobOutcome {
  return { state: 'FAILED', message }
}
