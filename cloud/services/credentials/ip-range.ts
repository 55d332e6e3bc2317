import { isIPv4, isIPv6 } from 'node:net'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'

type Family = 4 | 6
export type Address = { family: Family; value: bigint }
/** A range of addresses. `low` and `high` are part of the range. */
export type Range = { family: Family; low: bigint; high: bigint }

const bitsOf = { 4: 32, 6: 128 } as const

/** The range of IPv4-mapped IPv6 addresses. A mapped address is treated as the IPv4 address that it contains. */
const mapped = { low: 0xffff_0000_0000n, high: 0xffff_ffff_ffffn } as const

/** Parses an address in any common notation. Returns `undefined` for an invalid address. */
export function parseAddress(text: string): Address | undefined {
  const plain = text.trim()
  if (isIPv4(plain)) return { family: 4, value: ipv4Value(plain) }
  if (!isIPv6(plain) || plain.includes('%')) return undefined
  return unmapped({ family: 6, value: ipv6Value(plain) })
}

export function showAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const digits = value.toString(16).padStart(32, '0')
  // `URL` formats an IPv6 address as RFC 5952 requires.
  return new URL(`http://[${digits.match(/.{4}/g)?.join(':')}]`).hostname.slice(1, -1)
}

/** Parses a block (`10.0.0.0/24`), a range (`10.0.0.5-10.0.0.9`) or one address. Returns `undefined` for other text. */
export function parseRange(text: string): Range | undefined {
  const block = /^([^/]+)\/(\d{1,3})$/.exec(text.trim())
  if (block !== null) return parseBlock(block[1] ?? '', Number(block[2]))
  const [from = '', to = from, ...more] = text.split(/[-–]/)
  const [low, high] = [parseAddress(from), parseAddress(to)]
  if (more.length > 0 || low === undefined || high === undefined) return undefined
  if (low.family !== high.family || low.value > high.value) return undefined
  return { family: low.family, low: low.value, high: high.value }
}

/** Formats a range in its canonical notation: one address, a block if possible, or else the first and the last address. */
export function showRange({ family, low, high }: Range): string {
  const from = showAddress({ family, value: low })
  if (low === high) return from
  const [first, ...others] = blocksOf({ family, low, high })
  if (first !== undefined && others.length === 0) return `${from}/${first.length}`
  return `${from}-${showAddress({ family, value: high })}`
}

export function rangeContains({ family, low, high }: Range, address: Address): boolean {
  return family === address.family && low <= address.value && address.value <= high
}

/**
 * Parses the ranges of a request body and removes duplicates. Throws `invalid_range` with the position of each invalid
 * range, or when the ranges consist of too many CIDR blocks.
 */
export function parseRanges(texts: readonly string[], pointer: string): Range[] {
  const parsed = texts.map(parseRange)
  const errors = parsed.flatMap((range, index): FieldError[] =>
    range === undefined ? [{ pointer: `${pointer}/${index}`, code: 'invalid_range', detail: rangeSyntax }] : [],
  )
  if (errors.length > 0) throw new Problem('invalid_range', `${errors[0]?.pointer} ${rangeSyntax}`, { errors })
  const ranges = [...new Map(parsed.flatMap((range) => range ?? []).map((range) => [showRange(range), range])).values()]
  if (blockKeysOf(ranges).length <= credentialLimits.blocks) return ranges
  const detail = `expand to more than ${credentialLimits.blocks} CIDR blocks: use CIDR blocks (10.0.0.0/24) instead of ranges`
  throw new Problem('invalid_range', `${pointer} ${detail}`, {
    errors: [{ pointer, code: 'invalid_range', detail }],
  })
}

/** Parses ranges that were stored in canonical notation. */
export function storedRanges(texts: readonly string[]): Range[] {
  return texts.flatMap((text) => parseRange(text) ?? [])
}

const rangeSyntax = 'must be a CIDR block (10.0.0.0/24), a range (10.0.0.5-10.0.0.9) or a single address, IPv4 or IPv6'

type Block = { family: Family; low: bigint; length: number }

/**
 * Returns the smallest list of blocks that covers a range. It starts at the low end and always adds the largest block that
 * fits.
 */
export function blocksOf({ family, low, high }: Range): Block[] {
  const bits = bitsOf[family]
  const blocks: Block[] = []
  for (let next = low; next <= high; ) {
    let size = 0
    while (size < bits && isAligned(next, size + 1) && next + (1n << BigInt(size + 1)) - 1n <= high) size++
    blocks.push({ family, low: next, length: bits - size })
    next += 1n << BigInt(size)
  }
  return blocks
}

/** Returns the keys of the CIDR blocks that cover the ranges, without duplicates. */
export function blockKeysOf(ranges: readonly Range[]): string[] {
  return [...new Set(ranges.flatMap(blocksOf).map(({ family, low, length }) => keyOf({ family, value: low }, length)))]
}

/** Returns the key of every block that contains an address. */
export function blockKeysContaining(address: Address): string[] {
  return Array.from({ length: bitsOf[address.family] + 1 }, (_, length) => keyOf(address, length))
}

function keyOf({ family, value }: Address, length: number): string {
  return `${family}/${length}/${(value >> BigInt(bitsOf[family] - length)).toString(16)}`
}

function isAligned(value: bigint, size: number): boolean {
  return (value & ((1n << BigInt(size)) - 1n)) === 0n
}

function parseBlock(text: string, length: number): Range | undefined {
  const plain = text.trim()
  // The prefix length refers to the address as it was written, so an IPv4-mapped address is not converted to IPv4 first.
  const address = isIPv6(plain) && !plain.includes('%') ? ipv6Address(plain) : parseAddress(plain)
  if (address === undefined || length > bitsOf[address.family]) return undefined
  const size = (1n << BigInt(bitsOf[address.family] - length)) - 1n
  const low = address.value & ~size
  return unmappedRange({ family: address.family, low, high: low + size })
}

function ipv6Address(text: string): Address {
  return { family: 6, value: ipv6Value(text) }
}

function unmapped({ family, value }: Address): Address {
  const isMapped = family === 6 && value >= mapped.low && value <= mapped.high
  return isMapped ? { family: 4, value: value - mapped.low } : { family, value }
}

function unmappedRange({ family, low, high }: Range): Range {
  const isMapped = family === 6 && low >= mapped.low && high <= mapped.high
  return isMapped ? { family: 4, low: low - mapped.low, high: high - mapped.low } : { family, low, high }
}

function ipv4Value(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n)
}

const groups = 8

function ipv6Value(text: string): bigint {
  const [head = '', tail] = text.toLowerCase().split('::', 2)
  const before = groupsIn(head)
  const after = groupsIn(tail ?? '')
  const zeros = Array.from({ length: groups - before.length - after.length }, () => 0n)
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | group, 0n)
}

function groupsIn(text: string): bigint[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [BigInt(`0x${part}`)]
    const value = ipv4Value(part)
    return [value >> 16n, value & 0xffffn]
  })
}
