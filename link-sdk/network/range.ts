import {
  addressOfNumber,
  type IpRange,
  isInRanges,
  mergeRanges,
  numberOfAddress,
  parseIpRange,
  unicastAddresses,
} from '@millwright/api/ip-range.ts'
import type { Target } from '../define-link.ts'
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
      'Addresses to scan: 10.0.0.1-10.0.3.255, 10.0.0.0/24 or one address. Several ranges: separate them with commas',
  },
  {
    key: 'exclude',
    type: 'text',
    description: 'Addresses that are not scanned, in the same form as the IP range',
  },
]

/** The maximum number of addresses of one scan. */
export const mostAddresses = 2 ** 20

/** `ScanRange` contains the addresses that a scan visits. */
export type ScanRange = { size: number; ranges: readonly IpRange[]; addresses: () => Generator<string> }

/**
 * Returns the addresses that the filters select: all of `ip_range` without those of `exclude`. If some targets have an
 * IP address, returns only the selected addresses of these targets.
 */
export function scanRangeOf(filters: readonly Filter[], targets: readonly Pick<Target, 'address'>[] = []): ScanRange {
  requireEqual(filters)
  const selected = mergeRanges(rangesNamed('ip_range', filters))
  for (const range of selected) requireUnicast(range)
  const total = sizeOf(selected)
  if (total === 0) throw new LinkError('INVALID_ARGUMENT', '"ip_range" contains no addresses.')
  if (total > mostAddresses) {
    throw new LinkError(
      'OUT_OF_RANGE',
      `The range has ${total} addresses, but one scan visits at most ${mostAddresses}. Use several scans.`,
    )
  }
  const remaining = difference(selected, mergeRanges(rangesNamed('exclude', filters)))
  const named = targets.flatMap(({ address }) => numberOfAddress(String(address.ip_address ?? '')) ?? [])
  const chosen = [...new Set(named)].filter((address) => isInRanges(remaining, address))
  const ranges = named.length === 0 ? remaining : chosen.map((address) => ({ from: address, to: address }))
  return { size: sizeOf(ranges), ranges, addresses: () => addressesIn(ranges) }
}

/** With another operator, the filter would select other addresses than those that are scanned. */
function requireEqual(filters: readonly Filter[]): void {
  const other = filters.find(({ key, operator }) => isRangeFilter(key) && operator !== 'EQUAL')
  if (other !== undefined)
    throw new LinkError('INVALID_ARGUMENT', `"${other.key}" supports only the operator EQUAL, not ${other.operator}.`)
}

function isRangeFilter(key: string): boolean {
  return rangeFilters.some((filter) => filter.key === key)
}

/** A packet to a multicast or broadcast address reaches many devices, which no limit per device would protect. */
function requireUnicast({ from, to }: IpRange): void {
  if (from >= unicastAddresses.from && to <= unicastAddresses.to) return
  const range = from === to ? addressOfNumber(from) : `${addressOfNumber(from)}-${addressOfNumber(to)}`
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"${range}" contains addresses that do not belong to one device. Use addresses from 1.0.0.0 to 223.255.255.255.`,
  )
}

/** Returns whether the filter `exclude` contains an address. */
export function isExcluded(address: string, filters: readonly Filter[]): boolean {
  return isInRanges(rangesNamed('exclude', filters), numberOfAddress(address) ?? 0)
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

function* addressesIn(ranges: readonly IpRange[]): Generator<string> {
  for (const { from, to } of ranges) {
    for (let address = from; address <= to; address += 1) yield addressOfNumber(address)
  }
}

function sizeOf(ranges: readonly IpRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

/** Returns the parts of the ranges that are in none of the excluded ranges. Both lists are merged. */
function difference(ranges: readonly IpRange[], excluded: readonly IpRange[]): IpRange[] {
  return ranges.flatMap((range) => {
    const parts: IpRange[] = []
    let { from } = range
    for (const gap of excluded) {
      if (gap.to < from || gap.from > range.to) continue
      if (gap.from > from) parts.push({ from, to: gap.from - 1 })
      from = gap.to + 1
    }
    return from <= range.to ? [...parts, { from, to: range.to }] : parts
  })
}

/** Returns an option that is a whole number within its limits. */
export function wholeNumber(
  options: Options,
  key: string,
  { least = 0, most }: { least?: number; most: number },
): number {
  const value = options[key]
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new LinkError('INVALID_ARGUMENT', `"${key}" must be a whole number from ${least} to ${most}, but is ${value}.`)
}

/** Returns the ports of an option that must contain at least one port. */
export function requiredPortsOf(options: Options, key: string): number[] {
  const ports = portsOf(options, key)
  if (ports.length > 0) return ports
  throw new LinkError('INVALID_ARGUMENT', `"${key}" must contain at least one port.`)
}

/** Returns the ports of an option such as `161` or `502, 5020-5022`. The list can be empty. */
export function portsOf(options: Options, key: string): number[] {
  const ports = String(options[key] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => portsIn(part, key))
  const unique = [...new Set(ports)]
  if (unique.length <= mostPorts) return unique
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"${key}" contains ${unique.length} ports, but at most ${mostPorts} are allowed.`,
  )
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

type NumbersOptions = {
  least: number
  most: number
  /** What the numbers are, such as `slots`. */
  noun: string
  /** An example of a valid value. */
  example: string
}

/** Returns the numbers of an option such as `3` or `0, 4-11`, each once and in this order. The list can be empty. */
export function numbersOf(options: Options, key: string, { least, most, noun, example }: NumbersOptions): number[] {
  const digits = `\\d{1,${String(most).length}}`
  const pattern = new RegExp(`^(${digits})(?:\\s*-\\s*(${digits}))?$`)
  const parts = String(options[key] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const numbers = parts.flatMap((part) => {
    const [, first, last = first] = pattern.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (from >= least && to <= most && from <= to)
      return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    throw new LinkError(
      'INVALID_ARGUMENT',
      `"${key}" must contain ${noun} from ${least} to ${most} such as ${example}, but contains "${part}".`,
    )
  })
  return [...new Set(numbers)]
}
