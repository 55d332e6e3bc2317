import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../app/api/failure.ts'
import { deletionCounts } from './deletion.ts'

function failure(code: string, detail: string): Failure {
  return new Failure({ title: 'Nodes or assigned assets exist', code, detail, status: 409 })
}

test('reads the counts of nodes and assigned assets from the rejected deletion of a node', () => {
  const detail = 'The node Line 7 has 3 nodes below it and 12 assigned assets. To delete all nodes, add recursive=true'
  assert.deepEqual(deletionCounts(failure('hierarchy_not_empty', detail)), { nodes: 3, assets: 12 })
})

test('reads the counts from the rejected deletion of a hierarchy', () => {
  const detail = 'The hierarchy Plant has 40 nodes with 0 assigned assets. To delete all of them, add recursive=true'
  assert.deepEqual(deletionCounts(failure('hierarchy_not_empty', detail)), { nodes: 40, assets: 0 })
})

test('returns no counts for another failure', () => {
  assert.equal(deletionCounts(failure('conflict', 'The node has 3 nodes and 12 assigned assets')), undefined)
})
