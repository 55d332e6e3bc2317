import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { systemCaller } from '../../platform/access/system.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { applyWrite, asset, createCaller, createRelations, node, postRelation, type TestRelation } from './testing.ts'

/**
 * These tests check the rules of the specification for relations and assets, with its errors and limits. The titles contain
 * the numbers of the rules. The tests next to the code cover further cases.
 */

type Input = Record<string, unknown>
type Put = { assetId: string; outcome: string; relations: { predicate: string; outcome: string; reason?: string }[] }

const readRelations = 'glb_inventory_read_relation_data'
const writeRelations = 'glb_inventory_write_relation_data'

describe('specification', () => {
  let hub: TestHub
  let admin: TestCaller
  let line: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    line = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })).data.id
  })

  after(() => hub[Symbol.asyncDispose]())

  const tag = (value: string) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })
  const device = (value: string, more: object = {}) => ({
    functional_object_type: 'Device',
    name: value,
    asset_identifiers: [tag(value)],
    ...more,
  })
  const put = async (document: object, { caller = admin, meta }: { caller?: TestCaller; meta?: object } = {}) => {
    const data = { asset: document, ...(meta === undefined ? {} : { meta }) }
    const { state: outcome, result } = await applyWrite(caller, 'createAsset', { body: { data } })
    return { state: outcome, result: result as unknown as Put }
  }
  const createdAsset = async (more: object = {}): Promise<Entity> =>
    asset((await put(device(v7(), more))).result.assetId)
  const answered = async (caller: TestCaller, operation: string, input: Input) => {
    const { status, body } = await caller.exchange(inventory, operation, input)
    return { status, code: (body as ProblemDocument | undefined)?.code, body: body as { data: never } }
  }
  const createdRelation = async (data: TestRelation): Promise<Relation> => {
    const { body } = await postRelation(admin, data)
    return (body as { data: [Relation] }).data[0]
  }
  const relations = async (filter: string) => (await admin.inventory.listRelations({ query: { filter } })).data
  const assetIds = async (query: Input) => {
    const { data } = await admin.inventory.listAssets({ query: { limit: 100, ...query } })
    return data.map(({ id }) => String(id)).toSorted()
  }

  describe('4.1 POST /relations', () => {
    test('4.1 POST rule 1: subject, predicate and object are required; source.value and isBidirectional are optional', async () => {
      const complete = { subject: await createdAsset(), predicate: 'is_connected_to', object: await createdAsset() }
      for (const name of ['subject', 'predicate', 'object']) {
        const { [name as 'subject']: _, ...part } = complete
        assert.equal((await answered(admin, 'createRelation', { body: { data: part } })).status, 400, name)
      }
      assert.equal((await postRelation(admin, complete)).status, 201)
      const more = { ...complete, predicate: 'x', isBidirectional: true, source: { value: 'by hand' } }
      const { status, body } = await postRelation(admin, more)
      assert.deepEqual([status, (body as { data: unknown[] }).data.length], [201, 2])
    })

    test('4.1 POST rule 2: returns 400 when the id of an entity is not a UUID', async () => {
      const [right, wrong] = [node(), node('no-uuid')]
      for (const [subject, object] of [
        [wrong, right],
        [right, wrong],
      ] as const)
        assert.equal((await postRelation(admin, { subject, predicate: 'x', object })).status, 400)
    })

    test('4.1 POST rule 3: checks that assets exist, but not that nodes exist', async () => {
      const [one, place] = [await createdAsset(), node()]
      for (const [subject, object] of [
        [one, place],
        [place, one],
        [place, node()],
      ] as const)
        assert.equal((await postRelation(admin, { subject, predicate: 'x', object })).status, 201)
    })

    test('4.1 POST rule 4 and section 7: returns 422 when the subject or the object is a missing asset', async () => {
      const [one, missing] = [await createdAsset(), asset(v7())]
      for (const [subject, object] of [
        [missing, one],
        [one, missing],
      ] as const) {
        const answer = await postRelation(admin, { subject, predicate: 'x', object })
        assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [422, 'asset_not_found'])
      }
    })

    test('4.1 POST rule 5 and section 7: requires the global permission, and read and write in the group of each asset', async () => {
      const [one, other] = [await createdAsset({ access_group: 'line' }), await createdAsset({ access_group: 'line' })]
      const both = ['inventory_read_asset_data', 'inventory_write_asset_data'] as const
      const rights = [
        [[{ permissions: both, accessGroupId: line }], 403],
        [[{ permissions: [writeRelations] }, { permissions: [both[0]], accessGroupId: line }], 403],
        [[{ permissions: [writeRelations] }, { permissions: [both[1]], accessGroupId: line }], 422],
        [[{ permissions: [writeRelations] }, { permissions: both, accessGroupId: line }], 201],
      ] as const
      for (const [held, status] of rights) {
        const caller = await createCaller(hub, held)
        const answer = await postRelation(caller, { subject: one, predicate: 'x', object: other })
        assert.equal(answer.status, status, JSON.stringify(held))
      }
      const nodesOnly = await createCaller(hub, [{ permissions: [writeRelations] }])
      assert.equal((await postRelation(nodesOnly, { subject: node(), predicate: 'x', object: node() })).status, 201)
    })

    test('4.1 POST rule 6: sets source.type to manual', async () => {
      const relation = await createdRelation({
        subject: node(),
        predicate: 'x',
        object: node(),
        source: { value: 'me' },
      })
      assert.deepEqual(relation.source, { type: 'manual', value: 'me' })
    })

    test('4.1 POST rule 7: a repeated request updates the timestamp and creates no second relation', async () => {
      const triple = { subject: node(), predicate: 'x', object: node() }
      const first = await createdRelation(triple)
      while (Date.now() <= Date.parse(first.lastModifiedTimestamp)) await hub.settle()
      const second = await createdRelation(triple)
      assert.equal(second.id, first.id)
      assert.ok(second.lastModifiedTimestamp > first.lastModifiedTimestamp)
      assert.equal((await relations(`subject.id eq '${triple.subject.id}'`)).length, 1)
    })
  })

  describe('4.1 GET /relations', () => {
    test('4.1 GET rule 1: requires the global permission to read relations', async () => {
      const without = await createCaller(hub, [{ permissions: ['inventory_read_asset_data', writeRelations] }])
      assert.equal((await answered(without, 'listRelations', {})).status, 403)
      const reader = await createCaller(hub, [{ permissions: [readRelations] }])
      assert.equal((await answered(reader, 'listRelations', {})).status, 200)
    })

    test('4.1 GET rule 2: accepts eq for every property, "and" between conditions, and text in single quotes', async () => {
      const [one, place] = [await createdAsset(), node()]
      const relation = await createdRelation({ subject: one, predicate: 'is_assigned_to_node', object: place })
      const terms = [
        `subject.type eq 'asset'`,
        `subject.id eq '${one.id}'`,
        `object.type eq 'node'`,
        `object.id eq '${place.id}'`,
        `predicate eq 'is_assigned_to_node'`,
        `source.type eq 'manual'`,
      ]
      for (const filter of [...terms.map((term) => `${term} and subject.id eq '${one.id}'`), terms.join(' and ')]) {
        const matches = await relations(filter)
        assert.deepEqual(
          matches.map(({ id }) => id),
          [relation.id],
          filter,
        )
      }
      const path = `/inventory/v2/relations?filter=${encodeURIComponent(terms.join(' and '))}`
      const encoded = await hub.request({ method: 'GET', path, headers: { authorization: `Bearer ${admin.token}` } })
      assert.equal((encoded.body as { data: unknown[] }).data.length, 1)
      for (const filter of [`predicate eq "x"`, `predicate eq x`, `predicate == 'x'`])
        assert.equal((await answered(admin, 'listRelations', { query: { filter } })).code, 'invalid_filter')
    })

    test('4.1 GET rule 3: finds the matching relations with the example filters', async () => {
      const [device, gateway, link, place] = [await createdAsset(), await createdAsset(), await createdAsset(), node()]
      const peer = hub.context.peers(inventory, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }))
      const [seen, installed] = [{ gateway: gateway.id, assets: [device.id], source: 's' }, { gateway: gateway.id }]
      await peer.recordFound({ body: { data: seen } })
      await peer.recordLinkInstalled({ body: { data: { ...installed, assetLink: link.id } } })
      await peer.recordLinkRunning({ body: { data: { ...installed, assetLink: link.id } } })
      await postRelation(admin, { subject: device, predicate: 'is_assigned_to_node', object: place })
      const predicates = async (filter: string) =>
        (await relations(filter)).map(({ predicate }) => predicate).toSorted()
      const own = ['found_by_gateway', 'is_assigned_to_node']
      assert.deepEqual(await predicates(`subject.type eq 'asset' and subject.id eq '${device.id}'`), own)
      assert.deepEqual(await predicates(`object.type eq 'asset' and object.id eq '${gateway.id}'`), [
        'found_by_gateway',
        'is_installed_on',
        'is_running_on',
      ])
      for (const [filter, relation] of [
        [`object.type eq 'node' and predicate eq 'is_assigned_to_node'`, { subject: device.id, object: place.id }],
        [`predicate eq 'found_by_gateway'`, { subject: device.id, object: gateway.id }],
        [`object.id eq '${gateway.id}' and predicate eq 'is_installed_on'`, { subject: link.id, object: gateway.id }],
        [`object.id eq '${gateway.id}' and predicate eq 'is_running_on'`, { subject: link.id, object: gateway.id }],
        [`source.type eq 'manual' and predicate eq 'is_assigned_to_node'`, { subject: device.id, object: place.id }],
      ] as const) {
        const pairs = (await relations(filter)).map(({ subject, object }) => [subject.id, object.id].join())
        assert.ok(pairs.includes([relation.subject, relation.object].join()), filter)
      }
    })
  })

  describe('4.1 DELETE', () => {
    const query = { relationsFilter: `predicate eq 'to be deleted'` }

    test('4.1 DELETE rule 1: requires both global permissions for both endpoints', async () => {
      const ids = [(await createdRelation({ subject: node(), predicate: 'x', object: node() })).id]
      for (const [permissions, status] of [
        [[readRelations], 403],
        [[writeRelations], 403],
        [[readRelations, writeRelations], 200],
      ] as const) {
        const caller = await createCaller(hub, [{ permissions }])
        assert.equal((await answered(caller, 'deleteRelations', { body: { data: { ids } } })).status, status)
        assert.equal((await answered(caller, 'deleteRelationsByFilter', { query })).status, status)
      }
    })

    test('4.1 DELETE rule 2: refuses DELETE /relations/query-results without a narrow filter', async () => {
      for (const relationsFilter of [`source.type eq 'manual'`, `object.type eq 'node'`, `predicate ne 'x'`]) {
        const { code } = await answered(admin, 'deleteRelationsByFilter', { query: { relationsFilter } })
        assert.equal(code, 'filter_not_narrow', relationsFilter)
      }
      assert.equal((await answered(admin, 'deleteRelationsByFilter', {})).status, 400)
      const narrow = `object.type eq 'node' and object.id eq '${v7()}' and predicate eq 'x'`
      const right = await answered(admin, 'deleteRelationsByFilter', { query: { relationsFilter: narrow } })
      assert.deepEqual([right.status, right.body.data], [200, { deletable: 0, deleted: 0 }])
    })

    test('4.1 DELETE rule 3 and section 8: deletes at most 100 relations per query, and the rest when repeated', async () => {
      await createRelations(
        hub,
        Array.from({ length: 101 }, () => [node(), 'to be deleted', node()]),
      )
      const deleted = async () => (await answered(admin, 'deleteRelationsByFilter', { query })).body.data
      assert.deepEqual(await deleted(), { deletable: 101, deleted: 100 })
      assert.deepEqual(await deleted(), { deletable: 1, deleted: 1 })
    })

    test('4.1 DELETE section 8: deletes at most 50 relations by id', async () => {
      const ids = (count: number) => Array.from({ length: count }, () => v7())
      const status = async (count: number) =>
        (await answered(admin, 'deleteRelations', { body: { data: { ids: ids(count) } } })).status
      assert.deepEqual([await status(50), await status(51), await status(0)], [200, 400, 400])
    })
  })

  describe('4.2 assets', () => {
    test('4.2 rule 1: POST, PATCH and DELETE return 202 with a status id, and the status has state and detail.result', async () => {
      const { data: property } = await admin.inventory.createCustomProperty({ body: { data: { name: 'cost centre' } } })
      const gateway = await createdAsset({ functional_object_type: 'Gateway' })
      const one = await createdAsset()
      const params = { id: one.id }
      const many = (more: object) => ({ body: { data: [{ asset_id: one.id, ...more }] } })
      const writes: [string, Input][] = [
        ['createAsset', { body: { data: { asset: device(v7()) } } }],
        ['setManagementState', { params, body: { data: { state_value: 'regarded' } } }],
        ['setReachabilityState', { params, body: { data: { state_value: 'reached' } } }],
        ['setTrustState', { params, body: { data: { state_value: 'trusted' } } }],
        ['setFirmwareVersion', { params, body: { data: { version: '1.2.3' } } }],
        ['setAccessGroup', { params, body: { data: { access_group: 'line' } } }],
        ['setResponsible', { params, body: { data: { responsible: 'jane' } } }],
        ['setName', { params, body: { data: { name: 'Drive 12' } } }],
        ['setDescription', { params, body: { data: { description: 'left of the door' } } }],
        ['setGatewayVersion', { params: { id: gateway.id }, body: { data: { version: '0.3.10' } } }],
        ['setPropertyValues', many({ key: property.key, value: '4711' })],
        ['deletePropertyValues', many({ key: property.key })],
        ['setResponsibles', many({ responsible: 'joe' })],
        ['setManagementStates', many({ state_value: 'ignored' })],
        ['setAccessGroups', many({ access_group: 'default' })],
        ['deleteAssets', { body: { data: { ids: [one.id] } } }],
      ]
      for (const [operation, input] of writes) {
        const { status, body } = await answered(admin, operation, input)
        assert.equal(status, 202, operation)
        const id = (body.data as { statusId: string }).statusId
        const { data } = await admin.inventory.readStatus({ params: { id }, query: { wait: 30 } })
        assert.equal(data.state, 'finished', `${operation} ${JSON.stringify(data.detail)}`)
        const [result] = [data.detail.result].flat() as Put[]
        assert.match(result?.outcome ?? '', /^(created|updated|deleted)$/, operation)
      }
    })

    test('4.2 rule 2: refuses every write that would result in an asset that does not match the schema', async () => {
      const url = `https://plant.example/schemas/${v7()}`
      const schema = { type: 'object', properties: { name: { maxLength: 5 } }, required: ['name'] }
      await admin.inventory.createSchema({ body: { data: { url, schema } } })
      const { data: stored } = await admin.inventory.readSchema({ query: { url } })
      assert.deepEqual(stored, { url, title: url, builtIn: false, schema })
      const alias = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1.11.0/iah-base.json'
      const { data: builtIn } = await admin.inventory.readSchema({ query: { url: alias } })
      assert.deepEqual([builtIn.builtIn, builtIn.title], [true, 'Asset'])
      const own = { functional_object_schema_url: url, name: 'short' }
      const value = v7()
      const create = (more: object) =>
        answered(admin, 'createAsset', { body: { data: { asset: { ...device(value), ...own, ...more } } } })
      assert.equal((await create({ name: 'much too long' })).code, 'invalid_asset')
      const { result } = await put({ ...device(value), ...own })
      assert.equal(result.outcome, 'created')
      const base = await answered(admin, 'createAsset', {
        body: { data: { asset: device(v7(), { no_such_field: 1 }) } },
      })
      assert.equal(base.code, 'invalid_asset')
      const cleared = await put({ ...device(value), ...own, name: null }).catch((error: unknown) => String(error))
      assert.match(JSON.stringify(cleared), /invalid_asset/)
      assert.equal((await admin.inventory.readAsset({ params: { id: result.assetId } })).data.name, 'short')
    })

    test('4.2 rule 3: relationsFilter returns the assets at the other end of matching relations, and no nodes', async () => {
      const [one, two, three, place, predicate] = [
        await createdAsset(),
        await createdAsset(),
        await createdAsset(),
        node(),
        v7(),
      ]
      await postRelation(admin, { subject: one, predicate, object: two })
      await postRelation(admin, { subject: two, predicate, object: three })
      await postRelation(admin, { subject: three, predicate, object: place })
      const matchesOf = (filter: string) => assetIds({ relationsFilter: `${filter}predicate eq '${predicate}'` })
      assert.deepEqual(await matchesOf(`subject.id eq '${one.id}' and `), [two.id])
      assert.deepEqual(await matchesOf(`object.id eq '${three.id}' and `), [two.id])
      assert.deepEqual(await matchesOf(''), [one.id, two.id, three.id].toSorted())
      assert.deepEqual(await matchesOf(`subject.id eq '${three.id}' and `), [])
    })

    test('4.2 rule 4: asset_relations take their source from data.meta.source and skip unresolved entries', async () => {
      const [rack, hidden] = [v7(), v7()]
      await put(device(rack))
      await put(device(hidden, { access_group: 'line' }))
      const group = (await admin.authorization.listAccessGroups({ query: { name: 'default' } })).data[0]?.id ?? ''
      const writer = await createCaller(hub, [
        { permissions: [writeRelations] },
        { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: group },
      ])
      const related = (value: string, predicate = 'is_module_of') => ({
        predicate,
        related_asset: { asset_identifiers: [tag(value)] },
        relational_role_of_related_asset: 'object',
      })
      const asset_relations = [related(rack), related(v7()), related(hidden), related(rack, 'found_by_gateway')]
      const { state: outcome, result } = await put(device(v7(), { asset_relations }), {
        caller: writer,
        meta: { source: 'a.link.of.ours' },
      })
      assert.equal(outcome, 'finished')
      assert.deepEqual(
        result.relations.map(({ outcome: each }) => each),
        ['created', 'skipped', 'skipped', 'skipped'],
      )
      const [relation] = await relations(`subject.id eq '${result.assetId}'`)
      assert.deepEqual(relation?.source, { type: 'discovery', value: 'a.link.of.ours' })
    })

    test('4.2 rule 5: the role of the related asset decides the direction, and is_bidirectional creates both', async () => {
      const value = v7()
      const rack = asset((await put(device(value))).result.assetId)
      for (const [role, both, expected] of [
        ['object', false, ['out']],
        ['subject', false, ['in']],
        ['object', true, ['in', 'out']],
      ] as const) {
        const asset_relations = [
          {
            predicate: 'is_module_of',
            related_asset: { asset_identifiers: [tag(value)] },
            relational_role_of_related_asset: role,
            is_bidirectional: both,
          },
        ]
        const { result } = await put(device(v7(), { asset_relations }))
        const own = (await admin.inventory.listAssetRelations({ params: { id: result.assetId } })).data
        const directions = own.map(({ subject, object }) => {
          assert.deepEqual([subject.id, object.id].toSorted(), [result.assetId, rack.id].toSorted())
          return subject.id === result.assetId ? 'out' : 'in'
        })
        assert.deepEqual(directions.toSorted(), expected)
      }
    })

    test('4.2 rule 6: returns the gateway that found an asset as a relation, not as a field of the asset', async () => {
      const [device, gateway] = [await createdAsset(), await createdAsset({ functional_object_type: 'Gateway' })]
      const peer = hub.context.peers(inventory, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }))
      await peer.recordFound({ body: { data: { gateway: gateway.id, assets: [device.id], source: 's' } } })
      const { data } = await admin.inventory.readAsset({ params: { id: device.id } })
      assert.ok(!JSON.stringify(data).includes(gateway.id))
      const [relation] = await relations(`subject.id eq '${device.id}' and predicate eq 'found_by_gateway'`)
      assert.equal(relation?.object.id, gateway.id)
    })

    test('4.2: omits identifiers from the asset, and returns them at /assets/{id}/identifiers', async () => {
      const value = v7()
      const { result } = await put(device(value))
      const { data } = await admin.inventory.readAsset({ params: { id: result.assetId } })
      assert.equal('asset_identifiers' in data, false)
      const identifiers = await admin.inventory.readIdentifiers({ params: { id: result.assetId } })
      assert.deepEqual(
        identifiers.data.map((identifier) => identifier.value),
        [value],
      )
    })
  })

  describe('3 life cycle of relations', () => {
    test('3: offers no operation to edit a relation', async () => {
      const { id } = await createdRelation({ subject: node(), predicate: 'x', object: node() })
      for (const method of ['PATCH', 'PUT']) {
        const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
        for (const path of ['/inventory/v2/relations', `/inventory/v2/relations/${id}`])
          assert.ok([404, 405].includes((await hub.request({ method, path, headers, body: '{}' })).status))
      }
    })

    test('3: deletes the relations of a deleted asset, including those from nodes', async () => {
      const [one, other, place] = [await createdAsset(), await createdAsset(), node()]
      await postRelation(admin, { subject: one, predicate: 'x', object: other })
      await postRelation(admin, { subject: place, predicate: 'x', object: one })
      await postRelation(admin, { subject: place, predicate: 'x', object: other })
      await applyWrite(admin, 'deleteAssets', { body: { data: { ids: [one.id] } } })
      assert.deepEqual(await relations(`subject.id eq '${one.id}' or object.id eq '${one.id}'`), [])
      assert.equal((await relations(`subject.id eq '${place.id}'`)).length, 1)
    })
  })

  describe('7 errors', () => {
    test('7: skips an asset_relations entry that cannot be resolved, and writes the asset', async () => {
      const asset_relations = [
        {
          predicate: 'is_module_of',
          related_asset: { asset_identifiers: [tag(v7())] },
          relational_role_of_related_asset: 'object',
        },
      ]
      const { state: outcome, result } = await put(device(v7(), { asset_relations }))
      assert.deepEqual([outcome, result.outcome, result.relations[0]?.outcome], ['finished', 'created', 'skipped'])
    })

    test('7: sets the state failed and the reason in detail.result when an asynchronous write fails', async () => {
      const one = await createdAsset()
      const { data } = await admin.inventory.setResponsible({
        params: { id: one.id },
        body: { data: { responsible: 'jane' } },
        headers: { 'if-match': '"99"' },
      })
      const status = await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      assert.equal(status.data.state, 'failed')
      assert.equal((status.data.detail.result as ProblemDocument).code, 'precondition_failed')
    })
  })

  describe('8 limits', () => {
    test('8: GET /assets uses a limit of 50 by default and 100 at most, and an offset of 0 by default', async () => {
      const assets = Array.from({ length: 101 }, () => device(v7(), { name: 'one of many' }))
      await applyWrite(admin, 'createAssets', { body: { data: { assets } } })
      const page = async (query: Input) => {
        const { status, body } = await admin.exchange(inventory, 'listAssets', { query })
        return { status, meta: (body as { meta?: { elements: number; offset: number; totalElements: number } }).meta }
      }
      const filter = `name eq 'one of many'`
      const { meta } = await page({ filter })
      assert.deepEqual([meta?.elements, meta?.offset, meta?.totalElements], [50, 0, 101])
      assert.equal((await page({ filter, limit: 100 })).meta?.elements, 100)
      assert.equal((await page({ filter, limit: 100, offset: 100 })).meta?.elements, 1)
      for (const query of [{ limit: 101 }, { limit: 0 }, { offset: -1 }]) assert.equal((await page(query)).status, 400)
    })

    test('8: returns 400 when assets are sorted by an array property', async () => {
      const [complete, inside] = [
        ['asset_identifiers', '-location', 'instance_annotations', 'connection_points', 'asset_operations'],
        ['asset_identifiers/value', '-location.slot_number', 'custom_properties', `custom_properties/${v7()}`],
      ]
      for (const sort of [...complete, ...inside]) {
        const { status, code } = await answered(admin, 'listAssets', { query: { sort } })
        assert.deepEqual([status, code], [400, 'sort_on_array'], sort)
      }
    })
  })

  describe('9 versions', () => {
    test('9: keeps operations below v2-earlyaccess available and returns deprecation headers for them', async () => {
      const headers = { authorization: `Bearer ${admin.token}` }
      const old = await hub.request({ method: 'GET', path: '/inventory/v2-earlyaccess/assets?limit=1', headers })
      assert.equal(old.status, 200)
      assert.match(old.headers.get('deprecation') ?? '', /^@\d+$/)
      const current = await hub.request({ method: 'GET', path: '/inventory/v2/assets?limit=1', headers })
      assert.deepEqual([current.status, current.headers.get('deprecation')], [200, null])
    })

    test('9: filters case-insensitively when caseInsensitive is set', async () => {
      const name = `MiXed ${v7()}`
      const id = (await put(device(v7(), { name }))).result.assetId
      const filter = `name eq '${name.toLowerCase()}'`
      assert.deepEqual([await assetIds({ filter }), await assetIds({ filter, caseInsensitive: true })], [[], [id]])
    })
  })
})
