import { addressOfNumber, type IpRange, isInRanges, mergeRanges, parseIpRange } from '@millwright/api/ip-range.ts'
import { LinkError } from '../link-error.ts'
import type { Parameter } from '../manifest.ts'
import type { Filter, Options } from '../parameters.ts'

/** The filter of links that scan ranges of IP addresses. */
export const rangeFilters: readonly Parameter[] = [
  {
    key: 'ip_range',
    type: 'text',
    mandatory: true,
    description:
      'Addresses to scan: 10.0.0.1-10.0.3.255, 10.0.0.0/24 or one address. Several ranges: repeat the filter, or separate them with commas',
  },
  {
    key: 'exclude',
    type: 'text',
    description: 'Addresses that are not scanned, in the same form as ip_range',
  },
]

/** The maximum number of addresses of one scan. */
export const mostAddresses = 2 ** 20

/** `ScanRange` contains the addresses that a scan visits. */
export type ScanRange = { size: number; addresses: () => Generator<string> }

/** Returns the addresses that the filters select: all of `ip_range` without those of `exclude`. */
export function scanRangeOf(filters: readonly Filter[]): ScanRange {
  const wanted = mergeRanges(rangesNamed('ip_range', filters))
  const excluded = mergeRanges(rangesNamed('exclude', filters))
  const total = wanted.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  if (total > mostAddresses) {
    throw new LinkError(
      'OUT_OF_RANGE',
      `The range has ${total} addresses, but one scan visits at most ${mostAddresses}. Use several scans.`,
    )
  }
  return { size: total - overlap(wanted, excluded), addresses: () => addressesIn(wanted, excluded) }
}

export function rangesNamed(key: string, filters: readonly Filter[]): IpRange[] {
  return filters
    .filter((filter) => filter.key === key)
    .flatMap(({ value }) => String(value).split(','))
    .filter((text) => text.trim() !== '')
    .map((text) => rangeOf(text.trim()))
}

function rangeOf(text: string): IpRange {
  const range = parseIpRange(text)
  if (range !== undefined) return range
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"${text}" is not a valid IP address range. Use 10.0.0.1-10.0.3.255 or 10.0.0.0/16.`,
  )
}

function* addressesIn(wanted: readonly IpRange[], excluded: readonly IpRange[]): Generator<string> {
  for (const { from, to } of wanted) {
    for (let address = from; address <= to; address += 1) {
      if (!isInRanges(excluded, address)) yield addressOfNumber(address)
    }
  }
}

/** Returns the number of addresses that are in both lists. Both lists are merged, so no address counts twice. */
function overlap(some: readonly IpRange[], others: readonly IpRange[]): number {
  let addresses = 0
  for (const a of some) {
    for (const b of others) addresses += Math.max(0, Math.min(a.to, b.to) - Math.max(a.from, b.from) + 1)
  }
  return addresses
}

/** Returns an option that is a whole number within its limits. */
export function wholeNumber(
  options: Options,
  key: string,
  { least = 0, most }: { least?: number; most: number },
): number {
  const value = options[key]
  if (typeof value === 'number' && value >= least && value <= most) return value
  throw new LinkError('INVALID_ARGUMENT', `"${key}" must be a whole number from ${least} to ${most}, but is ${value}.`)
}

/** Returns the ports of an option such as `161` or `502, 5020-5022`. */
export function portsOf(options: Options, key: string): number[] {
  const ports = String(options[key] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => portsIn(part, key))
  return [...new Set(ports)]
}

const mostPorts = 1_024

function portsIn(part: string, key: string): number[] {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? []
  const [from, to] = [Number(first), Number(last)]
  const isValid = from >= 1 && to <= 65_535 && from <= to && to - from < mostPorts
  if (isValid) return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"${key}" must contain ports from 1 to 65535 such as 502 or 5000-5010, at most ${mostPorts}, but contains "${part}".`,
  )
}
