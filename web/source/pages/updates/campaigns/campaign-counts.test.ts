import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceStates, type StateCounts } from '@millwright/api/updates.ts'
import { countsOf, runningCampaigns } from './campaign-counts.ts'

const none = Object.fromEntries(deviceStates.map((state) => [state, 0])) as StateCounts

test('counts devices that are done, updated and waiting', () => {
  const counts = { ...none, waiting: 5, prepared: 1, activating: 2, succeeded: 10, unknown: 1, skipped: 1 }
  assert.deepEqual(countsOf(counts), { total: 20, done: 12, active: 3, waiting: 5 })
})

test('each state belongs to exactly one of the counts', () => {
  for (const state of deviceStates) {
    const { total, done, active, waiting } = countsOf({ ...none, [state]: 1 })
    assert.deepEqual([total, done + active + waiting], [1, 1], state)
  }
})

test('counts the running campaigns of a complete list only', () => {
  const campaigns = [{ state: 'running' }, { state: 'draft' }] as const
  assert.equal(runningCampaigns(campaigns, { total: 2, isFiltered: false }), 1)
  assert.equal(runningCampaigns(campaigns, { total: 3, isFiltered: false }), undefined)
  assert.equal(runningCampaigns(campaigns, { total: 2, isFiltered: true }), undefined)
})
