import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { builtInRoles, permissions as known, type Permission, permissionNames } from '@millwright/api/permission.ts'
import { testHub } from '../../platform/testing/hub.ts'

const auditor = { name: 'auditor', title: 'Reads the audit trail', permissions: ['glb_audit_read' as const] }

test('lists built-in roles before custom roles, also across pages', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  for (const name of ['zoo', 'aaa']) await admin.authorization.createRole({ body: { data: { name, permissions: [] } } })
  const expected = [...Object.keys(builtInRoles), 'aaa', 'zoo']

  const whole = await admin.authorization.listRoles({})
  assert.deepEqual(
    whole.data.map(({ name }) => name),
    expected,
  )

  for (const limit of [1, 3, 5, 100]) {
    const paged: string[] = []
    for (let offset = 0; offset < expected.length; offset += limit) {
      const { data, meta } = await admin.authorization.listRoles({ query: { limit, offset } })
      assert.deepEqual(meta, { totalElements: expected.length, elements: data.length, offset })
      paged.push(...data.map(({ name }) => name))
    }
    assert.deepEqual(paged, expected)
  }
})

test('creates, reads, changes and deletes a role', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')

  const made = await admin.exchange(authorization, 'createRole', { body: { data: auditor } })
  assert.equal(made.status, 201)
  const params = { name: 'auditor' }
  const read = await admin.exchange(authorization, 'readRole', { params })
  assert.deepEqual(read.body, made.body)
  assert.equal(read.headers.get('etag'), made.headers.get('etag'))

  const changed = await admin.authorization.updateRole({ params, body: { data: { title: 'Looks' } } })
  assert.deepEqual([changed.data.title, changed.data.permissions], ['Looks', ['glb_audit_read']])

  await admin.authorization.deleteRole({ params })
  await assert.rejects(admin.authorization.readRole({ params }), { code: 'not_found' })
  await assert.rejects(admin.authorization.deleteRole({ params }), { code: 'not_found' })
  await assert.rejects(admin.authorization.updateRole({ params, body: { data: { title: '' } } }), { code: 'not_found' })
})

test('refuses to change, delete or redefine a built-in role', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const params = { name: 'viewer' }

  const read = await admin.exchange(authorization, 'readRole', { params })
  assert.equal((read.body as { data: { builtIn: boolean } }).data.builtIn, true)
  assert.match(read.headers.get('etag') ?? '', /^"\d+\./)
  await assert.rejects(admin.authorization.updateRole({ params, body: { data: { title: '' } } }), { code: 'built_in' })
  await assert.rejects(admin.authorization.deleteRole({ params }), { code: 'built_in' })
  await assert.rejects(admin.authorization.createRole({ body: { data: { name: 'viewer', permissions: [] } } }), {
    code: 'already_exists',
  })
})

test('refuses a duplicate role name', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')

  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => admin.authorization.createRole({ body: { data: auditor } })),
  )

  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const result of results) if (result.status === 'rejected') assert.equal(result.reason.code, 'already_exists')
})

test('refuses a change when another request changed the role first', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { headers: made } = await admin.exchange(authorization, 'createRole', { body: { data: auditor } })
  const headers = { 'if-match': made.get('etag') ?? '' }
  const params = { name: 'auditor' }
  const change = { params, headers, body: { data: { title: 'new' } } }

  await admin.authorization.updateRole(change)
  await assert.rejects(admin.authorization.updateRole(change), { code: 'precondition_failed' })
  await assert.rejects(admin.authorization.deleteRole({ params, headers }), { code: 'precondition_failed' })
})

test('refuses to delete a role that is granted', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({ body: { data: auditor } })
  await hub.as('auditor')

  await assert.rejects(admin.authorization.deleteRole({ params: { name: 'auditor' } }), { code: 'role_in_use' })
})

test('refuses a new or extended role with permissions that the caller does not hold', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const manager = { name: 'manager', permissions: ['glb_access_manage' as const] }
  await admin.authorization.createRole({ body: { data: manager } })
  await admin.authorization.createRole({ body: { data: auditor } })
  const caller = await hub.as('manager')
  const permissions = ['glb_access_manage' as const, 'glb_audit_read' as const]

  await assert.rejects(caller.authorization.createRole({ body: { data: { name: 'more', permissions } } }), {
    code: 'would_escalate',
  })
  await assert.rejects(
    caller.authorization.updateRole({ params: { name: 'manager' }, body: { data: { permissions } } }),
    { code: 'would_escalate' },
  )
  await caller.authorization.createRole({ body: { data: { ...manager, name: 'same' } } })
  await caller.authorization.updateRole({ params: { name: 'auditor' }, body: { data: { title: 'only the title' } } })
  await caller.authorization.updateRole({ params: { name: 'auditor' }, body: { data: { permissions: [] } } })
})

test('removes a permission from all holders of a role when it is removed from the role', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({
    body: { data: { name: 'manager', permissions: ['glb_access_manage'] } },
  })
  const caller = await hub.as('manager')
  await caller.authorization.listRoles({})

  await admin.authorization.updateRole({ params: { name: 'manager' }, body: { data: { permissions: [] } } })
  await hub.context.access.poll()

  await assert.rejects(caller.authorization.listRoles({}), { code: 'forbidden' })
})

test('lists only permissions that an operation requires, and accepts roles that contain other permissions', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const required = new Set<string>(
    Object.values(contracts).flatMap(({ operations }) => Object.values(operations).map(({ access }) => access)),
  )
  const reserved = permissionNames.filter(
    (name) => !required.has(name) && !required.has((known[name] as { partOf?: string }).partOf ?? ''),
  )

  const { data: listed } = await admin.authorization.listPermissions({})
  const { data: roles } = await admin.authorization.listRoles({})
  const { data: own } = await admin.authorization.readOwnRights({})

  assert.deepEqual(
    listed.map(({ name }) => name),
    permissionNames.filter((name) => !reserved.includes(name)),
  )
  const shown = [
    ...roles.flatMap(({ permissions }) => permissions),
    ...own.permissions.map((right) => right.permission),
  ]
  assert.deepEqual(
    shown.filter((name) => reserved.includes(name)),
    [],
  )

  const permissions = [...reserved, 'glb_jobs_read'] as Permission[]
  await admin.authorization.createRole({ body: { data: { name: 'planner', permissions } } })
  const { data: stored } = await admin.authorization.readRole({ params: { name: 'planner' } })
  assert.deepEqual(stored.permissions.toSorted(), permissions.toSorted())
  const planner = await hub.as('planner')
  await planner.jobs.listJobs({ query: {} })
})

test('lists all permissions for every signed-in caller', async () => {
  await using hub = await testHub()
  const withoutRoles = await hub.as(undefined)

  const { data } = await withoutRoles.authorization.listPermissions({})

  assert.deepEqual(
    data.find(({ name }) => name === 'inventory_read_asset_data'),
    { name: 'inventory_read_asset_data', title: 'Read assets', scope: 'access-group' },
  )
})
