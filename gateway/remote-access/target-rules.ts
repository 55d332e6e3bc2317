import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { addressOfNumber, parseIpRange } from '@millwright/api/ip-range.ts'
import type { AllowedNetwork, RemoteAccessSettings } from './remote-access-settings.ts'

/**
 * This file contains the rules for the targets of remote sessions. The gateway applies them when a stream opens, and again
 * to the address of the connected socket. The rules only accept plain IP addresses, so no name is ever resolved.
 *
 * An address is normalised first: an IPv4-mapped IPv6 address becomes the IPv4 address. Other IPv6 addresses that contain
 * an IPv4 address (6to4, NAT64, Teredo, ISATAP and similar) are refused, because a router can translate them to an IPv4
 * address that the rules refuse.
 */

export type Target = { address: string; port: number }

export type RuleContext = {
  settings: RemoteAccessSettings
  /** Returns whether the gateway found a device at a normalised address. */
  isFound: (address: string) => boolean
  own: OwnMachine
}

/** `OwnMachine` contains the addresses of the gateway's machine, and the ports on which the gateway listens. */
export type OwnMachine = { addresses: readonly string[]; broadcasts: readonly string[]; ports: readonly number[] }

/** The ports that are allowed on found devices if the local file has no list. */
export const defaultPorts: readonly number[] = [22, 80, 443]

type Network = [address: string, bits: number]

function listOf(networks: { ipv4?: Network[]; ipv6?: Network[] }): BlockList {
  const list = new BlockList()
  for (const [address, bits] of networks.ipv4 ?? []) list.addSubnet(address, bits, 'ipv4')
  for (const [address, bits] of networks.ipv6 ?? []) list.addSubnet(address, bits, 'ipv6')
  return list
}

const loopback = listOf({ ipv4: [['127.0.0.0', 8]], ipv6: [['::1', 128]] })

/**
 * IPv6 addresses that contain an IPv4 address: IPv4-compatible, translated (RFC 2765), NAT64 (RFC 6052 and RFC 8215),
 * Teredo and 6to4. ISATAP addresses can have any prefix, see `isIsatap`.
 */
const embedding = listOf({
  ipv6: [
    ['::', 96],
    ['::ffff:0:0:0', 96],
    ['64:ff9b::', 96],
    ['64:ff9b:1::', 48],
    ['2001::', 32],
    ['2002::', 16],
  ],
})

/** The addresses that are always refused, with the reason. The first match counts. */
const refused: readonly { list: BlockList; reason: string }[] = [
  {
    list: listOf({
      ipv4: [
        ['169.254.169.254', 32],
        ['168.63.129.16', 32],
        ['100.100.100.200', 32],
        ['192.0.0.192', 32],
      ],
      ipv6: [
        ['fd00:ec2::', 32],
        ['fd20:ce::254', 128],
      ],
    }),
    reason: 'is the address of a metadata service',
  },
  { list: listOf({ ipv4: [['0.0.0.0', 8]], ipv6: [['::', 128]] }), reason: 'is not the address of a device' },
  { list: listOf({ ipv4: [['169.254.0.0', 16]], ipv6: [['fe80::', 10]] }), reason: 'is a link-local address' },
  { list: listOf({ ipv4: [['224.0.0.0', 4]], ipv6: [['ff00::', 8]] }), reason: 'is a multicast address' },
  { list: listOf({ ipv4: [['255.255.255.255', 32]] }), reason: 'is a broadcast address' },
  { list: listOf({ ipv4: [['240.0.0.0', 4]] }), reason: 'is a reserved address' },
]

/**
 * Returns an IP address in its normal form, or undefined for other text: names, zone ids, brackets, ports, spaces, and
 * decimal, octal, hexadecimal or shortened IPv4 addresses.
 */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  if (!isIPv6(text) || text.includes('%')) return undefined
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address)
  if (mapped === null) return address
  const [high = 0, low = 0] = mapped.slice(1).map((part) => Number.parseInt(part, 16))
  return addressOfNumber(high * 65_536 + low)
}

/**
 * Returns why the gateway refuses a target, or undefined if it allows the target. The reason is a sentence for the user
 * who requested the session.
 */
export function refusalOf(
  { address: text, port }: Target,
  { settings, isFound, own }: RuleContext,
): string | undefined {
  if (!settings.isEnabled) return 'Remote access is switched off in remote-access.json on the gateway.'
  const address = normalAddress(text)
  if (address === undefined) return `The target is not a plain IP address. Use a form such as 10.0.0.1 or fd00::1.`
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return `The port must be a number from 1 to 65535.`
  const reason = alwaysRefused(address, port, own)
  if (reason !== undefined) return `The gateway never connects to ${address}, port ${port}: ${reason}.`
  if (isIn(loopback, address) && !settings.loopback)
    return `The gateway does not connect to its own machine (${address}), because "loopback" in remote-access.json is not true.`
  return settings.allow === undefined
    ? notFound({ address, port }, isFound)
    : notListed({ address, port }, settings.allow)
}

/** Returns the reason why no local file can allow an address. */
function alwaysRefused(address: string, port: number, own: OwnMachine): string | undefined {
  const isLoopback = isIn(loopback, address)
  const match = refused.find(({ list }) => isIn(list, address))
  if (match !== undefined) return `it ${match.reason}`
  if (isIPv6(address) && !isLoopback && (isIn(embedding, address) || isIsatap(address)))
    return 'the IPv6 address contains an IPv4 address. Use the IPv4 address'
  if (own.broadcasts.includes(address)) return 'it is a broadcast address'
  if (!isLoopback && own.addresses.includes(address)) return 'it is an address of the gateway'
  if (isLoopback && own.ports.includes(port)) return 'it is a port of the gateway'
  return undefined
}

function notFound({ address, port }: Target, isFound: RuleContext['isFound']): string | undefined {
  if (!isFound(address))
    return `The gateway found no device at ${address}. Run a scan that finds the device, or allow the network in remote-access.json on the gateway.`
  if (defaultPorts.includes(port)) return undefined
  return `The gateway allows only the ports ${defaultPorts.join(', ')}. Allow port ${port} in remote-access.json on the gateway.`
}

function notListed({ address, port }: Target, allow: readonly AllowedNetwork[]): string | undefined {
  const isAllowed = allow.some(({ network, ports }) => ports.includes(port) && isInNetwork(network, address))
  if (isAllowed) return undefined
  return `remote-access.json on the gateway does not allow ${address}, port ${port}. Add the network and the port to "allow".`
}

/** Returns whether a text is a network that the local file can contain. */
export function isNetwork(text: string): boolean {
  return networkList(text) !== undefined
}

function isInNetwork(network: string, address: string): boolean {
  const found = networkList(network)
  return found !== undefined && found.isIPv4 === isIPv4(address) && isIn(found.list, address)
}

type NetworkList = { isIPv4: boolean; list: BlockList }

/** Parses `10.0.0.0/8`, `10.0.0.1-10.0.0.9`, `fd00::/8` or one address. Returns undefined for other text. */
function networkList(text: string): NetworkList | undefined {
  const list = new BlockList()
  const range = parseIpRange(text)
  if (range !== undefined) {
    list.addRange(addressOfNumber(range.from), addressOfNumber(range.to), 'ipv4')
    return { isIPv4: true, list }
  }
  const [address = '', bits = '128', ...rest] = text.split('/')
  const normal = normalAddress(address)
  if (normal === undefined || isIPv4(normal) || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > 128)
    return undefined
  list.addSubnet(normal, Number(bits), 'ipv6')
  return { isIPv4: false, list }
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Returns whether the interface id of an IPv6 address is `0:5efe:<IPv4>` or `200:5efe:<IPv4>` (RFC 5214). */
function isIsatap(address: string): boolean {
  const groups = groupsOf(address)
  return groups[5] === 0x5efe && (groups[4] === 0 || groups[4] === 0x200)
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  if (tail === undefined) return parse(head)
  const [start, end] = [parse(head), parse(tail)]
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end]
}

/** Returns the addresses of this machine now, with the broadcast addresses of its networks. */
export function ownMachine(ports: readonly number[]): OwnMachine {
  const interfaces = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  const addresses = interfaces.flatMap(({ address }) => normalAddress(address.replace(/%.*$/, '')) ?? [])
  const broadcasts = interfaces.flatMap(({ address, netmask, family }) => {
    const range = family === 'IPv4' ? parseIpRange(`${address}/${bitsOf(netmask)}`) : undefined
    // A network of one or two addresses has no broadcast address.
    return range === undefined || range.to - range.from < 3 ? [] : [addressOfNumber(range.to)]
  })
  return { addresses, broadcasts, ports }
}

function bitsOf(netmask: string): number {
  return netmask.split('.').reduce((bits, part) => bits + Number(part).toString(2).replaceAll('0', '').length, 0)
}
