import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rightsOf } from './rights.ts'

test('rights.has returns true for the group of a permission or without a group, and false for another group', () => {
  const rights = rightsOf([
    { permission: 'inventory_read_asset_data', accessGroups: ['line-1'] },
    { permission: 'glb_jobs_read', accessGroups: 'all' },
  ])
  assert.equal(rights.has('inventory_read_asset_data'), true)
  assert.equal(rights.has('inventory_read_asset_data', 'line-1'), true)
  assert.equal(rights.has('inventory_read_asset_data', 'line-2'), false)
  assert.equal(rights.has('glb_jobs_read', 'line-2'), true)
  assert.equal(rights.hasAny(['glb_audit_read', 'glb_jobs_read']), true)
  assert.equal(rights.has('glb_audit_read'), false)
})
