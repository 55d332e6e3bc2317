import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { AccessCache } from '../../../platform/access/cache.ts'
import { Database, type Scope, type Transaction } from '../../../platform/database/database.ts'
import { PayloadCache } from '../../../platform/payload-cache.ts'
import { endSessions, sessionsBlockedBy } from '../../../platform/testing/blocked-sessions.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { assetTag } from '../assets/asset-tag.ts'
import { SchemaRegistry } from '../schemas/schema.ts'
import { findSchema } from '../schemas/schema-store.ts'
import { assertCounts, asset, createAssets, createRelations, type Edge, node, postRelation } from '../testing.ts'
import { writesTopic } from './accept.ts'
import { type ApplierOptions, applyQueued } from './apply.ts'
import { lockQueue } from './queue-store.ts'
import { StatusWaiters } from './status.ts'

/** Small limits, which a few dozen relations exceed. */
const relationsEnded = 10
const relationsMerged = 25
const portions = 'delete from relations'

describe('the applier of inventory writes', () => {
  let hub: TestHub
  let operator: TestCaller

  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    await holdApplier()
  })

  after(async () => {
    await assertCounts(hub)
    await hub[Symbol.asyncDispose]()
  })

  test('ends each relation of a deleted asset once, in portions, with the deleting principal as author', async () => {
    const { id, relations } = await createRelated(25)
    const status = await accepted('deleteAssets', { body: { data: { ids: [id] } } })
    const sent = await hub.statements(() => apply())
    assert.equal(sent.filter(({ text }) => text.startsWith(portions)).length, 3)
    assert.deepEqual(await stateOf(status), { state: 'finished', result: [{ assetId: id, outcome: 'deleted' }] })
    await assertEnded(relations)
    const { rows } = await ended(relations)
    assert.deepEqual([...new Set(rows.map(({ principal_id }) => principal_id))], [operator.principalId])
    await assert.rejects(operator.inventory.readAsset({ params: { id } }), { code: 'not_found' })
  })

  test('never returns a modification time before the creation time in the status of a write', async () => {
    const assets = await createAssets(
      hub,
      Array.from({ length: 20 }, (_, index) => ({ name: `pump ${index}` })),
    )
    const statuses = await Promise.all(
      assets.map((id) => accepted('setName', { params: { id }, body: { data: { name: 'renamed' } } })),
    )
    const assertOrdered = async (expected: string) => {
      for (const id of statuses) {
        const { data } = await operator.inventory.readStatus({ params: { id }, query: {} })
        assert.equal(data.state, expected)
        const { createdTimestamp: created, lastModifiedTimestamp: modified } = data
        assert.ok(modified >= created, `${expected}: created ${created}, modified ${modified}`)
      }
    }
    await assertOrdered('queued')
    await apply()
    await assertOrdered('finished')
  })

  test('deletes an asset with few relations without an additional transaction', async () => {
    const { id, relations } = await createRelated(relationsEnded - 1)
    await accepted('deleteAssets', { body: { data: { ids: [id] } } })
    const sent = (await hub.statements(() => apply())).map(({ text }) => text)
    for (const once of [portions, 'insert into ended_relations', 'insert into events', 'delete from assets'])
      assert.equal(sent.filter((text) => text.startsWith(once)).length, 1, once)
    await assertEnded(relations)
  })

  test('continues an interrupted deletion, even if the asset got new relations in the meantime', async () => {
    const { id, relations } = await createRelated(25)
    const status = await accepted('deleteAssets', { body: { data: { ids: [id] } } })
    await applyOnePortion()
    assert.equal((await ended(relations)).rows.length, relationsEnded)
    assert.equal((await stateOf(status)).state, 'queued')
    const again = await postRelation(operator, { subject: asset(id), predicate: 'again', object: node() })
    assert.equal(again.status, 201)
    const [added] = (again.body as { data: { id: string }[] }).data
    await apply()
    assert.equal((await stateOf(status)).state, 'finished')
    await assertEnded([...relations, added?.id ?? ''])
  })

  test('repeats a transaction after its connection was lost', async () => {
    const { id, relations } = await createRelated(25)
    const status = await accepted('deleteAssets', { body: { data: { ids: [id] } } })
    await applyOnePortion()
    await assert.rejects(brokenOff(apply), { code: 'unavailable' })
    assert.equal((await ended(relations)).rows.length, relationsEnded)
    await apply()
    assert.equal((await stateOf(status)).state, 'finished')
    await assertEnded(relations)
  })

  test('applies a deletion and the writes before and after it in the order in which they were accepted', async () => {
    const [{ id, relations }, other] = [await createRelated(25), await createRelated(12)]
    const rename = (name: string, params: object) => accepted('setName', { params, body: { data: { name } } })
    const statuses = [
      await rename('before', { id }),
      await accepted('deleteAssets', { body: { data: { ids: [id] } } }),
      await rename('after', { id: other.id }),
      await accepted('deleteAssets', { body: { data: { ids: [other.id] } } }),
    ]
    await apply()
    for (const status of statuses) assert.equal((await stateOf(status)).state, 'finished')
    await assertEnded([...relations, ...other.relations])
    const events = await eventsAbout([`asset/${id}`, `asset/${other.id}`, `relation/${relations[0]}`])
    assert.deepEqual(events, [
      ['inventory.asset.updated', `asset/${id}`],
      ['inventory.relation.deleted', `relation/${relations[0]}`],
      ['inventory.asset.deleted', `asset/${id}`],
      ['inventory.asset.updated', `asset/${other.id}`],
      ['inventory.asset.deleted', `asset/${other.id}`],
    ])
  })

  test('ends no relation of an asset whose deletion is refused', async () => {
    const { id, relations } = await createRelated(25)
    await accepted('setName', { params: { id }, body: { data: { name: 'changed' } } })
    const headers = { 'if-match': assetTag({ id, version: 1 }) }
    const status = await accepted('deleteAssets', { headers, body: { data: { ids: [id] } } })
    await apply()
    assert.equal((await stateOf(status)).state, 'failed')
    assert.equal((await ended(relations)).rows.length, 0)
  })

  test('ends the relations of all assets when several deletions are queued', async () => {
    const hubs = [await createRelated(8), await createRelated(8), await createRelated(0), await createRelated(8)]
    const administrator = await hub.as('administrator')
    const statuses = []
    for (const [index, { id }] of hubs.entries()) {
      const by = index % 2 === 0 ? operator : administrator
      statuses.push(await accepted('deleteAssets', { body: { data: { ids: [id] } } }, by))
    }
    await apply()
    for (const [index, status] of statuses.entries())
      assert.equal((await stateOf(status, index % 2 === 0 ? operator : administrator)).state, 'finished')
    for (const [index, { relations }] of hubs.entries()) {
      const by = index % 2 === 0 ? operator : administrator
      await assertEnded(relations)
      assert.ok((await ended(relations)).rows.every(({ principal_id }) => principal_id === by.principalId))
    }
  })

  test('moves all relations of a merge in one transaction, and moves them back when the merge is undone', async () => {
    const [{ id }, other] = [await createRelated(0), await createRelated(relationsMerged)]
    const status = await accepted('mergeAsset', { params: { id }, body: { data: { other: other.id } } })
    await apply()
    const { result } = (await stateOf(status)) as { result: { mergeId: string; relations: number } }
    assert.equal(result.relations, other.relations.length)
    await assertEnded(other.relations)
    const undone = await accepted('undoMerge', { params: { id, mergeId: result.mergeId } })
    await apply()
    assert.equal((await stateOf(undone)).state, 'finished')
    const { meta } = await operator.inventory.listAssetRelations({ params: { id: other.id }, query: {} })
    assert.equal(meta.totalElements, other.relations.length)
  })

  test('refuses a merge with too many relations, and suggests the alternative', async () => {
    const [{ id }, other] = [await createRelated(2), await createRelated(relationsMerged + 1)]
    const refused = await accepted('mergeAsset', { params: { id }, body: { data: { other: other.id } } })
    await apply()
    const { state: final, result } = await stateOf(refused)
    const { status, code, detail } = result as ProblemDocument
    assert.deepEqual([final, status, code], ['failed', 409, 'too_many_relations'])
    assert.match(detail ?? '', /more than 25 relations.*Merge the other asset into this asset/)
    assert.equal((await ended(other.relations)).rows.length, 0)
    const reversedMerge = await accepted('mergeAsset', { params: { id: other.id }, body: { data: { other: id } } })
    await apply()
    assert.equal((await stateOf(reversedMerge)).state, 'finished')
  })

  test('reads only the common relations of the remaining asset when a merge is applied or undone', async () => {
    const [crowded, other] = [await createRelated(relationsMerged + 5), await createRelated(0)]
    const place = node()
    await createRelations(hub, [
      [asset(crowded.id), 'near', place],
      [asset(other.id), 'near', place],
      [asset(other.id), 'in', place],
    ])
    const { id } = crowded
    const merging = await accepted('mergeAsset', { params: { id }, body: { data: { other: other.id } } })
    const sent = await hub.statements(() => apply())
    const { result } = (await stateOf(merging)) as { result: { mergeId: string; relations: number } }
    assert.equal(result.relations, 1)
    const undoing = await accepted('undoMerge', { params: { id, mergeId: result.mergeId } })
    sent.push(...(await hub.statements(() => apply())))
    assert.equal((await stateOf(undoing)).state, 'finished')
    const read = await relationsReadBy(sent)
    assert.ok(read.length > 0)
    assert.ok(Math.max(...read) <= 2, `${read}`)
    const left = async (of: string) =>
      (await operator.inventory.listAssetRelations({ params: { id: of }, query: {} })).meta.totalElements
    assert.deepEqual([await left(id), await left(other.id)], [crowded.relations.length + 1, 2])
  })

  test('does not fail the next write when another process has already applied the failing write', async () => {
    const [id = '', other = ''] = await createAssets(hub, [{ name: 'pump' }, { name: 'twin' }])
    const statuses = [
      await accepted('setName', { params: { id }, body: { data: { name: 'renamed' } } }),
      await accepted('mergeAsset', { params: { id }, body: { data: { other } } }),
    ]
    const { app: address, server } = hub.database
    let transactions = 0
    class FailingDatabase extends Database {
      override async transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
        // First the batch fails, and then its first write alone. Another process applies that write before the applier
        // stores the failure.
        const turn = ++transactions
        if (turn === 3) await applyNext()
        const result = await super.transaction(scope, async (tx) => {
          const done = await work(tx)
          if (turn < 3) throw new Error('Something unforeseen')
          return done
        })
        return result
      }
    }
    await using database = new FailingDatabase({ address, server, connections: 2 })
    await apply({ database })
    for (const status of statuses) assert.equal((await stateOf(status)).state, 'finished')
  })

  test('applies writes over a single connection, so that waiting requests cannot block the applier', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'pump' }])
    const status = await accepted('setName', { params: { id }, body: { data: { name: 'renamed' } } })
    const { app: address, server } = hub.database
    await using database = new Database({ address, server, connections: 1, waitMs: 10_000 })
    const access = new AccessCache({ database, log: hub.context.log })
    await apply({ database, access })
    assert.equal((await stateOf(status)).state, 'finished')
  })

  test('applies as many writes together as fit the byte limit, and a larger write alone', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'pump' }])
    const describe = (length: number) =>
      accepted('setDescription', { params: { id }, body: { data: { description: 'x'.repeat(length) } } })
    const statuses = [await describe(900), await describe(100), await describe(100), await describe(100)]
    const batchOf = (bytes: number) =>
      hub.contextOf('inventory').database.transaction(hub.tenant, async (tx) => {
        const { entries } = await lockQueue(tx, { writes: 10, items: 10, bytes })
        return entries.map(({ id }) => statuses.indexOf(id))
      })
    assert.deepEqual([await batchOf(500), await batchOf(1_300), await batchOf(5_000)], [[0], [0, 1], [0, 1, 2, 3]])
    await apply()
  })

  test('applies writes that were queued while another process applied all locked writes', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'pump' }])
    const rename = (name: string) => accepted('setName', { params: { id }, body: { data: { name } } })
    const first = await rename('first')
    const second = await hub.asOwner(async (owner) => {
      await owner.query('begin')
      // The state after another process has applied the first write, before its commit.
      const finish = `update operations set state = 'finished', result = '{}' where tenant_id = $1 and id = $2`
      await owner.query(finish, [hub.tenant.tenantId, first])
      const applying = apply()
      while ((await sessionsBlockedBy(owner, hub.database)).length === 0);
      const queued = await rename('second')
      await owner.query('commit')
      await applying
      return queued
    })
    assert.equal((await stateOf(second)).state, 'finished')
  })

  test('removes the payload of a write when the write is applied', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'payload' }])
    const status = await accepted('setName', { params: { id }, body: { data: { name: 'without payload' } } })
    await apply()
    assert.equal((await stateOf(status)).state, 'finished')
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select payload from operations where tenant_id = $1 and id = $2', [hub.tenant.tenantId, status]),
    )
    assert.deepEqual(rows, [{ payload: '' }])
  })

  test('stops the applier of a tenant at its time limit, and starts another run for the remaining writes', async () => {
    const administrator = await hub.as('administrator')
    const moves = () =>
      Array.from({ length: inventoryLimits.bulk }, () => ({ asset_id: crypto.randomUUID(), access_group: 'default' }))
    const statuses: string[] = []
    // The test queues one write more than the limit of a batch. The assets of these writes do not exist, so the writes are
    // cheap.
    const queue = async () => {
      for (let items = 0; items <= 1_000; items += inventoryLimits.bulk)
        statuses.push(await accepted('setAccessGroups', { body: { data: moves() } }, administrator))
    }
    await queue()
    const queued = async () => {
      const states = await Promise.all(statuses.map((id) => stateOf(id, administrator)))
      return states.flatMap(({ state }, index) => (state === 'queued' ? [index] : []))
    }
    let wakeUps = 0
    hub.contextOf('inventory').database.onCommit(({ topics }) => {
      if (topics.has(writesTopic)) wakeUps++
    })
    await apply({ sliceMs: 0 })
    assert.deepEqual(await queued(), [statuses.length - 1])
    assert.equal(wakeUps, 1)
    await queue()
    await apply({ sliceMs: 0, mayDelayOthers: () => false })
    assert.deepEqual(await queued(), [], 'a run that delays no other task does not stop')
  })

  test('fails only the writes into an access group that was deleted in the meantime, with the reason', async () => {
    const administrator = await hub.as('administrator')
    const { data: hall } = await administrator.authorization.createAccessGroup({ body: { data: { name: 'hall' } } })
    const [id = '', other = ''] = await createAssets(hub, [{ name: 'crane' }, { name: 'lift' }])
    const device = (name: string, more: object = {}) => ({
      functional_object_type: 'Device',
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }],
      ...more,
    })
    const assets = [device('stays'), device('lost', { access_group: 'hall' })]
    const moves = [
      { asset_id: id, access_group: 'hall' },
      { asset_id: other, access_group: 'default' },
    ]
    const putting = await accepted('createAssets', { body: { data: { assets } } }, administrator)
    const moving = await accepted('setAccessGroups', { body: { data: moves } }, administrator)
    await administrator.authorization.deleteAccessGroup({ params: { id: hall.id } })
    await apply()
    const outcomesOf = async (status: string) => {
      const { result } = await stateOf(status, administrator)
      return (result as { outcome?: string; code?: string }[]).map(({ outcome, code }) => outcome ?? code)
    }
    assert.deepEqual(await outcomesOf(putting), ['created', 'access_group_not_found'])
    assert.deepEqual(await outcomesOf(moving), ['access_group_not_found', 'unchanged'])
  })

  /** Queues batches that write the same assets repeatedly. One transaction cannot take all of them. */
  async function queueBatches(tag: string): Promise<string[]> {
    const statuses: string[] = []
    for (let round = 0; round < 5; round++) statuses.push(await queueRound(tag, round))
    return statuses
  }

  function queueRound(tag: string, round: number): Promise<string> {
    const assets = Array.from({ length: 500 }, (_, index) => ({
      functional_object_type: 'Device',
      name: `${tag} ${index} round ${round}`,
      // Each round adds one identifier, by which the next round may find the asset.
      asset_identifiers: [`${tag}-${index}`, `${tag}-${index}-round-${round}`].map((value) => ({
        asset_identifier_type: 'CustomIdentifier',
        name: 'tag',
        value,
      })),
    }))
    return accepted('createAssets', { body: { data: { assets } } })
  }

  /** Asserts that every asset was created once and then updated in each round. */
  async function assertRounds(statuses: readonly string[]): Promise<void> {
    const ids = new Set<string>()
    for (const [round, status] of statuses.entries()) {
      const { state: final, result } = await stateOf(status)
      assert.equal(final, 'finished', JSON.stringify(result).slice(0, 400))
      const results = result as { assetId: string; outcome: string }[]
      assert.ok(results.every(({ outcome }) => outcome === (round === 0 ? 'created' : 'updated')))
      for (const { assetId } of results) ids.add(assetId)
    }
    assert.equal(ids.size, 500)
    const { rows } = await hub.asOwner((owner) =>
      owner.query<{ version: string; versions: string; identifiers: string; name: string }>(
        `select a.version, a.name,
                (select count(*) from asset_history h where h.tenant_id = $1 and h.asset_id = a.id) as versions,
                (select count(*) from asset_identifiers i where i.tenant_id = $1 and i.asset_id = a.id) as identifiers
         from assets a where a.tenant_id = $1 and a.id = any($2)`,
        [hub.tenant.tenantId, [...ids]],
      ),
    )
    assert.equal(rows.length, 500)
    for (const { version, versions, identifiers, name } of rows) {
      assert.deepEqual([Number(version), Number(versions), Number(identifiers)], [5, 5, 6])
      assert.match(name, / round 4$/)
    }
  }

  test('computes the next batch from the changes of the previous batch while that batch is being saved', async () => {
    const statuses = await queueBatches('overlap')
    const sent = (await hub.statements(() => apply())).map(({ text }) => text)
    // The identifiers of a batch are looked up after its writes are locked.
    const loaded = sent.flatMap((text, index) => (text.startsWith('select i.key') ? [index] : []))
    const finished = sent.flatMap((text, index) => (text.startsWith('update operations') ? [index] : []))
    assert.equal(finished.length, 3)
    assert.ok(Number(loaded[1]) < Number(finished[0]), 'the second batch is loaded before the first one is finished')
    await assertRounds(statuses)
  })

  test('computes the changes of writes that are accepted while a large batch is being saved', async () => {
    const statuses = [await queueRound('arrival', 0)]
    const { app: address, server } = hub.database
    const isSecondStarted = Promise.withResolvers<boolean>()
    const wake = Promise.withResolvers<void>()
    let transactions = 0
    class SlowDatabase extends Database {
      override transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
        const number = ++transactions
        if (number === 2) isSecondStarted.resolve(true)
        return super.transaction(scope, async (tx) => {
          const done = await work(tx)
          if (number > 1) return done
          for (let round = 1; round < 5; round++) statuses.push(await queueRound('arrival', round))
          wake.resolve()
          const timer = setTimeout(() => isSecondStarted.resolve(false), 120_000)
          assert.ok(await isSecondStarted.promise, 'the second batch starts before the first one is committed')
          clearTimeout(timer)
          return done
        })
      }
    }
    await using database = new SlowDatabase({ address, server, connections: 4 })
    await apply({ database, nextWake: () => wake.promise })
    await assertRounds(statuses)
  })

  test('rolls back the next batch when the previous batch fails, and applies every write once', async () => {
    const statuses = await queueBatches('rollback')
    const { app: address, server } = hub.database
    let transactions = 0
    class FailingDatabase extends Database {
      override transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
        const isFirst = ++transactions === 1
        return super.transaction(scope, async (tx) => {
          const done = await work(tx)
          if (isFirst) throw new Error('Something unforeseen')
          return done
        })
      }
    }
    await using database = new FailingDatabase({ address, server, connections: 4 })
    await apply({ database })
    await assertRounds(statuses)
  })

  // This test is the last one, because the queue counts as full for a moment after it.
  test('refuses a batch with 503 before its body is read while the queue of the tenant is full', async () => {
    const id = v7()
    const asOwner = (statement: string, ...values: unknown[]) =>
      hub.asOwner((owner) => owner.query(statement, [hub.tenant.tenantId, id, ...values]))
    await asOwner(
      `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind,
                               principal_name, roles, modified_at)
       values ($1, $2, now(), 'patch', '{"items":[],"single":false}', 50000, $3, 'server_user', 'operator', '[]', now())`,
      operator.principalId,
    )
    const send = async (body: string) => {
      const headers = { authorization: `Bearer ${operator.token}`, 'content-type': 'application/json' }
      const answer = await hub.request({ method: 'POST', path: '/inventory/v2/assets/batch', headers, body })
      return answer.status
    }
    const assets = [{ functional_object_type: 'Asset', asset_identifiers: [] }]
    // The service reads the size of the queue again after a moment. The first request then finds that the queue is
    // full. The body of the second request is not valid JSON, but it is refused before its body is read.
    const deadline = performance.now() + 120_000
    let statuses: number[] = []
    while (statuses[1] !== 503 && performance.now() < deadline)
      statuses = [await send(JSON.stringify({ data: { assets } })), await send('{')]
    assert.deepEqual(statuses, [503, 503])
    await asOwner('delete from operations where tenant_id = $1 and id = $2')
  })

  /** Executes each statement that reads relations again, and returns the number of rows of each. */
  function relationsReadBy(sent: readonly { text: string; values: readonly unknown[] }[]): Promise<number[]> {
    const reading = sent.filter(({ text }) => /^select/.test(text) && /(from|join) relations\b/.test(text))
    return hub.asOwner(async (owner) => {
      await owner.query('begin')
      const counts: number[] = []
      for (const { text, values } of reading) counts.push((await owner.query(text, [...values])).rows.length)
      await owner.query('rollback')
      return counts
    })
  }

  /** Replaces the hub's applier, so that the test decides when accepted writes are applied. */
  async function holdApplier(): Promise<void> {
    await hub.settle()
    await hub.asOwner((owner) =>
      owner.query(
        `insert into jobs (tenant_id, id, kind, key, state, run_at, lease_id, lease_until)
         values ($1, $2, 'inventory.apply', '', 'running', now(), $2, now() + interval '1 hour')`,
        [hub.tenant.tenantId, v7()],
      ),
    )
  }

  async function apply(
    overrides: Partial<ApplierOptions> = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    const { database, access, log, tasks, stopping } = hub.contextOf('inventory')
    const schemas = new SchemaRegistry({ load: findSchema })
    const own = {
      schemas,
      waiters: new StatusWaiters(stopping),
      payloads: new PayloadCache<unknown>({ capacity: 1_000_000 }),
    }
    const parts = { database, access, log, tasks, ...own, relationsEnded, relationsMerged, ...overrides }
    await applyQueued(parts, hub.tenant.tenantId, signal)
  }

  /** Stops the applier after the first portion, as if the process had ended. */
  async function applyOnePortion(): Promise<void> {
    const stopped = new AbortController()
    const unobserve = hub.contextOf('inventory').database.observe(({ text }) => {
      if (text.startsWith(portions)) stopped.abort()
    })
    await apply({}, stopped.signal).finally(unobserve)
  }

  /** Applies the first write in the same way as another process. */
  async function applyNext(): Promise<void> {
    const stopped = new AbortController()
    const unobserve = hub.contextOf('inventory').database.observe(({ text }) => {
      if (text.startsWith('update operations')) stopped.abort()
    })
    await apply({}, stopped.signal).finally(unobserve)
  }

  /** Runs the work and ends its connection in the middle of a transaction. */
  function brokenOff(work: () => Promise<void>): Promise<void> {
    return hub.asOwner(async (owner) => {
      await owner.query('begin')
      await owner.query('lock table ended_relations in share mode')
      const working = work()
      working.catch(() => undefined)
      for (let ended = 0; ended === 0; ) {
        const blocked = await sessionsBlockedBy(owner, hub.database)
        await endSessions(hub.database, blocked)
        ended = blocked.length
      }
      await owner.query('rollback')
      return working
    })
  }

  /**
   * Creates an asset with this number of incoming and outgoing relations to assets and nodes, and one relation to itself.
   */
  async function createRelated(count: number): Promise<{ id: string; relations: string[] }> {
    const [id = '', other = ''] = await createAssets(hub, [{ name: 'crowded' }, { name: 'other' }])
    const links = Array.from({ length: count }, (_, index): Edge => {
      if (index === 0) return [asset(id), 'is_like', asset(id)]
      if (index % 3 === 0) return [asset(id), `to_${index}`, asset(other)]
      return index % 3 === 1 ? [asset(other), 'found_by_gateway', asset(id)] : [node(), 'found_by_gateway', asset(id)]
    })
    const distinct = links.map(([from, predicate, to], index): Edge => [from, `${predicate}_${index}`, to])
    const put = await createRelations(hub, distinct)
    return { id, relations: put.map(({ relation }) => relation.id) }
  }

  async function accepted(operation: string, input: object, caller = operator): Promise<string> {
    const { status, body } = await caller.exchange(inventory, operation, input)
    assert.equal(status, 202, JSON.stringify(body))
    return (body as { data: { statusId: string } }).data.statusId
  }

  async function stateOf(id: string, caller = operator): Promise<{ state: string; result: unknown }> {
    const { data } = await caller.inventory.readStatus({ params: { id }, query: {} })
    return { state: data.state, result: (data.detail as { result: unknown }).result }
  }

  function ended(ids: readonly string[]) {
    return hub.asOwner((owner) =>
      owner.query<{ principal_id: string }>(
        'select principal_id from ended_relations where tenant_id = $1 and id = any($2)',
        [hub.tenant.tenantId, ids],
      ),
    )
  }

  /** Asserts that all relations have ended, each with one row in the history and one event. */
  async function assertEnded(ids: readonly string[]): Promise<void> {
    assert.equal((await ended(ids)).rows.length, ids.length)
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select id from relations where tenant_id = $1 and id = any($2)', [hub.tenant.tenantId, ids]),
    )
    assert.deepEqual(rows, [])
    const events = await eventsAbout(ids.map((id) => `relation/${id}`))
    const deleted = events.filter(([type]) => type === 'inventory.relation.deleted').map(([, subject]) => subject)
    assert.deepEqual(deleted.toSorted(), ids.map((id) => `relation/${id}`).toSorted())
  }

  async function eventsAbout(subjects: readonly string[]): Promise<[type: string, subject: string][]> {
    const { rows } = await hub.asOwner((owner) =>
      owner.query<{ type: string; subject: string }>(
        'select type, subject from events where tenant_id = $1 and subject = any($2) order by position',
        [hub.tenant.tenantId, subjects],
      ),
    )
    return rows.map(({ type, subject }) => [type, subject])
  }
})
