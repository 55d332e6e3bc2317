import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfNumber } from '@millwright/api/ip-range.ts'
import fc from 'fast-check'
import type { Filter } from '../parameters.ts'
import { portsOf, requiredPortsOf, scanRangeOf, wholeNumber } from './range.ts'

const filter = (key: string, value: string): Filter => ({ key, operator: 'EQUAL', value })
const addressesOf = (...filters: Filter[]) => [...scanRangeOf(filters).addresses()]

test('scanRangeOf returns each selected address once, without the excluded addresses', () => {
  assert.deepEqual(
    addressesOf(
      filter('ip_range', '10.0.0.254-10.0.1.1, 10.0.1.1'),
      filter('ip_range', '10.0.1.0/31'),
      filter('exclude', '10.0.0.255'),
    ),
    ['10.0.0.254', '10.0.1.0', '10.0.1.1'],
  )
  assert.deepEqual(addressesOf(filter('ip_range', '10.0.0.1'), filter('exclude', '10.0.0.0/8')), [])
})

test('scanRangeOf returns the same addresses as a comparison of each address', () => {
  const base = 0x0a00_0000
  const span = fc.tuple(fc.nat({ max: 60 }), fc.nat({ max: 20 })).map(([from, size]) => ({ from, to: from + size }))
  const textOf = ({ from, to }: { from: number; to: number }) =>
    `${addressOfNumber(base + from)}-${addressOfNumber(base + to)}`
  const spans = fc.array(span, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(spans, spans, (selected, excluded) => {
      const isIn = (all: typeof selected, at: number) => all.some(({ from, to }) => at >= from && at <= to)
      const expected = Array.from({ length: 100 }, (_, at) => at)
        .filter((at) => isIn(selected, at) && !isIn(excluded, at))
        .map((at) => addressOfNumber(base + at))
      const filters = [filter('ip_range', selected.map(textOf).join()), filter('exclude', excluded.map(textOf).join())]
      const { size, addresses } = scanRangeOf(filters)
      assert.deepEqual([...addresses()], expected)
      assert.equal(size, expected.length)
    }),
  )
})

test('scanRangeOf returns only the selected addresses of targets with an IP address', () => {
  const filters = [filter('ip_range', '10.0.0.0/30'), filter('exclude', '10.0.0.2')]
  const targets = ['10.0.0.1', '10.0.0.2', '10.0.0.9', '10.0.0.1'].map((ip_address) => ({ address: { ip_address } }))
  const { size, addresses } = scanRangeOf(filters, targets)
  assert.deepEqual([size, [...addresses()]], [1, ['10.0.0.1']])
  assert.equal(scanRangeOf(filters, [{ address: {} }]).size, 3)
})

test('scanRangeOf rejects invalid, empty, too large and multicast ranges, and other operators', () => {
  for (const value of ['x', '10.0.0.9-10.0.0.1', '', ' , ', '239.0.0.1', '10.0.0.1,255.255.255.255', '0.0.0.0/30'])
    assert.throws(() => scanRangeOf([filter('ip_range', value)]), { code: 'INVALID_ARGUMENT' }, value)
  assert.throws(() => scanRangeOf([filter('ip_range', '10.0.0.1'), filter('exclude', 'x')]), {
    code: 'INVALID_ARGUMENT',
  })
  assert.throws(() => scanRangeOf([filter('ip_range', '10.0.0.0/11')]), { code: 'OUT_OF_RANGE' })
  assert.equal(scanRangeOf([filter('ip_range', '10.0.0.0/12')]).size, 2 ** 20)
  assert.throws(() => scanRangeOf([{ key: 'ip_range', operator: 'NOT_EQUAL', value: '10.0.0.1' }]), {
    code: 'INVALID_ARGUMENT',
  })
})

test('portsOf reads lists and spans of ports, each port once', () => {
  assert.deepEqual(portsOf({ ports: ' 502, 5020-5022,502,' }, 'ports'), [502, 5020, 5021, 5022])
  assert.deepEqual(portsOf({}, 'ports'), [])
  assert.deepEqual(requiredPortsOf({ ports: '502' }, 'ports'), [502])
  assert.throws(() => requiredPortsOf({ ports: ' ,' }, 'ports'), { code: 'INVALID_ARGUMENT' })
  for (const ports of ['0', '65536', '5-1', '1-', '-', 'http', '1.5', '1-2000', '1-1000,2000-2999'])
    assert.throws(() => portsOf({ ports }, 'ports'), { code: 'INVALID_ARGUMENT' }, ports)
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9, -]{0,30}$/), (ports) => {
      try {
        return portsOf({ ports }, 'ports').every((port) => port >= 1 && port <= 65_535)
      } catch (error) {
        return (error as { code: string }).code === 'INVALID_ARGUMENT'
      }
    }),
  )
})

test('wholeNumber accepts only whole numbers within its limits', () => {
  assert.equal(wholeNumber({ parallel: 5 }, 'parallel', { least: 1, most: 5 }), 5)
  for (const parallel of [0, 6, 1.5, Number.NaN, '5', undefined])
    assert.throws(() => wholeNumber({ parallel }, 'parallel', { least: 1, most: 5 }), { code: 'INVALID_ARGUMENT' })
})
