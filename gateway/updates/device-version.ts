import { firmwareVersionOf, isSoftwareIdentifier } from '@millwright/api/asset-firmware.ts'
import type { Semaphore } from '@millwright/api/semaphore.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import {
  type DeviceAccess,
  type DeviceDestination,
  mayBeRefusal,
  readDevice,
  readServiceOf,
} from '../device-info/device-info.ts'
import { identityOf } from '../device-info/device-metadata.ts'
import { scan } from '../discovery-agent/scan.ts'
import { LinkClient } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Log } from '../log.ts'
import { type Document, documentOf, documentsOf, textOf } from '../mapping/document.ts'
import type { GatewayPermits } from '../permits/gateway-permits.ts'
import type { Registry } from '../registry/registry.ts'
import { type DeviceCredentials, destinationOf } from './update-device.ts'
import type { DeviceDefinition, UpdateDefinition } from './update-job.ts'

/**
 * This file reads the version of a device after an activation. If the link can read one device, the gateway uses this
 * interface. Otherwise it starts a discovery that is limited to the devices whose version is needed. Many links ignore this
 * limit, so one discovery of a link serves all devices that wait.
 */

type Options = {
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  permits: GatewayPermits
  /** Limits each link to one scan at a time, together with discovery jobs. */
  scans: Semaphore
  linkSilenceMs: number
  log: Log
}

type ReadOptions = { definition: DeviceDefinition; credentials: DeviceCredentials; signal: AbortSignal }

type ScanRequest = {
  target: DeviceDestination
  identity: ReadonlySet<string>
  signal: AbortSignal
  resolve: (asset: Document | undefined) => void
  reject: (error: unknown) => void
}

/** The maximum number of devices of one discovery, and its time limit. */
const scanLimits = { devices: 100, ms: 10 * 60_000 } as const

export class DeviceReader {
  readonly #options: Options
  readonly #waiting = new Map<string, ScanRequest[]>()
  readonly #stopping = new AbortController()

  constructor(options: Options) {
    this.#options = options
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** Returns the asset that the link reports for the device now. Throws when the device cannot be read. */
  async read({ definition, credentials, signal }: ReadOptions): Promise<Document> {
    const { registry, monitor, connections } = this.#options
    const { assetLinkId } = definition
    const registration = registry.find(assetLinkId)
    if (registration === undefined) throw new Error(`Asset link ${assetLinkId} is not registered with the gateway`)
    const service = readServiceOf(monitor.reportOf(assetLinkId) ?? registration)
    const scanned = () => this.#discover(assetLinkId, { definition, signal })
    if (service === undefined) return scanned()
    using link = new LinkClient(registration)
    const ask = (access?: DeviceAccess) =>
      readDevice(link, { device: destinationOf(definition, { connections, access, service }), service, signal })
    const { asset } = await ask().catch(async (error: unknown) => {
      if (!mayBeRefusal(error)) throw error
      return askWithCredentials(ask, { credentials, first: error })
    })
    return asset ?? scanned()
  }

  /** Returns the device from a discovery. */
  async #discover(
    assetLinkId: string,
    { definition, signal }: Pick<ReadOptions, 'definition' | 'signal'>,
  ): Promise<Document> {
    const { connections } = this.#options
    const target = destinationOf(definition, { connections, access: undefined, service: 'deviceInfo' })
    const identity = new Set(identityOf(definition.assetIdentifiers))
    const asset = await new Promise<Document | undefined>((resolve, reject) => {
      const queue = this.#waiting.get(assetLinkId)
      const request = { target, identity, signal, resolve, reject }
      if (queue !== undefined) queue.push(request)
      else {
        this.#waiting.set(assetLinkId, [request])
        void this.#scanAll(assetLinkId)
      }
    })
    if (asset === undefined) throw new Error('A discovery did not find the device')
    return asset
  }

  async #scanAll(assetLinkId: string): Promise<void> {
    for (;;) {
      const queue = this.#waiting.get(assetLinkId)
      if (queue === undefined || queue.length === 0) break
      await this.#options.scans.run(assetLinkId, async () => {
        const requests = queue.splice(0, scanLimits.devices).filter((request) => {
          if (request.signal.aborted) request.resolve(undefined)
          return !request.signal.aborted
        })
        if (requests.length === 0) return
        try {
          await this.#scan(assetLinkId, requests)
        } catch (error) {
          for (const { reject } of requests) reject(error)
        }
        for (const { resolve } of requests) resolve(undefined)
      })
    }
    this.#waiting.delete(assetLinkId)
  }

  async #scan(assetLinkId: string, requests: readonly ScanRequest[]): Promise<void> {
    const { registry, linkSilenceMs: silenceMs, log } = this.#options
    const registration = registry.find(assetLinkId)
    if (registration === undefined) throw new Error(`Asset link ${assetLinkId} is not registered with the gateway`)
    const permits = await this.#options.permits.startScan(assetLinkId)
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(scanLimits.ms)])
    const missing = new Set(requests)
    try {
      const scanRequest = { assetLinkId, filters: [], options: [] }
      const targets = requests.map(({ target }) => target)
      for await (const { devices } of scan({
        ...{ registration, scanRequest, scanId: permits.id, targets, silenceMs, signal },
      })) {
        for (const { mapped } of devices) {
          const identifiers = identityOf(mapped.asset?.asset_identifiers)
          const request = [...missing].find(({ identity }) => identifiers.some((one) => identity.has(one)))
          if (request === undefined) continue
          missing.delete(request)
          request.resolve(mapped.asset)
        }
        if (missing.size === 0) return
      }
    } finally {
      permits.end()
      log.info({ link: assetLinkId, devices: requests.length, totals: permits.traffic }, 'versions read by a discovery')
    }
  }
}

type CredentialAttempt = { credentials: DeviceCredentials; first: unknown }

/** Repeats a read with the credentials of the device. Throws the first error if no credentials are accepted. */
async function askWithCredentials<Result>(
  ask: (access: DeviceAccess) => Promise<Result>,
  { credentials, first }: CredentialAttempt,
): Promise<Result> {
  const choices = await credentials.choices().catch(() => [])
  for (const access of choices) {
    try {
      return await ask(access)
    } catch (error) {
      if (!mayBeRefusal(error)) throw error
    }
  }
  throw first
}

/**
 * Returns the version of an artefact that an asset has. Configurations, backups and log files have no version that a device
 * reports.
 */
export function installedVersion(
  asset: Document,
  { kind, name, products = [] }: UpdateDefinition['artefact'],
): string | undefined {
  if (kind === 'firmware') return firmwareVersionOf(asset) ?? undefined
  if (kind !== 'software') return undefined
  const names = new Set([name, ...products].map((one) => one.toLowerCase()))
  const artifacts = [asset, ...documentsOf(asset.software_components).map(({ artifact }) => documentOf(artifact))]
  const identifiers = artifacts.flatMap((one) => documentsOf(one.asset_identifiers).filter(isSoftwareIdentifier))
  const named = identifiers.find((one) => names.has((textOf(one.name) ?? '').toLowerCase()))
  return textOf((named ?? (identifiers.length === 1 ? identifiers[0] : undefined))?.version)
}

/** Returns whether devices report a version of the artefact, so that the gateway can verify it. */
export function hasVersion({ kind }: Pick<UpdateDefinition['artefact'], 'kind'>): boolean {
  return kind === 'firmware' || kind === 'software'
}
