import { networkInterfaces } from 'node:os'
import { addressOfNumber, type IpRange, isInRanges, numberOfAddress } from './ip-range.ts'

/*
 * A group is a destination with several devices: an IPv4 multicast address, the broadcast address of a network of this
 * machine, or an Ethernet multicast group. A packet to a group reaches all devices of the segment.
 */

/** The IPv4 multicast addresses, 224.0.0.0/4. */
export const multicastAddresses: IpRange = { from: 0xe000_0000, to: 0xefff_ffff }

/** Returns true for the MAC address of an Ethernet multicast group, such as `01:0e:cf:00:00:00`, but not for the broadcast. */
export function isEthernetGroup(address: string): boolean {
  const isMulticast = /^[0-9a-f][13579bdf](:[0-9a-f]{2}){5}$/.test(address)
  return isMulticast && address !== 'ff:ff:ff:ff:ff:ff'
}

/** Returns true for the address of a group. `broadcasts` contains the broadcast addresses of the networks of this machine. */
export function isGroupAddress(address: string, broadcasts: ReadonlySet<string>): boolean {
  const number = numberOfAddress(address)
  if (number === undefined) return isEthernetGroup(address)
  return isInRanges([multicastAddresses], number) || broadcasts.has(address)
}

/** The time for which the broadcast addresses are stored. Reading the network interfaces for each packet is too slow. */
const storedMs = 1_000

let stored: { addresses: ReadonlySet<string>; untilMs: number } = { addresses: new Set(), untilMs: 0 }

/** Returns the broadcast addresses of the networks of this machine. A change is known after at most one second. */
export function localBroadcasts(): ReadonlySet<string> {
  const nowMs = performance.now()
  if (nowMs < stored.untilMs) return stored.addresses
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap((one) => (one.family === 'IPv4' ? (broadcastOf(one.address, one.netmask) ?? []) : [])),
  )
  stored = { addresses: new Set(own), untilMs: nowMs + storedMs }
  return stored.addresses
}

/** Returns the broadcast address of a network. Networks of one or two addresses have none. */
export function broadcastOf(address: string, netmask: string): string | undefined {
  const [number, mask] = [numberOfAddress(address), numberOfAddress(netmask)]
  if (number === undefined || mask === undefined) return undefined
  const size = 2 ** 32 - mask
  return size < 4 ? undefined : addressOfNumber(Math.floor(number / size) * size + size - 1)
}
