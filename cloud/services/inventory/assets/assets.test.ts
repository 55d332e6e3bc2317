import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { v7 } from 'uuid'
import { systemCaller } from '../../../platform/access/system.ts'
import { lowestIdAt } from '../../../platform/database/id.ts'
import { PayloadCache } from '../../../platform/payload-cache.ts'
import { endSessions, sessionsBlockedBy } from '../../../platform/testing/blocked-sessions.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { type AcceptedWrite, appliedWrite, assertCounts, createCaller } from '../testing.ts'
import { WriteAcceptor, type WriteRequest } from '../writes/accept.ts'
import { preferredWaitMs, statusTasks } from '../writes/status.ts'

type Result = {
  assetId: string
  outcome: string
  relations: { predicate: string; outcome: string; reason?: string }[]
  matchedBy?: object[]
  conflicts?: { assetId: string; by: object[] }[]
  code?: string
}

const custom = (value: string) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })
const mac = (address: string) => ({ asset_identifier_type: 'MacIdentifier', mac_address: address })
const device = (name: string, ...identifiers: object[]) => ({
  functional_object_type: 'Device',
  name,
  asset_identifiers: identifiers.length === 0 ? [custom(name)] : identifiers,
})

describe('assets', () => {
  let hub: TestHub
  let operator: TestCaller
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    operator = await hub.as('operator')
  })

  after(async () => {
    await assertCounts(hub)
    await hub[Symbol.asyncDispose]()
  })

  async function finish(
    caller: TestCaller,
    operation: string,
    input: object,
  ): Promise<{ state: string; result: Result }> {
    const exchange = await caller.exchange(inventory, operation, { headers: { prefer: 'wait=30' }, ...input })
    assert.equal(exchange.status, 202, JSON.stringify(exchange.body))
    const { data } = exchange.body as { data: AcceptedWrite }
    assert.match(exchange.headers.get('location') ?? '', new RegExp(`/inventory/v2/status/${data.statusId}$`))
    const { state, result } = await appliedWrite(caller, data)
    return { state, result: result as unknown as Result }
  }

  const put = (asset: object, more: object = {}, caller = operator) =>
    finish(caller, 'createAsset', { body: { data: { asset, ...more } } })

  test('POST /assets returns 202 with a status id, and the status returns the outcome', async () => {
    const { data } = await operator.inventory.createAsset({ body: { data: { asset: device('press') } } })
    const status = await operator.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    assert.equal(status.data.state, 'finished')
    const result = status.data.detail.result as Result
    assert.equal(result.outcome, 'created')
    const asset = (await operator.inventory.readAsset({ params: { id: result.assetId } })).data
    assert.equal(asset.name, 'press')
    assert.equal(asset.functional_object_type, 'Device')
    assert.equal(asset.access_group, 'default')
    assert.deepEqual((asset.management_state as { state_value: string }).state_value, 'unknown')
    assert.equal('asset_identifiers' in asset, false)
  })

  test('POST with known identifiers replaces sent fields, clears fields that are null, and keeps the others', async () => {
    const first = await put({ ...device('pump'), description: 'old', instance_annotations: [{ key: 'a', value: 'b' }] })
    const second = await put({ ...device('pump'), name: 'pump 2', description: null })
    assert.deepEqual([second.result.assetId, second.result.outcome], [first.result.assetId, 'updated'])
    const asset = (await operator.inventory.readAsset({ params: { id: first.result.assetId } })).data
    assert.equal(asset.name, 'pump 2')
    assert.equal(asset.description ?? null, null)
    assert.deepEqual(asset.instance_annotations, [{ key: 'a', value: 'b' }])
    assert.equal((await put({ ...device('pump'), name: 'pump 2' })).result.outcome, 'unchanged')
    const history = await operator.inventory.readHistory({ params: { id: first.result.assetId } })
    assert.deepEqual(
      history.data.map(({ change, matchedBy }) => [change, matchedBy]),
      [
        ['updated', [custom('pump')]],
        ['created', undefined],
      ],
    )
  })

  test('returns 400 with pointers for an asset that does not match its schema', async () => {
    const exchange = await operator.exchange(inventory, 'createAsset', {
      body: { data: { asset: { ...device('bad'), nonsense: 1, name: 5 } } },
    })
    assert.equal(exchange.status, 400)
    const problem = exchange.body as ProblemDocument
    assert.equal(problem.code, 'invalid_asset')
    assert.ok(problem.errors?.some(({ pointer }) => pointer === '/data/asset/nonsense'))
    assert.ok(problem.errors?.some(({ pointer }) => pointer === '/data/asset/name'))
  })

  test('replaces unstorable characters instead of failing with 500', async () => {
    const { result } = await put(device('odd-text'))
    const params = { id: result.assetId }
    const url = `https://plant.example/${v7()}`
    for (const [operation, input, status] of [
      ['readGraph', { params, query: { predicates: 'a\0' } }, 200],
      ['readTopology', { query: { predicates: '\0', q: '\0' } }, 200],
      ['setAccessGroup', { params, body: { data: { access_group: '\0' } } }, 422],
      ['createAsset', { body: { data: { asset: { ...device('odd'), access_group: '\0' } } } }, 422],
      ['createAsset', { body: { data: { asset: { ...device('odd'), access_group: 5 } } } }, 400],
      ['createSchema', { body: { data: { url, schema: { title: '\0' } } } }, 201],
      ['createAsset', { body: { data: { asset: { ...device('odd'), name: '\0\ud800' } } } }, 202],
      ['setResponsible', { params, body: { data: { responsible: '\0' } } }, 202],
    ] as const) {
      const { status: answered } = await admin.exchange(inventory, operation, input)
      assert.equal(answered, status, operation)
    }
  })

  test('each PATCH endpoint changes its field of the asset', async () => {
    const { result } = await put(device('drive'))
    const params = { id: result.assetId }
    await finish(operator, 'setManagementState', { params, body: { data: { state_value: 'regarded' } } })
    await finish(operator, 'setReachabilityState', { params, body: { data: { state_value: 'reached' } } })
    await finish(operator, 'setTrustState', { params, body: { data: { state_value: 'trusted' } } })
    await finish(operator, 'setFirmwareVersion', { params, body: { data: { version: 'V4.1' } } })
    await finish(operator, 'setResponsible', { params, body: { data: { responsible: 'jane' } } })
    await finish(operator, 'setName', { params, body: { data: { name: 'Drive of the press' } } })
    await finish(operator, 'setDescription', { params, body: { data: { description: 'left of the door' } } })
    const { data } = await operator.inventory.readAsset({ params })
    assert.equal((data.management_state as { state_value: string }).state_value, 'regarded')
    assert.equal((data.reachability_state as { state_value: string }).state_value, 'reached')
    assert.equal((data.trust_state as { state_value: string }).state_value, 'trusted')
    assert.deepEqual(
      [data.responsible, data.name, data.description],
      ['jane', 'Drive of the press', 'left of the door'],
    )
    await finish(operator, 'setDescription', { params, body: { data: { description: null } } })
    assert.equal('description' in (await operator.inventory.readAsset({ params })).data, false)
    const matches = await operator.inventory.listAssets({ query: { filter: "firmware_version eq 'V4.1'" } })
    assert.deepEqual(
      matches.data.map(({ id }) => id),
      [result.assetId],
    )
  })

  test('creates asset_relations to existing assets, and skips missing assets with a reason', async () => {
    await put(device('rack'))
    const relation = (tag: string, predicate = 'is_module_of') => ({
      predicate,
      related_asset: { asset_identifiers: [custom(tag)] },
      relational_role_of_related_asset: 'object',
    })
    const { result } = await put({
      ...device('module'),
      asset_relations: [relation('rack'), relation('nowhere'), relation('rack', 'found_by_gateway')],
    })
    assert.deepEqual(
      result.relations.map(({ outcome, reason }) => [outcome, reason]),
      [
        ['created', undefined],
        ['skipped', 'asset_not_found'],
        ['skipped', 'system_managed_predicate'],
      ],
    )
    const { data } = await operator.inventory.listRelations({ query: { filter: `subject.id eq '${result.assetId}'` } })
    assert.deepEqual(
      data.map(({ predicate }) => predicate),
      ['is_module_of'],
    )
  })

  test('reports an asset_relations entry as created once, and a bidirectional one if either direction is new', async () => {
    await put(device('hub'))
    const entry = (more: object = {}) => ({
      predicate: 'is_connected_to',
      related_asset: { asset_identifiers: device('hub').asset_identifiers },
      relational_role_of_related_asset: 'object',
      ...more,
    })
    const outcomes = async (...asset_relations: object[]) =>
      (await put({ ...device('spoke'), asset_relations })).result.relations.map(({ outcome }) => outcome)
    assert.deepEqual(await outcomes(entry(), entry()), ['created', 'refreshed'])
    assert.deepEqual(await outcomes(entry({ is_bidirectional: true })), ['created'])
    assert.deepEqual(await outcomes(entry({ is_bidirectional: true }), entry()), ['refreshed', 'refreshed'])
  })

  test('deletes the relations of a deleted asset, including those from nodes', async () => {
    const { result } = await put(device('scrap'))
    const node = '01980000-0000-7000-8000-00000000abcd'
    await operator.inventory.createRelation({
      body: {
        data: {
          subject: { type: 'node', id: node },
          predicate: 'holds',
          object: { type: 'asset', id: result.assetId },
        },
      },
    })
    const deleted = await finish(operator, 'deleteAssets', { body: { data: { ids: [result.assetId] } } })
    assert.equal(deleted.state, 'finished')
    assert.equal((await operator.exchange(inventory, 'readAsset', { params: { id: result.assetId } })).status, 404)
    assert.deepEqual(
      (await operator.inventory.listRelations({ query: { filter: `object.id eq '${result.assetId}'` } })).data,
      [],
    )
    const history = await operator.inventory.readHistory({ params: { id: result.assetId } })
    assert.deepEqual(
      history.data.map(({ change }) => change),
      ['deleted', 'created'],
    )
  })

  test('deletes all rows of a deleted asset, so that its identifiers can be used again', async () => {
    const { data: property } = await admin.inventory.createCustomProperty({
      body: { data: { name: 'shelf', data_type: 'text' } },
    })
    const reachable = {
      ...device('shelved', custom('shelved'), mac('02:00:00:00:00:77')),
      connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: '192.0.2.77' }],
    }
    const { result } = await put(reachable)
    const value = { asset_id: result.assetId, key: property.key, value: 'B7' }
    await finish(operator, 'setPropertyValues', { body: { data: [value] } })
    const rowsLeft = () =>
      hub.asOwner(async (owner) => {
        const tables = ['asset_identifiers', 'asset_addresses', 'asset_property_values', 'asset_words']
        const counts: (number | null)[] = []
        for (const table of tables)
          counts.push((await owner.query(`select from ${table} where asset_id = $1`, [result.assetId])).rowCount)
        return counts
      })
    assert.deepEqual(await rowsLeft(), [2, 1, 1, 1])
    await finish(operator, 'deleteAssets', { body: { data: { ids: [result.assetId] } } })
    assert.deepEqual(await rowsLeft(), [0, 0, 0, 0])
    const again = await put(reachable)
    assert.equal(again.result.outcome, 'created')
    assert.notEqual(again.result.assetId, result.assetId)
  })

  test('refuses to delete an access group with assets, and deletes an empty one', async () => {
    const { data: hall } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall' } } })
    const { result } = await put({ ...device('crane'), access_group: 'hall' }, {}, admin)
    await assert.rejects(admin.authorization.deleteAccessGroup({ params: { id: hall.id } }), {
      code: 'access_group_not_empty',
      message: 'The access group hall still contains assets. Move or delete them first',
    })
    await finish(admin, 'setAccessGroup', {
      params: { id: result.assetId },
      body: { data: { access_group: 'default' } },
    })
    await admin.authorization.deleteAccessGroup({ params: { id: hall.id } })
  })

  test('returns one result for each asset of a batch, and an invalid asset does not fail the others', async () => {
    const other = await admin.authorization.createAccessGroup({ body: { data: { name: 'elsewhere' } } })
    await put({ ...device('theirs'), access_group: 'elsewhere' }, {}, admin)
    const local = await hub.as('operator', {
      accessGroupId: (await admin.authorization.listAccessGroups({ query: { name: 'default' } })).data[0]?.id ?? '',
    })
    const { state, result } = await finish(local, 'createAssets', {
      body: { data: { assets: [device('one'), device('theirs'), device('two')] } },
    })
    const results = result as unknown as Result[]
    assert.equal(state, 'finished')
    assert.deepEqual(
      results.map(({ outcome, code }) => outcome ?? code),
      ['created', 'identity_taken', 'created'],
    )
    assert.doesNotMatch(JSON.stringify(results[1]), new RegExp(other.data.id))
  })

  test(
    'accepts a batch of 1,000 assets of 4 kB each, and names the limit when a batch is too large',
    onlyInLongRuns,
    async () => {
      const annotations = Array.from({ length: 40 }, (_, index) => ({ key: `note ${index}`, value: 'x'.repeat(60) }))
      const assets = Array.from({ length: inventoryLimits.batch }, (_, index) => ({
        ...device(`large-${index}`),
        instance_annotations: annotations,
      }))
      const body = JSON.stringify({ data: { assets } })
      assert.ok(body.length > 3.5 * 1024 * 1024)
      const send = (path: string, text: string) =>
        hub.request({
          method: 'POST',
          path: `/inventory/v2${path}`,
          headers: { authorization: `Bearer ${operator.token}`, 'content-type': 'application/json' },
          body: text,
        })
      const accepted = await send('/assets/batch', body)
      assert.equal(accepted.status, 202)
      const { data } = accepted.body as { data: { statusId: string } }
      const status = await operator.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      const results = status.data.detail.result as Result[]
      assert.deepEqual(new Set(results.map(({ outcome }) => outcome)), new Set(['created']))
      for (const [path, limit] of [
        ['/assets/batch', '8388608 bytes (8 MiB)'],
        ['/assets', '1048576 bytes (1 MiB)'],
      ] as const) {
        const refused = await send(path, `{"data":"${'x'.repeat(inventoryLimits.batchBytes)}"}`)
        const problem = refused.body as ProblemDocument
        assert.deepEqual(
          [refused.status, problem.code, problem.detail],
          [413, 'body_too_large', `The request body exceeds the limit of ${limit}`],
        )
      }
    },
  )

  test('creates one asset for many concurrent requests with the same identifiers', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => put(device(`twin ${i}`, mac('00:1B:1B:00:00:01'), custom('twin')))),
    )
    assert.equal(new Set(results.map(({ result }) => result.assetId)).size, 1)
  })

  test('reports matched identifiers and readable conflicting assets, and fails the write if strict is set', async () => {
    await admin.authorization.createAccessGroup({ body: { data: { name: 'behind-the-wall' } } })
    const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    const local = await hub.as('operator', { accessGroupId: groups[0]?.id ?? '' })
    const [own, other] = [await put(device('known-mac', mac('02:00:00:00:01:01'))), await put(device('known-tag'))]
    await put({ ...device('hidden-tag'), access_group: 'behind-the-wall' }, {}, admin)
    const both = device('both', mac('02-00-00-00-01-01'), custom('known-tag'), custom('hidden-tag'))
    const { result } = await put(both, {}, local)
    assert.deepEqual([result.assetId, result.outcome], [own.result.assetId, 'updated'])
    assert.deepEqual(result.matchedBy, [mac('02:00:00:00:01:01')])
    assert.deepEqual(result.conflicts, [{ assetId: other.result.assetId, by: [custom('known-tag')] }])
    const unseen = await put(device('one', mac('02-00-00-00-01-01'), custom('hidden-tag')), {}, local)
    assert.equal(unseen.result.conflicts, undefined)
    for (const [operation, body] of [
      ['createAsset', { data: { asset: both } }],
      ['createAssets', { data: { assets: [both] } }],
    ] as const) {
      const strict = await finish(operator, operation, { query: { strict: true }, body })
      const [only] = [strict.result].flat()
      assert.deepEqual([strict.state, only?.code], ['failed', 'ambiguous_identity'], operation)
    }
  })

  test('relates a child to a parent that follows it in the batch, and accepts every form of meta.source', async () => {
    for (const [index, [meta, source]] of [
      [{}, { type: 'manual' }],
      [{ meta: { source: 'a.link' } }, { type: 'discovery', value: 'a.link' }],
      [{ meta: { source: { value: 'a.link' } } }, { type: 'discovery', value: 'a.link' }],
      [{ meta: { source: { type: 'assetlinkdiscovery', value: 'x' } } }, { type: 'assetlinkdiscovery', value: 'x' }],
    ].entries()) {
      const asset_relations = [
        {
          predicate: 'is_module_of',
          related_asset: { asset_identifiers: [custom(`parent-${index}`)] },
          relational_role_of_related_asset: 'object',
        },
      ]
      const assets = [{ ...device(`child-${index}`), asset_relations }, device(`parent-${index}`)]
      const { result } = await finish(operator, 'createAssets', { body: { data: { assets, ...meta } } })
      const [child, parent] = result as unknown as Result[]
      const filter = `subject.id eq '${child?.assetId}'`
      const { data } = await operator.inventory.listRelations({ query: { filter } })
      assert.deepEqual(
        data.map(({ object, source: from }) => [object.id, from]),
        [[parent?.assetId, source]],
      )
    }
  })

  test('returns only the requested fields of an asset', async () => {
    const { result } = await put({ ...device('projected'), description: 'long' })
    const fields = 'name, id,no_such_field'
    const expected = { id: result.assetId, name: 'projected' }
    assert.deepEqual(
      (await operator.inventory.readAsset({ params: { id: result.assetId }, query: { fields } })).data,
      expected,
    )
    const page = await operator.inventory.listAssets({ query: { filter: `name eq 'projected'`, fields, count: false } })
    assert.deepEqual([page.data, page.meta.totalElements], [[expected], undefined])
  })

  test('accepts + and %20 as spaces in a query', async () => {
    await put(device('blank', custom('blank')))
    for (const blank of ['+', '%20']) {
      const { body } = await hub.request({
        method: 'GET',
        path: `/inventory/v2/assets?filter=name${blank}eq${blank}'blank'`,
        headers: { authorization: `Bearer ${operator.token}` },
      })
      assert.equal((body as { data: unknown[] }).data.length, 1, blank)
    }
  })

  test('applies the writes of one asset in the order in which they were accepted', async () => {
    const { result } = await put(device('counter'))
    const ids: string[] = []
    for (let i = 0; i < 30; i++) {
      const { data } = await operator.inventory.setResponsible({
        params: { id: result.assetId },
        body: { data: { responsible: `person ${i}` } },
      })
      ids.push(data.statusId)
    }
    for (const id of ids) await operator.inventory.readStatus({ params: { id }, query: { wait: 30 } })
    const history = await operator.inventory.readHistory({ params: { id: result.assetId }, query: { limit: 100 } })
    const values = history.data.toReversed().map(({ after }) => after?.responsible)
    assert.deepEqual(
      values.slice(1),
      Array.from({ length: 30 }, (_, i) => `person ${i}`),
    )
  })

  test('GET /assets filters, sorts and counts assets, and returns pages by cursor', async () => {
    const assets = Array.from({ length: 25 }, (_, i) => ({
      ...device(`list-${String(i).padStart(2, '0')}`),
      description: i % 2 === 0 ? 'even' : null,
    }))
    await finish(operator, 'createAssets', { body: { data: { assets } } })
    const filter = "startswith(name,'list-')"
    for (const sort of ['name', '-name', 'description,name', '-description,-name', undefined]) {
      const collected: unknown[] = []
      let cursor: string | undefined
      do {
        const page = await operator.inventory.listAssets({
          query: {
            filter,
            limit: 7,
            ...(sort === undefined ? {} : { sort }),
            ...(cursor === undefined ? {} : { cursor }),
          },
        })
        assert.equal(page.meta.totalElements, 25)
        collected.push(...page.data.map(({ name }) => name))
        cursor = page.meta.nextCursor
      } while (cursor !== undefined)
      const complete = await operator.inventory.listAssets({
        query: { filter, limit: 100, ...(sort === undefined ? {} : { sort }) },
      })
      assert.deepEqual(
        collected,
        complete.data.map(({ name }) => name),
        sort,
      )
      assert.equal(new Set(collected).size, 25)
    }
    const wrong = await operator.exchange(inventory, 'listAssets', { query: { cursor: 'nonsense' } })
    assert.equal((wrong.body as ProblemDocument).code, 'invalid_cursor')
  })

  test('shows callers exactly the assets of their readable groups in lists, totals, facets and search', async () => {
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'secret line' } } })
    const { result } = await put({ ...device('hidden'), access_group: 'secret line' }, {}, admin)
    const outsider = await hub.as('operator', {
      accessGroupId: (await admin.authorization.listAccessGroups({ query: { name: 'default' } })).data[0]?.id ?? '',
    })
    const insider = await hub.as('viewer', { accessGroupId: group.id })
    assert.equal((await outsider.exchange(inventory, 'readAsset', { params: { id: result.assetId } })).status, 404)
    assert.equal((await insider.inventory.listAssets({})).meta.totalElements, 1)
    assert.deepEqual((await insider.inventory.readFacets({ query: { by: 'access_group' } })).data, [
      { value: 'secret line', count: 1 },
    ])
    assert.equal((await outsider.inventory.listAssets({ query: { q: 'hidden' } })).data.length, 0)
    assert.equal((await insider.inventory.listAssets({ query: { q: 'HIDDEN' } })).data.length, 1)
    const missing = await outsider.exchange(inventory, 'setResponsible', {
      params: { id: result.assetId },
      body: { data: { responsible: 'x' } },
    })
    assert.equal(missing.status, 404)
  })

  test('defines custom properties, sets and removes their values, and filters by them', async () => {
    const { result } = await put(device('custom'))
    const { data: property } = await admin.inventory.createCustomProperty({
      body: { data: { name: 'cost centre', data_type: 'number' } },
    })
    const value = { asset_id: result.assetId, key: property.key, value: 4711 }
    await finish(operator, 'setPropertyValues', { body: { data: [value] } })
    const matches = await operator.inventory.listAssets({
      query: { filter: `custom_properties/${property.key} eq '4711'` },
    })
    assert.deepEqual(
      matches.data.map(({ custom_properties }) => custom_properties),
      [[{ key: property.key, value: '4711' }]],
    )
    await finish(operator, 'deletePropertyValues', {
      body: { data: [{ asset_id: result.assetId, key: property.key }] },
    })
    assert.deepEqual(
      (await operator.inventory.listAssets({ query: { filter: `custom_properties/${property.key} ne null` } })).data,
      [],
    )
  })

  test('returns an asset as it was at a given time', async () => {
    const { result } = await put(device('past'))
    const before = (await operator.inventory.readAsset({ params: { id: result.assetId } })).data
    await put({ ...device('past'), name: 'present' })
    const then = await operator.inventory.readAsset({
      params: { id: result.assetId },
      query: { at: String(before.last_modified_timestamp) },
    })
    assert.equal(then.data.name, 'past')
  })

  test('returns a past state of an asset only to callers who can read its current and its past access group', async () => {
    const { data: vault } = await admin.authorization.createAccessGroup({ body: { data: { name: 'vault' } } })
    const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    const before = await hub.as('viewer', { accessGroupId: groups[0]?.id ?? '' })
    const since = await hub.as('viewer', { accessGroupId: vault.id })
    const { result } = await put(device('moved'))
    const params = { id: result.assetId }
    const { data } = await operator.inventory.readAsset({ params })
    const then = { params, query: { at: String(data.last_modified_timestamp) } }
    const seenBy = async (caller: TestCaller) => (await caller.exchange(inventory, 'readAsset', then)).status
    assert.deepEqual([await seenBy(before), await seenBy(since)], [200, 404])
    await finish(admin, 'setAccessGroup', { params, body: { data: { access_group: 'vault' } } })
    assert.deepEqual([await seenBy(before), await seenBy(since)], [404, 404])
    const { data: moved } = await admin.inventory.readAsset({ params })
    then.query.at = String(moved.last_modified_timestamp)
    assert.deepEqual([await seenBy(before), await seenBy(since)], [404, 200])
  })

  test('requires write permission in both access groups to move an asset, by PATCH and by POST', async () => {
    const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    const newGroup = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [readable, writable] = [await newGroup('only-read'), await newGroup('written-too')]
    await newGroup('unseen')
    const write = ['inventory_read_asset_data', 'inventory_write_asset_data'] as const
    const mover = await createCaller(hub, [
      { permissions: write, accessGroupId: groups[0]?.id ?? '' },
      { permissions: write, accessGroupId: writable },
      { permissions: ['inventory_read_asset_data'], accessGroupId: readable },
    ])
    const { result } = await put(device('mover'))
    const ways = (access_group: string): [string, object][] => [
      ['setAccessGroup', { params: { id: result.assetId }, body: { data: { access_group } } }],
      ['createAsset', { body: { data: { asset: { ...device('mover'), access_group } } } }],
    ]
    for (const [group, answer] of [
      ['only-read', 403],
      ['unseen', 422],
      ['written-too', 202],
      ['default', 202],
    ] as const) {
      for (const [operation, input] of ways(group))
        assert.equal((await mover.exchange(inventory, operation, input)).status, answer, `${operation} to ${group}`)
    }
    const elsewhere = await put({ ...device('over-there'), access_group: 'only-read' }, {}, admin)
    const params = { id: elsewhere.result.assetId }
    const denied = await mover.exchange(inventory, 'setAccessGroup', {
      params,
      body: { data: { access_group: 'default' } },
    })
    assert.equal(denied.status, 403)
    assert.equal(
      (denied.body as ProblemDocument).detail,
      'Permission denied: requires `inventory_write_asset_data` in access group `only-read`',
    )
  })

  test('returns the status of a write only to its sender and to administrators', async () => {
    const { data } = await operator.inventory.createAsset({ body: { data: { asset: device('mine') } } })
    const other = await hub.as('operator')
    const seenBy = async (caller: TestCaller) =>
      (await caller.exchange(inventory, 'readStatus', { params: { id: data.statusId } })).status
    assert.deepEqual([await seenBy(operator), await seenBy(admin), await seenBy(other)], [200, 200, 404])
    for (const [wait, status] of [
      [1, 200],
      [30, 200],
      [0, 400],
      [31, 400],
    ]) {
      const answer = await operator.exchange(inventory, 'readStatus', {
        params: { id: data.statusId },
        query: { wait },
      })
      assert.equal(answer.status, status, `wait=${wait}`)
    }
  })

  test('applies a write with an Idempotency-Key once, and repeats the response immediately', async () => {
    const headers = { 'idempotency-key': v7(), prefer: 'wait=30' }
    const send = () =>
      operator.exchange(inventory, 'createAsset', { headers, body: { data: { asset: device('only-once') } } })
    const [first, second] = [await send(), await send()]
    assert.deepEqual([first.status, second.status, second.body], [202, 202, first.body])
    assert.equal(first.headers.get('preference-applied'), null)
    const { data } = first.body as { data: { statusId: string; state?: string } }
    assert.equal(data.state, undefined)
    const status = await operator.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    assert.equal((status.data.detail.result as Result).outcome, 'created')
  })

  test('fails a queued write with an invalid payload, and applies the writes before and after it', async () => {
    const { result } = await put(device('neighbour'))
    const insert = (id: string, payload: object) =>
      hub.asOwner((owner) =>
        owner.query(
          `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind,
                                   principal_name, roles, modified_at)
           values ($1, $2, clock_timestamp(), 'patch', $3, 1, $2, 'system', 'somebody', '[]', now())`,
          [hub.tenant.tenantId, id, JSON.stringify(payload)],
        ),
      )
    const [before, poison] = [v7(), v7()]
    const responsible = (name: string) => ({ assetId: result.assetId, change: 'responsible', responsible: name })
    await insert(before, { items: [responsible('before')], single: true })
    await insert(poison, { items: 'no list', single: true })
    const after = await finish(operator, 'setResponsible', {
      params: { id: result.assetId },
      body: { data: { responsible: 'after' } },
    })
    assert.equal(after.state, 'finished')
    const outcomes = await Promise.all(
      [before, poison].map(async (id) => {
        const { data } = await admin.inventory.readStatus({ params: { id }, query: { wait: 30 } })
        return [data.state, (data.detail.result as Result).code ?? (data.detail.result as Result).outcome]
      }),
    )
    assert.deepEqual(outcomes, [
      ['finished', 'updated'],
      ['failed', 'internal'],
    ])
  })

  test(
    'fails a write that exceeds the statement timeout, and applies the writes after it',
    onlyInLongRuns,
    async () => {
      const [slow, quick] = [await put(device('slow')), await put(device('quick'))]
      const send = async ({ result }: { result: Result }) => {
        const params = { id: result.assetId }
        return (await operator.inventory.setResponsible({ params, body: { data: { responsible: 'x' } } })).data.statusId
      }
      const stateOf = async (id: string) =>
        (await operator.inventory.readStatus({ params: { id }, query: { wait: 1 } })).data
      await hub.asOwner(async (owner) => {
        await owner.query('begin')
        await owner.query('select from assets where tenant_id = $1 and id = $2 for update', [
          hub.tenant.tenantId,
          slow.result.assetId,
        ])
        const [first, second] = [await send(slow), await send(quick)]
        let status = await stateOf(first)
        while (status.state === 'queued') {
          // This cancels the statement, as the server does after a statement timeout.
          await endSessions(hub.database, await sessionsBlockedBy(owner, hub.database), { by: 'pg_cancel_backend' })
          status = await stateOf(first)
        }
        assert.deepEqual([status.state, (status.detail.result as Result).code], ['failed', 'overloaded'])
        const { data } = await operator.inventory.readStatus({ params: { id: second }, query: { wait: 30 } })
        assert.equal(data.state, 'finished')
        await owner.query('rollback')
      })
    },
  )

  const tagOf = async (id: string) =>
    (await operator.exchange(inventory, 'readAsset', { params: { id } })).headers.get('etag') ?? ''

  test('checks If-Match when the write is applied', async () => {
    const { result } = await put(device('matched'))
    const read = await operator.exchange(inventory, 'readAsset', { params: { id: result.assetId } })
    const headers = { prefer: 'wait=30', 'if-match': read.headers.get('etag') ?? '' }
    const change = (responsible: string) =>
      finish(operator, 'setResponsible', { params: { id: result.assetId }, body: { data: { responsible } }, headers })
    assert.equal((await change('a')).state, 'finished')
    const late = await change('b')
    assert.deepEqual([late.state, late.result.code], ['failed', 'precondition_failed'])
  })

  test('accepts * and several tags in If-Match of asynchronous writes, and refuses If-Match for a new asset', async () => {
    const { result } = await put(device('guarded'))
    const params = { id: result.assetId }
    const outcomeOf = async (operation: string, ifMatch: string, input: object) => {
      const written = await finish(operator, operation, {
        ...input,
        headers: { prefer: 'wait=30', 'if-match': ifMatch },
      })
      const [one] = [written.result].flat()
      return one?.code ?? one?.outcome
    }
    const named = (name: string) => ({ body: { data: { asset: { ...device('guarded'), name } } } })
    const responsible = (name: string) => ({ params, body: { data: { responsible: name } } })
    const deleted = { body: { data: { ids: [result.assetId] } } }
    const first = await tagOf(result.assetId)
    assert.equal(await outcomeOf('createAsset', '"7"', named('late')), 'precondition_failed')
    assert.equal(await outcomeOf('createAsset', first, named('in time')), 'updated')
    assert.equal(
      await outcomeOf('createAsset', '*', { body: { data: { asset: device('unheard-of') } } }),
      'precondition_failed',
    )
    const second = await tagOf(result.assetId)
    assert.equal(await outcomeOf('setResponsible', `${first}, ${second}`, responsible('one of several')), 'updated')
    assert.equal(await outcomeOf('setResponsible', '*', responsible('whatever it is')), 'updated')
    assert.equal(await outcomeOf('deleteAssets', second, deleted), 'precondition_failed')
    assert.equal(await outcomeOf('deleteAssets', await tagOf(result.assetId), deleted), 'deleted')
  })

  test('compares If-Match of a bulk write with the asset versions before the write', async () => {
    const [matched, other] = [
      (await put(device('matched-tag'))).result.assetId,
      (await put(device('other'))).result.assetId,
    ]
    const headers = { prefer: 'wait=30', 'if-match': await tagOf(matched) }
    const states = [
      { asset_id: matched, state_value: 'regarded' },
      { asset_id: matched, state_value: 'ignored' },
      { asset_id: other, state_value: 'ignored' },
    ]
    const { result } = await finish(operator, 'setManagementStates', { body: { data: states }, headers })
    const outcomes = [result].flat().map(({ outcome, code }) => outcome ?? code)
    assert.deepEqual(outcomes, ['updated', 'updated', 'precondition_failed'])
  })

  test('changes the ETag of an asset when its access group is renamed, but accepts the old one in If-Match', async () => {
    const admin = await hub.as('administrator')
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'former' } } })
    const asset = { ...device('regrouped'), access_group: 'former' }
    const { result } = await finish(admin, 'createAsset', { body: { data: { asset } }, headers: { prefer: 'wait=30' } })
    const params = { id: result.assetId }
    const etag = (await admin.exchange(inventory, 'readAsset', { params })).headers.get('etag') ?? ''
    const again = () => admin.exchange(inventory, 'readAsset', { params, headers: { 'if-none-match': etag } })
    assert.equal((await again()).status, 304)
    await admin.authorization.updateAccessGroup({ params: { id: group.id }, body: { data: { name: 'present' } } })
    const { status, body } = await again()
    assert.deepEqual([status, (body as { data: { access_group: string } }).data.access_group], [200, 'present'])
    const headers = { prefer: 'wait=30', 'if-match': etag }
    const written = await finish(admin, 'setResponsible', { params, body: { data: { responsible: 'x' } }, headers })
    assert.equal(written.state, 'finished')
  })

  test('applies 1 to 100 changes of a bulk write in order, and refuses duplicate ids in a bulk deletion', async () => {
    const { result } = await put(device('twice'))
    const states = (count: number, values = ['regarded']) =>
      Array.from({ length: count }, (_, at) => ({ asset_id: result.assetId, state_value: values[at % values.length] }))
    const status = async (data: object) =>
      (await operator.exchange(inventory, 'setManagementStates', { body: { data } })).status
    assert.deepEqual([await status(states(0)), await status(states(100)), await status(states(101))], [400, 202, 400])
    const refused = async (operation: string, data: object) => {
      const { status: answer, body } = await operator.exchange(inventory, operation, { body: { data } })
      const { code, errors } = body as ProblemDocument
      return [answer, code, errors?.[0]?.pointer]
    }
    for (const count of [0, inventoryLimits.bulk + 1]) {
      const ids = Array.from({ length: count }, () => v7())
      assert.deepEqual(await refused('deleteAssets', { ids }), [400, 'invalid_body', '/data/ids'])
    }
    for (const count of [0, inventoryLimits.batch + 1]) {
      const assets = Array.from({ length: count }, () => ({}))
      assert.deepEqual(await refused('createAssets', { assets }), [400, 'invalid_body', '/data/assets'])
    }
    const body = { data: states(3, ['ignored', 'ignored', 'regarded']) }
    const outcomes = (await finish(operator, 'setManagementStates', { body })).result as unknown as Result[]
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['updated', 'unchanged', 'updated'],
    )
    const ids = [result.assetId.toUpperCase(), result.assetId]
    assert.deepEqual(await refused('deleteAssets', { ids }), [400, 'invalid_body', '/data/ids'])
  })

  test('sets the gateway version of a gateway, and returns 404 for other assets', async () => {
    const { result } = await put(device('no-gateway'))
    const set = (id: string) =>
      operator.exchange(inventory, 'setGatewayVersion', { params: { id }, body: { data: { version: '0.3.10' } } })
    assert.equal((await set(result.assetId)).status, 404)
    const gateway = await put({ ...device('a-gateway'), functional_object_type: 'gateway' })
    assert.equal((await set(gateway.result.assetId)).status, 202)
  })

  test('asset_relations need the global permission, and read and write permission for the related asset', async () => {
    const defaultGroup = (await admin.authorization.listAccessGroups({ query: { name: 'default' } })).data[0]?.id ?? ''
    const outcomes: unknown[] = []
    for (const [index, permissions] of (
      [
        ['inventory_write_asset_data'],
        ['inventory_read_asset_data'],
        ['inventory_read_asset_data', 'inventory_write_asset_data'],
        ['inventory_read_asset_data', 'inventory_write_asset_data'],
      ] as const
    ).entries()) {
      const name = `related-${index}`
      const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name } } })
      await put({ ...device(name), access_group: name }, {}, admin)
      const caller = await createCaller(hub, [
        ...(index === 2 ? [] : [{ permissions: ['glb_inventory_write_relation_data'] as const }]),
        { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: defaultGroup },
        { permissions, accessGroupId: group.id },
      ])
      const asset_relations = [
        {
          predicate: 'is_module_of',
          related_asset: { asset_identifiers: [custom(name)] },
          relational_role_of_related_asset: 'object',
        },
      ]
      const { result } = await put({ ...device(v7()), asset_relations }, {}, caller)
      outcomes.push(result.relations.map(({ outcome, reason }) => [outcome, reason]))
    }
    assert.deepEqual(outcomes.flat(), [
      ['skipped', 'asset_not_found'],
      ['skipped', 'forbidden'],
      ['skipped', 'forbidden'],
      ['created', undefined],
    ])
  })

  test('reads the wait time from the Prefer header case-insensitively, and limits it to the maximum', () => {
    for (const [header, seconds] of [
      ['wait=10', 10],
      ['respond-async, Wait = 10', 10],
      ['wait="7"; foo=bar', 7],
      ['wait=99999', 30],
      ['await=10', 0],
      ['other; wait=10', 0],
      ['wait=-1', 0],
      ['wait', 0],
      [undefined, 0],
    ] as const)
      assert.equal(preferredWaitMs(header), seconds * 1000, header)
  })

  test('deletes the status of writes after seven days, even when there are many writes', async () => {
    const dayMs = 86_400_000
    const { tenantId } = hub.tenant
    const insert = (count: number, { days, state }: { days: number; state: string }) => {
      const newest = Date.now() - days * dayMs
      const ids = Array.from({ length: count }, (_, at) => lowestIdAt(newest - at))
      return hub.asOwner(async (owner) => {
        await owner.query(
          `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind,
                                   principal_name, roles, state, modified_at)
           select $1, id, now(), 'patch', '{}', 1, $1, 'user', 'somebody', '[]', $3, now() from unnest($2::uuid[]) as id`,
          [tenantId, ids, state],
        )
        return ids[0] ?? ''
      })
    }
    const recent = await insert(1, { days: 6, state: 'finished' })
    const expired = await insert(2_001, { days: 8, state: 'failed' })
    const signal = new AbortController().signal
    await statusTasks({ database: hub.context.database })['inventory.prune']?.run({ tenantId, signal } as never)
    const status = async (id: string) => (await admin.exchange(inventory, 'readStatus', { params: { id } })).status
    assert.deepEqual([await status(recent), await status(expired)], [200, 404])
    const { rowCount } = await hub.asOwner((owner) =>
      owner.query('select from operations where tenant_id = $1 and id < $2', [
        tenantId,
        lowestIdAt(Date.now() - 7 * dayMs),
      ]),
    )
    assert.equal(rowCount, 0)
  })

  test('returns 503 when the write queue has too many assets or bytes, with and without an Idempotency-Key', async () => {
    const { database } = hub.context
    const { result } = await put(device('held'))
    const [queue, small, tiny] = [
      { items: 3, bytes: 1024 * 1024 },
      { items: 3, bytes: 160 },
      { items: 3, bytes: 64 },
    ].map(
      (limit) =>
        new WriteAcceptor({ database, payloads: new PayloadCache<unknown>({ capacity: 1_000 }), queue: limit }),
    ) as [WriteAcceptor, WriteAcceptor, WriteAcceptor]
    const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
    const change = { assetId: v7(), change: 'responsible', responsible: 'jane' }
    const expected = (items: number): WriteRequest => ({
      kind: 'patch',
      action: 'inventory.setResponsibles',
      payload: { items: Array(items).fill(change), single: false },
    })
    const statusId = await hub.asOwner(async (owner) => {
      await owner.query('begin')
      await owner.query('select from assets where tenant_id = $1 and id = $2 for update', [
        caller.tenantId,
        result.assetId,
      ])
      const { data } = await operator.inventory.setResponsible({
        params: { id: result.assetId },
        body: { data: { responsible: 'who waits' } },
      })
      const refused = { code: 'overloaded', status: 503, headers: { 'retry-after': '5' } }
      // One asset is queued and the limit is three: a write of three assets is refused, a write of two is accepted. Then
      // the queue is full.
      await assert.rejects(queue.accept(caller, expected(3)), refused)
      // For a short time, the next write is refused before its body is read.
      assert.throws(() => queue.requireRoom(caller), refused)
      await assert.rejects(
        database.transaction(caller, (tx) => queue.accept({ ...caller, transaction: tx }, expected(3))),
        refused,
      )
      const both = await Promise.allSettled([queue.accept(caller, expected(2)), queue.accept(caller, expected(1))])
      assert.deepEqual(
        both.map(({ status }) => status),
        ['fulfilled', 'rejected'],
      )
      await assert.rejects(small.accept(caller, expected(1)), refused)
      await assert.rejects(tiny.accept(caller, expected(1)), { code: 'body_too_large', status: 413 })
      await owner.query('rollback')
      return data.statusId
    })
    const { data } = await operator.inventory.readStatus({ params: { id: statusId }, query: { wait: 30 } })
    assert.equal(data.state, 'finished')
  })

  test('free-text search finds assets that contain, for every search term, a word that starts with it', async () => {
    const { result } = await put({
      ...device('Conveyor Drive-12.b', custom('conveyor-12')),
      description: 'Möbius belt 02:1b:00',
    })
    const finds = async (q: string) => {
      const { data, meta } = await operator.inventory.listAssets({ query: { q } })
      assert.equal(meta.totalElements, data.length)
      return data.some(({ id }) => id === result.assetId)
    }
    for (const q of ['conveyor', 'CONV drive', 'drive-12', '12.b', 'belt möb', '1b:00', "(drive'"]) {
      assert.ok(await finds(q), q)
    }
    for (const q of ['onveyor', 'conveyor missing', '2:1b', '* !', "drive' | 'nothing"]) {
      assert.ok(!(await finds(q)), q)
    }
    await put({ ...device('Conveyor Drive-12.b', custom('conveyor-12')), description: 'Straight' })
    assert.ok(!(await finds('belt')))
    assert.ok(await finds('straight conveyor'))
  })

  test('finds assets by the exact address of a connection point, alone and with other conditions', async () => {
    const point = { connection_point_type: 'Ipv4Connectivity', id: 'ip', ipv4_address: '198.51.100.77' }
    const { result } = await put({ ...device('addressed'), connection_points: [point] })
    const matchesOf = async (condition: string) => {
      const filter = `connection_points/any(c: ${condition})`
      return (await operator.inventory.listAssets({ query: { filter } })).data.map(({ id }) => id)
    }
    assert.deepEqual(await matchesOf(`c/ipv4_address eq '198.51.100.77'`), [result.assetId])
    assert.deepEqual(await matchesOf(`c/ipv4_address eq '198.51.100.77' and c/id eq 'ip'`), [result.assetId])
    assert.deepEqual(await matchesOf(`c/ipv4_address eq '198.51.100.77' and c/id eq 'other'`), [])
    assert.deepEqual(await matchesOf(`c/ipv4_address eq '198.51.100.7'`), [])
  })

  test('returns stored facets and totals that equal newly counted ones', async () => {
    const by = 'responsible'
    const { result } = await put(device('a-facet'))
    const data = { responsible: "o'hara" }
    await finish(operator, 'setResponsible', { params: { id: result.assetId }, body: { data } })
    const { data: known } = await admin.inventory.readFacets({ query: { by, limit: 100 } })
    const { data: counted } = await admin.inventory.readFacets({ query: { by, limit: 100, filter: 'id ne null' } })
    assert.deepEqual(known, counted)
    for (const { value, count } of known) {
      const filter = `responsible eq '${String(value).replaceAll("'", "''")}'`
      assert.equal((await admin.inventory.listAssets({ query: { filter, limit: 1 } })).meta.totalElements, count)
    }
  })

  test('returns the stored totals of the readable groups when no filter is given', async () => {
    const counted = await admin.inventory.listAssets({ query: { filter: 'id ne null', limit: 1 } })
    const stored = await admin.inventory.listAssets({ query: { limit: 1 } })
    assert.equal(stored.meta.totalElements, counted.meta.totalElements)
  })
})
