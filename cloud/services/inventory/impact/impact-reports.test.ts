import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { v7 } from 'uuid'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { asset, createAssets, createCaller, createRelations, node } from '../testing.ts'

describe('GET /assets/{id}/impact and /impact-reports', () => {
  let hub: TestHub
  let admin: TestCaller
  let ofLine: TestCaller
  const ids: Record<string, string> = {}

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [line, office] = [await group('line'), await group('office')]
    ofLine = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId: line }])
    const names = ['SW01', 'PLC01', 'IO01', '=HMI01', 'hidden'] as const
    const created = await createAssets(
      hub,
      names.map((name) => ({ name, accessGroupId: name === 'hidden' ? office : line })),
    )
    for (const [index, name] of names.entries()) ids[name] = created[index] ?? ''
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const { data: cell } = await admin.hierarchy.createNode({
      params: { id: tree.id },
      body: { data: { name: 'Cell 1' } },
    })
    const to = (name: string) => asset(ids[name] ?? '')
    await createRelations(hub, [
      [to('PLC01'), 'is_connected_to', to('SW01')],
      [to('hidden'), 'is_connected_to', to('SW01')],
      [to('IO01'), 'is_module_of', to('PLC01')],
      [to('=HMI01'), 'is_controlled_by', to('PLC01')],
      [to('=HMI01'), 'is_redundant_with', to('SW01')],
      [to('PLC01'), 'is_assigned_to_node', node(cell.id)],
    ])
  })

  after(() => hub[Symbol.asyncDispose]())

  const impact = async (caller: TestCaller, name: string, mode: 'depends' | 'fails' = 'depends') =>
    (await caller.inventory.readImpact({ params: { id: ids[name] ?? '' }, query: { mode } })).data

  test('returns the dependents by node and class', async () => {
    const { asset: shown, total, byNode, byClass, assets } = await impact(admin, 'PLC01')
    assert.deepEqual(
      [shown.name, total, byNode],
      ['PLC01', { affected: 1, degraded: 1 }, [{ names: [], affected: 1, degraded: 1 }]],
    )
    assert.deepEqual(byClass.map((each) => each.class).toSorted(), ['module', 'panel'])
    assert.deepEqual(
      assets.map(({ name, effect, depth }) => `${name} ${effect} ${depth}`),
      ['IO01 affected 1', '=HMI01 degraded 1'],
    )
    const ofSwitch = await impact(admin, 'SW01', 'fails')
    assert.deepEqual(
      ofSwitch.byNode.map(({ names, affected }) => `${names.join('/')} ${affected}`),
      ['Plant/Cell 1 1', ' 3'],
    )
  })

  test('does not follow hidden assets, and returns 404 for them', async () => {
    const { assets } = await impact(ofLine, 'SW01')
    assert.equal(
      assets.some(({ name }) => name === 'hidden'),
      false,
    )
    const { status } = await ofLine.exchange(inventory, 'readImpact', { params: { id: ids.hidden ?? '' }, query: {} })
    assert.equal(status, 404)
  })

  test('exports CSV without formulas', async () => {
    const { body, headers } = await admin.exchange(inventory, 'exportImpact', {
      params: { id: ids.PLC01 ?? '' },
      query: {},
    })
    assert.match(new Headers(headers).get('content-type') ?? '', /^text\/csv/)
    assert.match(String(body), /^id,name,class,type,effect,reason,depth,reachability,nodes\r\n/)
    assert.match(String(body), /,'=HMI01,panel,Device,degraded,redundancy,1,unknown,\r\n/)
    const refused = await ofLine.exchange(inventory, 'exportImpact', { params: { id: ids.PLC01 ?? '' }, query: {} })
    assert.deepEqual([refused.status, JSON.stringify(refused.body).includes('glb_file_export')], [403, true])
  })

  test('stores, lists, reads and deletes reports, and shows each reader only readable assets', async () => {
    const { data: report } = await admin.inventory.createImpactReport({
      body: { data: { assetId: ids.SW01 ?? '', name: 'Switch works' } },
    })
    assert.deepEqual(
      [report.name, report.isOwn, (report.affected ?? 0) + (report.degraded ?? 0)],
      ['Switch works', true, 4],
    )
    const { data: listed } = await ofLine.inventory.listImpactReports({ query: { asset: ids.SW01 ?? '' } })
    assert.deepEqual(
      listed.map(({ id, isOwn, affected, degraded }) => [id, isOwn, affected, degraded]),
      [[report.id, false, undefined, undefined]],
      'counts would include hidden assets',
    )
    const { data: all } = await admin.inventory.listImpactReports({ query: { asset: ids.SW01 ?? '' } })
    assert.deepEqual([all[0]?.affected, all[0]?.degraded], [report.affected, report.degraded])
    const { data: read } = await ofLine.inventory.readImpactReport({ params: { id: report.id } })
    assert.equal(read.impact.assets.length, 3)
    assert.deepEqual(
      read.impact.byNode.map(({ nodeId }) => nodeId),
      [undefined],
    )
    const statusOf = async (caller: TestCaller, id: string) =>
      (await caller.exchange(inventory, 'deleteImpactReport', { params: { id } })).status
    assert.equal(await statusOf(ofLine, report.id), 403)
    const { data: hidden } = await admin.inventory.createImpactReport({ body: { data: { assetId: ids.hidden ?? '' } } })
    assert.equal(await statusOf(ofLine, hidden.id), 404)
    assert.equal(await statusOf(admin, report.id), 204)
    assert.equal(await statusOf(admin, report.id), 404)
    const body = { data: { assetId: v7() } }
    assert.equal((await admin.exchange(inventory, 'createImpactReport', { body })).status, 422)
  })
})
