import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInRoles } from '@millwright/api/permission.ts'
import { evaluate, type PermissionQuery } from './check.ts'

const names = {
  accessGroups: new Map([
    ['1', 'line-1'],
    ['2', 'line-2'],
  ]),
  rolesWith: ['viewer', 'operator'],
}

function held(role: keyof typeof builtInRoles, accessGroupId: string | null) {
  return { grantId: `grant of ${role}`, role, accessGroupId, permissions: builtInRoles[role].permissions }
}

const jane: PermissionQuery = {
  name: 'jane',
  disabled: false,
  held: [],
  permission: 'inventory_read_asset_data',
  accessGroup: '1',
}

test('lists every granted role that contains a permission', () => {
  const verdict = evaluate(
    { ...jane, held: [held('operator', '1'), held('viewer', null), held('supervisor', '2')] },
    names,
  )

  assert.equal(
    verdict.explanation,
    'jane may read assets (inventory_read_asset_data) in the access group line-1 because the role operator was granted in the access group line-1, and the role viewer was granted in the whole tenant',
  )
  assert.deepEqual(verdict.because, [
    { grant: 'grant of operator', role: 'operator', accessGroup: '1' },
    { grant: 'grant of viewer', role: 'viewer', accessGroup: null },
  ])
})

test('lists the roles that contain a permission that the user lacks', () => {
  const verdict = evaluate({ ...jane, held: [] }, names)

  assert.equal(verdict.allowed, false)
  assert.equal(
    verdict.explanation,
    'jane may not read assets (inventory_read_asset_data) in the access group line-1: no granted role contains the permission; roles that contain it: viewer, operator',
  )
})

test('explains a missing permission by a role that was granted only in another access group', () => {
  assert.match(
    evaluate({ ...jane, held: [held('viewer', '2')] }, names).explanation,
    /in the access group line-1: the role viewer was granted in the access group line-2 only$/,
  )
  assert.match(
    evaluate({ ...jane, held: [held('viewer', '2')], permission: 'glb_jobs_read' }, names).explanation,
    /line-2 only, but this permission applies only in the whole tenant$/,
  )
})

test('denies every permission to a disabled user, regardless of grants', () => {
  const verdict = evaluate({ ...jane, disabled: true, held: [held('administrator', null)] }, names)

  assert.deepEqual([verdict.allowed, verdict.because], [false, []])
  assert.match(verdict.explanation, /: jane is disabled$/)
})
