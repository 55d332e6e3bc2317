import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../app/api/failure.ts'
import { deletionCounts } from './deletion.ts'

function failure(code: string): Failure {
  const counts = { childNodes: 3, assignedAssets: 12 }
  return new Failure({ title: 'Hierarchy or node not empty', code, detail: '', status: 409, ...counts })
}

test('returns the counts of nodes and assigned assets of a rejected deletion', () => {
  assert.deepEqual(deletionCounts(failure('hierarchy_not_empty')), { nodes: 3, assets: 12 })
})

test('returns no counts for another failure', () => {
  assert.equal(deletionCounts(failure('conflict')), undefined)
})
