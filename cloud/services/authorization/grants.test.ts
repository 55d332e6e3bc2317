import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import { v7 } from 'uuid'
import { changeAccess, insertGrant, insertPrincipal, updatePrincipal } from '../../platform/access/store.ts'
import { testHub } from '../../platform/testing/hub.ts'

type Hub = Awaited<ReturnType<typeof testHub>>
type Caller = Awaited<ReturnType<Hub['as']>>

async function createGroup(admin: Caller, name: string): Promise<string> {
  return (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
}

async function grantsOf(admin: Caller, principal: string): Promise<string[]> {
  const { data } = await admin.authorization.listGrants({ query: { principal } })
  return data.map(({ id }) => id)
}

test('returns the existing grant when the same grant is created again, in the whole tenant or in a group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { principalId: principal } = await hub.as(undefined)
  const accessGroup = await createGroup(admin, 'line-1')

  for (const place of [{}, { accessGroup }]) {
    const body = { data: { principal, role: 'viewer', ...place } }
    const first = await admin.exchange(authorization, 'createGrant', { body })
    const second = await admin.exchange(authorization, 'createGrant', { body })
    assert.deepEqual([first.status, second.status], [201, 200])
    assert.deepEqual(second.body, first.body)
    const { id } = (first.body as { data: { id: string } }).data
    const read = await admin.exchange(authorization, 'readGrant', { params: { id } })
    assert.deepEqual(read.body, first.body)
    assert.match(read.headers.get('etag') ?? '', /^"\d+\./)
  }
  assert.equal((await grantsOf(admin, principal)).length, 2)
})

test('creates one grant for many concurrent identical requests', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { principalId: principal } = await hub.as(undefined)

  const made = await Promise.all(
    Array.from({ length: 6 }, () =>
      admin.exchange(authorization, 'createGrant', { body: { data: { principal, role: 'viewer' } } }),
    ),
  )

  assert.deepEqual(made.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 200, 201])
})

test('refuses a grant with an unknown principal, role or access group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { principalId: principal } = await hub.as(undefined)
  const grant = (data: { principal: string; role: string; accessGroup?: string }) =>
    admin.authorization.createGrant({ body: { data } })

  await assert.rejects(grant({ principal: v7(), role: 'viewer' }), { code: 'principal_not_found' })
  await assert.rejects(grant({ principal, role: 'nothing' }), { code: 'role_not_found' })
  await assert.rejects(grant({ principal, role: 'viewer', accessGroup: v7() }), { code: 'access_group_not_found' })
  await assert.rejects(admin.authorization.readGrant({ params: { id: v7() } }), { code: 'not_found' })
  await assert.rejects(admin.authorization.deleteGrant({ params: { id: v7() } }), { code: 'not_found' })
})

test('lists grants newest first, filtered by any combination of principal, role and access group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const accessGroup = await createGroup(admin, 'line-1')
  const [jane, john] = [await hub.as('viewer'), await hub.as('viewer', { accessGroupId: accessGroup })]
  await admin.authorization.createGrant({ body: { data: { principal: jane.principalId, role: 'operator' } } })
  const listed = async (query: { principal?: string; role?: string; accessGroup?: string }) => {
    const { data, meta } = await admin.authorization.listGrants({ query })
    assert.equal(meta.totalElements, data.length)
    return data.map(({ principal, role }) => `${principal === jane.principalId ? 'jane' : 'john'} ${role}`)
  }

  assert.deepEqual(await listed({ principal: jane.principalId }), ['jane operator', 'jane viewer'])
  assert.deepEqual(await listed({ role: 'viewer' }), ['john viewer', 'jane viewer'])
  assert.deepEqual(await listed({ accessGroup }), ['john viewer'])
  assert.deepEqual(await listed({ role: 'operator', accessGroup }), [])
  assert.deepEqual(await listed({ principal: john.principalId, role: 'viewer', accessGroup }), ['john viewer'])
  const page = await admin.authorization.listGrants({ query: { limit: 1, offset: 1 } })
  assert.deepEqual(page.meta, { totalElements: 4, elements: 1, offset: 1 })
})

test('refuses the next request that needs a permission of a revoked role', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const second = await hub.as('administrator')
  await second.authorization.listRoles({})
  const [id = ''] = await grantsOf(admin, second.principalId)

  await admin.authorization.deleteGrant({ params: { id } })
  if (hub.clouds.length > 1) await hub.context.access.poll()

  await assert.rejects(second.authorization.listRoles({}), { code: 'forbidden' })
})

test('refuses to revoke the role of the last enabled administrator user', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await hub.as('administrator', { accessGroupId: await createGroup(admin, 'line-1') })
  const disabled = await hub.as('administrator')
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    await updatePrincipal(tx, disabled.principalId, { disabled: true })
    const machine = await insertPrincipal(tx, { kind: 'server_user', name: 'machine' })
    await insertGrant(tx, { principalId: machine.id, role: 'administrator' })
  })
  const [id = ''] = await grantsOf(admin, admin.principalId)

  await assert.rejects(admin.authorization.deleteGrant({ params: { id } }), { code: 'last_administrator' })
  assert.equal((await grantsOf(admin, admin.principalId)).length, 1)
})

test('returns 409 when a caller deletes the grant of the role `gateway` to a gateway', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [gateway, machine] = await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    const principals = []
    for (const kind of ['gateway', 'server_user'] as const) {
      const { id } = await insertPrincipal(tx, { kind, name: kind })
      await insertGrant(tx, { principalId: id, role: 'gateway' })
      await insertGrant(tx, { principalId: id, role: 'operator' })
      principals.push(id)
    }
    return principals
  })
  const grantsWith = async (role: string, principal = '') =>
    (await admin.authorization.listGrants({ query: { principal, role } })).data.map(({ id }) => id)
  const [own = ''] = await grantsWith('gateway', gateway)

  await assert.rejects(admin.authorization.deleteGrant({ params: { id: own } }), { code: 'conflict' })
  assert.deepEqual(await grantsWith('gateway', gateway), [own])
  const others = [...(await grantsWith('operator', gateway)), ...(await grantsWith('gateway', machine))]
  assert.equal(others.length, 2)
  for (const id of others) await admin.authorization.deleteGrant({ params: { id } })

  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    await updatePrincipal(tx, gateway ?? '', { disabled: true })
  })
  await admin.authorization.deleteGrant({ params: { id: own } })
})

test('leaves one administrator when two administrators revoke each other concurrently', async () => {
  await using hub = await testHub()
  for (let round = 0; round < 5; round++) {
    const tenant = await hub.anotherTenant()
    const [first, second] = [await hub.as('administrator', { tenant }), await hub.as('administrator', { tenant })]
    const [ofFirst = ''] = await grantsOf(first, first.principalId)
    const [ofSecond = ''] = await grantsOf(first, second.principalId)

    const results = await Promise.all([
      first.exchange(authorization, 'deleteGrant', { params: { id: ofSecond } }),
      second.exchange(authorization, 'deleteGrant', { params: { id: ofFirst } }),
    ])

    const done = results.filter(({ status }) => status === 204)
    assert.equal(done.length, 1)
    const refused = results.find(({ status }) => status !== 204)
    // The slower request gets that error, or its caller has already lost the role.
    assert.ok(refused?.status === 409 || refused?.status === 403)
  }
})

test("refuses a grant of a role with more permissions than the caller's token has", async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({
    body: { data: { name: 'manager', permissions: ['glb_access_manage', 'inventory_read_asset_data'] } },
  })
  const accessGroup = await createGroup(admin, 'line-1')
  const manager = await hub.as('manager')
  const { principalId: principal } = await hub.as(undefined)
  const grant = (caller: Caller, data: { role: string; accessGroup?: string }) =>
    caller.authorization.createGrant({ body: { data: { principal, ...data } } })

  await assert.rejects(grant(manager, { role: 'administrator' }), { code: 'would_escalate' })
  await assert.rejects(grant(manager, { role: 'viewer' }), { code: 'would_escalate' })
  await assert.rejects(grant(manager, { role: 'operator', accessGroup }), { code: 'would_escalate' })
  await grant(manager, { role: 'viewer', accessGroup })
  await grant(manager, { role: 'manager' })

  const both = await hub.as('administrator')
  await admin.authorization.createGrant({ body: { data: { principal: both.principalId, role: 'manager' } } })
  const narrowed = hub.withToken(await hub.tokenFor(both.principalId, { roles: ['manager'] }))
  await assert.rejects(grant(narrowed, { role: 'administrator' }), { code: 'would_escalate' })
  await grant(both, { role: 'administrator' })
})

test('records grants and revocations, but no refused ones, in the audit trail and as events', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { principalId: principal } = await hub.as(undefined)
  const body = { data: { principal, role: 'viewer' } }

  const { data } = await admin.authorization.createGrant({ body })
  await admin.authorization.createGrant({ body })
  await admin.authorization.deleteGrant({ params: { id: data.id } })
  await assert.rejects(admin.authorization.deleteGrant({ params: { id: data.id } }))

  const recorded = await hub.asOwner(async (owner) => {
    const values = [hub.tenant.tenantId, `grant/${data.id}`]
    const entries = await owner.query(
      `select action from audit_entries where tenant_id = $1 and target = $2 and outcome = 'done' order by id`,
      values,
    )
    const events = await owner.query(
      `select type from events where tenant_id = $1 and subject = $2 order by id`,
      values,
    )
    return { actions: entries.rows.map(({ action }) => action), types: events.rows.map(({ type }) => type) }
  })
  assert.deepEqual(recorded, {
    actions: ['authorization.createGrant', 'authorization.deleteGrant'],
    types: ['authorization.grant.created', 'authorization.grant.deleted'],
  })
})
