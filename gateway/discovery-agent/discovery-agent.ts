import type { uploadFeatures } from '@millwright/api/gatekeeper.ts'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { signReceipt } from '@millwright/api/receipt-signature.ts'
import type { Semaphore } from '@millwright/api/semaphore.ts'
import { workflowLimits } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { addressesOf, addressOfConnection } from '../device-info/device-address.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import { textsIn } from '../device-info/device-info.ts'
import type { DeviceMetadata } from '../device-info/device-metadata.ts'
import type { Identity } from '../identity/enrolment.ts'
import type { OwnKey } from '../identity/key.ts'
import { JobCredentials } from '../job-credentials.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import { linkErrorText, offers } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { GatewayPermits, ScanPermits } from '../permits/gateway-permits.ts'
import { trafficFields } from '../permits/scan-receipt.ts'
import type { Registration } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import type { FoundAddresses } from '../remote-access/found-addresses.ts'
import type { Spool } from '../spool/spool.ts'
import { type ScanFinding, scanWithCredentials } from './credential-scan.ts'
import { endEntry, findingsEntry, receiptEntry } from './delivery.ts'
import { Findings } from './findings.ts'
import { SilentLinkError } from './scan.ts'
import { type JournalEntry, ScanJournal, sendInterrupted } from './scan-journal.ts'
import { type ScanRequest, scanRequestOf } from './scan-request.ts'

type Options = {
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  deviceMetadata: DeviceMetadata
  foundAddresses: FoundAddresses
  permits: GatewayPermits
  identity: Identity
  key: OwnKey
  spool: Spool
  /** Limits each link to one scan at a time, together with the reads of versions after updates. */
  scans: Semaphore
  /** The folder with the journals of running scans. */
  journalFolder: string
  log: Log
  /** The maximum time between two messages of the link during a scan. */
  linkSilenceMs: number
  renewEveryMs?: number | undefined
}

type FoundDevice = NonNullable<ScanFinding['devices']>[number]

type BudgetedScan = { leased: LeasedJob; registration: Registration; permits: ScanPermits }

type ScanContext = {
  leased: LeasedJob
  registration: Registration
  scanRequest: ScanRequest
  findings: Findings
  /** The id of the scan for permits. */
  scanId: string
}

/** The number of concurrent jobs. Each link runs one scan at a time, and further scans of the link wait. */
const concurrentJobs = 32

/** The time in which a registered link must be inspected before a scan starts. */
const inspectedWithinMs = 5_000

/** `DiscoveryAgent` runs discovery jobs: it starts a scan on the link and delivers findings while the scan runs. */
export class DiscoveryAgent {
  readonly #options: Options
  readonly #agent: JobAgent<JobOutcome>
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
    return this.#options.scans.run(link, async () => {
      // After a start of the gateway, a run that was missed can begin before the link has registered.
      await monitor.inspected(link, { withinMs: inspectedWithinMs, signal: leased.signal })
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
      const accepted = acceptsAddresses(leased) ? batch : { ...batch, deviceAddresses: [] }
      const entry = findingsEntry({ jobId: leased.job.id, lease: leased.lease, sequence: sequence++, batch: accepted })
      return spool.append(entry, this.#stopping.signal)
    })
    leased.note('Scanning')
    const scanning = { leased, registration, scanRequest, findings, scanId: permits.id }
    let trouble: unknown
    try {
      await this.#scanAll(scanning)
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

  /** Scans all devices, and then those that need credentials. If the link fails, the findings until then are still delivered. */
  async #scanAll({ leased, registration, scanRequest, findings, scanId }: ScanContext): Promise<void> {
    const { cloud, connections, deviceMetadata, foundAddresses, monitor, registry } = this.#options
    const { linkSilenceMs: silenceMs } = this.#options
    const { assetLinkId } = scanRequest
    let isUnlocking = false
    const scanning = scanWithCredentials({
      ...{ registration, scanRequest, scanId, silenceMs, signal: leased.signal },
      lookUp: () => registry.find(registration.appInstanceId),
      onWaiting: (why) => leased.note(why),
      inspected: () => monitor.reportOf(assetLinkId),
      newCredentials: () => new JobCredentials({ leased, assetLinkId, cloud }),
      isFound: (device) => findings.has(device),
      onProtected: ({ place }) => connections.set(assetLinkId, place.address, place.connection),
      onUnlocking: () => {
        isUnlocking = true
        leased.note('Reading protected devices')
      },
    })
    for await (const { devices = [], progress, ...others } of scanning) {
      const located = devices.map(withAddress)
      for (const { mapped, connection, address, use } of located) {
        const foundAt = address ?? use?.address
        if (mapped.asset !== undefined && foundAt !== undefined) foundAddresses.add(foundAt)
        // Only links of the first generation identify the device of an update by its id.
        const { id, ...named } = mapped
        deviceMetadata.set(assetLinkId, offers(registration, 'firstFirmwareUpdate') ? mapped : named)
        if (connection === undefined) continue
        const addresses = address === undefined ? addressesOf(mapped.asset) : [address]
        for (const one of addresses) connections.set(assetLinkId, one, connection, mapped.asset)
      }
      await findings.add({ devices: located, ...others })
      if (!isUnlocking) leased.note('Scanning', progress)
    }
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

/** Returns whether the platform accepts the addresses of devices. An older version would refuse the whole upload. */
function acceptsAddresses({ job }: LeasedJob): boolean {
  return textsIn(job.definition.accepts).includes('deviceAddresses' satisfies (typeof uploadFeatures)[number])
}

/** Adds the address at which the link found the device. It is unknown if the link reports no connection. */
function withAddress(device: FoundDevice): FoundDevice {
  const address = device.connection && addressOfConnection(device.connection)
  return address === undefined ? device : { ...device, address }
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
