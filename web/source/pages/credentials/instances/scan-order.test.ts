import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanOrderOf } from './scan-order.ts'

type Place = [place: number | undefined, range: string, ...after: string[]]

const credentials = (...places: Place[]) => ({
  metadata: { ipRanges: ['10.0.0.0/16'] },
  places: places.map(([place, range, ...after]) => ({
    ipRanges: [range],
    after: after.map((name) => ({ id: name, name })),
    ...(place !== undefined && { place }),
  })),
})

test('returns the best place of credentials, and the IP ranges where a scan tries them later or not', () => {
  const order = scanOrderOf(
    credentials([1, '10.0.0.0/16'], [2, '10.0.1.0/24', 'new'], [undefined, '10.0.2.0/24', 'new', 'newer', 'newest']),
  )
  assert.deepEqual(order, { kind: 'place', place: 1, after: [], laterIn: ['10.0.1.0/24'], notIn: ['10.0.2.0/24'] })
})

test('names the credentials that a scan tries before', () => {
  const order = scanOrderOf(credentials([2, '10.0.0.0/16', 'new']))
  assert.deepEqual(order, { kind: 'place', place: 2, after: ['new'], laterIn: [], notIn: [] })
})

test('returns no place for credentials that scans do not use', () => {
  assert.deepEqual(scanOrderOf(credentials([undefined, '10.0.0.0/16'])), { kind: 'none' })
  assert.deepEqual(scanOrderOf(credentials()), { kind: 'none' })
  assert.deepEqual(scanOrderOf({ ...credentials(), assetId: 'asset' }), { kind: 'asset' })
  const monitoring = { ipRanges: [], purpose: 'monitoring' as const }
  assert.deepEqual(scanOrderOf({ ...credentials(), metadata: monitoring }), { kind: 'monitoring' })
})
