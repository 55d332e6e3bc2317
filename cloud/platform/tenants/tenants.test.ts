import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { listAccessGroups, listPrincipals } from '../access/store.ts'
import { givenUser, type Site, testSite } from '../access/testing.ts'
import { putDirectoryEntry, removeDirectoryEntries, removeDirectoryEntry } from './store.ts'
import {
  createTenant,
  deleteTenant,
  findTenant,
  listTenants,
  provisionApplication,
  resumeTenant,
  suspendTenant,
  withdrawApplication,
} from './tenants.ts'

const limits = { timeout: 300_000 }

function uniqueName(): string {
  return `t${v7()}`
}

async function anotherTenant(site: Site) {
  const tenant = await createTenant(site.owner, { name: uniqueName() })
  return { ...tenant, scope: { tenantId: tenant.id } }
}

test('creates an active tenant with both applications and the access group `default`', limits, async () => {
  await using site = await testSite()
  const { database } = site.process()

  const tenant = await findTenant(site.owner, site.tenant.name)
  const groups = await database.read(site.scope, (handle) => listAccessGroups(handle, { limit: 10, offset: 0 }))

  assert.deepEqual(tenant, { ...site.tenant, state: 'active', applications: ['api', 'ui'] })
  assert.deepEqual(
    groups.rows.map(({ name }) => name),
    ['default'],
  )
  const listed = (await listTenants(site.owner)).find(({ id }) => id === site.tenant.id)
  assert.match(listed?.createdTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('refuses a duplicate or malformed tenant name', limits, async () => {
  await using site = await testSite()

  await assert.rejects(createTenant(site.owner, { name: site.tenant.name }), { code: 'already_exists' })
  for (const name of ['', '-a', 'A', 'a b', 'a@b', 'a'.repeat(64), 'a\n']) {
    await assert.rejects(createTenant(site.owner, { name }), { code: 'invalid_body' })
  }
})

test('creates a tenant once when two callers create it at the same time', limits, async () => {
  await using site = await testSite()
  const name = uniqueName()

  const results = await Promise.allSettled([
    createTenant(site.owner, { name }),
    createTenant(await site.anotherOwner(), { name }),
  ])

  const refusals = results.filter((result) => result.status === 'rejected')
  assert.deepEqual(
    refusals.map(({ reason }) => reason.code),
    ['already_exists'],
  )
})

test('provisions and withdraws applications of a tenant idempotently', limits, async () => {
  await using site = await testSite()
  const applications = async () => (await findTenant(site.owner, site.tenant.name))?.applications

  await withdrawApplication(site.owner, site.tenant.name, 'ui')
  await withdrawApplication(site.owner, site.tenant.name, 'ui')
  assert.deepEqual(await applications(), ['api'])
  await provisionApplication(site.owner, site.tenant.name, 'ui')
  await provisionApplication(site.owner, site.tenant.name, 'ui')
  assert.deepEqual(await applications(), ['api', 'ui'])
  await assert.rejects(provisionApplication(site.owner, uniqueName(), 'ui'), { code: 'not_found' })
})

test('deletes a suspended tenant with all its data, and no data of other tenants', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  const neighbour = await anotherTenant(site)
  const user = await givenUser(database, site.scope, 'administrator')
  await givenUser(database, neighbour.scope, 'administrator')
  await database.transaction(site.scope, (tx) =>
    putDirectoryEntry(tx, { kind: 'sign-in', key: `jane@${site.tenant.name}`, principalId: user.id }),
  )
  await access.of(site.tenant.id, user.id)

  await assert.rejects(deleteTenant(site.owner, site.tenant.name), { code: 'conflict' })
  await suspendTenant(site.owner, site.tenant.name)
  await deleteTenant(site.owner, site.tenant.name)

  assert.equal(await findTenant(site.owner, site.tenant.name), undefined)
  assert.equal(await access.tenants.lookUp('sign-in', `jane@${site.tenant.name}`), undefined)
  await access.poll()
  assert.equal(await access.of(site.tenant.id, user.id), undefined)
  assert.equal(await access.tenants.byId(site.tenant.id), undefined)
  const page = { kind: 'user' as const, limit: 10, offset: 0 }
  assert.equal((await database.read(neighbour.scope, (handle) => listPrincipals(handle, page))).total, 1)
})

test('repeats an interrupted creation, and completes an interrupted deletion', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  const name = uniqueName()
  const interrupted = async () => {
    const { id } = await createTenant(site.owner, { name })
    const entry = { kind: 'client' as const, key: v7(), principalId: v7() }
    await database.transaction({ tenantId: id }, (tx) => putDirectoryEntry(tx, entry))
    await suspendTenant(site.owner, name)
    await assert.rejects(createTenant(site.owner, { name }), /already exists.*suspended/)
    // A worker of a cluster commits before the coordinator. An interruption between both leaves this state.
    for (const table of ['access_groups', 'access_versions']) {
      await site.owner.query(`delete from ${table} where tenant_id = $1`, [id])
    }
    await assert.rejects(resumeTenant(site.owner, name), { code: 'conflict' })
    return { id, key: entry.key }
  }

  const first = await interrupted()
  const second = await createTenant(site.owner, { name })
  assert.notEqual(second.id, first.id)
  assert.equal(await access.tenants.lookUp('client', first.key), undefined)
  assert.equal((await findTenant(site.owner, name))?.state, 'active')
  await suspendTenant(site.owner, name)
  await deleteTenant(site.owner, name)

  const third = await interrupted()
  assert.equal(await deleteTenant(site.owner, name), third.id)
  assert.equal(await findTenant(site.owner, name), undefined)
  assert.equal(await access.tenants.lookUp('client', third.key), undefined)
})

test('sets a resumed tenant to active', limits, async () => {
  await using site = await testSite()
  await suspendTenant(site.owner, site.tenant.name)
  await resumeTenant(site.owner, site.tenant.name)
  assert.equal((await findTenant(site.owner, site.tenant.name))?.state, 'active')
})

test(
  'finds the tenant of a directory key, and does not let another tenant take or remove the key',
  limits,
  async () => {
    await using site = await testSite()
    const { database, access } = site.process()
    const neighbour = await anotherTenant(site)
    const [key, principalId] = [v7(), v7()]
    const entry = { kind: 'client' as const, key, principalId }

    assert.equal(await database.transaction(site.scope, (tx) => putDirectoryEntry(tx, entry)), true)
    assert.equal(await database.transaction(neighbour.scope, (tx) => putDirectoryEntry(tx, entry)), false)
    await database.transaction(neighbour.scope, (tx) => removeDirectoryEntry(tx, entry))
    await database.transaction(neighbour.scope, (tx) => removeDirectoryEntries(tx, principalId))

    assert.deepEqual(await access.tenants.lookUp('client', key), { tenantId: site.tenant.id, principalId })
    assert.equal(await access.tenants.lookUp('gateway', key), undefined)
    await database.transaction(site.scope, (tx) => removeDirectoryEntries(tx, principalId))
    assert.equal(await access.tenants.lookUp('client', key), undefined)
  },
)

test('finds a tenant by id and by name', limits, async () => {
  await using site = await testSite()
  const { access } = site.process()

  assert.equal((await access.tenants.byName(site.tenant.name))?.id, site.tenant.id)
  assert.equal((await access.tenants.byId(site.tenant.id))?.name, site.tenant.name)
  assert.equal(await access.tenants.byName(uniqueName()), undefined)
})
