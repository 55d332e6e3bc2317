import { status } from '@grpc/grpc-js'
import type { MonitoredDevice, MonitoringTarget } from '@millwright/api/monitoring-shapes.ts'
import type { DeviceConnections } from '../device-info/device-connections.ts'
import {
  type DeviceAccess,
  deviceOf,
  isUnreachable,
  mayBeRefusal,
  type ReadService,
  readMonitored,
  readServiceOf,
} from '../device-info/device-info.ts'
import { identityOf } from '../device-info/device-metadata.ts'
import { protectedText, redactedText } from '../job-credentials.ts'
import { isLinkAway, isServiceError, LinkClient, linkErrorText } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Document } from '../mapping/document.ts'
import type { GatewayPermits, ScanPermits } from '../permits/gateway-permits.ts'
import type { Registry } from '../registry/registry.ts'
import type { TemplateCredentials } from './template-credentials.ts'

type Options = {
  registry: Registry
  monitor: LinkMonitor
  connections: DeviceConnections
  permits: GatewayPermits
  /** The properties that are read in addition to the fields of the asset. */
  keys: readonly string[]
  /** Undefined if the monitoring has no template. */
  credentials: TemplateCredentials | undefined
  signal: AbortSignal
}

type TargetLink = MonitoringTarget['links'][number]
type Use = NonNullable<MonitoredDevice['uses']>[number]
type LinkResult = Omit<MonitoredDevice, 'assetId' | 'uses'>

const limits = { readMs: 10_000, inspectedMs: 5_000 } as const

/** The platform leaves out credentials that the device rejected recently. */
const noCredentials =
  'The device is protected, and there are no credentials for its address, or it rejected them less than an hour ago'
const otherDevice = 'Another device responds at the address of this device. Run a discovery'

/**
 * `MonitoredDevices` reads the devices of one job. A device is `failed` if no link gets a response from it, and `unknown` if
 * this is not certain, for example because a link is not running.
 */
export class MonitoredDevices implements Disposable {
  readonly #options: Options
  readonly #links = new Map<string, Promise<{ client: LinkClient; service: ReadService } | undefined>>()
  readonly #clients: LinkClient[] = []
  readonly #permits: ScanPermits[] = []

  constructor(options: Options) {
    this.#options = options
  }

  /** Reads a device through its links, in order, until one of them reaches the device. */
  async read(target: MonitoringTarget): Promise<MonitoredDevice> {
    const uses: Use[] = []
    const results: LinkResult[] = []
    for (const link of target.links) {
      const result = await this.#readThrough(target, link, uses)
      if (result.state === 'reached') return resultOf(target, result, uses)
      results.push(result)
      if (this.#options.signal.aborted) break
    }
    const unknown = results.find(({ state }) => state === 'unknown')
    const none: LinkResult = { state: 'unknown', message: 'No asset link of the gateway has found this device' }
    return resultOf(target, unknown ?? results[0] ?? none, uses)
  }

  async #readThrough(target: MonitoringTarget, link: TargetLink, uses: Use[]): Promise<LinkResult> {
    const { assetLinkId } = link
    const opened = await this.#open(assetLinkId)
    if (opened === undefined)
      return { state: 'unknown', message: `The asset link is not running, or cannot read devices (${assetLinkId})` }
    const ask = (access?: DeviceAccess) => this.#ask(target, link, { ...opened, access })
    try {
      const { result, access } = await this.#askWithCredentials(target, link, { ask, uses })
      if (access !== undefined) uses.push({ ...useOf(access), worked: true })
      return { ...result, assetLinkId }
    } catch (error) {
      return failureOf(error, assetLinkId)
    }
  }

  /**
   * Reads a device without credentials first, unless it was last read with them. Credentials are sent only to the address for
   * which the platform selected them.
   */
  async #askWithCredentials(
    target: MonitoringTarget,
    link: TargetLink,
    { ask, uses }: { ask: (access?: DeviceAccess) => Promise<LinkResult>; uses: Use[] },
  ): Promise<{ result: LinkResult; access?: DeviceAccess }> {
    let failure: unknown
    if (!target.isProtected || this.#options.credentials === undefined) {
      try {
        return { result: await ask() }
      } catch (error) {
        if (!mayBeRefusal(error) || this.#options.credentials === undefined) throw error
        failure = error
      }
    }
    const choices = await this.#choices(link)
    let refused = 0
    for (const access of choices) {
      try {
        return { result: await ask(access), access }
      } catch (error) {
        if (!mayBeRefusal(error)) throw discreet(error, access)
        if (isAuthenticationError(error)) {
          refused += 1
          uses.push({ ...useOf(access), worked: false })
        } else failure = discreet(error, access)
      }
    }
    if (failure === undefined && choices.length === 0) return { result: await ask() }
    if (choices.length === 0 && isAuthenticationError(failure))
      return { result: { state: 'reached', message: noCredentials } }
    if (refused > 0) return { result: { state: 'reached', message: protectedText(refused) } }
    throw failure
  }

  async #choices({ assetLinkId, foundAddresses }: TargetLink): Promise<DeviceAccess[]> {
    const { credentials } = this.#options
    const [address] = foundAddresses
    if (credentials === undefined || address === undefined) return []
    return (await credentials.ask(assetLinkId, address)).map((credential) => ({ address, credential }))
  }

  async #ask(
    { assetIdentifiers, addresses }: MonitoringTarget,
    { assetLinkId, foundAddresses }: TargetLink,
    { client, service, access }: { client: LinkClient; service: ReadService; access: DeviceAccess | undefined },
  ): Promise<LinkResult> {
    const { connections, keys, signal } = this.#options
    const all = [...new Set([...foundAddresses, ...addresses])]
    const places = access === undefined ? all : [access.address]
    const found = connections.find(assetLinkId, { addresses: places, identifiers: assetIdentifiers })
    const connection = found ?? (service === 'identifiers' ? connections.findNearest(assetLinkId, places) : undefined)
    const device = deviceOf({ assetIdentifiers, addresses: all, foundAddresses }, { service, connection, access })
    const { asset, values } = await readMonitored(client, keys, { device, service, signal, deadlineMs: limits.readMs })
    const report = asset === undefined ? undefined : reportOf(asset, assetIdentifiers)
    if (asset !== undefined && report === undefined) return { state: 'failed', message: otherDevice }
    return {
      state: 'reached',
      ...(report === undefined ? {} : { asset: report }),
      values: values.map((one) =>
        'error' in one ? { key: one.key, problem: one.error.description } : { key: one.key, value: one.value },
      ),
    }
  }

  /** Returns the client of a link, or undefined if the link is not registered or cannot read devices. */
  #open(assetLinkId: string) {
    const opened = this.#links.get(assetLinkId) ?? this.#connect(assetLinkId)
    this.#links.set(assetLinkId, opened)
    return opened
  }

  async #connect(assetLinkId: string) {
    const { registry, monitor, signal } = this.#options
    await monitor.inspected(assetLinkId, { withinMs: limits.inspectedMs, signal })
    const registration = registry.find(assetLinkId)
    if (registration === undefined) return undefined
    const service = readServiceOf(monitor.reportOf(assetLinkId) ?? registration)
    if (service === undefined) return undefined
    const permits = await this.#options.permits.startScan(assetLinkId)
    this.#permits.push(permits)
    const client = new LinkClient(registration, { scanId: permits.id })
    this.#clients.push(client)
    return { client, service }
  }

  /** Returns the number of permits of each class of traffic of the links in this job, and of refused permits. */
  traffic(): { sent: Record<string, number>; refused: Record<string, number> } {
    const totals = this.#permits.map(({ traffic }) => traffic)
    return { sent: sumOf(totals.map(({ totals: sent }) => sent)), refused: sumOf(totals.map(({ refused }) => refused)) }
  }

  [Symbol.dispose](): void {
    for (const permits of this.#permits) permits.end()
    for (const client of this.#clients) client[Symbol.dispose]()
  }
}

function resultOf({ assetId }: MonitoringTarget, result: LinkResult, uses: readonly Use[]): MonitoredDevice {
  return { assetId, ...result, ...(uses.length === 0 ? {} : { uses: uses.slice(0, mostUses) }) }
}

const mostUses = 16

function sumOf(counts: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const [name, count] of counts.flatMap((one) => Object.entries(one))) sum[name] = (sum[name] ?? 0) + count
  return sum
}

function useOf({ address, credential }: DeviceAccess) {
  return { address, instanceId: credential.instanceId }
}

/**
 * Returns the report of a device with identifiers of its asset. Returns undefined if the report is about another device, which has
 * no identifier of the asset. Without identifiers in the report, the ones of the asset are used.
 */
function reportOf(asset: Document, identifiers: readonly Document[]): Document | undefined {
  const own = new Set(identityOf(identifiers))
  const reported = identityOf(asset.asset_identifiers)
  if (reported.length === 0) return { ...asset, asset_identifiers: identifiers }
  return reported.some((digest) => own.has(digest)) ? asset : undefined
}

/** Returns the state of a device after the error of a link. It is unknown if the gateway cannot reach the link. */
function failureOf(error: unknown, assetLinkId: string): LinkResult {
  if (isAuthenticationError(error)) return { state: 'reached', assetLinkId, message: protectedText(0) }
  const isFailed = isUnreachable(error) && !isLinkAway(error)
  return isFailed ? { state: 'failed', message: detailsOf(error) } : { state: 'unknown', message: linkErrorText(error) }
}

/** Returns the text of the link without the code of gRPC, because the state of the device already expresses the code. */
function detailsOf(error: unknown): string {
  return isServiceError(error) && error.details !== '' ? error.details : linkErrorText(error)
}

/** Returns whether the device refused a sign-in. The link also reports `PERMISSION_DENIED` if the gateway refused a permit. */
function isAuthenticationError(error: unknown): boolean {
  return isServiceError(error) && error.code === status.UNAUTHENTICATED
}

/** Returns an error whose text does not contain the credential. */
function discreet(error: unknown, { credential }: DeviceAccess): unknown {
  if (!credential.secret.isIn(linkErrorText(error))) return error
  return isServiceError(error)
    ? Object.assign(new Error(redactedText), { code: error.code, details: redactedText })
    : new Error(redactedText)
}
