import { BlockList, isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'

/**
 * `OutboundEntry` is one value of MILLWRIGHT_OUTBOUND_ALLOW: a host, all hosts below a domain, or a network. Without a
 * port it applies to every port.
 */
export type OutboundEntry =
  | { kind: 'host'; host: string; port: number | undefined }
  | { kind: 'domain'; suffix: string; port: number | undefined }
  | { kind: 'network'; network: BlockList; isAddress: boolean; port: number | undefined }

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const hostName = new RegExp(`^${label}(?:\\.${label})*$`)
/** A last label in digits is an IPv4 address for browsers, also in decimal, octal and hexadecimal forms. */
const numericLabel = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/

/** Parses one value of the list. Returns undefined if the value is not valid. */
export function outboundEntry(text: string): OutboundEntry | undefined {
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^[\]]+?))(?::(\d{1,5}))?$/.exec(withoutPort(text)) ?? []
  const target = bracketed ?? plain
  if (target === undefined || (bracketed !== undefined && !bracketed.includes(':'))) return undefined
  const port = portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  return networkEntry(target, port) ?? nameEntry(target, port)
}

/** An IPv6 address without brackets has no port: its last group would be ambiguous. Brackets make it explicit. */
function withoutPort(text: string): string {
  return isIP(text.split('/')[0] ?? '') === 6 ? `[${text}]` : text
}

function networkEntry(target: string, port: number | undefined): OutboundEntry | undefined {
  const [address = '', bits, ...more] = target.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0) return undefined
  const longest = family === 4 ? 32 : 128
  if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > longest)) return undefined
  const length = bits === undefined ? longest : Number(bits)
  const network = new BlockList()
  network.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6')
  return { kind: 'network', network, isAddress: length === longest, port }
}

function nameEntry(target: string, port: number | undefined): OutboundEntry | undefined {
  // The conversion to ASCII would cut off a path, a query or a user name.
  if (/[/\\?#@:%\s]/.test(target)) return undefined
  const isDomain = target.startsWith('*.')
  const host = domainToASCII(isDomain ? target.slice(2) : target)
    .toLowerCase()
    .replace(/\.$/, '')
  if (host.length > 253 || !hostName.test(host) || numericLabel.test(host)) return undefined
  return isDomain ? { kind: 'domain', suffix: `.${host}`, port } : { kind: 'host', host, port }
}

/** Returns an address in its canonical form. An IPv4 address inside an IPv6 address (mapped, NAT64) becomes IPv4. */
export function canonicalAddress(address: string): string {
  const [plain = ''] = address.split('%')
  if (isIPv4(plain)) return plain
  const text = new URL(`http://[${plain}]`).hostname.slice(1, -1)
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? []
  if (high === undefined || low === undefined) return text
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}

export function isIn(network: BlockList, address: string): boolean {
  return network.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

function networks(...texts: string[]): BlockList {
  const all = new BlockList()
  for (const text of texts) {
    const [address = '', bits] = text.split('/')
    all.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  return all
}

export const loopback = networks('127.0.0.0/8', '::1/128')

/** Addresses that no public name has: loopback, unspecified, link-local, multicast, reserved and broadcast. */
export const specialAddresses = networks(
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  'fe80::/10',
  'ff00::/8',
)
