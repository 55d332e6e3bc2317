import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { applyWrite } from '../testing.ts'

const tag = (value: string) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })

describe('duplicates', () => {
  let hub: TestHub
  let admin: TestCaller
  let operator: TestCaller
  let counter = 0

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    operator = await hub.as('operator')
  })

  after(() => hub[Symbol.asyncDispose]())

  async function put(
    identifiers: object[],
    { more = {}, caller = admin }: { more?: object; caller?: TestCaller } = {},
  ) {
    const asset = {
      functional_object_type: 'Device',
      name: `device ${counter++}`,
      asset_identifiers: identifiers,
      ...more,
    }
    const data = { asset, meta: { source: 'a scan' } }
    return (await applyWrite(caller, 'createAsset', { body: { data } })).result
  }

  /** Creates two assets and sends identifiers of both in one write. */
  async function createDuplicates(groups: [string, string] = ['default', 'default']): Promise<[string, string]> {
    const [a, b] = [tag(`a${counter}`), tag(`b${counter}`)]
    const one = await put([a], { more: { access_group: groups[0] } })
    const other = await put([b], { more: { access_group: groups[1] } })
    await put([a, b])
    return [one.assetId, other.assetId]
  }

  const pairs = async (asset: string, { caller = operator, dismissed = false } = {}) =>
    caller.inventory.listDuplicates({ query: { asset, dismissed } })

  test('lists two assets as possible duplicates, with the evidence, after one write had identifiers of both', async () => {
    const [one, other] = await createDuplicates()
    for (const asset of [one, other]) {
      const { data, meta } = await pairs(asset)
      assert.equal(meta.totalElements, 1)
      const [pair] = data
      assert.deepEqual(new Set([pair?.asset.id, pair?.other.id]), new Set([one, other]))
      assert.ok(String(pair?.asset.id) < String(pair?.other.id))
      assert.deepEqual(pair?.evidence.source, { type: 'discovery', value: 'a scan' })
      assert.deepEqual(new Set(pair?.evidence.identifiers.map(({ assetId }) => assetId)), new Set([one, other]))
      assert.ok(pair?.evidence.identifiers.every(({ identifier }) => identifier.name === 'tag'))
    }
  })

  test('updates the timestamp of an existing duplicate pair when it is found again', async () => {
    const [a, b] = [tag('again-a'), tag('again-b')]
    const { assetId } = await put([a])
    await put([b])
    await put([a, b])
    const [first] = (await pairs(assetId)).data
    await put([a, b])
    const { data } = await pairs(assetId)
    assert.equal(data.length, 1)
    assert.equal(data[0]?.firstSeenTimestamp, first?.firstSeenTimestamp)
    assert.ok(String(data[0]?.lastSeenTimestamp) > String(first?.lastSeenTimestamp))
  })

  test('reports no duplicate when all identifiers belong to one asset', async () => {
    const { assetId } = await put([tag('lonely')])
    await put([tag('lonely'), tag('lonely-too')])
    assert.deepEqual((await pairs(assetId)).data, [])
  })

  test('keeps a dismissed duplicate pair dismissed when it is found again', async () => {
    const [a, b] = [tag('apart-a'), tag('apart-b')]
    const { assetId: one } = await put([a])
    const { assetId: other } = await put([b])
    await put([a, b])
    const { data } = await operator.inventory.dismissDuplicate({ body: { data: { asset: one, other } } })
    assert.notEqual(data.dismissedTimestamp, null)
    await put([a, b])
    const again = await operator.inventory.dismissDuplicate({ body: { data: { asset: one, other } } })
    assert.equal(again.data.dismissedTimestamp, data.dismissedTimestamp)
    assert.deepEqual((await pairs(one)).data, [])
    assert.equal((await pairs(one, { dismissed: true })).data.length, 1)
    await operator.inventory.dismissDuplicate({ body: { data: { asset: other, other: one, dismissed: false } } })
    assert.equal((await pairs(one)).data.length, 1)
  })

  test('returns 404 when the dismissed pair is not a suspected duplicate', async () => {
    const { assetId: asset } = await put([tag('stranger-1')])
    const { assetId: other } = await put([tag('stranger-2')])
    const exchange = await operator.exchange(inventory, 'dismissDuplicate', { body: { data: { asset, other } } })
    assert.equal(exchange.status, 404)
  })

  test('shows a duplicate pair only to callers who can read both assets', async () => {
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hidden line' } } })
    const insider = await hub.as('operator', { accessGroupId: group.id })
    const [one, other] = await createDuplicates(['hidden line', 'default'])
    assert.equal((await pairs(one, { caller: admin })).meta.totalElements, 1)
    for (const asset of [one, other]) {
      const { data, meta } = await pairs(asset, { caller: insider })
      assert.deepEqual([data, meta.totalElements], [[], 0])
    }
    const exchange = await insider.exchange(inventory, 'dismissDuplicate', { body: { data: { asset: one, other } } })
    const problem = exchange.body as ProblemDocument
    assert.deepEqual([exchange.status, problem.errors?.[0]?.pointer], [422, '/data/other'])
  })

  test('returns 403 when a caller without write permission dismisses a duplicate pair', async () => {
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'own line' } } })
    const [one, other] = await createDuplicates(['own line', 'default'])
    const viewer = await hub.as('viewer')
    assert.equal((await pairs(one, { caller: viewer })).data.length, 1)
    const exchange = await viewer.exchange(inventory, 'dismissDuplicate', { body: { data: { asset: one, other } } })
    assert.deepEqual([exchange.status, group.name], [403, 'own line'])
  })

  test('removes the duplicate pairs of a deleted asset', async () => {
    const [one, other] = await createDuplicates()
    await applyWrite(operator, 'deleteAssets', { body: { data: { ids: [one] } } })
    assert.deepEqual((await pairs(other)).data, [])
  })
})
