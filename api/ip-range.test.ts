import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressOfNumber, type IpRange, isInRanges, mergeRanges, numberOfAddress, parseIpRange } from './ip-range.ts'

const address = fc.nat({ max: 2 ** 32 - 1 })
const range = fc.tuple(address, fc.nat({ max: 5_000 })).map(
  ([from, size]): IpRange => ({
    from,
    to: Math.min(from + size, 2 ** 32 - 1),
  }),
)

test('an address is converted to a number and back', () => {
  assert.equal(numberOfAddress('10.0.1.2'), 0x0a00_0102)
  assert.equal(addressOfNumber(0xffff_ffff), '255.255.255.255')
  fc.assert(fc.property(address, (number) => numberOfAddress(addressOfNumber(number)) === number))
  for (const text of [
    '',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.0.1',
    '10.0.0.-1',
    '1e1.0.0.1',
    '10.0.0.011',
    '00.0.0.1',
    '::1',
    'a.b.c.d',
  ])
    assert.equal(numberOfAddress(text), undefined, text)
})

test('parseIpRange reads networks, spans and single addresses', () => {
  const table = {
    '10.0.0.7': ['10.0.0.7', '10.0.0.7'],
    '10.0.0.7/24': ['10.0.0.0', '10.0.0.255'],
    '10.0.0.7/32': ['10.0.0.7', '10.0.0.7'],
    '0.0.0.0/0': ['0.0.0.0', '255.255.255.255'],
    '10.0.0.1-10.0.1.9': ['10.0.0.1', '10.0.1.9'],
    '10.0.0.1 - 10.0.1.9': ['10.0.0.1', '10.0.1.9'],
  }
  for (const [text, ends] of Object.entries(table)) {
    const parsed = parseIpRange(text)
    assert.deepEqual(parsed && [addressOfNumber(parsed.from), addressOfNumber(parsed.to)], ends, text)
  }
  const invalid = [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/24/8',
    '/24',
    '10.0.0.9-10.0.0.1',
    '10.0.0.1-',
    '1-2-3',
    '*',
  ]
  for (const text of invalid) assert.equal(parseIpRange(text), undefined, text)
})

test('parseIpRange returns undefined or an ascending range for any text', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9./ -]{0,40}$/))
  fc.assert(
    fc.property(text, (any) => {
      const parsed = parseIpRange(any)
      return parsed === undefined || (parsed.from >= 0 && parsed.from <= parsed.to && parsed.to < 2 ** 32)
    }),
  )
})

test('merged ranges contain the same addresses, ascend and do not touch each other', () => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 20 }), address, (ranges, any) => {
      const merged = mergeRanges(ranges)
      for (const [index, { from }] of merged.entries())
        if (index > 0) assert.ok(from > (merged[index - 1]?.to ?? 0) + 1)
      for (const one of [any, ...ranges.flatMap(({ from, to }) => [from - 1, from, to, to + 1])])
        assert.equal(isInRanges(merged, one), isInRanges(ranges, one))
    }),
  )
})

test('parseIpRange accepts spaces and the dash of word processors', () => {
  const expected = parseIpRange('10.0.0.0-10.0.0.255')
  for (const text of [' 10.0.0.0/24 ', '10.0.0.0 / 24', '10.0.0.0 - 10.0.0.255', '10.0.0.0–10.0.0.255'])
    assert.deepEqual(parseIpRange(text), expected, text)
})
