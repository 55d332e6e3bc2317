import { isIPv6 } from 'node:net'
import { normaliseMac } from '../identity/identifier.ts'
import { objectsOf, type PlainObject } from './document.ts'

export type AddressKind = 'ipv4' | 'ipv6' | 'mac'
export type Address = { kind: AddressKind; address: string }

/** Returns the addresses of an asset's connection points: normalised, distinct and sorted. */
export function addressesOf(document: PlainObject): Address[] {
  const all = objectsOf(document.connection_points).flatMap(addressesAt)
  const distinct = new Map(all.map((address) => [`${address.kind} ${address.address}`, address]))
  return [...distinct.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, address]) => address)
}

function addressesAt(point: PlainObject): Address[] {
  const { ipv4_address: ipv4, ipv6_address: ipv6, mac_address: mac } = point
  return [
    ...(typeof ipv4 === 'string' ? [{ kind: 'ipv4', address: normaliseIpv4(ipv4) } as const] : []),
    ...(typeof ipv6 === 'string' ? [{ kind: 'ipv6', address: normaliseIpv6(ipv6) } as const] : []),
    ...(typeof mac === 'string' ? [{ kind: 'mac', address: normaliseMac(mac.trim()) } as const] : []),
  ]
}

/** Matches a number with a leading zero. */
const leadingZero = /(?<!\d)0\d/

/** Removes leading zeros: `010.001.000.007` becomes `10.1.0.7`. The numbers are read as decimal, never as octal. */
export function normaliseIpv4(address: string): string {
  const text = address.trim()
  return !leadingZero.test(text) ? text : text.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, ''))
}

/** Returns the RFC 5952 form of an IPv6 address: lower case, no leading zeros, the longest run of zero groups omitted. */
export function normaliseIpv6(address: string): string {
  const text = address.trim().toLowerCase()
  if (!isIPv6(text) || text.includes('%')) return text
  return new URL(`http://[${text}]`).hostname.slice(1, -1)
}
