import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { verifyChain } from '../../platform/audit/verification.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { assertCounts, asset, node } from './testing.ts'

/** The entities that exist at the beginning of a round. Steps select entities from these lists by index. */
type Entities = { assets: string[]; relations: string[]; groups: string[]; merges: { id: string; mergeId: string }[] }

/**
 * One random request. It may name an entity that a concurrent request has deleted. The service then refuses the request.
 */
type Step = { operation: keyof typeof inputs; by: number; one: number; two: number; more: number; twice: boolean }

type Chosen = { id: string; other: string; relation: string; group: string; merge: { id: string; mergeId: string } }

const tag = (number: number) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `t${number % 40}` })
const place = (number: number) => node(`01980000-0000-7000-8000-${String(number % 5).padStart(12, '0')}`)

function device({ one, two, more }: Step, group: string) {
  return {
    functional_object_type: more % 2 === 0 ? 'Device' : 'Gateway',
    name: `device ${more}`,
    asset_identifiers: [tag(one), tag(two)],
    ...(more < 4 ? { access_group: group } : {}),
    asset_relations: [
      {
        predicate: 'feeds',
        related_asset: { asset_identifiers: [tag(one + more)] },
        relational_role_of_related_asset: more % 2 === 0 ? 'subject' : 'object',
        is_bidirectional: more < 3,
      },
    ],
  }
}

function relationInput({ one, two, more }: Step, { id, other }: Chosen) {
  const object = more < 7 ? asset(other) : place(two)
  return { subject: asset(id), predicate: `p${one % 3}`, object, isBidirectional: more % 4 === 0 }
}

/** The operations of the inventory with their inputs. */
const inputs = {
  createAsset: (step: Step, { group }: Chosen) => ({ body: { data: { asset: device(step, group) } } }),
  createAssets: (step: Step, { group }: Chosen) => {
    const more = { ...step, one: step.one + 7, two: step.two + 13, more: (step.more + 1) % 10 }
    return { body: { data: { assets: [device(step, group), device(more, group)] } } }
  },
  setName: ({ more }: Step, { id }: Chosen) => ({ params: { id }, body: { data: { name: `name ${more}` } } }),
  setAccessGroups: (_: Step, { id, other, group }: Chosen) => ({
    body: { data: [id, other].map((asset_id) => ({ asset_id, access_group: group })) },
  }),
  deleteAssets: (_: Step, { id, other }: Chosen) => ({ body: { data: { ids: [...new Set([id, other])] } } }),
  mergeAsset: (_: Step, { id, other }: Chosen) => ({ params: { id }, body: { data: { other } } }),
  undoMerge: (_: Step, { merge }: Chosen) => ({ params: merge }),
  splitAsset: ({ one }: Step, { id }: Chosen) => ({
    params: { id },
    body: { data: { identifiers: [tag(one)] } },
  }),
  createRelation: (step: Step, chosen: Chosen) => ({ body: { data: relationInput(step, chosen) } }),
  createRelations: (step: Step, chosen: Chosen) => {
    const reversed = relationInput(step, { ...chosen, id: chosen.other, other: chosen.id })
    return { body: { data: { relations: [relationInput(step, chosen), reversed] } } }
  },
  deleteRelations: (_: Step, { relation }: Chosen) => ({ body: { data: { ids: [relation] } } }),
  deleteRelationsByFilter: (_: Step, { id }: Chosen) => ({ query: { relationsFilter: `subject.id eq '${id}'` } }),
}

const operations = Object.keys(inputs) as Step['operation'][]

/** Generates the steps that run concurrently. */
function stepsOf(some: readonly Step['operation'][]): fc.Arbitrary<Step[]> {
  const numbers = { by: fc.nat(3), one: fc.nat(99), two: fc.nat(99), more: fc.nat(9) }
  const step = fc.record({ operation: fc.constantFrom(...some), ...numbers, twice: fc.boolean() })
  return fc.array(step, { minLength: 16, maxLength: 16 })
}

/** Queries that return a row for each violation of an invariant. They must return none. */
const violations = {
  'rows of an asset that does not exist': `
    select asset_id from asset_identifiers where tenant_id = $1
    union select asset_id from asset_words where tenant_id = $1
    union select subject_id from relations where tenant_id = $1 and subject_type = 'asset'
    union select object_id from relations where tenant_id = $1 and object_type = 'asset'
    except select id from assets where tenant_id = $1`,
  'an asset without identifiers or search tokens': `
    select id from assets a where tenant_id = $1 and not (
      exists (select from asset_identifiers i where i.tenant_id = $1 and i.asset_id = a.id)
      and exists (select from asset_words w where w.tenant_id = $1 and w.asset_id = a.id))`,
  'an asset that differs from the last entry of its history': `
    (select id, version, access_group_id, document::text from assets where tenant_id = $1
     except
     select asset_id, version, access_group_id, document::text from asset_history where tenant_id = $1)
    union all
    select asset_id, version, access_group_id, change from (
      select distinct on (asset_id) * from asset_history where tenant_id = $1 order by asset_id, version desc) as last
    where (change = 'deleted') = exists (select from assets a where a.tenant_id = $1 and a.id = last.asset_id)`,
  'a history with a gap': `
    select asset_id from asset_history where tenant_id = $1
    group by asset_id having min(version) <> 1 or max(version) <> count(*)`,
  'a change without exactly one event': `
    select * from (
      select 'asset/' || asset_id as subject, change, version from asset_history where tenant_id = $1
      union all select 'relation/' || id, 'created', 0 from relations where tenant_id = $1
      union all select 'relation/' || e.id, c.change, 0
      from ended_relations e, (values ('created'), ('deleted')) as c (change) where e.tenant_id = $1) as happened
    full join (
      select subject, split_part(type, '.', 3) as change, coalesce((data ->> 'version')::bigint, 0) as version, count(*) as times
      from events where tenant_id = $1 and type ~ '^inventory[.](asset|relation)[.](created|updated|deleted)$'
      group by 1, 2, 3) as emitted using (subject, change, version)
    where emitted.times is distinct from 1 or happened.subject is null`,
  'events of one subject in the wrong order': `
    select * from (
      select subject, type, (data ->> 'version')::bigint as version,
             lag((data ->> 'version')::bigint) over changes as earlier, lag(type) over changes as before
      from events where tenant_id = $1 and type ~ '^inventory[.](asset|relation)[.](created|updated|deleted)$'
      window changes as (partition by subject order by position)) as emitted
    where earlier >= version or (type = 'inventory.relation.created' and before is not null)`,
  'events without a position, or gaps between positions': `
    select * from (
      select count(*) as events, count(position) as placed, coalesce(max(position), 0) as newest
      from events where tenant_id = $1) as e
    where events <> placed or events <> newest`,
  'a write that is still queued or failed with an internal error': `
    select id, kind, state, result from operations
    where tenant_id = $1 and (state = 'queued' or result like '%"code":"internal"%')`,
  'a write without exactly one audit entry': `
    select id from operations o where tenant_id = $1 and (
      select count(*) from audit_entries e where e.tenant_id = $1 and e.detail ->> 'statusId' = o.id::text) <> 1`,
}

describe('random concurrent requests to two processes', () => {
  let hub: TestHub
  let second: TestHub
  let callers: TestCaller[]
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    second = await hub.sibling()
    admin = await hub.as('administrator')
    const operator = await hub.as('operator')
    const secondCallers = [admin, operator].map(({ token, principalId }) => second.withToken(token, principalId))
    callers = [admin, operator, ...secondCallers]
  })

  after(async () => {
    await second[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const find = async <Row extends object>(sql: string): Promise<Row[]> =>
    (await hub.asOwner((owner) => owner.query<Row>(sql, [hub.tenant.tenantId]))).rows

  async function settle(): Promise<void> {
    for (const each of [hub, second, hub]) await each.settle()
  }

  async function readEntities(): Promise<Entities> {
    const ids = async (table: string) =>
      (await find<{ id: string }>(`select id from ${table} where tenant_id = $1 order by id`)).map(({ id }) => id)
    const merges = find<Entities['merges'][0]>(
      'select asset_id as id, id as "mergeId" from asset_merges where tenant_id = $1 and undone_at is null order by id',
    )
    const [assets, relations, groups] = [await ids('assets'), await ids('relations'), await ids('access_groups')]
    return { assets, relations, groups, merges: await merges }
  }

  async function run(step: Step, entities: Entities): Promise<void> {
    const pick = <Item>(some: readonly Item[], number: number) => some[number % Math.max(1, some.length)]
    const chosen = {
      id: pick(entities.assets, step.one) ?? v7(),
      other: pick(entities.assets, step.two) ?? v7(),
      relation: pick(entities.relations, step.one) ?? v7(),
      group: pick(entities.groups, step.more) ?? v7(),
      merge: pick(entities.merges, step.one) ?? { id: v7(), mergeId: v7() },
    }
    const caller = callers[step.by] ?? admin
    const input = inputs[step.operation](step, chosen)
    const times = step.twice ? 2 : 1
    const headers = step.twice ? { headers: { 'idempotency-key': v7() } } : {}
    const send = () => caller.exchange(inventory, step.operation, { ...input, ...headers })
    for (const { status, body } of await Promise.all(Array.from({ length: times }, send)))
      assert.ok(status < 500, `${step.operation}: ${status} ${JSON.stringify(body)}`)
  }

  /** Creates an access group, and deletes an access group if it is empty. */
  async function changeGroups({ groups }: Entities): Promise<void> {
    await admin.authorization.createAccessGroup({ body: { data: { name: `group ${v7()}` } } })
    const deleted = admin.authorization.deleteAccessGroup({ params: { id: groups.at(-1) ?? '' } })
    await deleted.catch((error: unknown) => assert.ok(error instanceof Problem && error.status < 500))
  }

  test('random concurrent requests to two processes keep data, history, counts, events and audit trail consistent', async () => {
    const rounds = fc.tuple(stepsOf(['createAsset']), stepsOf(operations), stepsOf(operations), stepsOf(operations))
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        for (const steps of all) {
          const entities = await readEntities()
          await Promise.all([changeGroups(entities), ...steps.map((one) => run(one, entities))])
          await settle()
        }
        for (const [violation, sql] of Object.entries(violations)) assert.deepEqual(await find(sql), [], violation)
        await assertCounts(hub)
        assert.equal((await verifyChain(hub.context, hub.tenant)).firstFault, null)
      }),
      { numRuns: 2, endOnFailure: true },
    )
  })
})
