import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { noRights } from '../../platform/access/rights.ts'
import { changeAccess, insertAccessGroup, insertGrant } from '../../platform/access/store.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { emit } from '../../platform/events/events.ts'
import { type EventRow, list } from '../../platform/events/store.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { requireFilter, selectEvents, selectionOf } from './selection.ts'
import { emitAssetEvent, emitEvents } from './testing.ts'

const event = { type: 'inventory.asset.created', subject: 'asset/1' }

test('selects event types by a prefix of complete words', () => {
  const chosen = ['inventory', 'inventory.', 'inventory.asset', 'io.millwright.inventory.asset.created', 'x,inventory']
  for (const types of chosen) assert.equal(selectionOf({ types })(event), true, types)
  for (const types of ['invent', 'inventory.asset.creat', 'inventory.relation', 'asset', 'x,y'])
    assert.equal(selectionOf({ types })(event), false, types)
  for (const types of ['io.millwright', 'io.millwright.']) assert.equal(selectionOf({ types })(event), true, types)
})

test('selects event subjects by their full text or by a prefix', () => {
  for (const subject of ['asset/1', 'asset/*', 'as*']) assert.equal(selectionOf({ subject })(event), true, subject)
  for (const subject of ['asset/', 'asset/11', 'node/*', 'asset/1/*'])
    assert.equal(selectionOf({ subject })(event), false, subject)
  assert.equal(selectionOf({})(event), true)
})

const words = fc.array(fc.constantFrom('inventory', 'inventor', 'asset', 'assets', 'a-b', 'created'), {
  minLength: 1,
  maxLength: 4,
})

test('selects the same event types as a comparison of the words of both', () => {
  fc.assert(
    fc.property(words, fc.array(words, { minLength: 1, maxLength: 3 }), fc.boolean(), fc.boolean(), (...sample) => {
      const [type, prefixes, hasCommonPrefix, endsWithDot] = sample
      const written = prefixes.map((prefix) => {
        const text = `${hasCommonPrefix ? 'io.millwright.' : ''}${prefix.join('.')}`
        return endsWithDot ? `${text}.` : text
      })
      const selected = selectionOf({ types: written.join(',') })({ type: type.join('.'), subject: '' })
      const expected = prefixes.some((prefix) => prefix.every((word, index) => word === type[index]))
      assert.equal(selected, expected, `${written} ${type.join('.')}`)
    }),
    { numRuns: 1000 },
  )
})

type Subscription = Parameters<typeof selectEvents>[2]

const all: Subscription = { types: ['inventory'], accessGroupId: null, filter: null }

/** Returns the caller with the current rights of a user, as for a delivery. */
async function callerOf(hub: TestHub, { principalId }: TestCaller): Promise<Caller> {
  const { access } = hub.contextOf('events')
  await access.poll()
  const rights = (await access.of(hub.tenant.tenantId, principalId))?.rights ?? noRights
  const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  return { ...system, principal: { id: principalId, kind: 'user', name: 'owner' }, rights }
}

/** Returns the events that a subscription of this owner sends now, out of all events of the tenant. */
async function selectedFor(hub: TestHub, owner: TestCaller, subscription: Partial<Subscription>): Promise<string[]> {
  const events = await allEvents(hub)
  const caller = await callerOf(hub, owner)
  const selected = await selectEvents(hub.contextOf('events'), caller, { ...all, ...subscription }, events)
  return selected.map(({ type, subject }) => `${type} ${subject}`)
}

async function allEvents(hub: TestHub): Promise<EventRow[]> {
  await hub.settle()
  return hub.context.database.read(hub.tenant, (handle) => list(handle, { after: 0, limit: 1000 }))
}

async function createGroup(hub: TestHub, name: string): Promise<string> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    return (await insertAccessGroup(tx, name))?.id ?? ''
  })
}

/** Sends a write of an asset, and returns the id of the asset when the write is applied. */
async function applyWrite(caller: TestCaller, operation: string, input: object): Promise<string> {
  const { body } = await caller.exchange(inventory, operation, { headers: { prefer: 'wait=30' }, ...input })
  const { data } = body as { data?: { state: string; detail: { result: { assetId: string } } } }
  assert.equal(data?.state, 'finished', JSON.stringify(body))
  return data.detail.result.assetId
}

async function create(caller: TestCaller, name: string, accessGroup = 'default'): Promise<string> {
  const identifier = { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }
  const asset = { functional_object_type: 'Device', name, access_group: accessGroup, asset_identifiers: [identifier] }
  return applyWrite(caller, 'createAsset', { body: { data: { asset } } })
}

function rename(caller: TestCaller, id: string, name: string) {
  return applyWrite(caller, 'setName', { params: { id }, body: { data: { name } } })
}

function move(caller: TestCaller, id: string, group: string) {
  return applyWrite(caller, 'setAccessGroup', { params: { id }, body: { data: { access_group: group } } })
}

function remove(caller: TestCaller, id: string) {
  return applyWrite(caller, 'deleteAssets', { body: { data: { ids: [id] } } })
}

test('sends only events with one of the types of the subscription', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await emitEvents(hub, ['thing/1'], 'test.thing.changed')
  await emitEvents(hub, ['thing/2'], 'test.things.changed')
  await emitEvents(hub, ['other/3'], 'test.other.changed')
  const select = (...types: string[]) => selectedFor(hub, admin, { types })
  assert.deepEqual(await select('io.millwright.test.thing.'), ['test.thing.changed thing/1'])
  assert.deepEqual(await select('test.other', 'test.things.changed'), [
    'test.things.changed thing/2',
    'test.other.changed other/3',
  ])
  assert.equal((await select('io.millwright.test.')).length, 3)
  assert.deepEqual(await select('test.thin'), [])
})

test('sends only events about assets of the access group, also when an asset enters and leaves the group', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const line1 = await createGroup(hub, 'line-1')
  const id = await create(admin, 'pump')
  await create(admin, 'valve')
  await move(admin, id, 'line-1')
  await rename(admin, id, 'pump 2')
  await move(admin, id, 'default')
  await rename(admin, id, 'pump 3')
  await admin.exchange(inventory, 'createRelation', {
    body: { data: { subject: { type: 'asset', id }, predicate: 'is_next_to', object: { type: 'node', id: v7() } } },
  })
  const subject = `asset/${id}`
  assert.deepEqual(await selectedFor(hub, admin, { accessGroupId: line1 }), [
    `inventory.asset.updated ${subject}`,
    `inventory.asset.updated ${subject}`,
    `inventory.asset.left ${subject}`,
  ])
})

test('sends events without an access group if an asset that they name is in the group now', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const line1 = await createGroup(hub, 'line-1')
  const [pump, valve, motor] = [await create(admin, 'pump'), await create(admin, 'valve'), await create(admin, 'motor')]
  const relate = (from: string, to: string) =>
    admin.exchange(inventory, 'createRelation', {
      body: {
        data: { subject: { type: 'asset', id: from }, predicate: 'is_next_to', object: { type: 'asset', id: to } },
      },
    })
  await relate(valve, pump)
  await relate(valve, motor)
  const selection = { types: ['inventory.relation'], accessGroupId: line1 }
  assert.equal((await selectedFor(hub, admin, selection)).length, 0)
  await move(admin, pump, 'line-1')
  assert.equal((await selectedFor(hub, admin, selection)).length, 1)
  await move(admin, motor, 'line-1')
  assert.equal((await selectedFor(hub, admin, selection)).length, 2)
  assert.equal((await selectedFor(hub, admin, { ...selection, filter: "name eq 'motor'" })).length, 1)
  const outsider = await createCaller(hub, [{ permissions: ['glb_inventory_read_relation_data'] }])
  assert.equal((await selectedFor(hub, outsider, { ...selection, accessGroupId: null })).length, 2)
  assert.equal((await selectedFor(hub, outsider, selection)).length, 0, 'the group is not readable for the owner')
})

test('sends only events that name an asset that matches the filter now, and the end of every asset', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await createGroup(hub, 'line-1')
  const pump = await create(admin, 'pump')
  const valve = await create(admin, 'valve')
  const motor = await create(admin, 'motor')
  const relation = (from: string, to: string) => ({
    data: { subject: { type: 'asset', id: from }, predicate: 'is_next_to', object: { type: 'asset', id: to } },
  })
  await admin.exchange(inventory, 'createRelation', { body: relation(valve, pump) })
  await admin.exchange(inventory, 'createRelation', { body: relation(valve, motor) })
  await remove(admin, motor)
  await move(admin, valve, 'line-1')
  const select = async (filter: string) =>
    (await selectedFor(hub, admin, { types: ['inventory.asset', 'inventory.relation.created'], filter })).map((text) =>
      text
        .replace(pump, 'pump')
        .replace(valve, 'valve')
        .replace(motor, 'motor')
        .replace(/relation\/.*/, 'relation'),
    )
  const ends = ['inventory.asset.deleted asset/motor', 'inventory.asset.left asset/valve']
  assert.deepEqual(await select("name eq 'pump'"), [
    'inventory.asset.created asset/pump',
    'inventory.relation.created relation',
    ...ends,
  ])
  assert.deepEqual(await select("name eq 'compressor'"), ends)
  assert.deepEqual(await select("access_group eq 'line-1' and startswith(name, 'val')"), [
    'inventory.asset.created asset/valve',
    'inventory.relation.created relation',
    'inventory.relation.created relation',
    'inventory.asset.deleted asset/motor',
    'inventory.asset.updated asset/valve',
    'inventory.asset.left asset/valve',
  ])
  await rename(admin, pump, 'compressor')
  assert.equal((await select("name eq 'compressor'")).filter((text) => text.endsWith('asset/pump')).length, 2)
})

test('compares the filter with the asset of a change, and not with the gateway that reported it', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const [gateway, device] = [await create(admin, 'gateway'), await create(admin, 'device')]
  await hub.context.database.transaction(hub.tenant, (tx) =>
    emit(tx, {
      type: 'inventory.asset.updated',
      subject: `asset/${device}`,
      data: { id: device, source: { type: 'discovery', value: gateway } },
    }),
  )
  const select = (name: string) =>
    selectedFor(hub, admin, { types: ['inventory.asset.updated'], filter: `name eq '${name}'` })
  assert.deepEqual(await select('gateway'), [])
  assert.equal((await select('device')).length, 1)
})

test('sends only events that the owner can read when they are sent', async () => {
  await using hub = await testHub()
  const [line1, line2] = [await createGroup(hub, 'line-1'), await createGroup(hub, 'line-2')]
  const owner = await createCaller(hub, [
    { permissions: ['inventory_read_asset_data'], accessGroupId: line1 },
    { permissions: ['glb_inventory_read_relation_data'] },
  ])
  const admin = await hub.as('administrator')
  const [pump, other] = [await create(admin, 'pump', 'line-1'), await create(admin, 'pump-2', 'line-2')]
  await emitAssetEvent(hub, `asset/${pump}`, line1)
  await emitAssetEvent(hub, `asset/${other}`, line2)
  await emitEvents(hub, [`relation/${other}`], 'inventory.relation.created')
  const types = ['inventory.asset.updated', 'inventory.relation']
  const select = (filter: string | null = null) => selectedFor(hub, owner, { types, filter })
  const relation = `inventory.relation.created relation/${other}`
  assert.deepEqual(await select(), [`inventory.asset.updated asset/${pump}`, relation])
  // The relation names an asset that matches the filter, but that the owner cannot read.
  assert.deepEqual(await select("startswith(name, 'pump')"), [`inventory.asset.updated asset/${pump}`])

  const { data: grants } = await admin.authorization.listGrants({
    query: { principal: owner.principalId },
  })
  const inLine1 = grants.find(({ accessGroup }) => accessGroup === line1)
  await admin.authorization.deleteGrant({ params: { id: inLine1?.id ?? '' } })
  assert.deepEqual(await select(), [relation])
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    await insertGrant(tx, { principalId: owner.principalId, role: 'viewer', accessGroupId: line2 })
  })
  assert.deepEqual(await select("startswith(name, 'pump')"), [`inventory.asset.updated asset/${other}`, relation])
})

test('sends no query to the inventory for an owner who can read all assets, without a filter', async () => {
  await using hub = await testHub({ ownProcesses: true })
  const admin = await hub.as('administrator')
  await emitEvents(hub, [`asset/${v7()}`], 'inventory.asset.updated')
  const events = await allEvents(hub)
  const caller = await callerOf(hub, admin)
  const count = async (filter: string | null) => {
    const select = () => selectEvents(hub.contextOf('events'), caller, { ...all, filter }, events)
    return (await hub.statements(select)).filter(({ text }) => text.includes('assets')).length
  }
  assert.equal(await count(null), 0)
  assert.equal(await count("name eq 'pump'"), 1)
})

test('refuses a filter that the asset list does not accept, with its place in the request', async () => {
  await using hub = await testHub()
  const caller = await callerOf(hub, await hub.as('administrator'))
  const check = (filter: string) => requireFilter(hub.contextOf('events'), caller, filter)
  await check("name eq 'pump' and asset_identifiers/any(i: i/value eq 'x')")
  for (const [filter, code] of [
    ['name eq', 'invalid_filter'],
    ["colour eq 'red'", 'unknown_property'],
    ["name eq '\0'", 'invalid_filter'],
  ] as const) {
    await assert.rejects(check(filter), (error) => {
      assert.ok(error instanceof Problem)
      assert.equal(error.code, code)
      assert.deepEqual(error.errors, [{ pointer: '/data/filter', code, detail: error.message }])
      return true
    })
  }
})
