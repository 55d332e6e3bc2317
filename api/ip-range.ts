/** `IpRange` is a range of IPv4 addresses as numbers. Both ends belong to the range. */
export type IpRange = { from: number; to: number }

/** The addresses that belong to one device. Packets to multicast and broadcast addresses reach many devices. */
export const unicastAddresses: IpRange = { from: 0x0100_0000, to: 0xdfff_ffff }

/** The addresses of the machine itself, 127.0.0.0/8, and the link-local addresses, 169.254.0.0/16. */
export const localAddresses: readonly IpRange[] = [
  { from: 0x7f00_0000, to: 0x7fff_ffff },
  { from: 0xa9fe_0000, to: 0xa9fe_ffff },
]

/**
 * Parses `10.0.0.1-10.0.3.255`, `10.0.0.0/16` or one address. Returns undefined for other text. Spaces and an en dash are
 * accepted, because users copy ranges from documents.
 */
export function parseIpRange(text: string): IpRange | undefined {
  return text.includes('/') ? networkOf(text) : spanOf(text.replaceAll('–', '-'))
}

/** Returns undefined for invalid addresses, also with leading zeros: some programs read `010` as an octal number. */
export function numberOfAddress(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text.trim())
  if (match === null || /(^|\.)0\d/.test(match[0])) return undefined
  const parts = match.slice(1).map(Number)
  if (parts.some((part) => part > 255)) return undefined
  return parts.reduce((number, part) => number * 256 + part, 0)
}

export function addressOfNumber(number: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.')
}

export function isInRanges(ranges: readonly IpRange[], address: number): boolean {
  return ranges.some(({ from, to }) => address >= from && address <= to)
}

/** Returns the ranges in ascending order. Ranges that overlap or touch each other become one range. */
export function mergeRanges(ranges: readonly IpRange[]): IpRange[] {
  const merged: IpRange[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  return merged
}

function spanOf(text: string): IpRange | undefined {
  const ends = text.split('-')
  const [from, to] = [ends[0] ?? '', ends.at(-1) ?? ''].map(numberOfAddress)
  return ends.length > 2 || from === undefined || to === undefined || from > to ? undefined : { from, to }
}

function networkOf(text: string): IpRange | undefined {
  const [address = '', bits = '', ...rest] = text.split('/').map((part) => part.trim())
  const number = numberOfAddress(address)
  if (number === undefined || rest.length > 0 || !/^\d{1,2}$/.test(bits) || Number(bits) > 32) return undefined
  const size = 2 ** (32 - Number(bits))
  const from = Math.floor(number / size) * size
  return { from, to: from + size - 1 }
}
