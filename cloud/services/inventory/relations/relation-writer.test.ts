import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import { type Entity, inventory, inventoryLimits, type Relation } from '@millwright/api/inventory/inventory.ts'
import type { RelationBatchResult } from '@millwright/api/inventory/relations.ts'
import type { Problem, ProblemDocument } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { noRights } from '../../../platform/access/rights.ts'
import { Database, type Scope, type Transaction } from '../../../platform/database/database.ts'
import { endSessions, sessionsBlockedBy } from '../../../platform/testing/blocked-sessions.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  applyWrite,
  assertCounts,
  asset,
  createAssets,
  createCaller,
  node,
  postRelation,
  type TestRelation,
} from '../testing.ts'
import { RelationWriter } from './relation-writer.ts'

type Batch = { created: number; refreshed: number; failed: number; results: RelationBatchResult[] }

const putting = /^\s*insert into relations\b/

let hub: TestHub
let operator: TestCaller

describe('RelationWriter', () => {
  before(async () => {
    // This file uses its own hub, because one test makes the database refuse a predicate.
    hub = await testHub({ own: true })
    operator = await hub.as('operator')
  })

  after(async () => {
    await assertCounts(hub)
    await hub[Symbol.asyncDispose]()
  })

  describe('concurrent POST /relations', () => {
    test('commits concurrent requests together, each with its own response, audit entry and event', async () => {
      const callers = await Promise.all(Array.from({ length: 4 }, () => hub.as('operator')))
      const [hubId = ''] = await createAssets(hub, [{ name: 'switch' }])
      const inputs = Array.from({ length: 40 }, () => ({ subject: node(), predicate: 'x', object: asset(hubId) }))
      const answers: Awaited<ReturnType<typeof postRelation>>[] = []
      const sent = await hub.statements(async () => {
        const requests = inputs.map((one, index) => postRelation(callers[index % 4] ?? operator, one))
        answers.push(...(await Promise.all(requests)))
      })
      assert.ok(sent.filter(({ text }) => putting.test(text)).length < 20)
      for (const [index, { status, body }] of answers.entries()) {
        const [relation] = (body as { data: Relation[] }).data
        assert.equal(status, 201)
        assert.deepEqual(relation?.subject, inputs[index]?.subject)
        const recorded = await entriesOf(`relation/${relation?.id}`)
        assert.deepEqual(recorded, [{ action: 'inventory.createRelation', by: callers[index % 4]?.principalId }])
      }
    })

    test('returns and records the source value of each of two concurrent requests for the same relation', async () => {
      const same = { subject: node(), predicate: 'x', object: node() }
      const values = Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? undefined : `survey ${index}`))
      const callers = await Promise.all(values.map(() => hub.as('operator')))
      const answers = await Promise.all(
        callers.map((caller, index) => {
          const value = values[index]
          return postRelation(caller, value === undefined ? same : { ...same, source: { value } })
        }),
      )
      const created = answers.filter(({ status }) => status === 201)
      assert.equal(created.length, 1)
      for (const [index, { body }] of answers.entries()) {
        const value = values[index]
        if (value === undefined) continue
        const [relation] = (body as { data: Relation[] }).data
        assert.equal(relation?.source.value, value)
        assert.deepEqual(await sourcesRecordedOf(callers[index]?.principalId), [{ type: 'manual', value }])
      }
      const [creator] = await creatorsOf(same.subject.id)
      assert.equal(creator, callers[answers.findIndex(({ status }) => status === 201)]?.principalId)
    })

    test('refuses an invalid concurrent request without affecting the others', async () => {
      const [motorId = '', other = ''] = await createAssets(hub, [{ name: 'motor' }, { name: 'pump' }])
      const outsider = await createCaller(hub, [{ permissions: ['glb_inventory_write_relation_data'] }])
      const good = { subject: asset(motorId), predicate: 'x', object: asset(other) }
      const answers = await Promise.all([
        ...Array.from({ length: 8 }, (_, index) => postRelation(operator, { ...good, predicate: `x${index}` })),
        postRelation(operator, { ...good, object: asset(v7()) }),
        postRelation(outsider, good),
        postRelation(operator, { ...good, predicate: 'is_running_on' }),
        ...Array.from({ length: 8 }, (_, index) => postRelation(operator, { ...good, predicate: `y${index}` })),
      ])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [...Array(8).fill(201), 422, 422, 409, ...Array(8).fill(201)],
      )
    })

    test('delays only the request whose asset is locked', async () => {
      const [held = '', free = ''] = await createAssets(hub, [{ name: 'held' }, { name: 'free' }])
      const toHeld = await hub.asOwner(async (owner) => {
        await owner.query('begin')
        await owner.query('select from assets where tenant_id = $1 and id = $2 for update', [hub.tenant.tenantId, held])
        const waiting = postRelation(operator, { subject: asset(free), predicate: 'x', object: asset(held) })
        const others = Array.from({ length: 20 }, () => ({ subject: asset(free), predicate: 'x', object: node() }))
        const answers = await Promise.all(others.map((input) => postRelation(operator, input)))
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.equal(await Promise.race([waiting, 'still waiting']), 'still waiting')
        await owner.query('rollback')
        return waiting
      })
      assert.equal(toHeld.status, 201)
    })

    test('fails only the request whose relation the database refuses', async () => {
      await hub.asOwner((owner) =>
        owner.query(`alter table relations add constraint no_poison check (predicate <> 'poison') not valid`),
      )
      const inputs = Array.from({ length: 20 }, (_, index) => ({
        subject: node(),
        predicate: index === 7 ? 'poison' : 'x',
        object: node(),
      }))
      const answers = await Promise.all(inputs.map((one) => postRelation(operator, one)))
      assert.deepEqual(
        answers.map(({ status }) => status),
        inputs.map(({ predicate }) => (predicate === 'poison' ? 500 : 201)),
      )
      await hub.asOwner((owner) => owner.query('alter table relations drop constraint no_poison'))
    })

    test('returns 503 to all requests of a transaction whose connection ends, and writes later requests', async () => {
      const relate = () => postRelation(operator, { subject: node(), predicate: 'x', object: node() })
      await hub.asOwner(async (owner) => {
        await owner.query('begin')
        await owner.query('lock table relation_counts in share mode')
        const answers = Promise.all(Array.from({ length: 20 }, relate))
        for (let ended = 0; ended === 0; ) {
          const blocked = await sessionsBlockedBy(owner, hub.database)
          await endSessions(hub.database, blocked)
          ended = blocked.length
        }
        await owner.query('rollback')
        const codes = (await answers).map(({ status, body }) => (body as ProblemDocument).code ?? status)
        assert.ok(codes.includes('unavailable'))
        assert.deepEqual(new Set([...codes, 201]), new Set(['unavailable', 201]))
      })
      assert.equal((await relate()).status, 201)
    })

    test('fails all requests of a transaction without a second wait when no connection becomes free', async () => {
      const { app: address, server } = hub.database
      let transactionCount = 0
      class Watched extends Database {
        override transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
          transactionCount++
          return super.transaction(scope, work)
        }
      }
      await using database = new Watched({ address, server, connections: 1, waitMs: 200 })
      const relationWriter = new RelationWriter(database)
      const { tenantId, name: tenantName } = hub.tenant
      const principal = { id: operator.principalId, kind: 'server_user', name: 'operator' } as const
      const request = { id: v7(), address: undefined }
      const caller = { tenantId, tenantName, principal, roles: [], rights: noRights, request }
      const { promise: gate, resolve: open } = Promise.withResolvers<void>()
      const holding = database.transaction({ tenantId }, () => gate)
      const inputs = Array.from({ length: 20 }, () => ({ subject: node(), predicate: 'x', object: node() }))
      const settled = await Promise.allSettled(inputs.map((one) => relationWriter.write(caller, one)))
      const codes = settled.map((one) => (one.status === 'rejected' ? (one.reason as Problem).code : 'written'))
      assert.deepEqual(new Set(codes), new Set(['overloaded']))
      assert.ok(transactionCount < inputs.length / 2, `${transactionCount} transactions were started`)
      open()
      await holding
    })

    test('repeats the response for an Idempotency-Key that was first sent among concurrent requests', async () => {
      const data = { subject: node(), predicate: 'x', object: node() }
      const headers = { 'idempotency-key': 'a relation' }
      const once = () => operator.exchange(inventory, 'createRelation', { body: { data }, headers })
      const [first] = await Promise.all([
        once(),
        ...Array.from({ length: 8 }, () => postRelation(operator, { ...data, subject: node() })),
      ])
      assert.deepEqual([first?.status, (await once()).status], [201, 201])
      assert.deepEqual((await once()).body, first?.body)
    })
  })

  describe('relations and concurrent writes of assets', () => {
    test('does not block changes of an asset while its relations are written', async () => {
      const [id = ''] = await createAssets(hub, [{ name: 'related' }])
      await hub.asOwner(async (owner) => {
        await owner.query('begin')
        await owner.query('select from assets where tenant_id = $1 and id = $2 for key share', [
          hub.tenant.tenantId,
          id,
        ])
        const { state } = await applyWrite(operator, 'setName', { params: { id }, body: { data: { name: 'renamed' } } })
        assert.equal(state, 'finished')
        await owner.query('rollback')
      })
    })

    test('deletes an asset and its relations while concurrent requests add relations to it', async () => {
      const [id = ''] = await createAssets(hub, [{ name: 'in demand' }])
      let isOver = false
      const statuses: number[] = []
      const relate = async () => {
        while (!isOver) {
          const relations = Array.from({ length: 20 }, () => ({ subject: asset(id), predicate: 'x', object: node() }))
          const { status, data } = await writeMany(operator, relations)
          statuses.push(status)
          if (data.failed > 0) return
        }
      }
      const relating = Promise.all(Array.from({ length: 5 }, relate))
      const { state } = await applyWrite(operator, 'deleteAssets', { body: { data: { ids: [id] } } }).finally(() => {
        isOver = true
      })
      await relating
      assert.equal(state, 'finished')
      assert.deepEqual(new Set(statuses), new Set([200]))
      const { rows } = await hub.asOwner((owner) =>
        owner.query('select id from relations where tenant_id = $1 and subject_id = $2', [hub.tenant.tenantId, id]),
      )
      assert.deepEqual(rows, [])
    })
  })

  describe('POST /relations/batch', () => {
    test('returns one result for each relation of a batch, in the order of the request', async () => {
      const [motor = '', pump = ''] = await createAssets(hub, [{ name: 'motor' }, { name: 'pump' }])
      const drives = { subject: asset(motor), predicate: 'drives', object: asset(pump) }
      await postRelation(operator, drives)
      const { status, data } = await writeMany(operator, [
        { ...drives, predicate: 'is_connected_to', isBidirectional: true },
        drives,
        { ...drives, object: asset(v7()) },
        { ...drives, predicate: 'found_by_gateway' },
        { subject: node(), predicate: 'x', object: node(), source: { value: 'survey' } },
      ])
      assert.equal(status, 200)
      assert.deepEqual([data.created, data.refreshed, data.failed], [2, 1, 2])
      assert.deepEqual(
        data.results.map(({ outcome, ids, code }) => [outcome, ids?.length, code]),
        [
          ['created', 2, undefined],
          ['refreshed', 1, undefined],
          ['failed', undefined, 'asset_not_found'],
          ['failed', undefined, 'system_managed_predicate'],
          ['created', 1, undefined],
        ],
      )
      assert.equal(data.results[2]?.errors?.[0]?.pointer, '/data/relations/2/object')
      const { data: found } = await operator.inventory.listAssetRelations({ params: { id: pump }, query: {} })
      assert.deepEqual(
        found.map(({ id }) => id).toSorted(),
        data.results
          .slice(0, 2)
          .flatMap(({ ids = [] }) => ids)
          .toSorted(),
      )
    })

    test('requires the permissions of a single write for each relation of a batch, and hides unreadable assets', async () => {
      const admin = await hub.as('administrator')
      const group = await admin.authorization.createAccessGroup({ body: { data: { name: `hidden-${v7()}` } } })
      const [readable = '', hidden = ''] = await createAssets(hub, [
        { name: 'seen' },
        { name: 'hidden', accessGroupId: group.data.id },
      ])
      const [{ id: home = '' } = {}] = (await admin.authorization.listAccessGroups({ query: {} })).data.filter(
        ({ name }) => name === 'default',
      )
      const read = 'inventory_read_asset_data' as const
      const relate = { permissions: ['glb_inventory_write_relation_data'] as const }
      const writer = await createCaller(hub, [
        relate,
        { permissions: [read, 'inventory_write_asset_data'], accessGroupId: home },
      ])
      const reader = await createCaller(hub, [relate, { permissions: [read], accessGroupId: home }])
      const missing = v7()
      const batch = [readable, hidden, missing].map((id) => ({ subject: asset(id), predicate: 'x', object: node() }))
      const codesOf = async (caller: TestCaller) =>
        (await writeMany(caller, batch)).data.results.map(({ outcome, code }) => code ?? outcome)
      assert.deepEqual(await codesOf(writer), ['created', 'asset_not_found', 'asset_not_found'])
      assert.deepEqual(await codesOf(reader), ['forbidden', 'asset_not_found', 'asset_not_found'])
      const viewer = await hub.as('viewer')
      assert.equal((await writeMany(viewer, batch)).status, 403)
    })

    test('creates relations of an asset to nodes of hierarchies up to the limit', async () => {
      const [id = ''] = await createAssets(hub, [{ name: 'with many nodes' }])
      const { nodesPerAsset } = inventoryLimits
      const batch = Array.from({ length: nodesPerAsset + 1 }, () => {
        return { subject: asset(id), predicate: assignmentPredicate, object: node() }
      })
      const { data } = await writeMany(operator, batch)
      assert.deepEqual([data.created, data.failed], [nodesPerAsset, 1])
      assert.equal(data.results.at(-1)?.code, 'too_many_relations')
      const [first = assert.fail()] = batch
      assert.equal((await postRelation(operator, first)).status, 200)
      assert.equal((await postRelation(operator, { ...first, object: node() })).status, 409)
      const reverse = { subject: node(), predicate: assignmentPredicate, object: asset(id), isBidirectional: true }
      assert.equal((await postRelation(operator, reverse)).status, 409)
    })

    test('records one audit entry for a batch of relations, and one event for each new relation', async () => {
      const first = { subject: node(), predicate: 'x', object: node() }
      const second = { ...first, predicate: 'y' }
      await writeMany(operator, [first])
      const caller = await hub.as('operator')
      const { data } = await writeMany(caller, [first, second, { ...first, predicate: 'is_running_on' }])
      const recorded = await hub.asOwner(async (owner) => {
        const text = `select action, detail from audit_entries where tenant_id = $1 and principal_id = $2`
        return (await owner.query(text, [hub.tenant.tenantId, caller.principalId])).rows
      })
      assert.deepEqual(recorded, [
        { action: 'inventory.createRelations', detail: { created: 1, refreshed: 1, failed: 1 } },
      ])
      const events = await Promise.all(data.results.flatMap(({ ids = [] }) => ids).map(eventsOf))
      assert.deepEqual(events, [['inventory.relation.created'], ['inventory.relation.created']])
    })

    test('accepts 1 to 1,000 relations in a batch', async () => {
      const one = { subject: node(), predicate: 'x', object: node() }
      assert.equal((await writeMany(operator, [])).status, 400)
      assert.equal((await writeMany(operator, Array(1_001).fill(one))).status, 400)
      const { status, data } = await writeMany(operator, Array(1_000).fill(one))
      assert.deepEqual([status, data.created, data.refreshed], [200, 1, 999])
    })
  })

  test('creates each relation once for random sequential and concurrent requests', async () => {
    const ids = await createAssets(hub, [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    const entity: fc.Arbitrary<Entity> = fc.constantFrom(...ids.map(asset), ...ids.map(node))
    let run = 0
    const statements = fc.array(
      fc.record({
        subject: entity,
        predicate: fc.constantFrom('p', 'q'),
        object: entity,
        isBidirectional: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(statements, { minLength: 1, maxLength: 6 }), async (groups) => {
        const mark = `run-${run++}-`
        const marked = groups.map((group) => group.map((one) => ({ ...one, predicate: mark + one.predicate })))
        const outcomes = await Promise.all(
          marked.map(async (group) => {
            if (group.length > 1) return (await writeMany(operator, group)).data.results
            const { status, body } = await postRelation(operator, group[0] as TestRelation)
            const writtenIds = (body as { data: Relation[] }).data.map(({ id }) => id)
            return [{ outcome: status === 201 ? 'created' : 'refreshed', ids: writtenIds }]
          }),
        )
        const expected = new Set(marked.flat().flatMap(namesOf))
        const filter = ['p', 'q'].map((name) => `predicate eq '${mark}${name}'`).join(' or ')
        const { data: found } = await operator.inventory.listRelations({ query: { filter, limit: 100 } })
        assert.deepEqual(new Set(found.flatMap((relation) => namesOf(relation))), expected)
        assert.equal(found.length, expected.size)
        const reportedIds = outcomes.flat().flatMap(({ ids = [] }) => ids)
        assert.deepEqual(new Set(reportedIds), new Set(found.map(({ id }) => id)))
        // Exactly one response reports each new relation as created.
        const makers = outcomes.flat().filter(({ outcome }) => outcome === 'created').length
        assert.ok(makers >= 1 && makers <= expected.size)
      }),
      { numRuns: 30 },
    )
  })
})

function namesOf({ subject, predicate, object, isBidirectional = false }: Omit<TestRelation, 'source'>): string[] {
  const name = (one: Entity, other: Entity) => `${one.type} ${one.id} ${predicate} ${other.type} ${other.id}`
  return isBidirectional ? [name(subject, object), name(object, subject)] : [name(subject, object)]
}

async function writeMany(caller: TestCaller, relations: readonly TestRelation[]) {
  const { status, body } = await caller.exchange(inventory, 'createRelations', { body: { data: { relations } } })
  return { status, data: (body as { data: Batch }).data, problem: body as ProblemDocument }
}

async function entriesOf(target: string): Promise<{ action: string; by: string }[]> {
  return hub.asOwner(async (owner) => {
    const text = `select action, principal_id as by from audit_entries where tenant_id = $1 and target = $2`
    return (await owner.query(text, [hub.tenant.tenantId, target])).rows
  })
}

async function sourcesRecordedOf(principalId: string | undefined): Promise<unknown[]> {
  return hub.asOwner(async (owner) => {
    const text = `select detail -> 'source' as source from audit_entries where tenant_id = $1 and principal_id = $2`
    return (await owner.query(text, [hub.tenant.tenantId, principalId])).rows.map(({ source }) => source)
  })
}

async function creatorsOf(subjectId: string): Promise<string[]> {
  return hub.asOwner(async (owner) => {
    const text = `select created_by_id from relations where tenant_id = $1 and subject_id = $2`
    return (await owner.query(text, [hub.tenant.tenantId, subjectId])).rows.map((row) => row.created_by_id)
  })
}

async function eventsOf(id: string): Promise<string[]> {
  return hub.asOwner(async (owner) => {
    const text = `select type from events where tenant_id = $1 and subject = $2`
    const { rows } = await owner.query<{ type: string }>(text, [hub.tenant.tenantId, `relation/${id}`])
    return rows.map(({ type }) => type)
  })
}
