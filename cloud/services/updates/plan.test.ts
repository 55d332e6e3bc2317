import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type Plan, type PlannedDevice, updateLimits } from '@millwright/api/updates.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createHierarchy, createNode } from '../hierarchy/testing.ts'
import {
  createArtefact,
  createDraft,
  createRelations,
  type DraftOptions,
  type Edge,
  startCampaign,
  type UpdatePlant,
  updatePlant,
} from './testing.ts'

describe('plan of a campaign', () => {
  let hub: TestHub
  let admin: TestCaller
  let plant: UpdatePlant
  let artefactId: string
  let lineGroup: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    plant = await updatePlant(hub, admin, { devices: 8 })
    artefactId = await createArtefact(hub, admin)
    lineGroup = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })).data.id
  })

  after(() => hub[Symbol.asyncDispose]())

  const planOf = async (more: Partial<DraftOptions> = {}, caller = admin) => {
    const { id } = await createDraft(admin, { artefactId, assetIds: plant.assetIds, ...more })
    const { data } = await caller.updates.planCampaign({ params: { id }, query: { limit: 1000 } })
    await admin.updates.deleteCampaign({ params: { id } })
    return data
  }
  const byAsset = (devices: readonly PlannedDevice[]) => (index: number) => {
    const found = devices.find(({ assetId }) => assetId === plant.assetIds[index])
    assert.ok(found !== undefined, `device ${index} is in the plan`)
    return found
  }
  const id = (index: number) => plant.assetIds[index] ?? ''
  const relate = (...edges: [from: number, predicate: string, to: number][]) =>
    createRelations(
      admin,
      edges.map(([from, predicate, to]): Edge => [id(from), predicate, id(to)]),
    )
  const unrelate = () =>
    hub.asOwner((owner) =>
      owner.query(
        `delete from relations where tenant_id = $1 and predicate not like 'found_by%' and predicate not like '%running_on'`,
        [hub.tenant.tenantId],
      ),
    )

  test('updates all devices at once if nothing connects them', async () => {
    const { summary, devices } = await planOf()
    assert.deepEqual([summary.targets, summary.outcomes.update, devices.length], [8, 8, 8])
    assert.deepEqual(summary.waves, [{ wave: 1, devices: 8 }])
    for (const { order, after: first, notWith, fromVersion, toVersion, steps, reason } of devices) {
      assert.deepEqual(
        [order, first, notWith, fromVersion, toVersion, reason],
        [0, [], [], '1.0.0', '2.0.0', undefined],
      )
      assert.deepEqual(steps, [{ artefactId, version: '2.0.0' }])
    }
  })

  test('selects targets by a filter', async () => {
    const targets = { filter: `name in ('Device 1', 'Device 3')` }
    const { devices } = await planOf({ targets } as never)
    assert.deepEqual(devices.map(({ assetName }) => assetName).toSorted(), ['Device 1', 'Device 3'])
  })

  test('orders devices by their topology, divides them into waves, and separates redundant devices', async () => {
    await relate(
      [0, 'is_connected_to', 1],
      [2, 'is_connected_to', 1],
      [1, 'is_connected_to', 3],
      [4, 'is_redundant_with', 5],
      [6, 'is_connected_to', 7],
      [7, 'is_connected_to', 6],
    )
    const { devices } = await planOf({ waves: [{ count: 3 }, { percent: 100 }] })
    const device = byAsset(devices)
    assert.deepEqual(
      [0, 1, 2, 3].map((index) => device(index).order),
      [0, 1, 0, 2],
    )
    assert.deepEqual(device(1).after.toSorted(), [id(0), id(2)].toSorted())
    assert.deepEqual(device(3).after, [id(1)])
    assert.deepEqual([device(4).notWith, device(5).notWith], [[id(5)], [id(4)]])
    assert.match(device(6).reason ?? '', /direction .* is not known/)
    for (const { after: first, wave } of devices)
      for (const each of first) assert.ok((devices.find((one) => one.assetId === each)?.wave ?? 9) <= wave)
    assert.deepEqual(devices.filter(({ wave }) => wave === 1).length, 3)
    await unrelate()
  })

  test('takes the direction of cables from the gateway of the devices', async () => {
    await createRelations(admin, [
      [plant.gateway.id, 'is_connected_to', id(0)],
      [id(0), 'is_connected_to', id(1)],
      [id(1), 'is_connected_to', id(0)],
    ])
    const { devices } = await planOf()
    assert.deepEqual(byAsset(devices)(0).after, [id(1)])
    await unrelate()
  })

  test('applies the windows of the nodes of an asset and of the nodes above', async () => {
    const hierarchyId = await createHierarchy(admin, 'Windows')
    const hall = await createNode(admin, hierarchyId, 'Hall')
    const line = await createNode(admin, hierarchyId, 'Line', { parentId: hall.id })
    const put = (nodeId: string, cron: string) =>
      admin.updates.putWindow({
        params: { nodeId },
        body: { data: { cron, minutes: 60, timezone: 'UTC' } },
      })
    await admin.hierarchy.assignAssets({ params: { id: line.id }, body: { data: { assetIds: [id(0)] } } })
    await put(hall.id, '0 3 * * *')
    const start = async (more: Partial<DraftOptions> = {}) => byAsset((await planOf(more)).devices)(0).nextWindow
    assert.match((await start()) ?? '', /T03:/)
    await put(line.id, '30 3 * * *')
    assert.match((await start()) ?? '', /T03:(3|4|5)/)
    const window = { cron: '45 3 * * *', minutes: 60, timezone: 'UTC' }
    assert.match((await start({ window })) ?? '', /T03:(4[5-9]|5)/)
    assert.equal(await start({ window: { ...window, cron: '0 12 * * *' } }), undefined, 'they never overlap')
    assert.equal(byAsset((await planOf()).devices)(1).nextWindow, undefined)
    for (const nodeId of [hall.id, line.id]) await admin.updates.deleteWindow({ params: { nodeId } })
  })

  test('plans a path over other artefacts, and refuses a version without a path', async () => {
    const newer = await createArtefact(hub, admin, { version: '3.0.0', requires: [{ from: '>=2.0' }] })
    const { devices } = await planOf({ artefactId: newer })
    assert.deepEqual(devices[0]?.steps, [
      { artefactId, version: '2.0.0' },
      { artefactId: newer, version: '3.0.0' },
    ])
    const other = await createArtefact(hub, admin, { version: '4.0.0', requires: [{ from: '>=3.5' }] })
    const { summary } = await planOf({ artefactId: other })
    assert.deepEqual(summary.outcomes.incompatible, 8)
    assert.match(summary.reasons[0]?.reason ?? '', />=3\.5/)
    for (const each of [newer, other]) await admin.updates.deleteArtefact({ params: { id: each } })
  })

  test('does not use artefacts that cannot be installed on the path of versions', async () => {
    const newer = await createArtefact(hub, admin, { version: '3.0.0', requires: [{ from: '2.5' }] })
    await admin.updates.createArtefact({
      body: {
        data: {
          name: 'Without content',
          manufacturer: 'Example',
          products: ['PUMP-1'],
          version: '2.5',
          kind: 'firmware',
          sha256: 'a'.repeat(64),
          size: 10,
        },
      },
    })
    assert.equal((await planOf({ artefactId: newer })).summary.outcomes.incompatible, 8)
    await admin.updates.deleteArtefact({ params: { id: newer } })
  })

  test('leaves out hidden targets, refuses targets without write access, and names no hidden device', async () => {
    await relate([0, 'is_connected_to', 1], [1, 'is_redundant_with', 2])
    const move = (assets: string[], group: string) => moveAssets(admin, assets, group)
    await move([id(1)], 'line')
    const manage = { permissions: ['glb_update_manage', 'glb_jobs_read'] as const }
    const reader = await createCaller(hub, [
      manage,
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    const limited = await planOf({}, reader)
    assert.deepEqual([limited.summary.targets, limited.summary.outcomes.forbidden], [1, 1])
    assert.deepEqual(limited.devices[0]?.assetId, id(1))
    assert.match(limited.devices[0]?.reason ?? '', /inventory_write_asset_data/)
    const writer = await createCaller(hub, [
      manage,
      { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: lineGroup },
    ])
    const allowed = await planOf({}, writer)
    assert.deepEqual(allowed.devices.length, 1)
    const [device] = allowed.devices
    assert.deepEqual([device?.outcome, device?.after, device?.notWith], ['update', [], []])
    for (const hidden of [0, 2]) assert.ok(!JSON.stringify(allowed).includes(id(hidden)))
    await move([id(1)], 'default')
    await unrelate()
  })

  test('returns the reason why assets without a suitable link are not updated', async () => {
    const { data: created } = await admin.inventory.createAsset({
      headers: { prefer: 'wait=30' },
      body: {
        data: {
          asset: {
            functional_object_type: 'Device',
            functional_object_schema_url: baseSchemaUrl,
            name: 'manual',
            asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: 'manual' }],
            product_instance_information: {
              manufacturer_product: { manufacturer: { name: 'example' }, product_id: 'pump-1' },
            },
          },
        },
      },
    })
    const { assetId = '' } = (created.detail?.result ?? {}) as { assetId?: string }
    const { devices } = await planOf({ assetIds: [assetId] })
    assert.deepEqual([devices[0]?.outcome, devices[0]?.reason?.slice(0, 13)], ['no-link', 'No asset link'])
  })

  test('marks devices of another campaign as busy', async () => {
    const { id: other } = await startCampaign(admin, { artefactId, assetIds: [id(7)] })
    const { devices } = await planOf()
    assert.equal(byAsset(devices)(7).outcome, 'busy')
    await admin.updates.cancelCampaign({ params: { id: other } })
  })

  test('refuses an invalid filter', async () => {
    await assert.rejects(planOf({ targets: { filter: 'nonsense' } } as never), { code: 'invalid_filter' })
  })
})

describe('versions and connections of single assets', () => {
  let hub: TestHub
  let admin: TestCaller
  let plant: UpdatePlant

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    plant = await updatePlant(hub, admin, { devices: 4 })
  })

  after(() => hub[Symbol.asyncDispose]())

  test('shows the version of an asset, its artefacts with their outcome, and hides hidden assets', async () => {
    const [first = ''] = plant.assetIds
    const artefactId = await createArtefact(hub, admin)
    const other = await createArtefact(hub, admin, { version: '0.9' })
    await createArtefact(hub, admin, { version: '5.0', products: ['OTHER'] })
    const { data } = await admin.updates.readAssetUpdates({ params: { id: first } })
    assert.deepEqual(
      [data.version, data.canUpdate, data.canRetrieve],
      ['1.0.0', true, ['backup', 'configuration', 'logfile']],
    )
    assert.deepEqual(
      data.artefacts.map((one) => [one.artefactId, one.outcome, one.steps.length]),
      [
        [artefactId, 'update', 1],
        [other, 'incompatible', 0],
      ],
    )
    const viewer = await hub.as('viewer')
    const { data: seen } = await viewer.updates.readAssetUpdates({ params: { id: first } })
    assert.equal(seen.artefacts[0]?.outcome, 'forbidden')
    const stranger = await createCaller(hub, [
      {
        permissions: ['inventory_read_asset_data'],
        accessGroupId: (await admin.authorization.createAccessGroup({ body: { data: { name: 'else' } } })).data.id,
      },
    ])
    await assert.rejects(stranger.updates.readAssetUpdates({ params: { id: first } }), { code: 'not_found' })
    await assert.rejects(stranger.updates.readImpact({ params: { id: first } }), { code: 'not_found' })
  })

  test('shows what a restart interrupts, without hidden assets', async () => {
    const [plc = '', switchId = '', core = '', spare = ''] = plant.assetIds
    await createRelations(admin, [
      [plc, 'is_connected_to', switchId],
      [switchId, 'is_connected_to', core],
      [switchId, 'is_redundant_with', spare],
    ])
    const { data } = await admin.updates.readImpact({ params: { id: switchId } })
    assert.deepEqual(data, {
      assetId: switchId,
      interrupted: [{ assetId: plc, name: 'Device 1' }],
      redundant: [{ assetId: spare, name: 'Device 4' }],
      isComplete: true,
      isCertain: true,
    })
    const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hidden' } } })).data.id
    await moveAssets(admin, [switchId, core], 'hidden')
    const limited = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId: group }])
    const { data: seen } = await limited.updates.readImpact({ params: { id: core } })
    assert.deepEqual(
      [seen.interrupted.map(({ assetId }) => assetId), seen.redundant, seen.isComplete],
      [[switchId], [], false],
    )
  })

  test('groups readable assets by product and version, with outliers and the newest version', async () => {
    const { data, meta } = await admin.updates.listDrift({ query: { q: 'PUMP' } })
    assert.equal(meta.totalElements, 1)
    const [product] = data
    assert.deepEqual(
      [product?.manufacturer, product?.product, product?.devices, product?.newestKnown, product?.outdated],
      ['Example', 'PUMP-1', 4, '2.0.0', 4],
    )
    assert.equal(product?.outdatedWithGateway, undefined)
    const { data: counted } = await admin.updates.listDrift({ query: { q: 'PUMP', withGateways: true } })
    assert.equal(counted[0]?.outdatedWithGateway, 4)
    const none = await createCaller(hub, [
      {
        permissions: ['inventory_read_asset_data'],
        accessGroupId: (await admin.authorization.createAccessGroup({ body: { data: { name: 'empty' } } })).data.id,
      },
    ])
    assert.deepEqual((await none.updates.listDrift({})).data, [])
  })
})

describe('plan of a large campaign', () => {
  test('computes a plan of 10,000 devices with few statements, and refuses more devices', onlyInLongRuns, async () => {
    await using hub = await testHub()
    const admin = await hub.as('administrator')
    const { assetIds } = await updatePlant(hub, admin, { devices: 1 })
    const artefactId = await createArtefact(hub, admin)
    await multiply(hub, assetIds[0] ?? '', updateLimits.targets - 1)
    const targets = { filter: `functional_object_type eq 'Device'` }
    const { id } = await createDraft(admin, { artefactId, targets } as never)
    let plan: Plan | undefined
    const statements = await hub.statements(async () => {
      plan = (await admin.updates.planCampaign({ params: { id }, query: { limit: 1 } })).data
    })
    assert.equal(plan?.summary.outcomes.update, updateLimits.targets)
    const own = statements.filter(({ text }) =>
      /\b(assets|relations|update_windows|update_devices|artefacts)\b/.test(text),
    )
    assert.ok(own.length < 40, `${own.length} statements`)
    await multiply(hub, assetIds[0] ?? '', 1)
    await assert.rejects(admin.updates.planCampaign({ params: { id } }), { code: 'too_many_targets' })
  })
})

async function moveAssets(caller: TestCaller, assetIds: readonly string[], group: string): Promise<void> {
  const { data } = await caller.inventory.setAccessGroups({
    headers: { prefer: 'wait=30' },
    body: { data: assetIds.map((asset_id) => ({ asset_id, access_group: group })) },
  })
  assert.equal(data.state, 'finished', JSON.stringify(data))
}

/** Copies an asset and its relations many times. Each ten copies are connected to another copy. */
async function multiply(hub: TestHub, assetId: string, count: number): Promise<void> {
  await hub.asOwner(async (owner) => {
    const { rows } = await owner.query<{ ids: string[] }>(
      `with copies as (
         insert into assets select c.* from assets a, generate_series(1, $3) as n,
           lateral jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'name', 'Copy ' || n)) as c
         where a.tenant_id = $1 and a.id = $2 returning id)
       select array_agg(id) as ids from copies`,
      [hub.tenant.tenantId, assetId, count],
    )
    const ids = rows[0]?.ids ?? []
    await owner.query(
      `insert into relations select c.* from relations r, unnest($3::uuid[]) as i (id),
         lateral jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'subject_id', i.id)) as c
       where r.tenant_id = $1 and r.subject_id = $2`,
      [hub.tenant.tenantId, assetId, ids],
    )
    await owner.query(
      `insert into relations select c.* from relations r,
         unnest($3::uuid[]) with ordinality as i (id, n) join unnest($3::uuid[]) with ordinality as o (id, n) on o.n = i.n / 10,
         lateral jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'subject_id', i.id,
           'predicate', 'is_connected_to', 'object_id', o.id)) as c
       where r.tenant_id = $1 and r.subject_id = $2 and r.predicate = 'found_by_gateway'`,
      [hub.tenant.tenantId, assetId, ids],
    )
  })
}
