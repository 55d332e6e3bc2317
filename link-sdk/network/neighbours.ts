import { readFile } from 'node:fs/promises'

/** The time for which a reading of the table is used. */
const freshMs = 500
const complete = 0x2

let reading: { atMs: number; table: Promise<ReadonlyMap<string, string>> } | undefined

/**
 * Returns the MAC address of a device on the same network segment, from the ARP table of this machine. The table
 * contains a device after traffic with it. Returns undefined for a device behind a router, and on systems without
 * /proc/net/arp.
 */
export async function macAddressOf(address: string): Promise<string | undefined> {
  const nowMs = performance.now()
  if (reading === undefined || nowMs - reading.atMs > freshMs) reading = { atMs: nowMs, table: readTable() }
  return (await reading.table).get(address)
}

async function readTable(): Promise<ReadonlyMap<string, string>> {
  return parseArpTable(await readFile('/proc/net/arp', 'utf8').catch(() => ''))
}

/** Parses the content of /proc/net/arp. Incomplete entries and entries without a MAC address are left out. */
export function parseArpTable(text: string): Map<string, string> {
  const table = new Map<string, string>()
  for (const line of text.split('\n').slice(1)) {
    const [address, , flags, mac] = line.split(/\s+/)
    if (address === undefined || mac === undefined || (Number(flags) & complete) === 0) continue
    if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac) && mac !== '00:00:00:00:00:00')
      table.set(address, mac.toUpperCase())
  }
  return table
}
