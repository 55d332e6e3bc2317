import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ActivityEntry } from '@millwright/api/activity.ts'
import type { InputOf } from '@millwright/api/contract.ts'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { recordOutside } from '../../platform/audit/audit.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { activityQueries } from './activity-queries.ts'

type Query = NonNullable<
  InputOf<typeof import('@millwright/api/activity.ts')['activity']['operations']['listEntries']>['query']
>

/** Sends a write to the inventory and waits until it is applied. Returns its result. */
async function apply(caller: TestCaller, operation: string, input: object): Promise<unknown> {
  const { body } = await caller.exchange(inventory, operation, { headers: { prefer: 'wait=30' }, ...input })
  const { data } = body as { data?: { statusId: string } }
  if (data === undefined) throw new Error(JSON.stringify(body))
  const status = await caller.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
  assert.equal(status.data.state, 'finished', JSON.stringify(status.data.detail))
  return status.data.detail.result
}

function device(name: string, fields: object = {}) {
  const asset_identifiers = [
    { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name.replaceAll(' ', '-') },
  ]
  return { functional_object_type: 'Device', name, asset_identifiers, ...fields }
}

async function create(caller: TestCaller, names: readonly string[], fields: object = {}): Promise<string[]> {
  const body = { data: { assets: names.map((name) => device(name, fields)) } }
  return ((await apply(caller, 'createAssets', { body })) as { assetId: string }[]).map(({ assetId }) => assetId)
}

async function entries(caller: TestCaller, query: Query = {}): Promise<ActivityEntry[]> {
  return (await caller.activity.listEntries({ query })).data
}

function isProblem(code: string): (error: unknown) => boolean {
  return (error) => (error as Problem).code === code
}

describe('activity', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  test('a change of one asset is an entry with the author, the name and the old and new values', async () => {
    const [id = ''] = await create(admin, ['PLC01'])
    const params = { id }
    await apply(admin, 'setFirmwareVersion', { params, body: { data: { version: '3.0.1' } } })
    await apply(admin, 'setFirmwareVersion', { params, body: { data: { version: '3.1.0' } } })
    await apply(admin, 'setName', { params, body: { data: { name: 'PLC 1' } } })
    const found = await entries(admin, { asset: id })
    assert.deepEqual(
      found.map(({ action, object, changes }) => [action, object?.name, changes]),
      [
        ['updated', 'PLC 1', [{ field: 'name', before: 'PLC01', after: 'PLC 1' }]],
        ['updated', 'PLC01', [{ field: 'firmware', before: '3.0.1', after: '3.1.0' }]],
        ['updated', 'PLC01', [{ field: 'firmware', after: '3.0.1' }]],
        ['created', 'PLC01', []],
      ],
    )
    assert.ok(found.every(({ principal, cause, group }) => principal !== null && !cause && !group))
    const firmware = await entries(admin, { asset: id, kind: 'firmware' })
    assert.deepEqual(
      firmware.map(({ changes }) => changes[0]?.after),
      ['3.1.0', '3.0.1'],
    )
  })

  test('a change that was stored without its short form is computed from the two documents', async () => {
    const [id = ''] = await create(admin, ['Old pump'])
    await apply(admin, 'setResponsible', { params: { id }, body: { data: { responsible: 'jane' } } })
    await hub.asOwner((owner) =>
      owner.query('update asset_history set changes = null where tenant_id = $1 and asset_id = $2', [
        hub.tenant.tenantId,
        id,
      ]),
    )
    const [entry] = await entries(admin, { asset: id })
    assert.deepEqual(
      entry?.changes.map(({ field, after: value }) => [field, value]),
      [['responsible', 'jane']],
    )
  })

  test('a deleted asset keeps its name in the list', async () => {
    const [id = ''] = await create(admin, ['Scrapped valve'])
    await apply(admin, 'deleteAssets', { body: { data: { ids: [id] } } })
    const [entry] = await entries(admin, { asset: id })
    assert.deepEqual([entry?.action, entry?.object?.name], ['deleted', 'Scrapped valve'])
  })

  test('the changes of a bulk edit are one entry with counts, names and the common new value', async () => {
    const ids = await create(admin, ['Fan 1', 'Fan 2', 'Fan 3'])
    await apply(admin, 'setResponsibles', {
      body: { data: ids.map((asset_id) => ({ asset_id, responsible: 'cooling team' })) },
    })
    const [edit, creation] = await entries(admin)
    assert.deepEqual([edit?.cause?.kind, creation?.cause?.kind], ['bulk_edit', 'request'])
    assert.deepEqual([edit?.group?.count, edit?.group?.updated, creation?.group?.created], [3, 3, 3])
    assert.deepEqual(creation?.group?.names.toSorted(), ['Fan 1', 'Fan 2', 'Fan 3'])
    assert.deepEqual(
      edit?.group?.fields.map(({ field, after: value, count }) => [field, value, count]),
      [['responsible', 'cooling team', 3]],
    )
    const { data } = await admin.activity.listGroupEntries({ params: { id: edit?.cause?.id ?? '' }, query: {} })
    assert.deepEqual(data.map(({ object }) => object?.id).toSorted(), ids.toSorted())
    assert.ok(data.every(({ group }) => group === undefined))
  })

  test('pages contain each entry once, newest first, and a group once', async () => {
    const ids = await create(admin, ['Belt 1', 'Belt 2', 'Belt 3', 'Belt 4'])
    for (const [index, id] of ids.entries())
      await apply(admin, 'setName', { params: { id }, body: { data: { name: `Conveyor ${index}` } } })
    await admin.authorization.createAccessGroup({ body: { data: { name: 'packaging' } } })
    const seen: ActivityEntry[] = []
    let next: { cursor?: string } = {}
    do {
      const { data, meta } = await admin.activity.listEntries({ query: { limit: 2, ...next } })
      seen.push(...data)
      next = meta.nextCursor === undefined ? {} : { cursor: meta.nextCursor }
    } while (next.cursor !== undefined)
    const all = await entries(admin, { limit: 100 })
    assert.deepEqual(
      seen.map(({ id }) => id),
      all.map(({ id }) => id),
    )
    const times = seen.map(({ time }) => time)
    assert.deepEqual(times, times.toSorted().toReversed())
    const causes = seen.flatMap(({ cause }) => cause?.id ?? [])
    assert.equal(new Set(causes).size, causes.length)
    assert.ok(seen.some(({ action }) => action === 'authorization.createAccessGroup'))
    const { meta } = await admin.activity.listEntries({ query: { limit: 1 } })
    await assert.rejects(
      admin.activity.listEntries({ query: { kind: 'created', cursor: meta.nextCursor ?? '' } }),
      isProblem('invalid_cursor'),
    )
  })

  test('a caller without glb_audit_read gets only the changes of readable assets', async () => {
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [hall1, hall2] = [await group('hall 1'), await group('hall 2')]
    const [visible = ''] = await create(admin, ['Visible drive'], { access_group: hall1 })
    const [hidden = ''] = await create(admin, ['Hidden drive'], { access_group: hall2 })
    await apply(admin, 'setName', { params: { id: hidden }, body: { data: { name: 'Secret drive' } } })
    await apply(admin, 'setAccessGroup', { params: { id: hidden }, body: { data: { access_group: hall1 } } })
    const reader = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId: hall1 }])
    const found = await entries(reader)
    assert.deepEqual(
      found.map(({ action, object, changes }) => [action, object?.id, changes]),
      [
        ['updated', hidden, [{ field: 'access_group', after: 'hall 1' }]],
        ['created', visible, []],
      ],
    )
    assert.deepEqual(await entries(reader, { kind: 'access' }), [])
    const total = (await reader.activity.readHistogram({ query: { bucket: 'hour' } })).data
    assert.deepEqual(
      total.map(({ created, updated, other }) => [created, updated, other]),
      [[1, 1, 0]],
    )
    const from = new Date(Date.now() - 300 * 86_400_000).toISOString()
    const inLongRange = (await reader.activity.readHistogram({ query: { bucket: 'day', from } })).data
    assert.deepEqual(
      inLongRange.map(({ created, updated, other }) => [created, updated, other]),
      [[1, 1, 0]],
    )
    await assert.rejects(reader.activity.readEntry({ params: { id: `asset.${hidden}.1` } }), isProblem('not_found'))
    const [audited] = await entries(admin, { kind: 'access' })
    await assert.rejects(reader.activity.readEntry({ params: { id: audited?.id ?? '' } }), isProblem('forbidden'))
    const withoutRights = await createCaller(hub, [])
    assert.deepEqual(await entries(withoutRights), [])
    assert.deepEqual((await withoutRights.activity.listPeople({ query: {} })).data, [])
  })

  test('a caller with glb_audit_read and without assets reads the audit entries about assets', async () => {
    const [id = ''] = await create(admin, ['Audited pump'])
    const auditor = await createCaller(hub, [{ permissions: ['glb_audit_read'] }])
    const principal = { id: null, kind: 'user', name: 'jane' } as const
    const jane = { principal, request: { id: 'r1', address: undefined } }
    const opened = { action: 'remote-access.openSession', target: `asset/${id}` }
    await recordOutside(hub.context.database, hub.tenant, jane, opened)
    const [entry] = await entries(auditor, { asset: id })
    assert.deepEqual([entry?.action, entry?.object], ['remote-access.openSession', { kind: 'asset', id }])
    assert.equal((await entries(admin, { object: `asset/${id}` }))[0]?.object?.name, 'Audited pump')
  })

  test('a tenant runs two activity queries at once, and further queries are refused when too many wait', async () => {
    const { tenantId } = hub.tenant
    const leave = [await activityQueries.enter(tenantId), await activityQueries.enter(tenantId)]
    const waiting = Array.from({ length: 64 }, () => activityQueries.run(tenantId, async () => {}))
    try {
      const refused = isProblem('overloaded')
      await assert.rejects(admin.activity.readHistogram({ query: { bucket: 'day' } }), refused)
      await assert.rejects(admin.activity.listPeople({ query: {} }), refused)
      await assert.rejects(admin.activity.listEntries({ query: { kind: 'firmware' } }), refused)
    } finally {
      for (const each of leave) each()
    }
    await Promise.all(waiting)
    assert.ok(Array.isArray((await admin.activity.readHistogram({ query: { bucket: 'day' } })).data))
  })

  test('gateways that the caller cannot read are not among the people', async () => {
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [own, other] = [await group('weld shop'), await group('server room')]
    const { data: gateway } = await admin.onboarding.createGateway({
      body: { data: { name: 'Secret gateway', access_group: other } },
    })
    const [id = ''] = await create(admin, ['Welder'], { access_group: own })
    await hub.asOwner((owner) =>
      owner.query(
        `update asset_history set principal_id = $3, principal_name = 'Secret gateway'
         where tenant_id = $1 and asset_id = $2`,
        [hub.tenant.tenantId, id, gateway.id],
      ),
    )
    const reader = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId: own }])
    assert.deepEqual((await reader.activity.listPeople({ query: {} })).data, [])
    const people = (await admin.activity.listPeople({ query: {} })).data
    assert.ok(people.some(({ name }) => name === 'Secret gateway'))
  })

  test('audit entries name their objects, and background traffic is hidden by default', async () => {
    const user = (
      await admin.identity.createUser({ body: { data: { name: 'bob', password: 'Correct-Horse-9-Battery' } } })
    ).data
    const accessGroup = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall 9' } } })).data.id
    await admin.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer', accessGroup } } })
    await admin.identity.putPreference({ params: { name: 'theme' }, body: { data: { value: 'dark' } } })
    const [grant] = await entries(admin, { kind: 'access' })
    assert.equal(grant?.action, 'authorization.createGrant')
    assert.deepEqual([grant?.names?.[user.id], grant?.names?.[accessGroup]], ['bob', 'hall 9'])
    const actions = async (query: Query) => (await entries(admin, query)).map(({ action }) => action)
    assert.ok(!(await actions({})).includes('identity.putPreference'))
    assert.ok((await actions({ all: true })).includes('identity.putPreference'))
    assert.ok(!(await actions({ all: true })).some((action) => action.startsWith('inventory.create')))
  })

  test('an entry is read with its documents or with its audit entry', async () => {
    const [id = ''] = await create(admin, ['Robot'])
    await apply(admin, 'setName', { params: { id }, body: { data: { name: 'Robot 7' } } })
    const { data } = await admin.activity.readEntry({ params: { id: `asset.${id}.2` } })
    assert.deepEqual([data.before?.name, data.after?.name], ['Robot', 'Robot 7'])
    const [audited] = await entries(admin, { kind: 'access' })
    const raw = await admin.activity.readEntry({ params: { id: audited?.id ?? '' } })
    assert.equal(`audit.${raw.data.audit?.id}`, audited?.id)
  })

  test('filters by person and hierarchy node, and lists the people', async () => {
    const jane = await hub.as('administrator')
    const [a = '', b = ''] = await create(jane, ['Press 1', 'Press 2'])
    const hierarchy = (await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })).data
    const createNode = async (name: string, parentId: string | null) => {
      const body = { data: { name, parentId } }
      return (await admin.hierarchy.createNode({ params: { id: hierarchy.id }, body })).data
    }
    const shop = await createNode('Press shop', null)
    const node = await createNode('Line 1', shop.id)
    await admin.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { assetIds: [a] } } })
    const assignment = (await entries(admin, { kind: 'hierarchy' })).find(({ detail }) => detail?.nodeId === node.id)
    assert.equal(assignment?.names?.[node.id], 'Press shop › Line 1')
    const people = (await admin.activity.listPeople({ query: {} })).data
    const [creation] = await entries(admin, { asset: b })
    const person = creation?.principal ?? ''
    assert.ok(people.some(({ id }) => id === person))
    const byJane = await entries(admin, { person })
    assert.deepEqual(
      byJane.map(({ group }) => group?.count),
      [2],
    )
    const atNode = await entries(admin, { node: node.id })
    assert.deepEqual(
      atNode.map(({ object }) => object?.id),
      [a],
    )
  })

  test('an assignment is named after its node, and the relations that it creates are left out', async () => {
    const assetIds = await create(admin, ['Welder 1', 'Welder 2', 'Welder 3'])
    const hierarchy = (await admin.hierarchy.createHierarchy({ body: { data: { name: 'Welding' } } })).data
    const node = (
      await admin.hierarchy.createNode({ params: { id: hierarchy.id }, body: { data: { name: 'Cell 9' } } })
    ).data
    const filter = assetIds.map((id) => `id eq '${id}'`).join(' or ')
    await admin.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { filter } } })
    await hub.settle()
    const found = (await entries(admin)).filter(({ detail }) => detail?.nodeId === node.id)
    assert.deepEqual(
      found.map(({ action, object, principalKind, detail }) => [
        action,
        object?.name,
        principalKind,
        detail?.state,
        detail?.assigned,
      ]),
      [
        ['hierarchy.finishAssignment', 'Cell 9', 'user', 'finished', 3],
        ['hierarchy.assignAssets', 'Cell 9', 'user', 'queued', 0],
      ],
    )
    const relations = (list: readonly ActivityEntry[]) =>
      list.filter(({ action, names }) => action === 'inventory.createRelation' && names?.[node.id] === 'Cell 9')
    assert.equal(relations(await entries(admin)).length, 0)
    assert.equal(relations(await entries(admin, { all: true, limit: 100 })).length, 3)
    // A relation that a caller writes has no assignment, so it is listed.
    await admin.inventory.createRelation({
      body: {
        data: {
          subject: { type: 'asset', id: assetIds[0] ?? '' },
          predicate: assignmentPredicate,
          object: { type: 'node', id: node.id },
        },
      },
    })
    assert.equal(relations(await entries(admin)).length, 1)
  })

  test('a change names the kind of its author', async () => {
    const [id = ''] = await create(admin, ['Gantry'])
    const [entry] = await entries(admin, { asset: id })
    assert.equal(entry?.principalKind, 'user')
    const { data } = await admin.activity.readEntry({ params: { id: entry?.id ?? '' } })
    assert.equal(data.entry.principalKind, 'user')
  })

  /** Returns the lines of an export. */
  async function exported(caller: TestCaller, format: 'csv' | 'ndjson', filters = ''): Promise<string[]> {
    const path = `/activity/v1/export?format=${format}${filters}`
    const answer = await hub.request({ method: 'GET', path, headers: { authorization: `Bearer ${caller.token}` } })
    assert.equal(answer.status, 200, answer.text)
    return answer.text.trim().split(/\r?\n/)
  }

  test('exports one line per change and action as CSV and NDJSON', async () => {
    const [header = '', ...rows] = await exported(admin, 'csv', '&kind=created')
    assert.match(header, /^\uFEFF?Time,Account,Action/)
    const lines = await exported(admin, 'ndjson', '&kind=created')
    assert.equal(rows.length, lines.length)
    assert.ok(rows.some((row) => row.includes('Fan 2')))
    assert.ok(lines.every((line) => (JSON.parse(line) as ActivityEntry).action === 'created'))
    const all = await exported(admin, 'csv')
    assert.ok(all.some((row) => row.includes('authorization.createAccessGroup')))
    assert.ok(all.some((row) => row.includes('Fan 2')))
  })

  test('groups, counts and the export contain nothing of assets and actions that the caller cannot read', async () => {
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [own, other] = [await group('press shop'), await group('paint shop')]
    const [stays = '', leaves = ''] = await create(admin, ['Stays', 'Leaves'], { access_group: own })
    const [comes = '', foreign = ''] = await create(admin, ['Comes', 'Foreign'], { access_group: other })
    const setAll = (responsible: string) =>
      apply(admin, 'setResponsibles', {
        body: { data: [stays, leaves, comes, foreign].map((asset_id) => ({ asset_id, responsible })) },
      })
    await setAll('first team')
    await apply(admin, 'setAccessGroup', { params: { id: leaves }, body: { data: { access_group: other } } })
    await apply(admin, 'setAccessGroup', { params: { id: comes }, body: { data: { access_group: own } } })
    await setAll('second team')
    await apply(admin, 'deleteAssets', { body: { data: { ids: [foreign] } } })
    const reader = await createCaller(hub, [
      { permissions: ['inventory_read_asset_data'], accessGroupId: own },
      { permissions: ['glb_file_export'] },
    ])
    // An asset is shown only for the time in which it was in a readable group, and only while it is in one.
    const found = await entries(reader)
    assert.deepEqual(
      found.map(({ object, group: members }) => members?.names.toSorted() ?? [object?.name]),
      [['Comes', 'Stays'], ['Comes'], ['Stays'], ['Stays']],
    )
    const [edit] = found
    assert.deepEqual([edit?.group?.count, edit?.group?.updated], [2, 2])
    const members = await reader.activity.listGroupEntries({ params: { id: edit?.cause?.id ?? '' }, query: {} })
    assert.deepEqual(members.data.map(({ object }) => object?.id).toSorted(), [comes, stays].toSorted())
    assert.ok(members.data.every(({ object, changes }) => object?.id !== comes || changes[0]?.before === 'first team'))
    const counts = (await reader.activity.readHistogram({ query: { bucket: 'day' } })).data
    assert.deepEqual(
      counts.map(({ created, updated, deleted, other: actions }) => [created, updated, deleted, actions]),
      [[1, 4, 0, 0]],
    )
    const lines = (await exported(reader, 'ndjson')).map((line) => JSON.parse(line) as ActivityEntry)
    assert.deepEqual(lines.map(({ object }) => object?.id).toSorted(), [comes, comes, stays, stays, stays].toSorted())
    assert.ok(!JSON.stringify([found, members, lines]).match(/Leaves|Foreign|paint shop|authorization\.|identity\./))
    for (const id of [leaves, foreign]) {
      assert.deepEqual(await entries(reader, { asset: id }), [])
      await assert.rejects(reader.activity.readEntry({ params: { id: `asset.${id}.1` } }), isProblem('not_found'))
    }
    for (const kind of ['sign_in', 'access', 'refused'] as const) assert.deepEqual(await entries(reader, { kind }), [])
    assert.deepEqual(await entries(reader, { all: true }), found)
    assert.deepEqual(await entries(reader, { object: `access-group/${own}` }), [])
  })

  test('refuses a range that is too long, and a histogram with too many buckets', async () => {
    const from = new Date(Date.now() - 400 * 86_400_000).toISOString()
    await assert.rejects(entries(admin, { from }), isProblem('invalid_query'))
    const year = new Date(Date.now() - 300 * 86_400_000).toISOString()
    await assert.rejects(
      admin.activity.readHistogram({ query: { from: year, bucket: 'hour' } }),
      isProblem('invalid_query'),
    )
    assert.ok((await admin.activity.readHistogram({ query: { from: year, bucket: 'day' } })).data.length > 0)
    assert.deepEqual(await entries(admin, { to: '0000-01-01T00:00:00.000Z' }), [])
  })

  test('the last change of an asset has the time, the fields and the author', async () => {
    const [id = ''] = await create(admin, ['Scanner'])
    await apply(admin, 'setDescription', { params: { id }, body: { data: { description: 'at gate 4' } } })
    const { data } = await admin.inventory.readLastChanges({ body: { data: { ids: [id] } } })
    assert.deepEqual(
      data.map(({ assetId, change, changes }) => [assetId, change, changes]),
      [[id, 'updated', [{ field: 'description', after: 'at gate 4' }]]],
    )
  })
})
