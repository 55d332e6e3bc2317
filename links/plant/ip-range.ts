import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Filter } from '@millwright/link-sdk/parameters.ts'

export type Range = { from: number; to: number }

export function rangesOf(filters: readonly Filter[]): Range[] {
  return filters.filter(({ key }) => key === 'ip_range').map(({ value }) => rangeOf(String(value)))
}

/** Parses a range such as `10.0.0.1-10.0.3.255` or `10.0.0.0/16`, or one address. */
export function rangeOf(text: string): Range {
  const range = text.includes('/') ? networkOf(text) : spanOf(text)
  if (range !== undefined) return range
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"${text}" is not a valid IP address range. Use 10.0.0.1-10.0.3.255 or 10.0.0.0/16.`,
  )
}

export function numberOfAddress(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text.trim())?.slice(1).map(Number)
  if (parts === undefined || parts.some((part) => part > 255)) return undefined
  return parts.reduce((number, part) => number * 256 + part, 0)
}

function spanOf(text: string): Range | undefined {
  const ends = text.split('-')
  const [from, to] = [ends[0] ?? '', ends.at(-1) ?? ''].map(numberOfAddress)
  return ends.length > 2 || from === undefined || to === undefined || from > to ? undefined : { from, to }
}

function networkOf(text: string): Range | undefined {
  const [address = '', bits = ''] = text.split('/')
  const number = numberOfAddress(address)
  if (number === undefined || !/^\d{1,2}$/.test(bits) || Number(bits) > 32) return undefined
  const size = 2 ** (32 - Number(bits))
  const from = Math.floor(number / size) * size
  return { from, to: from + size - 1 }
}
