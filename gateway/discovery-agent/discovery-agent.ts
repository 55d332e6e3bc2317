import { Semaphore } from '@millwright/api/semaphore.ts'
import { workflowLimits } from '@millwright/api/workflows.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import { type DeviceDestination, readDevice, readServiceOf } from '../device-info/device-info.ts'
import { JobCredentials } from '../job-credentials.ts'
import type { Ending, HeldJob } from '../jobs/held-job.ts'
import { JobAgent } from '../jobs/job-agent.ts'
import { LinkClient, linkTrouble } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { textOf } from '../mapping/document.ts'
import type { Outgoing } from '../outgoing.ts'
import type { Registration } from '../registry/registration.ts'
import type { Registry } from '../registry/registry.ts'
import type { Spool } from '../spool/spool.ts'
import { type Wanted, wantedOf } from './definition.ts'
import { endParcel, foundParcel } from './delivery.ts'
import { addressesOf } from './device-address.ts'
import { Findings } from './findings.ts'
import { type Locked, lockedOf } from './locked.ts'
import { SilentLinkError, scan } from './scan.ts'
import { ScanRelations } from './scan-relations.ts'
import { unlock } from './unlock.ts'

type Options = {
  outgoing: Outgoing
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  spool: Spool
  log: Log
  /** The time limit without a message of the link during a scan. */
  linkSilenceMs: number
  renewEveryMs?: number | undefined
}

type Scanning = { held: HeldJob; registration: Registration; wanted: Wanted; findings: Findings }

/** Protected devices of one scan that are asked again; they are remembered until the scan is over. */
const mostLocked = 100_000

/** Jobs at once; each link has one scan at a time, the others wait for it. */
const atOnce = 32

/** Does discovery jobs: has the link find devices and hands them in while the scan runs. */
export class DiscoveryAgent {
  readonly #options: Options
  readonly #agent: JobAgent
  /** One scan of each link at a time. */
  readonly #scans = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  readonly #stopping = new AbortController()

  constructor(options: Options) {
    this.#options = options
    const { outgoing, spool, log, renewEveryMs } = options
    this.#agent = new JobAgent({
      workflows: ['discovery'],
      atOnce,
      outgoing,
      log,
      renewEveryMs,
      // The end of a job may still wait in the spool: it must not be offered to us once more before that is told.
      ready: (signal) => spool.settled(signal),
      work: (held) => this.#work(held),
      end: (held, ending) => this.#end(held, ending),
    })
  }

  start(): void {
    this.#agent.start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#agent.stop()
  }

  get running(): number {
    return this.#agent.running
  }

  async #work(held: HeldJob): Promise<Ending> {
    const { registry, monitor } = this.#options
    if (held.job.status.state === 'CANCELING') return { state: 'CANCELED' }
    const link = textOf(held.job.definition.assetLinkId) ?? ''
    held.note('Waiting for the link')
    return this.#scans.run(link, async () => {
      if (held.signal.aborted) return { state: 'CANCELED' }
      const registration = registry.find(link)
      if (registration === undefined) return failed(`No service is registered as ${link}`)
      let wanted: Wanted
      try {
        wanted = wantedOf(held.job.definition, monitor.reportOf(link))
      } catch (error) {
        return failed(linkTrouble(error))
      }
      return this.#scan(held, registration, wanted)
    })
  }

  async #scan(held: HeldJob, registration: Registration, wanted: Wanted): Promise<Ending> {
    const { spool } = this.#options
    let sequence = 0
    const findings = new Findings((batch) => {
      const parcel = foundParcel({ jobId: held.job.id, lease: held.lease, sequence: sequence++, batch })
      return spool.append(parcel, this.#stopping.signal)
    })
    held.note('Scanning')
    const scanning = { held, registration, wanted, findings }
    let trouble: unknown
    try {
      await this.#unlock(scanning, await this.#look(scanning))
    } catch (error) {
      trouble = error
    }
    // Whatever ended the scan: what was found is handed in.
    await findings.flush()
    // Messages have no counts of devices: they are shown to readers of the gateway who cannot read all of its devices.
    if (held.stopReason === 'canceled') return { state: 'CANCELED', message: 'Canceled' }
    if (trouble instanceof SilentLinkError) return failed(trouble.message)
    if (trouble !== undefined) return failed(`The link broke off: ${linkTrouble(trouble)}`)
    return { state: 'FINISHED', message: 'Scan complete' }
  }

  /** Looks everywhere; answers the devices that want credentials. What a link that broke off found is told all the same. */
  async #look({ held, registration, wanted, findings }: Scanning): Promise<Locked[]> {
    const locked = new Map<string, Locked>()
    const relations = new ScanRelations()
    const { connections, linkSilenceMs: silenceMs } = this.#options
    const { signal } = held
    const onWaiting = (why: string) => held.note(why)
    try {
      const lookUp = () => this.#options.registry.find(registration.appInstanceId)
      for await (const { devices, errors, progress } of scan({
        registration,
        lookUp,
        wanted,
        silenceMs,
        signal,
        onWaiting,
      })) {
        const newErrors = errors.filter((error) => {
          const one = locked.size < mostLocked ? lockedOf(error) : undefined
          if (one === undefined) return true
          locked.set(one.place.key, one)
          connections.set(wanted.assetLinkId, one.place.address, one.place.connection)
          return false
        })
        for (const { mapped, connection } of devices) {
          if (connection === undefined) continue
          for (const address of addressesOf(mapped.asset)) connections.set(wanted.assetLinkId, address, connection)
        }
        await findings.add({ devices: relations.take(devices), errors: newErrors.map(({ error }) => error) })
        held.note('Scanning', progress)
      }
      await findings.add(relations.finding())
    } catch (error) {
      await findings.add({ errors: [...locked.values()].map((one) => one.error) })
      throw error
    }
    return [...locked.values()]
  }

  async #unlock({ held, registration, wanted, findings }: Scanning, locked: readonly Locked[]): Promise<void> {
    if (locked.length === 0) return
    const { outgoing, monitor, linkSilenceMs: silenceMs } = this.#options
    const service = readServiceOf(monitor.reportOf(wanted.assetLinkId) ?? registration)
    using link = new LinkClient(registration, 'scan')
    const unlocking = unlock(locked, {
      read:
        service === undefined
          ? undefined
          : (device: DeviceDestination, signal: AbortSignal) => readDevice(link, { device, service, signal }),
      isFound: (device) => findings.has(device),
      newCredentials: () => new JobCredentials({ held, assetLinkId: wanted.assetLinkId, outgoing }),
      discover: (targets, signal) => scan({ registration, wanted, targets, silenceMs, signal }),
      signal: held.signal,
    })
    held.note('Reading protected devices')
    for await (const finding of unlocking) await findings.add(finding)
  }

  /** Behind its findings, so that they are there when the cloud hears of the end. */
  async #end(held: HeldJob, { state, message }: Ending): Promise<void> {
    const said = message === undefined ? {} : { message: message.slice(0, workflowLimits.message) }
    const parcel = endParcel(held.lease, { jobId: held.job.id, state, ...said })
    await this.#options.spool.append(parcel, this.#stopping.signal)
  }
}

function failed(message: string): Ending {
  return { state: 'FAILED', message }
}
