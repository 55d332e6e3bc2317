import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import { applyWrite, asset, createCaller, createRelations } from '../testing.ts'

test('hides asset history that was recorded while the asset was in an access group hidden from the caller', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const group = async (name: string) =>
    (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  const [open, secret] = [await group('open'), await group('secret')]
  const reader = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId: open }])
  const create = async (name: string, access_group: string) => {
    const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }]
    const body = { data: { asset: { functional_object_type: 'Device', name, access_group, asset_identifiers } } }
    const { result } = await applyWrite(admin, 'createAsset', { body })
    return (result as { assetId: string }).assetId
  }
  const id = await create('original', secret)
  const other = await create('other', open)
  await createRelations(hub, [[asset(id), 'old', asset(other)]])
  const change = (operation: string, data: object) => applyWrite(admin, operation, { params: { id }, body: { data } })
  await change('setName', { name: 'second name' })
  await change('setAccessGroup', { access_group: open })
  await change('setName', { name: 'third name' })
  await createRelations(hub, [[asset(id), 'new', asset(other)]])

  const all = (await admin.inventory.readHistory({ params: { id } })).data
  const { data, meta } = await reader.inventory.readHistory({ params: { id } })
  assert.deepEqual(
    data.map(({ version, before }) => [version, before === null]),
    [
      [4, false],
      [3, true],
    ],
  )
  assert.equal(meta.totalElements, 2)
  assert.deepEqual(data[0], all[0])
  const hiddenAt = all.find(({ version }) => version === 2)?.time ?? ''
  const at = { params: { id }, query: { at: hiddenAt } }
  assert.equal((await admin.exchange(inventory, 'readAsset', at)).status, 200)
  for (const operation of ['readAsset', 'readGraph'])
    assert.equal((await reader.exchange(inventory, operation, at)).status, 404, operation)
  const { data: around } = await reader.inventory.readGraph({ params: { id: other }, query: { at: hiddenAt } })
  assert.deepEqual(
    around.nodes.map((one) => one.id),
    [other],
  )
  const topology = await reader.inventory.readTopology({ query: { at: hiddenAt } })
  assert.deepEqual(
    topology.data.nodes.map((one) => one.id),
    [other],
  )
  const difference = { params: { id }, query: { from: hiddenAt } }
  const { data: became } = await reader.inventory.readGraphDifference(difference)
  assert.deepEqual(became.changed.nodes, [])
  for (const end of [id, other]) {
    const { data: changes, meta: page } = await reader.inventory.readRelationHistory({ params: { id: end } })
    assert.deepEqual(
      changes.map(({ relation }) => relation.predicate),
      ['new'],
    )
    assert.equal(page.totalElements, 1)
  }
  const shown = JSON.stringify([data, became, topology.data])
  assert.doesNotMatch(shown, /original/)
})
