import { networkInterfaces } from 'node:os'
import { addressOfNumber, numberOfAddress } from '@millwright/api/ip-range.ts'
import { LinkError } from '../link-error.ts'
import type { Parameter } from '../manifest.ts'
import type { Options } from '../parameters.ts'

/** The option of links that can send from a chosen network interface. */
export const interfaceOption: Parameter = {
  key: 'interface',
  type: 'text',
  default: '',
  description: 'Network interface of the gateway to send from, such as eth0. Empty: the operating system selects it',
}

/** `Segment` is an IPv4 network that a network interface of this machine belongs to. */
export type Segment = {
  name: string
  address: string
  /** The MAC address of the interface. Interfaces of tunnels have none. */
  macAddress?: string
  first: number
  last: number
}

/** Returns the IPv4 networks of this machine without the loopback interface. */
export function segments(): Segment[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address, netmask, mac }) => ({
        name,
        address,
        ...(mac === '00:00:00:00:00:00' ? {} : { macAddress: mac.toUpperCase() }),
        ...boundsOf(address, netmask),
      })),
  )
}

function boundsOf(address: string, netmask: string): { first: number; last: number } {
  const size = 2 ** 32 - (numberOfAddress(netmask) ?? 0)
  const first = Math.floor((numberOfAddress(address) ?? 0) / size) * size
  return { first, last: first + size - 1 }
}

/** Returns the segment that contains an address. A device at this address is reached without a router. */
export function segmentOf(address: string, all: readonly Segment[] = segments()): Segment | undefined {
  const number = numberOfAddress(address)
  return number === undefined ? undefined : all.find(({ first, last }) => number >= first && number <= last)
}

/** Returns true for the broadcast address of a segment. Networks of one or two addresses have none. */
export function isBroadcast(address: string, segment: Segment): boolean {
  return segment.last - segment.first > 1 && addressOfNumber(segment.last) === address
}

/** Returns the local address to send from, or undefined if the operating system selects it. */
export function localAddressOf(options: Options): string | undefined {
  const name = options[interfaceOption.key]
  if (typeof name !== 'string' || name.trim() === '') return undefined
  const all = Object.entries(networkInterfaces()).flatMap(([key, addresses = []]) => {
    const own = addresses.find(({ family }) => family === 'IPv4')
    return own === undefined ? [] : [{ key, address: own.address }]
  })
  const chosen = all.find(({ key }) => key === name.trim())
  if (chosen !== undefined) return chosen.address
  throw new LinkError(
    'INVALID_ARGUMENT',
    `The gateway has no network interface "${name}" with an IPv4 address. It has ${all.map(({ key }) => key).join(', ')}.`,
  )
}
