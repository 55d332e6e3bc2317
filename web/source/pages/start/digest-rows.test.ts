import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EntryRow } from '../activity/entry-rows.ts'
import { digestRows } from './digest-rows.ts'

function row(id: string, action = 'created'): EntryRow {
  const time = '2026-11-18T12:00:00.000Z'
  const entry = { id, time, principal: null, principalName: 'jane', action, outcome: 'done', changes: [] } as const
  return { entry: { ...entry, changes: [] }, others: [], isOpen: false }
}

const idsOf = (rows: EntryRow[]) => digestRows(rows).map(({ entry }) => entry.id)

test('shows the newest rows', () => {
  assert.deepEqual(idsOf(['9', '8', '7', '6', '5', '4', '3'].map((id) => row(id))), ['9', '8', '7', '6', '5', '4'])
})

test('shows the two newest outages even if many entries are newer, in the order of time', () => {
  const newer = ['9', '8', '7', '6', '5'].map((id) => row(id))
  const outages = [
    row('3', 'discovery.recoverLink'),
    row('2', 'discovery.expireLink'),
    row('1', 'discovery.expireLink'),
  ]
  assert.deepEqual(idsOf([...newer, row('4'), ...outages]), ['9', '8', '7', '6', '3', '2'])
})
