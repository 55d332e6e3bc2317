import { readFile } from 'node:fs/promises'
import { segments } from './local-network.ts'

/** The time for which a reading of the table is used. */
const freshMs = 500
const complete = 0x2

/** `Neighbours` finds the addresses of devices on the same network segment. */
export type Neighbours = {
  /**
   * Returns the MAC address of a device, after traffic with it. Returns undefined for a device behind a router, and on
   * systems without /proc/net/arp.
   */
  macAddressOf: (ipAddress: string) => Promise<string | undefined>
  /** Returns the IP address of a device, if this machine had traffic with it recently. */
  ipAddressOf: (macAddress: string) => Promise<string | undefined>
}

type Reading = { atMs: number; table: Promise<ReadonlyMap<string, string>> }

/** Returns the entries of an ARP table. `read` returns the content of /proc/net/arp. */
export function openArpTable(read: () => Promise<string>): Neighbours {
  let last: Reading | undefined

  /** Returns a reading that started at this time or later. */
  const readingSince = (atMs: number): Reading => {
    if (last === undefined || last.atMs < atMs) last = { atMs: performance.now(), table: read().then(parseArpTable) }
    return last
  }

  /** An entry can be newer than the last reading, so the table is read again before an entry counts as missing. */
  const find = async (entryIn: (table: ReadonlyMap<string, string>) => string | undefined) => {
    const calledMs = performance.now()
    const entry = entryIn(await readingSince(calledMs - freshMs).table)
    return entry ?? entryIn(await readingSince(calledMs).table)
  }

  return {
    macAddressOf: (ipAddress) => find((table) => table.get(ipAddress)),
    ipAddressOf: (macAddress) => {
      const wanted = macAddress.toUpperCase().replaceAll('-', ':')
      return find((table) => [...table].find(([, mac]) => mac === wanted)?.[0])
    },
  }
}

/** Adds the addresses of this machine, which are not in its ARP table. */
function withOwnAddresses({ macAddressOf, ipAddressOf }: Neighbours): Neighbours {
  return {
    macAddressOf: async (ipAddress) =>
      segments().find(({ address }) => address === ipAddress)?.macAddress ?? (await macAddressOf(ipAddress)),
    ipAddressOf: async (macAddress) => {
      const wanted = macAddress.toUpperCase().replaceAll('-', ':')
      return segments().find((segment) => segment.macAddress === wanted)?.address ?? (await ipAddressOf(macAddress))
    },
  }
}

/** The ARP table of this machine, with its own addresses. */
export const arpTable = withOwnAddresses(openArpTable(() => readFile('/proc/net/arp', 'utf8').catch(() => '')))

export const { macAddressOf } = arpTable

/** Parses the content of /proc/net/arp. Incomplete entries and entries without a MAC address are left out. */
function parseArpTable(text: string): Map<string, string> {
  const table = new Map<string, string>()
  for (const line of text.split('\n').slice(1)) {
    const [address, , flags, mac] = line.split(/\s+/)
    if (address === undefined || mac === undefined || (Number(flags) & complete) === 0) continue
    if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac) && mac !== '00:00:00:00:00:00')
      table.set(address, mac.toUpperCase())
  }
  return table
}
