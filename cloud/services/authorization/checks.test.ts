import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offeredPermissions } from '@millwright/api/contracts.ts'
import { builtInRoles, type Permission, permissions } from '@millwright/api/permission.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { changeAccess, insertPrincipal, updatePrincipal } from '../../platform/access/store.ts'
import { testHub } from '../../platform/testing/hub.ts'

type Hub = Awaited<ReturnType<typeof testHub>>
type Caller = Awaited<ReturnType<Hub['as']>>

const permission: Permission = 'inventory_read_asset_data'

async function createGroup(admin: Caller, name: string): Promise<string> {
  return (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
}

async function createUser(hub: Hub, name: string): Promise<string> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    return (await insertPrincipal(tx, { kind: 'user', name })).id
  })
}

async function disable(hub: Hub, id: string): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    await updatePrincipal(tx, id, { disabled: true })
  })
}

test('returns whether a principal holds a permission, with the grants and an explanation', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const jane = await createUser(hub, 'jane')
  const [here, there] = [await createGroup(admin, 'line-1'), await createGroup(admin, 'line-2')]
  const { data: grant } = await admin.authorization.createGrant({
    body: { data: { principal: jane, role: 'operator', accessGroup: here } },
  })

  const yes = await admin.authorization.check({ query: { principal: jane, permission, accessGroup: here } })
  assert.deepEqual(yes.data, {
    allowed: true,
    principal: jane,
    permission,
    accessGroup: here,
    because: [{ grant: grant.id, role: 'operator', accessGroup: here }],
    explanation:
      'jane may read assets (inventory_read_asset_data) in the access group line-1 because the role operator was granted in the access group line-1',
  })

  const no = await admin.authorization.check({ query: { principal: jane, permission, accessGroup: there } })
  assert.equal(no.data.allowed, false)
  assert.match(no.data.explanation, /line-2: the role operator was granted in the access group line-1 only$/)
  const everywhere = await admin.authorization.check({ query: { principal: jane, permission } })
  assert.deepEqual([everywhere.data.allowed, everywhere.data.accessGroup], [false, null])

  await disable(hub, jane)
  const disabled = await admin.authorization.check({ query: { principal: jane, permission, accessGroup: here } })
  assert.equal(disabled.data.allowed, false)
  assert.match(disabled.data.explanation, /jane is disabled/)
})

test('lets every caller check its own permissions, and those of others only with glb_access_manage', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const accessGroup = await createGroup(admin, 'line-1')
  const viewer = await hub.as('viewer', { accessGroupId: accessGroup })
  const hidden = await createGroup(admin, 'line-2')

  assert.equal((await viewer.authorization.check({ query: { permission, accessGroup } })).data.allowed, true)
  await assert.rejects(viewer.authorization.check({ query: { permission, principal: admin.principalId } }), {
    code: 'forbidden',
  })
  for (const group of [hidden, v7()]) {
    await assert.rejects(viewer.authorization.check({ query: { permission, accessGroup: group } }), {
      code: 'access_group_not_found',
    })
  }
  await assert.rejects(admin.authorization.check({ query: { permission, principal: v7() } }), {
    code: 'principal_not_found',
  })
})

test('checks the current grants of the caller, not the roles in the token', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const viewer = await hub.as('viewer')

  await admin.authorization.createGrant({ body: { data: { principal: viewer.principalId, role: 'operator' } } })

  const { data } = await viewer.authorization.check({ query: { permission: 'glb_discovery_run' } })
  assert.equal(data.allowed, true)
  const rights = await viewer.authorization.readOwnRights({})
  assert.equal(
    rights.data.permissions.some((right) => right.permission === 'glb_discovery_run'),
    false,
  )
})

test('lists the permissions of the caller, with their access groups', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const accessGroup = await createGroup(admin, 'line-1')
  const viewer = await hub.as('viewer', { accessGroupId: accessGroup })

  const { data } = await viewer.authorization.readOwnRights({})
  assert.deepEqual([data.principal, data.tenant, data.roles], [viewer.principalId, hub.tenant.name, ['viewer']])
  assert.deepEqual(data.permissions, [{ permission, accessGroups: [accessGroup] }])
  const all = await admin.authorization.readOwnRights({})
  assert.deepEqual(
    all.data.permissions,
    offeredPermissions.map((name) => ({ permission: name, accessGroups: 'all' })),
  )
})

test('lists the current holders of a permission in an access group, with the roles that grant it', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [here, there] = [await createGroup(admin, 'line-1'), await createGroup(admin, 'line-2')]
  await admin.authorization.createRole({
    body: { data: { name: 'connector', permissions: ['remote_access_connect'] } },
  })
  const connector = await hub.as('connector', { accessGroupId: here })
  await hub.as('viewer')
  const gone = await hub.as('supervisor')
  await disable(hub, gone.principalId)
  const holders = async (query: { accessGroup?: string }) => {
    const params = { permission: 'remote_access_connect' as const }
    const { data, meta } = await admin.authorization.listHolders({ params, query })
    assert.equal(meta.totalElements, data.length)
    return new Map(data.map(({ principal, because }) => [principal, because.map(({ role }) => role)]))
  }

  const expected = new Map([[admin.principalId, ['administrator']]])
  assert.deepEqual(await holders({ accessGroup: there }), expected)
  expected.set(connector.principalId, ['connector'])
  assert.deepEqual(await holders({ accessGroup: here }), expected)
  assert.deepEqual(await holders({}), expected)
})

test('does not list principals with a role in one access group as holders of a tenant-wide permission', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const accessGroup = await createGroup(admin, 'line-1')
  await hub.as('administrator', { accessGroupId: accessGroup })

  for (const query of [{}, { accessGroup }]) {
    const { data } = await admin.authorization.listHolders({ params: { permission: 'glb_access_manage' }, query })
    assert.deepEqual(
      data.map(({ principal }) => principal),
      [admin.principalId],
    )
  }
})

type Step = { who: number; role: keyof typeof builtInRoles; where: number | null; give: boolean }

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.nat({ max: 2 }),
  role: fc.constantFrom('viewer', 'operator', 'supervisor', 'administrator', 'credential_manager'),
  where: fc.option(fc.nat({ max: 1 }), { nil: null }),
  give: fc.boolean(),
})

test('returns permissions that match the existing grants after any sequence of grants and revocations', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const groups = [await createGroup(admin, 'line-1'), await createGroup(admin, 'line-2')]
  let round = 0

  const sequence = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
    round++
    const people = await Promise.all([0, 1, 2].map((who) => createUser(hub, `person-${round}-${who}`)))
    const granted = new Map<string, { id: string; step: Step }>()
    for (const step of steps) await take(admin, { step, people, groups, granted })
    await compare(admin, { people, groups, granted })
  })

  await fc.assert(sequence, { numRuns: 12 })
})

type World = { people: string[]; groups: string[]; granted: Map<string, { id: string; step: Step }> }

async function take(admin: Caller, { step, people, groups, granted }: World & { step: Step }): Promise<void> {
  const { who, role, where, give } = step
  const key = JSON.stringify([who, role, where])
  const existingGrant = granted.get(key)
  if (give) {
    const accessGroup = where === null ? undefined : groups[where]
    const data = { principal: people[who] ?? '', role, ...(accessGroup === undefined ? {} : { accessGroup }) }
    const made = await admin.authorization.createGrant({ body: { data } })
    if (existingGrant !== undefined) assert.equal(made.data.id, existingGrant.id)
    granted.set(key, { id: made.data.id, step })
  } else if (existingGrant !== undefined) {
    await admin.authorization.deleteGrant({ params: { id: existingGrant.id } })
    granted.delete(key)
  }
}

const checkedPermissions: Permission[] = [
  'glb_access_manage',
  'glb_discovery_run',
  'inventory_read_asset_data',
  'remote_access_connect',
]

async function compare(admin: Caller, { people, groups, granted }: World): Promise<void> {
  for (const permission of checkedPermissions) {
    for (const where of [null, 0, 1]) {
      const accessGroup = where === null ? undefined : groups[where]
      const query = { permission, ...(accessGroup === undefined ? {} : { accessGroup }) }
      for (const [who, principal] of people.entries()) {
        const expected = [...granted.values()].some(
          ({ step }) =>
            step.who === who &&
            (builtInRoles[step.role].permissions as readonly Permission[]).includes(permission) &&
            (step.where === null || (permissions[permission].scope === 'access-group' && step.where === where)),
        )
        const { data } = await admin.authorization.check({ query: { ...query, principal } })
        assert.equal(data.allowed, expected, data.explanation)
        assert.equal(data.because.length > 0, expected)
      }
    }
  }
}
