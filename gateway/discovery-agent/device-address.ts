import { isIP } from 'node:net'
import { type Document, documentsOf, isDocument } from '../mapping/document.ts'

/** Where a device is: links put it into the parameters of a connection, each in words of its own. */

/** What links call the address of a device itself, and not that of its router or its network. */
const usualNames = /^(ip|ipv4|ipv6|host|url|endpoint|address)[_-]?(address|name|url)?$/i

const deepest = 4

/** The IP address in what a link says about the whereabouts of a device, where it is clear which one it is. */
export function addressIn(parameters: unknown): string | undefined {
  const found = addressesIn(parameters, deepest)
  const named = found.filter(({ name }) => usualNames.test(name))
  const candidates = new Set((named.length > 0 ? named : found).map(({ address }) => address))
  // By the usual names the first one is it; by others there may be only one.
  return named.length > 0 || candidates.size === 1 ? [...candidates][0] : undefined
}

type Found = { name: string; address: string }

function addressesIn(value: unknown, depth: number): Found[] {
  if (!isDocument(value) || depth === 0) return []
  return Object.entries(value).flatMap(([name, one]) => {
    if (typeof one !== 'string') return addressesIn(one, depth - 1)
    const address = addressOfText(one)
    return address === undefined ? [] : [{ name, address }]
  })
}

/** `10.0.0.1`, `10.0.0.1:502`, `[fd00::1]:502`, `opc.tcp://10.0.0.1:4840`; `fe80::1%eth0` without what only we know. */
function addressOfText(text: string): string | undefined {
  const trimmed = text.trim()
  if (isIP(trimmed) !== 0) return trimmed.replace(/%.*$/, '')
  const url = trimmed.includes('://') ? trimmed : `tcp://${trimmed}`
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
  return isIP(host) === 0 ? undefined : host
}

/** Under which addresses an asset can be reached. */
export function addressesOf(asset: Document | undefined): string[] {
  return documentsOf(asset?.connection_points).flatMap(({ ipv4_address: ipv4, ipv6_address: ipv6 }) =>
    [ipv4, ipv6].filter((one) => typeof one === 'string'),
  )
}

/** The same parameters, whatever the order in which their fields are written. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    isDocument(one) ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}
