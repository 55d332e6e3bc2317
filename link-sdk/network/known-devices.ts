import { addressOfNumber, numberOfAddress } from '@millwright/api/ip-range.ts'
import type { Address, Target } from '../define-link.ts'
import type { Asset, AssetValue } from '../device-identifiers.ts'
import { LinkError } from '../link-error.ts'
import { macIdentifier } from './device-asset.ts'
import type { Neighbours } from './neighbours.ts'

/** The maximum number of identifiers that are stored. The oldest are removed first. */
const mostIdentifiers = 20_000

/** The maximum number of addresses that are stored for one identifier. */
const mostAddresses = 8

/** `Sighting` describes how a device was found. */
type Sighting = {
  /**
   * An object that stands for the scan of a range. It is absent for a call that reads single devices, which does not
   * replace what a scan found.
   */
  scan?: object | undefined
  /** The MAC address that the network, and not the device itself, reports for the address. */
  macAddress?: string | undefined
}

/** `LocatedAddress` is an address with an IP address. */
export type LocatedAddress = Address & { ip_address: string }

type Entry = { scan: object | undefined; addresses: Address[] }

/**
 * `KnownDevices` stores the addresses of found devices by their identifiers. A call that names a device only by its
 * identifiers uses the address of the last scan.
 *
 * A device reports most of its identifiers itself, so it can report the identifiers of another device. If one scan finds an
 * identifier at several addresses, all of them are stored, and the first one is used. The address for which the network
 * confirms a MAC address comes before the others.
 */
export class KnownDevices {
  readonly #entries = new Map<string, Entry>()

  add(asset: Asset, address: Address, { scan, macAddress }: Sighting = {}): void {
    const [confirmed] = macAddress === undefined ? [] : keysOf([macIdentifier(macAddress)])
    for (const key of keysOf(asset.asset_identifiers)) {
      const before = this.#entries.get(key)
      const isNewScan = scan !== undefined && before?.scan !== scan
      const known = isNewScan ? [] : (before?.addresses ?? [])
      const others = known.filter((one) => one.ip_address !== address.ip_address)
      const isFirst = key === confirmed || known[0]?.ip_address === address.ip_address
      const addresses = isFirst ? [address, ...others] : [...others, address]
      this.#entries.delete(key)
      this.#entries.set(key, { scan: scan ?? before?.scan, addresses: addresses.slice(0, mostAddresses) })
      const [oldest] = this.#entries.keys()
      if (this.#entries.size > mostIdentifiers && oldest !== undefined) this.#entries.delete(oldest)
    }
  }

  /**
   * Returns the address of a target. If the call names the IP address, the result is this address, with the port and the
   * other fields that a scan found there. Otherwise it is the address at which the last scan found the identifiers.
   * Credentials belong to one IP address, so a target with credentials must name it. Throws a `LinkError` for an IP address
   * or port to which nothing can be sent.
   */
  addressOf({ address, identifiers, credentials }: Target): Address | undefined {
    const { ip_address: named } = address
    requireSendable(address)
    if (credentials.length > 0) requireNamedAddress({ address })
    const found = keysOf(identifiers).flatMap((key) => this.#entries.get(key)?.addresses ?? [])
    const known = named === undefined ? found[0] : found.find((one) => one.ip_address === named)
    return known === undefined && Object.keys(address).length === 0 ? undefined : { ...known, ...address }
  }

  /**
   * Returns the address of a target as `addressOf` does, always with an IP address. If no scan found the target, the ARP
   * table contains the IP address of one of its MAC addresses, or of its parent. Throws a `LinkError` if it does not.
   */
  async locate(target: Target, { ipAddressOf }: Neighbours, parentMac?: string): Promise<LocatedAddress> {
    const known = this.addressOf(target) ?? {}
    if (typeof known.ip_address === 'string') return { ...known, ip_address: known.ip_address }
    for (const mac of [parentMac, ...target.identifiers.map(({ mac_address }) => mac_address)]) {
      const ipAddress = typeof mac === 'string' ? await ipAddressOf(mac) : undefined
      if (ipAddress !== undefined) return { ...known, ip_address: ipAddress }
    }
    throw new LinkError('UNAVAILABLE', 'The IP address of the device is not known. Scan the range of the device first.')
  }
}

const highestPort = 65_535

/**
 * Requires a numeric IP address and a port number, if the address of a target has them. Sockets look up names in DNS when
 * they are opened, so a name would be sent to a DNS server before the link takes a permit.
 */
function requireSendable({ ip_address: ip, port }: Address): void {
  const number = typeof ip === 'string' ? numberOfAddress(ip) : undefined
  if (ip != null && (number === undefined || addressOfNumber(number) !== ip))
    throw new LinkError('INVALID_ARGUMENT', '"ip_address" of the device must be an IPv4 address such as 10.0.0.7.')
  const isPort = typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= highestPort
  if (port != null && !isPort)
    throw new LinkError('INVALID_ARGUMENT', `"port" of the device must be a whole number from 1 to ${highestPort}.`)
}

/** Requires that a target with credentials names the IP address to which the credentials are sent. */
export function requireNamedAddress({ address }: Pick<Target, 'address'>): void {
  if (typeof address.ip_address === 'string') return
  throw new LinkError(
    'INVALID_ARGUMENT',
    'The call contains credentials, but not the IP address of the device. Credentials are sent only to an address that the call names in "ip_address".',
  )
}

/** Fields of an identifier that do not belong to its value. */
const annotations: readonly string[] = ['identifier_type', 'identifier_uncertainty']

/**
 * Returns the identifiers as texts, independent of the order of their fields and of missing fields. Links and the inventory
 * write equal identifiers in different ways, for example with upper-case or lower-case MAC addresses.
 */
function keysOf(identifiers: AssetValue): string[] {
  return Array.isArray(identifiers) ? identifiers.map((identifier) => JSON.stringify(comparable(identifier))) : []
}

function comparable(value: AssetValue): unknown {
  if (typeof value === 'string') return value.trim().toLowerCase()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.entries(value)
    .filter(([name, one]) => one !== undefined && one !== null && !annotations.includes(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, one]) => [name, comparable(one)])
}

/**
 * Returns the MAC address of the parent and the slot, if the target is identified by them. Such a target is a module, or a
 * device behind a gateway.
 */
export function parentOf({ identifiers }: Pick<Target, 'identifiers'>): { mac: string; slot: number } | undefined {
  for (const { parent_identifier: parent, slot } of identifiers) {
    const mac =
      typeof parent === 'object' && parent !== null && 'mac_address' in parent ? parent.mac_address : undefined
    if (typeof mac === 'string' && typeof slot === 'number') return { mac, slot }
  }
  return undefined
}
