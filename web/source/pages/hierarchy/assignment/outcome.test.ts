import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, undoOutcome } from './outcome.ts'

test('counts the changed assets of an assignment and lists the failed ones with their reason', () => {
  const outcome = outcomeOf([
    { assetId: 'a', outcome: 'assigned' },
    { assetId: 'b', outcome: 'moved', previousNodeId: 'n' },
    { assetId: 'c', outcome: 'unchanged' },
    { assetId: 'd', outcome: 'removed' },
    { assetId: 'e', outcome: 'failed', code: 'forbidden', detail: 'Permission denied' },
    { assetId: 'f', outcome: 'failed', code: 'asset_not_found' },
  ])
  assert.deepEqual(outcome, {
    changed: 3,
    moved: 1,
    failures: [
      { assetId: 'e', detail: 'Permission denied' },
      { assetId: 'f', detail: 'asset_not_found' },
    ],
  })
})

test('adds up the assets that undos returned, left unchanged and did not change', () => {
  const undo = { total: 4, assigned: 0, moved: 1, removed: 1, unchanged: 1 }
  assert.deepEqual(undoOutcome([undo, { ...undo, total: 3 }]), { returned: 4, unchanged: 2, failed: 1 })
})
