import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import type { Permission } from '@millwright/api/permission.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { systemCaller } from '../../../platform/access/system.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { changeCounts, deleteAssets, findGroups } from '../assets/asset-store.ts'
import { recountFacets } from '../search/facet-store.ts'
import {
  applyWrite,
  assertCounts,
  asset,
  createAssets,
  createCaller,
  node,
  postRelation,
  type TestRelation,
  withTestAuthor,
} from '../testing.ts'
import { endRelationsOf, putRelations } from './relation-store.ts'

type Listed = { data: Relation[]; meta: { totalElements: number; elements: number; offset: number } }
type Answered = { status: number; body: unknown }

const relationsIn = ({ body }: Answered) => (body as { data: Relation[] }).data
const problemIn = ({ body }: Answered) => body as ProblemDocument

let hub: TestHub
let operator: TestCaller
let lineGroup: string
let officeGroup: string

describe('relations', () => {
  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    const admin = await hub.as('administrator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    lineGroup = await group('line')
    officeGroup = await group('office')
  })

  after(async () => {
    await assertCounts(hub)
    await hub[Symbol.asyncDispose]()
  })

  describe('POST /relations', () => {
    test('returns 400 when a relation lacks its subject, predicate or object', async () => {
      const complete = { ...(await two()), predicate: 'is_part_of' }
      for (const field of ['subject', 'predicate', 'object'] as const) {
        const { [field]: _, ...rest } = complete
        const answer = await postRelation(operator, rest as TestRelation)
        assert.equal(answer.status, 400)
        assert.equal(problemIn(answer).errors?.[0]?.pointer, `/data/${field}`)
      }
      assert.equal((await postRelation(operator, complete)).status, 201)
    })

    test('requires ids to be UUIDs, in upper or lower case', async () => {
      const { subject, object } = await two()
      for (const wrong of ['', 'motor', `${subject.id}0`, subject.id.slice(1)]) {
        for (const [side, input] of [
          ['subject', { subject: asset(wrong), object }],
          ['object', { subject, object: node(wrong) }],
        ] as const) {
          const answer = await postRelation(operator, { ...input, predicate: 'is_part_of' })
          assert.equal(answer.status, 400)
          assert.equal(problemIn(answer).errors?.[0]?.pointer, `/data/${side}/id`)
        }
      }
      const upper = { subject: asset(subject.id.toUpperCase()), object, predicate: 'is_part_of' }
      const [relation] = relationsIn(await postRelation(operator, upper))
      assert.deepEqual(relation?.subject, subject)
    })

    test('accepts only the entity types asset and node', async () => {
      const { subject } = await two()
      const answer = await postRelation(operator, {
        subject,
        predicate: 'x',
        object: { type: 'gateway' as 'node', id: v7() },
      })
      assert.equal(answer.status, 400)
    })

    test('accepts unknown nodes as subject, object or both', async () => {
      const { subject } = await two()
      for (const [from, to] of [
        [subject, node()],
        [node(), subject],
        [node(), node()],
      ] as const) {
        assert.equal(
          (await postRelation(operator, { subject: from, predicate: 'is_assigned_to_node', object: to })).status,
          201,
        )
      }
    })

    test('distinguishes a node from an asset when both have the same id', async () => {
      const { subject } = await two({ subject: officeGroup })
      const outsider = await createCaller(hub, [{ permissions: ['glb_inventory_write_relation_data'] }])
      assert.equal(
        (await postRelation(outsider, { subject: node(subject.id), predicate: 'x', object: node() })).status,
        201,
      )
      assert.equal((await postRelation(outsider, { subject, predicate: 'x', object: node() })).status, 422)
    })

    test('returns 422 with a pointer when the subject, the object or both are missing assets', async () => {
      const { subject, object } = await two()
      const missing = asset(v7())
      const pointers = async (input: TestRelation) => {
        const answer = await postRelation(operator, input)
        assert.equal(answer.status, 422)
        assert.equal(problemIn(answer).code, 'asset_not_found')
        return problemIn(answer).errors?.map(({ pointer }) => pointer)
      }
      assert.deepEqual(await pointers({ subject: missing, predicate: 'x', object }), ['/data/subject'])
      assert.deepEqual(await pointers({ subject, predicate: 'x', object: missing }), ['/data/object'])
      assert.deepEqual(await pointers({ subject: missing, predicate: 'x', object: missing }), [
        '/data/subject',
        '/data/object',
      ])
    })

    test('returns the same response for a hidden and a missing asset, with the same SQL statements', async () => {
      const { object } = await two({ object: officeGroup })
      const here = await two({ subject: lineGroup })
      const caller = await createCaller(hub, [
        { permissions: ['glb_inventory_write_relation_data'] },
        { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: lineGroup },
      ])

      const ask = async (id: string) => {
        let answer: Answered = { status: 0, body: undefined }
        const sent = await hub.statements(async () => {
          answer = await postRelation(caller, { subject: here.subject, predicate: 'x', object: asset(id) })
        })
        return {
          status: answer.status,
          code: problemIn(answer).code,
          detail: problemIn(answer).detail.replace(id, '…'),
          texts: sent.map(({ text }) => text).filter((text) => /\bassets\b/.test(text)),
        }
      }
      const hidden = await ask(object.id)
      assert.deepEqual(hidden, await ask(v7()))
      assert.equal(hidden.status, 422)
      // The service reads the asset twice: once while it skips locked assets, and once while it waits for locks.
      assert.equal(hidden.texts.length, 2)
    })

    test('requires the global permission to write relations for POST /relations', async () => {
      const viewer = await hub.as('viewer')
      const answer = await postRelation(viewer, { subject: node(), predicate: 'x', object: node() })
      assert.equal(answer.status, 403)
      assert.match(problemIn(answer).detail, /glb_inventory_write_relation_data/)
    })

    test('requires read and write permission in the access group of each referenced asset, but none for nodes', async () => {
      const { subject, object } = await two({ subject: lineGroup, object: officeGroup })
      const input = { subject, predicate: 'x', object }
      const [read, write] = ['inventory_read_asset_data', 'inventory_write_asset_data'] as const
      const relate = { permissions: ['glb_inventory_write_relation_data'] as const }
      const here = { permissions: [read, write], accessGroupId: lineGroup }
      const answered = async (there: Permission[]) => {
        const caller = await createCaller(hub, [relate, here, { permissions: there, accessGroupId: officeGroup }])
        const answer = await postRelation(caller, input)
        assert.equal((await postRelation(caller, { ...input, object: node() })).status, 201)
        const { code, detail } = problemIn(answer)
        return code === 'forbidden' ? [answer.status, detail] : [answer.status, code]
      }

      assert.deepEqual(await answered(['remote_access_connect']), [422, 'asset_not_found'])
      assert.deepEqual(await answered([write]), [422, 'asset_not_found'])
      const denied = 'Permission denied: requires `inventory_write_asset_data` in access group `office`'
      assert.deepEqual(await answered([read]), [403, denied])
      assert.deepEqual(await relationsOf(object), [])
      assert.deepEqual(await answered([read, write]), [201, undefined])
    })

    test('sets source.type to manual and stores source.value', async () => {
      const input = { ...(await two()), predicate: 'is_part_of' }
      const [bare] = relationsIn(await postRelation(operator, input))
      assert.deepEqual(bare?.source, { type: 'manual' })
      const [named] = relationsIn(
        await postRelation(operator, { ...input, source: { type: 'manual', value: 'survey' } }),
      )
      assert.deepEqual(named?.source, { type: 'manual', value: 'survey' })
      const wrong = { ...input, source: { type: 'discovery' as 'manual', value: 'survey' } }
      assert.equal((await postRelation(operator, wrong)).status, 400)
    })

    test('returns 200, updates the timestamp and creates no duplicate when a relation is created again', async () => {
      const input = { ...(await two()), predicate: 'is_part_of', source: { value: 'survey' } }
      const first = await postRelation(operator, input)
      const second = await postLater(input, relationsIn(first)[0])
      assert.deepEqual([first.status, second.status], [201, 200])
      const [before] = relationsIn(first)
      const [again] = relationsIn(second)
      assert.ok((again?.lastModifiedTimestamp ?? '') > (before?.lastModifiedTimestamp ?? ''))
      assert.deepEqual({ ...again, lastModifiedTimestamp: '' }, { ...before, lastModifiedTimestamp: '' })
      assert.deepEqual(await relationsOf(input.subject), [again])

      const [changed] = relationsIn(await postRelation(operator, { ...input, source: { value: 'second survey' } }))
      assert.deepEqual(changed?.source, { type: 'manual', value: 'second survey' })
    })

    test('records creation and refresh in the audit trail, but only the creation in history and events', async () => {
      const relation = await related()
      const { subject, predicate, object } = relation
      assert.equal((await postRelation(operator, { subject, predicate, object })).status, 200)
      assert.deepEqual(await eventsOf(relation), ['inventory.relation.created'])
      assert.equal(await ended(relation.id), undefined)

      const auditor = await hub.as('administrator')
      const { data } = await auditor.audit.listEntries({ query: { target: `relation/${relation.id}` } })
      const outcomes = data.map(({ action, detail }) => [action, (detail as { outcome: string }).outcome])
      assert.deepEqual(outcomes.toSorted(), [
        ['inventory.createRelation', 'created'],
        ['inventory.createRelation', 'refreshed'],
      ])
    })

    test('treats relations with different predicates, directions or source types as different relations', async () => {
      const { subject, object } = await two()
      const input = { subject, predicate: 'is_installed_on', object }
      const statuses = [
        await postRelation(operator, input),
        await postRelation(operator, { ...input, predicate: 'is_part_of' }),
        await postRelation(operator, { ...input, subject: object, object: subject }),
      ].map(({ status }) => status)
      const relations = await hub.context.database.transaction(hub.tenant, (tx) =>
        putRelations(tx, withTestAuthor([{ ...input, source: { type: 'assetlinkdiscovery' } }])),
      )
      assert.deepEqual(statuses, [201, 201, 201])
      assert.equal(relations[0]?.outcome, 'created')
      assert.equal((await relationsOf(subject)).length, 4)
    })

    test('creates the reverse relation as well when isBidirectional is set', async () => {
      const { subject, object } = await two()
      const input = { subject, predicate: 'is_connected_to', object, isBidirectional: true }
      const answer = await postRelation(operator, input)
      assert.equal(answer.status, 201)
      assert.deepEqual(
        relationsIn(answer).map((relation) => [relation.subject, relation.object]),
        [
          [subject, object],
          [object, subject],
        ],
      )
      assert.equal((await postRelation(operator, input)).status, 200)
      assert.equal((await relationsOf(subject)).length, 2)
    })

    test('returns 201 for a bidirectional relation when only the reverse relation is new', async () => {
      const { subject, object } = await two()
      const input = { subject, predicate: 'is_connected_to', object }
      await postRelation(operator, input)
      const answer = await postRelation(operator, { ...input, isBidirectional: true })
      assert.equal(answer.status, 201)
      assert.equal(relationsIn(answer).length, 2)
    })

    test('creates either both relations of a bidirectional pair or none', async () => {
      const { subject } = await two()
      const answer = await postRelation(operator, {
        subject,
        predicate: 'x',
        object: asset(v7()),
        isBidirectional: true,
      })
      assert.equal(answer.status, 422)
      assert.deepEqual(await relationsOf(subject), [])
    })

    test('stores the relation of an entity to itself once, even with isBidirectional', async () => {
      const { subject } = await two()
      const answer = await postRelation(operator, {
        subject,
        predicate: 'controls',
        object: subject,
        isBidirectional: true,
      })
      assert.equal(relationsIn(answer).length, 1)
      assert.equal((await relationsOf(subject)).length, 1)
    })

    test('creates a bidirectional pair once for many concurrent requests', async () => {
      const { subject, object } = await two()
      const input = { subject, predicate: 'is_connected_to', object, isBidirectional: true }
      const reversed = { ...input, subject: object, object: subject }
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) => postRelation(operator, index % 2 === 0 ? input : reversed)),
      )
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 200, 200, 200, 201])
      assert.equal((await relationsOf(subject)).length, 2)
    })

    for (const predicate of ['found_by_gateway', 'found_by_asset_link', 'is_running_on']) {
      test(`refuses the system-managed predicate ${predicate}`, async () => {
        const answer = await postRelation(operator, { ...(await two()), predicate })
        assert.deepEqual([answer.status, problemIn(answer).code], [409, 'system_managed_predicate'])
      })
    }

    test('accepts is_installed_on from clients although system events write it too', async () => {
      assert.equal((await postRelation(operator, { ...(await two()), predicate: 'is_installed_on' })).status, 201)
    })

    test('accepts any predicate of 1 to 256 characters without control characters', async () => {
      const pair = await two()
      for (const predicate of ['', 'a\nb', 'a\u0085b', 'x'.repeat(257)]) {
        assert.equal((await postRelation(operator, { ...pair, predicate })).status, 400, JSON.stringify(predicate))
      }
      for (const predicate of ['versorgt mit Kühlwasser', "o'clock", 'x'.repeat(256), '\ud800 broken']) {
        assert.equal((await postRelation(operator, { ...pair, predicate })).status, 201, predicate)
        assert.equal(
          (await postRelation(operator, { ...pair, predicate, isBidirectional: true })).status,
          201,
          predicate,
        )
      }
    })

    test('leaves no relation to an asset that is deleted concurrently', async () => {
      for (let round = 0; round < 10; round++) {
        const { subject, object } = await two()
        const input = { subject, predicate: 'is_connected_to', object, isBidirectional: true }
        await Promise.all([postRelation(operator, input), deleted(object.id), postRelation(operator, input)])
        assert.deepEqual(await relationsOf(subject), [])
      }
    })

    test('offers no operation to edit a relation', async () => {
      const { id } = await related()
      for (const method of ['PUT', 'PATCH']) {
        const path = `${inventory.prefix}/relations/${id}`
        const answer = await hub.request({ method, path, headers: { authorization: `Bearer ${operator.token}` } })
        assert.ok(answer.status === 404 || answer.status === 405)
      }
    })
  })

  describe('GET /relations', () => {
    test('lists all relations of the tenant to a caller with only the global permission to read relations', async () => {
      const relation = await related()
      const withoutPermission = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'] }])
      assert.equal((await withoutPermission.exchange(inventory, 'listRelations', {})).status, 403)
      const reader = await createCaller(hub, [{ permissions: ['glb_inventory_read_relation_data'] }])
      const { data } = await reader.inventory.listRelations({
        query: { filter: `subject.id eq '${relation.subject.id}'` },
      })
      assert.deepEqual(data, [relation])
    })

    test('does not list relations of another tenant', async () => {
      const relation = await related()
      const stranger = await hub.as('operator', { tenant: await hub.anotherTenant() })
      const { data, meta } = await stranger.inventory.listRelations({})
      assert.deepEqual([data, meta.totalElements], [[], 0])
      const answer = await stranger.inventory.deleteRelations({ body: { data: { ids: [relation.id] } } })
      assert.deepEqual(answer.data.notFound, [relation.id])
    })

    test('finds relations with each filter example of the specification', async () => {
      const { subject, object } = await two()
      const place = node()
      await postRelation(operator, { subject, predicate: 'is_assigned_to_node', object: place })
      await postRelation(operator, { subject, predicate: 'is_installed_on', object })
      await hub.context.database.transaction(hub.tenant, (tx) =>
        putRelations(
          tx,
          withTestAuthor(
            ['found_by_gateway', 'is_running_on'].map((predicate) => ({
              subject,
              predicate,
              object,
              source: { type: 'discovery', value: 'link' },
            })),
          ),
        ),
      )
      const matchesOf = async (filter: string) =>
        (await list(`(${filter}) and subject.id eq '${subject.id}'`)).data.map(({ predicate }) => predicate).toSorted()

      const all = ['found_by_gateway', 'is_assigned_to_node', 'is_installed_on', 'is_running_on']
      assert.deepEqual(await matchesOf(`subject.type eq 'asset' and subject.id eq '${subject.id}'`), all)
      assert.deepEqual(
        await matchesOf(`object.type eq 'asset' and object.id eq '${object.id}'`),
        all.filter((predicate) => predicate !== 'is_assigned_to_node'),
      )
      assert.deepEqual(await matchesOf(`object.type eq 'node' and predicate eq 'is_assigned_to_node'`), [
        'is_assigned_to_node',
      ])
      assert.deepEqual(await matchesOf(`predicate eq 'found_by_gateway'`), ['found_by_gateway'])
      assert.deepEqual(await matchesOf(`object.id eq '${object.id}' and predicate eq 'is_installed_on'`), [
        'is_installed_on',
      ])
      assert.deepEqual(await matchesOf(`object.id eq '${object.id}' and predicate eq 'is_running_on'`), [
        'is_running_on',
      ])
      assert.deepEqual(await matchesOf(`source.type eq 'manual' and predicate eq 'is_assigned_to_node'`), [
        'is_assigned_to_node',
      ])
      assert.deepEqual(await matchesOf(`source.value eq 'link'`), ['found_by_gateway', 'is_running_on'])
      assert.deepEqual(await matchesOf(`source.value eq null`), ['is_assigned_to_node', 'is_installed_on'])
      assert.deepEqual(await matchesOf(`createdTimestamp gt '2020-01-01T00:00:00.000Z'`), all)
      assert.deepEqual(await matchesOf(`lastModifiedTimestamp lt '2020-01-01T00:00:00.000Z'`), [])
    })

    test('compares filter values case-insensitively when caseInsensitive is set', async () => {
      const { subject } = await related('Is_Part_Of')
      const filter = `subject.id eq '${subject.id.toUpperCase()}' and predicate eq 'is_part_of'`
      assert.equal((await list(filter)).data.length, 0)
      assert.equal((await list(filter, { caseInsensitive: true })).data.length, 1)
    })

    test('returns 400 for an invalid filter, an unknown property, an invalid sort and an unknown parameter', async () => {
      const code = async (query: Record<string, unknown>) => {
        const answer = await operator.exchange(inventory, 'listRelations', { query })
        assert.equal(answer.status, 400)
        return problemIn(answer).code
      }
      assert.equal(await code({ filter: 'predicate eq' }), 'invalid_filter')
      assert.equal(await code({ filter: '' }), 'invalid_filter')
      assert.equal(await code({ filter: `subject.name eq 'x'` }), 'unknown_property')
      assert.equal(await code({ sort: 'source.value' }), 'unknown_property')
      assert.equal(await code({ relationsFilter: `predicate eq 'x'` }), 'unknown_parameter')
      assert.equal(await code({ limit: 101 }), 'invalid_query')
    })

    test('returns pages of relations with an exact total, sorted by either timestamp or the predicate', async () => {
      const { subject } = await two()
      const object = node()
      const names = ['c', 'a', 'e', 'b', 'd']
      for (const [index, predicate] of names.entries()) {
        const at = new Date(Date.UTC(2030, 0, 1 + index)).toISOString()
        await hub.context.database.transaction(hub.tenant, (tx) =>
          putRelations(tx, withTestAuthor([{ subject, predicate, object, source: { type: 'manual' } }]), at),
        )
      }
      await hub.context.database.transaction(hub.tenant, (tx) =>
        putRelations(
          tx,
          withTestAuthor([{ subject, predicate: 'a', object, source: { type: 'manual' } }]),
          '2031-01-01T00:00:00.000Z',
        ),
      )
      const sorted = async (sort: string | undefined, more = {}) =>
        list(`subject.id eq '${subject.id}'`, { ...(sort === undefined ? {} : { sort }), ...more })
      const order = async (sort?: string) => (await sorted(sort)).data.map(({ predicate }) => predicate).join('')

      assert.equal(await order(), 'caebd')
      assert.equal(await order('createdTimestamp'), 'caebd')
      assert.equal(await order('-createdTimestamp'), 'dbeac')
      assert.equal(await order('lastModifiedTimestamp'), 'cebda')
      assert.equal(await order('-predicate'), 'edcba')
      assert.equal(await order('predicate,-createdTimestamp'), 'abcde')

      const second = await sorted('predicate', { limit: 2, offset: 2 })
      assert.deepEqual(
        second.data.map(({ predicate }) => predicate),
        ['c', 'd'],
      )
      const { totalElements, elements, offset } = second.meta
      assert.deepEqual([totalElements, elements, offset], [5, 2, 2])
      assert.deepEqual((await sorted('predicate', { offset: 99 })).meta, { totalElements: 5, elements: 0, offset: 99 })
      assert.deepEqual((await sorted('predicate', { limit: 3, offset: 2 })).meta.totalElements, 5)
    })
  })

  describe('DELETE /relations', () => {
    test('deletes relations by id, reports missing ones, and records history and events', async () => {
      const [one, other] = [await related(), await related()]
      const missing = v7()
      const body = { data: { ids: [other.id, missing, one.id.toUpperCase()] } }
      assert.deepEqual(await operator.inventory.deleteRelations({ body }), {
        data: { deleted: 2, notFound: [missing] },
      })
      assert.deepEqual(await relationsOf(one.subject), [])
      for (const relation of [one, other]) {
        const row = await ended(relation.id)
        assert.equal(row.principal_id, operator.principalId)
        assert.equal(row.created_at.slice(0, 10), relation.createdTimestamp.slice(0, 10))
        assert.deepEqual(await eventsOf(relation), ['inventory.relation.created', 'inventory.relation.deleted'])
      }
      assert.deepEqual((await operator.inventory.deleteRelations({ body })).data.deleted, 0)
    })

    test('accepts 1 to 50 ids in DELETE /relations', async () => {
      const ids = Array.from({ length: 51 }, () => v7())
      const status = async (some: string[]) =>
        (await operator.exchange(inventory, 'deleteRelations', { body: { data: { ids: some } } })).status
      assert.deepEqual([await status([]), await status(ids), await status(ids.slice(1))], [400, 400, 200])
    })

    test('requires both global permissions to delete relations by id', async () => {
      const relation = await related()
      const body = { data: { ids: [relation.id] } }
      const query = { relationsFilter: `subject.id eq '${relation.subject.id}'` }
      const permissions = ['glb_inventory_read_relation_data', 'glb_inventory_write_relation_data'] as const
      for (const permission of permissions) {
        const half = await createCaller(hub, [{ permissions: [permission] }])
        assert.equal((await half.exchange(inventory, 'deleteRelations', { body })).status, 403)
        assert.equal((await half.exchange(inventory, 'deleteRelationsByFilter', { query })).status, 403)
      }
      const both = await createCaller(hub, [{ permissions }])
      assert.deepEqual((await both.inventory.deleteRelationsByFilter({ query })).data, { deletable: 1, deleted: 1 })
    })

    test('creates a deleted system-managed relation again at the next system event', async () => {
      const { subject, object } = await two()
      const recordEvent = () =>
        hub.context.database.transaction(hub.tenant, (tx) =>
          putRelations(
            tx,
            withTestAuthor([{ subject, predicate: 'found_by_gateway', object, source: { type: 'discovery' } }]),
          ),
        )
      const [first] = await recordEvent()
      await operator.inventory.deleteRelations({ body: { data: { ids: [first?.relation.id ?? ''] } } })
      assert.deepEqual(await relationsOf(subject), [])
      const [again] = await recordEvent()
      assert.equal(again?.outcome, 'created')
      assert.notEqual(again?.relation.id, first?.relation.id)
      assert.equal((await relationsOf(subject)).length, 1)
    })
  })

  describe('DELETE /relations/query-results', () => {
    const refused = async (relationsFilter: string) => {
      const answer = await operator.exchange(inventory, 'deleteRelationsByFilter', { query: { relationsFilter } })
      assert.equal(answer.status, 400)
      return problemIn(answer).code
    }

    test('refuses a deletion filter with an alternative that names no subject, object or predicate', async () => {
      const id = v7()
      for (const wide of [
        `source.type eq 'manual'`,
        `predicate ne 'x'`,
        `not (predicate eq 'x')`,
        `predicate eq 'x' or source.type eq 'manual'`,
        `object.type eq 'asset' and subject.type eq 'asset'`,
        `contains(predicate, 'x')`,
        `subject.id ne '${id}'`,
        `(predicate eq 'x' or object.type eq 'node') and source.type eq 'manual'`,
      ]) {
        assert.equal(await refused(wide), 'filter_not_narrow', wide)
      }
      for (const narrow of [
        `predicate eq '${id}'`,
        `subject.id eq '${id}' or object.id in ('${id}') and source.type eq 'manual'`,
        `object.type eq 'asset' and object.id eq '${id}' and predicate eq 'x'`,
        `(predicate eq '${id}' or source.type eq 'manual') and subject.id eq '${id}'`,
      ]) {
        const { data } = await operator.inventory.deleteRelationsByFilter({ query: { relationsFilter: narrow } })
        assert.deepEqual(data, { deletable: 0, deleted: 0 }, narrow)
      }
      assert.equal(await refused(''), 'invalid_filter')
      assert.equal(await refused(`nothing eq 'x'`), 'unknown_property')
      const answer = await operator.exchange(inventory, 'deleteRelationsByFilter', {})
      assert.equal(answer.status, 400)
    })

    test('deletes at most 100 matching relations, oldest first, and reports how many matched', async () => {
      const { subject } = await two()
      const input = Array.from({ length: 130 }, () => ({
        subject,
        predicate: 'is_assigned_to_node',
        object: node(),
        source: { type: 'manual' as const },
      }))
      const stored = await hub.context.database.transaction(hub.tenant, async (tx) => [
        ...(await putRelations(tx, withTestAuthor(input.slice(0, 30)), '2031-01-01T00:00:00.000Z')),
        ...(await putRelations(tx, withTestAuthor(input.slice(30)), '2030-01-01T00:00:00.000Z')),
      ])
      const query = { relationsFilter: `subject.id eq '${subject.id}' and predicate eq 'is_assigned_to_node'` }
      assert.deepEqual((await operator.inventory.deleteRelationsByFilter({ query })).data, {
        deletable: 130,
        deleted: 100,
      })
      const remaining = (await relationsOf(subject)).map(({ id }) => id).toSorted()
      const late = stored.slice(0, 30).map(({ relation }) => relation.id)
      assert.deepEqual(remaining, late.toSorted())
      assert.deepEqual((await operator.inventory.deleteRelationsByFilter({ query })).data, {
        deletable: 30,
        deleted: 30,
      })
      assert.deepEqual((await operator.inventory.deleteRelationsByFilter({ query })).data, { deletable: 0, deleted: 0 })
      assert.ok((await ended(late[0] ?? '')) !== undefined)
    })

    test('deletes each relation once when two deletions by filter run concurrently', async () => {
      const { subject } = await two()
      const input = Array.from({ length: 150 }, () => ({
        subject,
        predicate: 'x',
        object: node(),
        source: { type: 'manual' as const },
      }))
      await hub.context.database.transaction(hub.tenant, (tx) => putRelations(tx, withTestAuthor(input)))
      const query = { relationsFilter: `subject.id eq '${subject.id}'` }
      const answers = await Promise.all([1, 2].map(() => operator.inventory.deleteRelationsByFilter({ query })))
      assert.equal(
        answers.reduce((sum, { data }) => sum + data.deleted, 0),
        150,
      )
    })
  })

  describe('relations of an asset', () => {
    test('ends all relations of a deleted asset, as subject and object, and keeps relations between nodes', async () => {
      const { subject, object } = await two()
      const place = node()
      for (const [from, to] of [
        [subject, object],
        [object, subject],
        [place, subject],
        [subject, subject],
        [place, object],
      ] as const) {
        await postRelation(operator, { subject: from, predicate: 'x', object: to })
      }
      await postRelation(operator, { subject: node(subject.id), predicate: 'x', object: place })
      await deleted(subject.id)
      const remaining = (await relationsOf(place)).map((relation) => [relation.subject, relation.object])
      assert.deepEqual(remaining, [
        [place, object],
        [node(subject.id), place],
      ])
      assert.equal((await relationsOf(object)).length, 1)
    })

    test('lists and counts incoming and outgoing relations of an asset, except relations to hidden assets', async () => {
      const { subject, object } = await two({ subject: lineGroup, object: officeGroup })
      const near = await two({ subject: lineGroup })
      const place = node()
      for (const [from, to] of [
        [subject, object],
        [object, subject],
        [subject, near.subject],
        [near.subject, subject],
        [subject, place],
        [subject, subject],
      ] as const) {
        await postRelation(operator, { subject: from, predicate: 'x', object: to })
      }
      const params = { id: subject.id }
      const all = await operator.inventory.listAssetRelations({ params })
      assert.deepEqual([all.meta.totalElements, all.data.length], [6, 6])

      const caller = await hub.as('viewer', { accessGroupId: lineGroup })
      const some = await caller.inventory.listAssetRelations({ params })
      assert.deepEqual(some.meta, { totalElements: 4, elements: 4, offset: 0 })
      assert.ok(!JSON.stringify(some).includes(object.id))
      const paged = await caller.inventory.listAssetRelations({ params, query: { limit: 3 } })
      assert.deepEqual(paged.meta, { totalElements: 4, elements: 3, offset: 0 })
      assert.deepEqual(paged.data, some.data.slice(0, 3))

      const outsider = await hub.as('viewer', { accessGroupId: officeGroup })
      const hidden = await outsider.exchange(inventory, 'listAssetRelations', { params })
      const missing = await outsider.exchange(inventory, 'listAssetRelations', { params: { id: v7() } })
      assert.deepEqual([hidden.status, missing.status], [404, 404])
      assert.equal(problemIn(hidden).code, problemIn(missing).code)
    })
  })

  describe('GET /assets/{id}/relations/history', () => {
    test('returns the users who created and ended a relation, latest change first, without refreshes', async () => {
      const other = await hub.as('operator')
      const { subject, object } = await two()
      const input = { subject, predicate: 'is_part_of', object, source: { value: 'by hand' } }
      const [relation] = relationsIn(await postRelation(operator, input))
      assert.equal((await postRelation(other, input)).status, 200)
      for (const { id } of [subject, object]) {
        const { data, meta } = await historyOf(id)
        assert.deepEqual(meta, { totalElements: 1, elements: 1, offset: 0 })
        assert.deepEqual(
          [data[0]?.time, data[0]?.change, data[0]?.principal, data[0]?.source, data[0]?.relation.id],
          [relation?.createdTimestamp, 'created', operator.principalId, relation?.source, relation?.id],
        )
        assert.match(data[0]?.principalName ?? '', /^operator-/)
      }

      await other.inventory.deleteRelations({ body: { data: { ids: [relation?.id ?? ''] } } })
      const [again] = relationsIn(await postRelation(other, input))
      assert.deepEqual(await changesOf(subject), [
        ['created', other.principalId, again?.id],
        ['deleted', other.principalId, relation?.id],
        ['created', operator.principalId, relation?.id],
      ])
      assert.deepEqual(await changesOf(object), await changesOf(subject))
    })

    test('returns pages of relation history with an exact total, and lists a relation of an asset to itself once', async () => {
      const { subject, object } = await two()
      for (const [from, to] of [
        [subject, object],
        [object, subject],
        [subject, node(subject.id)],
        [subject, subject],
        [node(subject.id), node()],
      ] as const) {
        await postRelation(operator, { subject: from, predicate: 'x', object: to })
      }
      const query = { relationsFilter: `subject.id eq '${subject.id}' and object.id eq '${subject.id}'` }
      await operator.inventory.deleteRelationsByFilter({ query })
      const complete = await historyOf(subject.id)
      assert.deepEqual(complete.meta, { totalElements: 6, elements: 6, offset: 0 })
      const second = await historyOf(subject.id, { query: { limit: 4, offset: 2 } })
      assert.deepEqual(second.meta, { totalElements: 6, elements: 4, offset: 2 })
      assert.deepEqual(second.data, complete.data.slice(2))
      assert.deepEqual((await historyOf(subject.id, { query: { limit: 2 } })).data, complete.data.slice(0, 2))
    })

    test('records the sender as author of relations from a write, a system event or a merge', async () => {
      const tag = (value: string) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })
      const put = async (value: string, more = {}) => {
        const complete = { functional_object_type: 'Device', asset_identifiers: [tag(value)], ...more }
        const { result } = await applyWrite(operator, 'createAsset', { body: { data: { asset: complete } } })
        return asset(result.assetId)
      }
      const [tagOfRack, tagOfModule] = [v7(), v7()]
      const rack = await put(tagOfRack)
      const related_asset = { asset_identifiers: [tag(tagOfRack)] }
      const module = await put(tagOfModule, {
        asset_relations: [{ predicate: 'is_module_of', related_asset, relational_role_of_related_asset: 'object' }],
      })
      const { tenantId } = hub.tenant
      const system = systemCaller({ tenantId, tenantName: '' })
      await hub.context.peers(inventory, system).recordFound({
        body: { data: { gateway: rack.id, assets: [module.id], source: 'link' } },
      })
      assert.deepEqual(
        (await historyOf(module.id)).data.map(({ principalName, source, relation }) => [
          principalName?.split('-')[0],
          source,
          relation.predicate,
        ]),
        [
          [system.principal.name, { type: 'discovery', value: 'link' }, 'found_by_gateway'],
          ['operator', { type: 'manual' }, 'is_module_of'],
        ],
      )

      const merger = await hub.as('administrator')
      const twin = await put(v7())
      await applyWrite(merger, 'mergeAsset', { params: { id: twin.id }, body: { data: { other: module.id } } })
      const changed = await changesOf(twin)
      assert.deepEqual(
        changed.map(([change, who]) => [change, who]),
        Array.from({ length: 2 }, () => ['created', merger.principalId]),
      )
      const parted = (await historyOf(module.id)).data.filter(({ change }) => change === 'deleted')
      assert.deepEqual(
        parted.map(({ principal }) => principal),
        [merger.principalId, merger.principalId],
      )
    })

    test('lists relations of a deleted asset in the history of both ends, if its last access group is readable', async () => {
      const { subject, object } = await two({ subject: lineGroup, object: lineGroup })
      const place = node()
      await postRelation(operator, { subject, predicate: 'feeds', object })
      await postRelation(operator, { subject: object, predicate: 'is_assigned_to_node', object: place })
      const remover = await hub.as('operator')
      await applyWrite(remover, 'deleteAssets', { body: { data: { ids: [object.id] } } })
      const changes = (entries: readonly (readonly unknown[])[]) => entries.map(([change, who]) => [change, who])
      const expected = [
        ['deleted', remover.principalId],
        ['created', operator.principalId],
      ]
      assert.deepEqual(changes(await changesOf(subject)), expected)
      assert.deepEqual(changes(await changesOf(object)), [expected[0], expected[0], expected[1], expected[1]])

      const reader = await hub.as('viewer', { accessGroupId: lineGroup })
      assert.deepEqual((await historyOf(subject.id, { caller: reader })).meta.totalElements, 2)
      assert.deepEqual((await historyOf(object.id, { caller: reader })).meta.totalElements, 4)
      await applyWrite(operator, 'setAccessGroup', {
        params: { id: subject.id },
        body: { data: { access_group: officeGroup } },
      })
      const other = await hub.as('viewer', { accessGroupId: officeGroup })
      assert.deepEqual((await historyOf(subject.id, { caller: other })).meta.totalElements, 0)
    })

    test('returns the names of both ends of a relation, and the last name of a deleted asset', async () => {
      const { subject, object } = await two()
      const rename = (id: string, name: string) =>
        applyWrite(operator, 'setName', { params: { id }, body: { data: { name } } })
      await rename(subject.id, 'Conveyor')
      await rename(object.id, 'Drive')
      await postRelation(operator, { subject, predicate: 'feeds', object })
      await postRelation(operator, { subject, predicate: 'is_assigned_to_node', object: node() })
      await rename(object.id, 'Old drive')
      await applyWrite(operator, 'deleteAssets', { body: { data: { ids: [object.id] } } })
      const names = async () =>
        (await historyOf(subject.id)).data.map(({ subjectName, objectName }) => [subjectName, objectName])
      assert.deepEqual(await names(), [
        ['Conveyor', 'Old drive'],
        ['Conveyor', null],
        ['Conveyor', 'Old drive'],
      ])
    })

    test('does not list or count relation changes that happened while the other asset was in a hidden group', async () => {
      const { subject, object } = await two({ subject: lineGroup, object: officeGroup })
      const near = await two({ subject: lineGroup })
      await postRelation(operator, { subject, predicate: 'x', object: near.subject })
      const [hidden] = relationsIn(await postRelation(operator, { subject, predicate: 'x', object }))
      await postRelation(operator, { subject: object, predicate: 'y', object: subject })
      await operator.inventory.deleteRelations({ body: { data: { ids: [hidden?.id ?? ''] } } })
      assert.equal((await historyOf(subject.id)).meta.totalElements, 4)

      const caller = await hub.as('viewer', { accessGroupId: lineGroup })
      const some = await historyOf(subject.id, { caller })
      assert.deepEqual(some.meta, { totalElements: 1, elements: 1, offset: 0 })
      assert.ok(!JSON.stringify(some).includes(object.id))
      const beyond = await historyOf(subject.id, { caller, query: { offset: 7 } })
      assert.deepEqual(beyond.meta, { totalElements: 1, elements: 0, offset: 7 })

      await applyWrite(operator, 'setAccessGroup', {
        params: { id: object.id },
        body: { data: { access_group: lineGroup } },
      })
      assert.equal((await historyOf(subject.id, { caller })).meta.totalElements, 1)
      await postRelation(operator, { subject, predicate: 'z', object })
      assert.equal((await historyOf(subject.id, { caller })).meta.totalElements, 2)
    })

    test('returns 404 for the relation history of an asset that is hidden, missing or of another tenant', async () => {
      const { subject, object } = await two({ subject: lineGroup })
      await postRelation(operator, { subject, predicate: 'x', object })
      const outsider = await hub.as('viewer', { accessGroupId: officeGroup })
      const stranger = await hub.as('operator', { tenant: await hub.anotherTenant() })
      for (const [caller, id] of [
        [outsider, subject.id],
        [outsider, v7()],
        [stranger, subject.id],
      ] as const) {
        const answer = await caller.exchange(inventory, 'readRelationHistory', { params: { id } })
        assert.deepEqual([answer.status, problemIn(answer).code], [404, 'not_found'])
      }
    })

    test('returns a null author for relations that were created before authors were stored', async () => {
      const { subject, object } = await two()
      const [relation] = relationsIn(await postRelation(operator, { subject, predicate: 'x', object }))
      await hub.asOwner((owner) =>
        owner.query(
          'update relations set created_by_id = null, created_by_name = null where tenant_id = $1 and id = $2',
          [hub.tenant.tenantId, relation?.id],
        ),
      )
      const [entry] = (await historyOf(subject.id)).data
      assert.deepEqual([entry?.principal, entry?.principalName], [null, null])
      await operator.inventory.deleteRelations({ body: { data: { ids: [relation?.id ?? ''] } } })
      assert.deepEqual(await changesOf(subject), [
        ['deleted', operator.principalId, relation?.id],
        ['created', null, relation?.id],
      ])
    })
  })

  test('GET /relations/predicates returns the predicates in use with their counts', async () => {
    const tenant = await hub.anotherTenant()
    const caller = await hub.as('operator', { tenant })
    for (const predicate of ['b', 'a', 'b']) await postRelation(caller, { subject: node(), predicate, object: node() })
    assert.deepEqual(await caller.inventory.listPredicates({}), {
      data: [
        { predicate: 'a', count: 1 },
        { predicate: 'b', count: 2 },
      ],
    })
  })

  test('creates a relation once when one write contains it several times, and refreshes it for each repeat', async () => {
    const { subject, object } = await two()
    const input = { subject, predicate: 'x', object, source: { type: 'discovery' as const } }
    const put = await hub.context.database.transaction(hub.tenant, (tx) =>
      putRelations(
        tx,
        withTestAuthor([
          input,
          { ...input, source: { type: 'discovery', value: 'link' } },
          input,
          { ...input, predicate: 'y' },
        ]),
      ),
    )
    assert.deepEqual(
      put.map(({ outcome }) => outcome),
      ['created', 'refreshed', 'refreshed', 'created'],
    )
    // Each result has the state after its own write, not after later writes.
    assert.deepEqual(
      put.map(({ relation }) => relation.sourceValue),
      [null, 'link', 'link', null],
    )
    const filter = `subject.id eq '${subject.id}' and predicate eq 'x'`
    const { data } = await operator.inventory.listRelations({ query: { filter } })
    assert.deepEqual(
      data.map(({ source }) => source.value),
      ['link'],
    )
  })
})

async function two(groups: { subject?: string; object?: string } = {}) {
  const [subject = '', object = ''] = await createAssets(hub, [
    { name: 'motor', ...(groups.subject === undefined ? {} : { accessGroupId: groups.subject }) },
    { name: 'pump', ...(groups.object === undefined ? {} : { accessGroupId: groups.object }) },
  ])
  return { subject: asset(subject), object: asset(object) }
}

async function related(predicate = 'is_part_of'): Promise<Relation> {
  const [relation] = relationsIn(await postRelation(operator, { ...(await two()), predicate }))
  assert.ok(relation !== undefined)
  return relation
}

async function list(filter: string, more: Record<string, unknown> = {}): Promise<Listed> {
  return (await operator.inventory.listRelations({ query: { filter, ...more } })) as Listed
}

async function relationsOf({ id }: Entity): Promise<Relation[]> {
  return (await list(`subject.id eq '${id}' or object.id eq '${id}'`)).data
}

type HistoryOptions = { caller?: TestCaller; query?: { limit?: number; offset?: number } }

function historyOf(id: string, { caller = operator, query = {} }: HistoryOptions = {}) {
  return caller.inventory.readRelationHistory({ params: { id }, query })
}

async function changesOf({ id }: Entity) {
  const { data } = await historyOf(id)
  return data.map(({ change, principal, relation }) => [change, principal, relation.id] as const)
}

async function eventsOf(relation: Relation): Promise<string[]> {
  return hub.asOwner(async (owner) => {
    const { rows } = await owner.query<{ type: string }>(
      'select type from events where tenant_id = $1 and subject = $2 order by id',
      [hub.tenant.tenantId, `relation/${relation.id}`],
    )
    return rows.map(({ type }) => type)
  })
}

async function ended(id: string) {
  return hub.asOwner(async (owner) => {
    const { rows } = await owner.query('select * from ended_relations where tenant_id = $1 and id = $2', [
      hub.tenant.tenantId,
      id,
    ])
    return rows[0]
  })
}

async function deleted(id: string): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    const group = (await findGroups(tx, [id])).get(id) ?? ''
    await recountFacets(tx, { stored: [id], written: [] })
    await deleteAssets(tx, [id])
    await changeCounts(tx, new Map([[group, -1]]))
    await endRelationsOf(tx, [id], { principalId: null, principalName: 'a test' })
  })
}

/** Writes the same relation again without a source, after the clock has advanced. */
async function postLater(input: TestRelation, before: Relation | undefined) {
  for (;;) {
    const answer = await postRelation(operator, { ...input, source: {} })
    if (relationsIn(answer)[0]?.lastModifiedTimestamp !== before?.lastModifiedTimestamp) return answer
  }
}
