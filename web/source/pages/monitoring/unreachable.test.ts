import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latestOutages } from './unreachable.ts'

const tasks = [
  { id: 't1', name: 'Controllers' },
  { id: 't2', name: 'All devices' },
]
const [plc, drive] = [
  { assetId: 'a', assetName: 'PLC01' },
  { assetId: 'b', assetName: 'DRV01' },
]
const [earlier, later] = ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z']

test('lists a device of several tasks once with all its tasks, latest outage first', () => {
  const states = [
    { assetId: 'a', state: 'failed', sinceTimestamp: earlier },
    { assetId: 'b', state: 'failed', sinceTimestamp: later },
  ] as const
  assert.deepEqual(latestOutages(tasks, [[plc], [plc, drive]], states), [
    { id: 'b', name: 'DRV01', sinceTimestamp: later, tasks: [tasks[1]] },
    { id: 'a', name: 'PLC01', sinceTimestamp: earlier, tasks },
  ])
})

test('leaves out a device that a newer check of another task reached', () => {
  assert.deepEqual(latestOutages(tasks, [[plc]], [{ assetId: 'a', state: 'reached', sinceTimestamp: later }]), [])
})
