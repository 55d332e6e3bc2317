import { numberOfAddress } from '@millwright/api/ip-range.ts'
import type { JsonValue } from '@millwright/api/variant.ts'
import type { Address, DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { isExcluded, scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { sweep } from '@millwright/link-sdk/network/sweep.ts'
import { assetOf, factsOf, modulesOf } from './asset.ts'
import { neighboursError, type Place, type ReadContext, readAt } from './contact.ts'
import type { Reading } from './device.ts'
import { type Login, loginsOf, publicLogin } from './login.ts'
import { credentialSchema } from './manifest.ts'
import { forgetKeys } from './session.ts'
import { type ScanSettings, settingsOf } from './settings.ts'

/** The devices of the last discoveries, for reads that name a device only by its identifiers. */
export const knownDevices = new KnownDevices()

/** `Visit` is an address to scan. `isNamed` is true if the call names the device, so that silence is an error. */
type Visit = Place & { target: Pick<Target, 'credentials'>; isNamed: boolean }

/** Scans the range, or the devices that the targets name, and yields each device as soon as it has been read. */
export async function* discover(call: DiscoverCall): AsyncGenerator<DiscoveryResult> {
  const settings = settingsOf(call.options)
  const { total, visits } = await visitsOf(call, settings)
  const scanned = call.targets.some(namesDevice) ? undefined : visits
  const results = sweep(visits, {
    parallel: settings.parallel,
    signal: call.signal,
    work: (visit, signal) => scan(visit, { ...call, settings, signal }),
    onDone: (completed) => call.progress((completed / total) * 100),
  })
  call.progress(0)
  try {
    for await (const result of results) {
      if ('asset' in result) await remember(result, scanned)
      yield result
    }
  } finally {
    forgetKeys()
  }
}

async function remember(
  { asset, address }: Extract<DiscoveryResult, { asset: unknown }>,
  scan: object | undefined,
): Promise<void> {
  const { ip_address: ipAddress } = address ?? {}
  if (address === undefined || typeof ipAddress !== 'string') return
  knownDevices.add(asset, address, { scan, macAddress: await arpTable.macAddressOf(ipAddress) })
}

/** Returns the addresses to scan. Targets without an address have credentials for all addresses. */
async function visitsOf(
  call: DiscoverCall,
  settings: ScanSettings,
): Promise<{ total: number; visits: Iterable<Visit> }> {
  const named = call.targets.filter(namesDevice)
  if (named.length > 0) {
    const visits = (await Promise.all(named.map((target) => namedVisits(target, call, settings)))).flat()
    return { total: visits.length, visits }
  }
  const range = scanRangeOf(call.filters)
  const target = { credentials: call.targets.flatMap(({ credentials }) => credentials) }
  return { total: range.size * settings.ports.length, visits: rangeVisits(range.addresses(), { target, settings }) }
}

function namesDevice({ address, identifiers }: Target): boolean {
  return Object.keys(address).length > 0 || identifiers.length > 0
}

function* rangeVisits(
  addresses: Iterable<string>,
  { target, settings }: Pick<Visit, 'target'> & { settings: ScanSettings },
): Generator<Visit> {
  for (const address of addresses) {
    for (const port of settings.ports) yield { address, port, target, isNamed: false }
  }
}

async function namedVisits(target: Target, { filters }: DiscoverCall, { ports }: ScanSettings): Promise<Visit[]> {
  const place = await placeOf(target)
  if (place === undefined || isExcluded(place.address, filters)) return []
  const { address } = place
  return (place.port === undefined ? ports : [place.port]).map((port) => ({ address, port, target, isNamed: true }))
}

/**
 * Returns the address of a target, or the address at which the last discovery found its identifiers, or the address that
 * the ARP table has for its MAC address. Throws INVALID_ARGUMENT if the target has credentials, but no IP address.
 */
export async function placeOf(
  target: Target,
): Promise<{ address: string; port?: number; entity?: JsonValue } | undefined> {
  const { ip_address: ip, port, entity } = knownDevices.addressOf(target) ?? {}
  const ipAddress = ip ?? (await addressInArpTable(target.identifiers))
  if (typeof ipAddress !== 'string' || numberOfAddress(ipAddress) === undefined) return undefined
  return {
    address: ipAddress,
    ...(typeof port === 'number' ? { port } : {}),
    ...(entity === undefined ? {} : { entity }),
  }
}

async function addressInArpTable(identifiers: Target['identifiers']): Promise<string | undefined> {
  for (const { mac_address: mac } of identifiers) {
    const ipAddress = typeof mac === 'string' ? await arpTable.ipAddressOf(mac) : undefined
    if (ipAddress !== undefined) return ipAddress
  }
  return undefined
}

async function* scan(visit: Visit, context: ReadContext): AsyncGenerator<DiscoveryResult> {
  const address = { ip_address: visit.address, port: visit.port }
  try {
    const reading = await readAt(visit, loginsFor(visit), context)
    if (reading !== undefined) yield* resultsOf(reading, address)
    else if (visit.isNamed) throw noAnswer(visit)
  } catch (error) {
    const isSkipped = error instanceof PermitRefusedError && error.reason === 'excluded'
    if (isSkipped) return
    if (error instanceof PermitRefusedError || !(error instanceof LinkError)) throw error
    yield { error, address }
  }
}

/** The community `public` is tried after the credentials of the range, and alone if there are no credentials. */
export function loginsFor({ target, isNamed }: Pick<Visit, 'target' | 'isNamed'>): Login[] {
  const logins = loginsOf(target, credentialSchema.uri)
  return isNamed && logins.length > 0 ? logins : [...logins, publicLogin]
}

export function noAnswer({ address, port }: Place): LinkError {
  return new LinkError('UNAVAILABLE', `The device at ${address} does not answer to SNMP at UDP port ${port}.`)
}

async function* resultsOf(
  reading: Reading,
  address: Address & { ip_address: string },
): AsyncGenerator<DiscoveryResult> {
  const { asset, modules } = await assetsOf(reading, address.ip_address)
  yield { asset, address }
  for (const module of modules) yield { asset: module.asset, address: { ...address, entity: module.index } }
  const { neighboursProblem: problem } = reading
  if (problem !== undefined) yield { error: neighboursError({ address: address.ip_address }, problem), address }
}

/** Returns the assets of a device. Throws FAILED_PRECONDITION for a device that nothing identifies. */
export async function assetsOf(reading: Reading, ipAddress: string) {
  const facts = factsOf(reading, { ipAddress, arpMac: await arpTable.macAddressOf(ipAddress) })
  if (isIdentified(facts)) return { facts, asset: assetOf(facts, reading), modules: modulesOf(facts, reading) }
  throw new LinkError(
    'FAILED_PRECONDITION',
    `The device at ${ipAddress} (${facts.name}) reports neither a serial number with its manufacturer and product nor a MAC address, so it cannot be stored. Allow the SNMP user to read IF-MIB or ENTITY-MIB.`,
  )
}
