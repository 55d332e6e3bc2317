import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import { v7 } from 'uuid'
import { testHub } from '../../platform/testing/hub.ts'

type Hub = Awaited<ReturnType<typeof testHub>>
type Caller = Awaited<ReturnType<Hub['as']>>

async function createGroups(admin: Caller, ...names: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const name of names) {
    ids.push((await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id)
  }
  return ids
}

test('lists access groups sorted by name, including the built-in group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await createGroups(admin, 'line-2', 'Line-3', 'line-1')

  const { data, meta } = await admin.authorization.listAccessGroups({ query: { limit: 3 } })

  assert.deepEqual(
    data.map(({ name }) => name),
    ['Line-3', 'default', 'line-1'],
  )
  assert.deepEqual(meta, { totalElements: 4, elements: 3, offset: 0 })
  const named = await admin.authorization.listAccessGroups({ query: { name: 'line-2' } })
  assert.deepEqual([named.data.map(({ name }) => name), named.meta.totalElements], [['line-2'], 1])
})

test('creates, reads, renames and deletes an access group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const made = await admin.exchange(authorization, 'createAccessGroup', { body: { data: { name: 'line-1' } } })
  assert.equal(made.status, 201)
  const { id } = (made.body as { data: { id: string } }).data
  const params = { id }

  const read = await admin.exchange(authorization, 'readAccessGroup', { params })
  assert.deepEqual(read.body, made.body)
  const headers = { 'if-match': read.headers.get('etag') ?? '' }
  const renamed = await admin.authorization.updateAccessGroup({ params, headers, body: { data: { name: 'line-one' } } })
  assert.equal(renamed.data.name, 'line-one')
  await assert.rejects(admin.authorization.deleteAccessGroup({ params, headers }), { code: 'precondition_failed' })

  await admin.authorization.deleteAccessGroup({ params })
  await assert.rejects(admin.authorization.readAccessGroup({ params }), { code: 'not_found' })
  await assert.rejects(admin.authorization.deleteAccessGroup({ params }), { code: 'not_found' })
})

test('refuses a duplicate name of an access group, also when renaming', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [id = ''] = await createGroups(admin, 'line-1', 'line-2')

  await assert.rejects(createGroups(admin, 'line-1'), { code: 'already_exists' })
  await assert.rejects(admin.authorization.updateAccessGroup({ params: { id }, body: { data: { name: 'line-2' } } }), {
    code: 'already_exists',
  })
  await assert.rejects(
    admin.authorization.updateAccessGroup({ params: { id: v7() }, body: { data: { name: 'line-3' } } }),
    { code: 'not_found' },
  )
})

test('refuses to rename or delete the access group `default`', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { data } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
  const params = { id: data[0]?.id ?? '' }

  await assert.rejects(admin.authorization.updateAccessGroup({ params, body: { data: { name: 'x' } } }), {
    code: 'built_in',
  })
  await assert.rejects(admin.authorization.deleteAccessGroup({ params }), { code: 'built_in' })
})

test('refuses to delete an access group with grants', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [id = ''] = await createGroups(admin, 'line-1')
  const viewer = await hub.as('viewer', { accessGroupId: id })

  await assert.rejects(admin.authorization.deleteAccessGroup({ params: { id } }), {
    code: 'access_group_not_empty',
    message: 'The access group line-1 still contains grants. Move or delete them first',
  })

  const grants = await admin.authorization.listGrants({ query: { principal: viewer.principalId } })
  await admin.authorization.deleteGrant({ params: { id: grants.data[0]?.id ?? '' } })
  await admin.authorization.deleteAccessGroup({ params: { id } })
})

test('lists only groups in which the caller has permissions when the caller lacks glb_access_manage', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [first = '', second = ''] = await createGroups(admin, 'line-1', 'line-2')
  const viewer = await hub.as('viewer', { accessGroupId: first })

  const { data, meta } = await viewer.authorization.listAccessGroups({})
  assert.deepEqual(
    data.map(({ name }) => name),
    ['line-1'],
  )
  assert.equal(meta.totalElements, 1)
  assert.equal((await viewer.authorization.readAccessGroup({ params: { id: first } })).data.name, 'line-1')

  const named = await viewer.authorization.listAccessGroups({ query: { name: 'line-2' } })
  assert.deepEqual(named, { data: [], meta: { totalElements: 0, elements: 0, offset: 0 } })
  const hidden = await viewer.exchange(authorization, 'readAccessGroup', { params: { id: second } })
  const missing = await viewer.exchange(authorization, 'readAccessGroup', { params: { id: v7() } })
  assert.deepEqual([hidden.status, missing.status], [404, 404])
  const withoutRoles = await hub.as(undefined)
  assert.equal((await withoutRoles.authorization.listAccessGroups({})).meta.totalElements, 0)
})

test('returns 404 for access groups of another tenant', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [id = ''] = await createGroups(admin, 'line-1')
  const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
  const params = { id }

  await assert.rejects(stranger.authorization.readAccessGroup({ params }), { code: 'not_found' })
  await assert.rejects(stranger.authorization.deleteAccessGroup({ params }), { code: 'not_found' })
  await assert.rejects(
    stranger.authorization.createGrant({
      body: { data: { principal: stranger.principalId, role: 'viewer', accessGroup: id } },
    }),
    { code: 'access_group_not_found' },
  )
})
