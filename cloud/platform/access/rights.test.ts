import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInRoles, type Permission, permissionNames, permissions } from '@millwright/api/permission.ts'
import fc from 'fast-check'
import { lacking, requireCovers } from './escalation.ts'
import { groupsWith, type HeldRole, may, mayIn, maySomewhere, reasonsFor, rightsOf, visibleGroups } from './rights.ts'

const groups = ['line-1', 'line-2', 'line-3']
const place = fc.option(fc.constantFrom(...groups), { nil: null })
const somePermissions = fc.uniqueArray(fc.constantFrom(...permissionNames), { maxLength: 6 })

const heldRole: fc.Arbitrary<HeldRole> = fc.record({
  grantId: fc.uuid(),
  role: fc.constantFrom('a', 'b', 'c'),
  accessGroupId: place,
  permissions: somePermissions,
})
const heldRoles = fc.array(heldRole, { maxLength: 6 })

/** The reference implementation of the rule. It evaluates all held roles at each call. */
function holds(held: readonly HeldRole[], permission: Permission, group: string | null): boolean {
  return held.some(
    (role) =>
      role.permissions.includes(permission) &&
      (role.accessGroupId === null ||
        (permissions[permission].scope === 'access-group' && role.accessGroupId === group)),
  )
}

test('computes the same rights as the reference implementation, for every permission and access group', () => {
  fc.assert(
    fc.property(heldRoles, (held) => {
      const holder = { rights: rightsOf(held) }
      for (const permission of permissionNames) {
        const inGroups = groups.filter((group) => holds(held, permission, group))
        assert.equal(may(holder, permission), holds(held, permission, null))
        for (const group of groups) assert.equal(mayIn(holder, permission, group), inGroups.includes(group))
        const inPart = permission === 'inventory_read_asset_data' && may(holder, 'glb_inventory_read_gateway_data')
        assert.equal(maySomewhere(holder, permission), inGroups.length > 0 || inPart)
        const listed = groupsWith(holder, permission)
        assert.deepEqual(listed === 'all' ? groups : listed.toSorted(), inGroups)
      }
    }),
  )
})

test('returns the granting roles for every held permission, and none for other permissions', () => {
  fc.assert(
    fc.property(heldRoles, fc.constantFrom(...permissionNames), place, (held, permission, group) => {
      const reasons = reasonsFor(held, permission, group)
      assert.equal(reasons.length > 0, holds(held, permission, group))
      for (const reason of reasons) assert.ok(holds([reason], permission, group))
    }),
  )
})

test('returns exactly the requested permissions that the held roles lack', () => {
  fc.assert(
    fc.property(heldRoles, heldRoles, (held, granted) => {
      const missing = lacking(rightsOf(held), rightsOf(granted))
      const naive = permissionNames.filter((permission) =>
        [null, ...groups].some((group) => holds(granted, permission, group) && !holds(held, permission, group)),
      )
      assert.deepEqual(missing.toSorted(), naive.toSorted())
    }),
  )
})

test('never lets a grant give its receiver a permission that the granter lacks', () => {
  fc.assert(
    fc.property(heldRoles, heldRoles, heldRole, (granter, receiver, grant) => {
      try {
        requireCovers({ rights: rightsOf(granter) }, grant.permissions, grant.accessGroupId)
      } catch {
        return
      }
      for (const permission of permissionNames) {
        for (const group of [null, ...groups]) {
          if (!holds([...receiver, grant], permission, group)) continue
          assert.ok(holds(receiver, permission, group) || holds(granter, permission, group))
        }
      }
    }),
  )
})

test('lets a caller grant permissions in an access group when the caller holds them in the whole tenant', () => {
  const reader = rightsOf([{ accessGroupId: null, permissions: ['inventory_read_asset_data'] }])
  const role = ['inventory_read_asset_data', 'glb_audit_read']
  requireCovers({ rights: reader }, role, 'line-1')
  assert.throws(() => requireCovers({ rights: reader }, role, null), {
    code: 'would_escalate',
    message: /glb_audit_read/,
  })
})

test('limits an administrator of one access group to that group', () => {
  const holder = {
    rights: rightsOf([{ accessGroupId: 'line-1', permissions: permissionNames }]),
  }
  assert.equal(maySomewhere(holder, 'glb_access_manage'), false)
  assert.equal(mayIn(holder, 'inventory_write_asset_data', 'line-1'), true)
  assert.equal(mayIn(holder, 'inventory_write_asset_data', 'line-2'), false)
})

function visibleWith(role: keyof typeof builtInRoles | 'auditor', accessGroupId: string | null) {
  const permissions = role === 'auditor' ? ['glb_audit_read'] : builtInRoles[role].permissions
  return visibleGroups(rightsOf([{ accessGroupId, permissions }]))
}

test('makes an access group visible to a principal with a role in that group', () => {
  assert.deepEqual(visibleWith('viewer', 'line-1'), new Set(['line-1']))
})

test('makes every access group visible to a principal with the role viewer in the whole tenant', () => {
  assert.equal(visibleWith('viewer', null), 'all')
})

test('makes no access group visible to a principal with only tenant-wide permissions', () => {
  assert.deepEqual(visibleWith('auditor', null), new Set())
  assert.deepEqual(visibleWith('auditor', 'line-1'), new Set())
})
