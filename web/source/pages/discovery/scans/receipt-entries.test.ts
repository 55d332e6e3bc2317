import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, largestFirst, matchingEntries, totalOf } from './receipt-entries.ts'

const at = '2026-01-31T08:30:00.000Z'
const traffic = { packets: { 'snmp Get': 2, 'snmp GetBulk': 7 }, first: at, last: at }
const entries = [
  { address: '10.0.0.7', ...traffic },
  { address: '10.0.1.7', ...traffic },
  { network: '10.0.3.0/24', addresses: 256, ...traffic },
  { network: 'fd00:1::/64', addresses: 3, ...traffic },
]

test('finds the entries of a receipt by a part of the address, and networks by an address in them', () => {
  const found = (text: string) => matchingEntries(entries, text).map(addressOf)
  assert.deepEqual(found(''), entries.map(addressOf))
  assert.deepEqual(found(' 10.0.1'), ['10.0.1.7'])
  assert.deepEqual(found('10.0.3.200'), ['10.0.3.0/24'])
  assert.deepEqual(found('10.0.4.1'), [])
  assert.deepEqual(found('fd00'), ['fd00:1::/64'])
})

test('adds up the classes of a receipt entry, and lists the largest class first', () => {
  assert.equal(totalOf(traffic.packets), 9)
  assert.deepEqual(largestFirst(traffic.packets), [
    ['snmp GetBulk', 7],
    ['snmp Get', 2],
  ])
})
