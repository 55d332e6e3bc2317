import { isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import type { PacketCounts, SignedReceipt } from '@millwright/api/receipt.ts'

export type ReceiptEntry = SignedReceipt['devices'][number]

/** Returns the address of a device, or the network of an entry of a large scan. */
export function addressOf(entry: ReceiptEntry): string {
  return 'network' in entry ? entry.network : entry.address
}

/** Returns the entries whose address contains the text, and the networks that contain the address. */
export function matchingEntries(entries: readonly ReceiptEntry[], text: string): readonly ReceiptEntry[] {
  const wanted = text.trim()
  if (wanted === '') return entries
  const number = numberOfAddress(wanted)
  return entries.filter((entry) => {
    const address = addressOf(entry)
    if (address.includes(wanted)) return true
    const range = number !== undefined && 'network' in entry ? parseIpRange(address) : undefined
    return range !== undefined && number !== undefined && isInRanges([range], number)
  })
}

/** Returns the classes with their numbers, the largest number first. */
export function largestFirst(packets: PacketCounts): [name: string, count: number][] {
  return Object.entries(packets).toSorted(([, one], [, other]) => other - one)
}

export function totalOf(packets: PacketCounts): number {
  return Object.values(packets).reduce((sum, count) => sum + count, 0)
}

/** Returns the number of addresses of all entries. An entry of a large scan is a network with several addresses. */
export function addressCount(entries: readonly ReceiptEntry[]): number {
  return entries.reduce((sum, entry) => sum + ('network' in entry ? entry.addresses : 1), 0)
}
