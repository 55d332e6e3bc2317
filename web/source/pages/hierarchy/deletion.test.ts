import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../app/api/failure.ts'
import { deletionCounts } from './deletion.ts'

function failure(code: string, detail: string): Failure {
  return new Failure({ title: 'Hierarchy or node not empty', code, detail, status: 409 })
}

test('reads the counts of nodes and assigned assets from the rejected deletion of a node', () => {
  const detail =
    'The node Line 7 is not empty (nodes below it: 3, assigned assets: 12). To delete the node with all nodes below it, add recursive=true. The assets are not deleted'
  assert.deepEqual(deletionCounts(failure('hierarchy_not_empty', detail)), { nodes: 3, assets: 12 })
})

test('reads the counts from the rejected deletion of a hierarchy', () => {
  const detail =
    'The hierarchy Plant is not empty (nodes: 40, assigned assets: 0). To delete the hierarchy with all its nodes, add recursive=true. The assets are not deleted'
  assert.deepEqual(deletionCounts(failure('hierarchy_not_empty', detail)), { nodes: 40, assets: 0 })
})

test('returns no counts for another failure', () => {
  assert.equal(
    deletionCounts(failure('conflict', 'The node Line 7 is not empty (nodes below it: 3, assigned assets: 12)')),
    undefined,
  )
})
