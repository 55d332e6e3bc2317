import { isIP } from 'node:net'
import { type Document, documentsOf, isDocument } from '../mapping/document.ts'

/**
 * This file finds the IP address of a device in the connection parameters that a link reported. Each link uses its own
 * field names.
 */

/**
 * Matches the names of fields that contain the device's own address. Names for the address of a router or a network do
 * not match.
 */
const addressFieldNames = /^(ip|ipv4|ipv6|host|url|endpoint|address)[_-]?(address|name|url)?$/i

const maxDepth = 4

/** Returns the IP address in the connection parameters, or undefined if it is missing or ambiguous. */
export function addressIn(parameters: unknown): string | undefined {
  const addresses = addressesIn(parameters, maxDepth)
  const named = addresses.filter(({ name }) => addressFieldNames.test(name))
  const candidates = new Set((named.length > 0 ? named : addresses).map(({ address }) => address))
  // If a field name matches `addressFieldNames`, the first of these addresses is used. Otherwise there must be exactly
  // one address.
  return named.length > 0 || candidates.size === 1 ? [...candidates][0] : undefined
}

/** Returns the IP address that the connection of a device names, or undefined if it names none. */
export function addressOfConnection({ parameterJson }: { parameterJson: string }): string | undefined {
  try {
    return addressIn(JSON.parse(parameterJson))
  } catch {
    return addressIn({ address: parameterJson })
  }
}

type NamedAddress = { name: string; address: string }

function addressesIn(value: unknown, depth: number): NamedAddress[] {
  if (!isDocument(value) || depth === 0) return []
  return Object.entries(value).flatMap(([name, one]) => {
    if (typeof one !== 'string') return addressesIn(one, depth - 1)
    const address = addressOfText(one)
    return address === undefined ? [] : [{ name, address }]
  })
}

/**
 * Returns the IP address in a text such as `10.0.0.1`, `10.0.0.1:502`, `[fd00::1]:502` or `opc.tcp://10.0.0.1:4840`.
 * The local zone is removed: `fe80::1%eth0` becomes `fe80::1`.
 */
function addressOfText(text: string): string | undefined {
  const trimmed = text.trim()
  if (isIP(trimmed) !== 0) return trimmed.replace(/%.*$/, '')
  const url = trimmed.includes('://') ? trimmed : `tcp://${trimmed}`
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
  return isIP(host) === 0 ? undefined : host
}

/** Returns the IP addresses of an asset's connection points. */
export function addressesOf(asset: Document | undefined): string[] {
  return documentsOf(asset?.connection_points).flatMap(({ ipv4_address: ipv4, ipv6_address: ipv6 }) =>
    [ipv4, ipv6].filter((one) => typeof one === 'string'),
  )
}
