import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInRoles } from '@millwright/api/permission.ts'
import { rightsOf } from '../../platform/access/rights.ts'
import { visibleGroups } from './access-group.ts'

function visibleWith(role: keyof typeof builtInRoles | 'auditor', accessGroupId: string | null) {
  const permissions = role === 'auditor' ? ['glb_audit_read'] : builtInRoles[role].permissions
  return visibleGroups(rightsOf([{ accessGroupId, permissions }]))
}

test('a role in a group shows that group', () => {
  assert.deepEqual(visibleWith('viewer', 'line-1'), new Set(['line-1']))
})

test('a role in the whole tenant that says something about assets shows every group', () => {
  assert.equal(visibleWith('viewer', null), 'all')
})

test('a role that says nothing about assets shows no group, held anywhere', () => {
  assert.deepEqual(visibleWith('auditor', null), new Set())
  assert.deepEqual(visibleWith('auditor', 'line-1'), new Set())
})
