import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseIpRange } from '@millwright/api/ip-range.ts'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import {
  blockKeysContaining,
  blockKeysOf,
  blocksOf,
  parseAddress,
  parseRange,
  parseRanges,
  type Range,
  rangeContains,
  showAddress,
  showRange,
} from './ip-range.ts'

const runs = { numRuns: 300 }

const ipv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })
/**
 * Generates addresses at the ends of the address space and close to a few addresses, so that ranges and addresses overlap.
 */
const ipv6 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  fc.bigInt({ min: 0n, max: 300n }).map((low) => (0x2001_0db8n << 96n) + low),
)
const address = fc.oneof(
  ipv4.map((value) => ({ family: 4 as const, value })),
  ipv6.map((value) => ({ family: 6 as const, value })),
)
const range = fc
  .tuple(fc.constantFrom(4 as const, 6 as const), fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), fc.nat(140))
  .chain(([family, base, span]) => {
    const top = family === 4 ? 2n ** 32n - 1n : 2n ** 128n - 1n
    const low = base % (top + 1n)
    return fc.bigInt({ min: 0n, max: 2n ** BigInt(span % (family === 4 ? 33 : 129)) }).map((size) => ({
      family,
      low,
      high: [low + size, top].toSorted((a, b) => (a < b ? -1 : 1))[0] ?? top,
    }))
  })

/** Returns the addresses at the ends of a range, inside and outside. */
function edges({ family, low, high }: Range) {
  const top = family === 4 ? 2n ** 32n - 1n : 2n ** 128n - 1n
  return [low - 1n, low, low + 1n, (low + high) / 2n, high - 1n, high, high + 1n]
    .filter((value) => value >= 0n && value <= top)
    .map((value) => ({ family, value }))
}

describe('IP address ranges', () => {
  const written: [string, string][] = [
    ['10.0.0.0/24', '10.0.0.0/24'],
    ['10.0.0.77/24', '10.0.0.0/24'],
    ['10.0.1.5-10.0.1.9', '10.0.1.5-10.0.1.9'],
    ['10.0.1.5 – 10.0.1.9', '10.0.1.5-10.0.1.9'],
    ['10.0.0.0-10.0.0.255', '10.0.0.0/24'],
    [' 10.0.0.7 ', '10.0.0.7'],
    ['10.0.0.7/32', '10.0.0.7'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['2001:db8::1-2001:db8::1', '2001:db8::1'],
    ['::/0', '::/0'],
    ['::ffff:10.0.0.0/120', '10.0.0.0/24'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['::10.0.0.7', '::a00:7'],
  ]
  for (const [text, shown] of written) {
    test(`parses the IP address range ${text} as ${shown}`, () => {
      const parsed = parseRange(text)
      assert.ok(parsed)
      assert.equal(showRange(parsed), shown)
    })
  }

  const refused = [
    '10.0.0.9-10.0.0.5',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0/24',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1-',
    '10.0.0.1-10.0.0.2-10.0.0.3',
    '10.0.0.1-2001:db8::1',
    'fe80::1%eth0',
    '2001:db8::/129',
    'plc.example',
    '*',
    '',
  ]
  for (const text of refused)
    test(`refuses the IP address range "${text}"`, () => assert.equal(parseRange(text), undefined))

  test('parses a printed IP address range as the same range', () => {
    fc.assert(
      fc.property(range, (input) => {
        // A range from an IPv6 address to an IPv4-mapped address has no notation.
        const familyOf = (value: bigint) => parseAddress(showAddress({ family: input.family, value }))?.family
        fc.pre(familyOf(input.low) === familyOf(input.high))
        const read = parseRange(showRange(input))
        assert.ok(read)
        for (const one of edges(input)) {
          // An IPv4-mapped IPv6 address is treated as an IPv4 address, in addresses and in ranges.
          const shown = parseAddress(showAddress(one))
          assert.ok(shown)
          assert.equal(rangeContains(read, shown), rangeContains(input, one) && shown.family === read.family)
        }
      }),
      runs,
    )
  })

  test('contains an IP address in a range exactly when one block of the range contains it', () => {
    fc.assert(
      fc.property(range, fc.array(address, { maxLength: 20 }), (input, others) => {
        const stored = new Set(blockKeysOf([input]))
        for (const one of [...edges(input), ...others]) {
          const naive = one.family === input.family && one.value >= input.low && one.value <= input.high
          assert.equal(rangeContains(input, one), naive)
          assert.equal(blockKeysContaining(one).filter((key) => stored.has(key)).length, naive ? 1 : 0)
        }
      }),
      runs,
    )
  })

  test('splits an IP address range into adjacent blocks that cover the range', () => {
    fc.assert(
      fc.property(range, (input) => {
        const bits = input.family === 4 ? 32 : 128
        let next = input.low
        for (const { low, length } of blocksOf(input)) {
          assert.equal(low, next)
          next += 2n ** BigInt(bits - length)
        }
        assert.equal(next, input.high + 1n)
      }),
      runs,
    )
  })

  test('reports an invalid IP address range by its position in the list', () => {
    assert.throws(
      () => parseRanges(['10.0.0.0/24', 'line 1'], '/data/metadata/ipRanges'),
      (error) => error instanceof Problem && error.errors?.[0]?.pointer === '/data/metadata/ipRanges/1',
    )
  })

  test('removes duplicate IP address ranges in different notations', () => {
    const ranges = parseRanges(['10.0.0.0/24', '10.0.0.0-10.0.0.255', '10.0.0.9/24'], '')
    assert.deepEqual(ranges.map(showRange), ['10.0.0.0/24'])
  })

  test('refuses IP address ranges that consist of thousands of blocks', () => {
    const ragged = Array.from({ length: 100 }, (_, index) => `2001:db8:${index}::1-2001:db8:${index}:ffff::fffe`)
    assert.throws(() => parseRanges(ragged, ''), /more than 2048 CIDR blocks/)
  })
})

test('a range of IPv4 addresses that is valid for credentials is valid for scans, and selects the same addresses', () => {
  const octet = fc.nat({ max: 255 })
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'))
  const space = fc.constantFrom('', ' ')
  const text = fc.oneof(
    fc.tuple(space, ipv4, space).map((parts) => parts.join('')),
    fc.tuple(ipv4, space, fc.constantFrom('-', '–'), space, ipv4).map((parts) => parts.join('')),
    fc.tuple(ipv4, space, fc.constant('/'), fc.nat({ max: 40 })).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(text, (range) => {
      const parsed = parseRange(range)
      const expected = parsed && { from: Number(parsed.low), to: Number(parsed.high) }
      assert.deepEqual(parseIpRange(range), expected, range)
    }),
  )
})
