import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Assignment, hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { advance, readProgress } from './count-store.ts'
import { projectionTasks, tenantCaller } from './projection.ts'
import { deleteExpired } from './retention.ts'
import { createAssets, createHierarchy, createNode, projectAll } from './testing.ts'

let hub: TestHub
let admin: TestCaller

describe('recovery and retention of hierarchies', () => {
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('gives exact totals when a portion is sent again after a crash', async () => {
    const { one, two } = await twoNodes('Repeated portion')
    const ids = await devices('repeated', 30)
    await admin.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds: ids.slice(0, 10) } } })
    let id = ''
    const portion = await portionOf(async () => {
      id = await assignByFilter(two, 'repeated')
    })
    // The state of a process that died after the inventory had committed the portion, and before its results were stored.
    await runAgain(id, { portion })
    const again = await ended(id)
    assert.deepEqual([again.assigned, again.moved, again.unchanged, again.failed], [20, 10, 0, 0])
    const { data } = await admin.hierarchy.listAssignmentResults({ params: { id }, query: { limit: 100 } })
    assert.deepEqual(data.map(({ assetId }) => assetId).toSorted(), ids.toSorted())
    assert.equal((await createdRelations(two)).length, 30)
  })

  test('fails a running assignment when its principal has lost the permission', async () => {
    const { two } = await twoNodes('Revoked')
    await devices('revoked', 3)
    const id = await assignByFilter(two, 'revoked')
    await runAgain(id, { portion: null, roles: '{"roles":[]}' })
    const { state, problem } = await ended(id)
    assert.deepEqual([state, problem?.code], ['failed', 'forbidden'])
  })

  test('stores the results of an applied portion when the principal has lost its permissions since then', async () => {
    const { two } = await twoNodes('Revoked after the portion')
    const ids = await devices('applied', 3)
    let id = ''
    const portion = await portionOf(async () => {
      id = await assignByFilter(two, 'applied')
    })
    await runAgain(id, { portion, roles: '{"roles":[]}' })
    assert.deepEqual([(await ended(id)).assigned, (await assetsOf(two)).length], [3, 3])
    const { data } = await admin.hierarchy.listAssignmentResults({ params: { id } })
    assert.deepEqual(data.map(({ assetId }) => assetId).toSorted(), ids.toSorted())
    // The inventory never got the portion with this key, so the portion must not be applied.
    await admin.hierarchy.unassignAssets({ params: { id: two }, body: { data: { assetIds: ids } } })
    await runAgain(id, { portion: withOtherKey(portion), roles: '{"roles":[]}' })
    const { state, problem, assigned } = await ended(id)
    assert.deepEqual([state, problem?.code, assigned], ['failed', 'forbidden', 0])
    assert.deepEqual(await assetsOf(two), [])
  })

  test('stores the results of an assignment by ids whose process died after the inventory applied it', async () => {
    const { two } = await twoNodes('Died')
    const assetIds = await devices('died', 3)
    const { id, portion } = await assignIds(two, assetIds)
    await abandon(id, portion)
    assert.deepEqual([(await read(id)).state, (await read(id)).canCancel], ['running', false])
    assert.equal((await admin.exchange(hierarchy, 'cancelAssignment', { params: { id } })).status, 409)
    await recover()
    const { state, assigned, canUndo } = await read(id)
    assert.deepEqual([state, assigned, canUndo], ['finished', 3, true])
    assert.equal((await createdRelations(two)).length, 3)
  })

  test('stores an assignment by ids with an Idempotency-Key before the inventory applies it, and repeats its response', async () => {
    const { two } = await twoNodes('Keyed')
    const assetIds = await devices('keyed', 2)
    const input = { params: { id: two }, headers: { 'idempotency-key': newId() }, body: { data: { assetIds } } }
    const first = await hub.asOwner(async (owner) => {
      // The inventory cannot write relations until the end of this transaction.
      await owner.query('begin; lock table relations in exclusive mode')
      const started = admin.hierarchy.assignAssets(input)
      const isStored = async () => (await admin.hierarchy.listAssignments({})).data[0]?.nodeId === two
      while (!(await isStored())) await setImmediate()
      await owner.query('rollback')
      return started
    })
    assert.deepEqual(await admin.hierarchy.assignAssets(input), first)
    assert.equal((await createdRelations(two)).length, 2)
  })

  test('returns 503 with the id of the assignment when another process has stored its results', async () => {
    const { id: hierarchyId, two } = await twoNodes('Continued')
    const assetIds = await devices('continued', 1)
    const { id, answer } = await hub.asOwner(async (owner) => {
      await owner.query('begin; lock table relations in exclusive mode')
      const started = admin.exchange(hierarchy, 'assignAssets', { params: { id: two }, body: { data: { assetIds } } })
      const find = async () => (await admin.hierarchy.listAssignments({ query: { hierarchyId } })).data[0]?.id
      let id = await find()
      for (; id === undefined; id = await find()) await setImmediate()
      const settle = `update hierarchy_assignments set portion = null, state = 'finished' where tenant_id = $1 and id = $2`
      await owner.query(settle, [hub.tenant.tenantId, id])
      await owner.query('commit')
      return { id, answer: await started }
    })
    const { status, detail } = answer.body as ProblemDocument
    assert.deepEqual(
      [status, detail],
      [503, `Another process continues assignment ${id}. Read GET /hierarchy/v1/assignments/${id}`],
    )
  })

  test('fails an assignment by ids whose process died before the inventory applied it', async () => {
    const { two } = await twoNodes('Died before')
    const assetIds = await devices('not applied', 3)
    const { id, portion } = await assignIds(two, assetIds)
    await admin.hierarchy.unassignAssets({ params: { id: two }, body: { data: { assetIds } } })
    await abandon(id, withOtherKey(portion))
    await recover()
    const { state, problem, assigned } = await read(id)
    assert.deepEqual([state, problem?.code, assigned], ['failed', 'unavailable', 0])
    assert.deepEqual(await assetsOf(two), [])
  })

  test('returns the assets of an assignment whose process died while its node was deleted', async () => {
    const { one, two } = await twoNodes('Died with its node')
    const [moved = '', fresh = ''] = await devices('orphaned', 2)
    await assignIds(one, [moved])
    const { id, portion } = await assignIds(two, [moved, fresh])
    await abandon(id, portion)
    await admin.hierarchy.deleteNode({ params: { id: two }, query: { recursive: true } })
    await recover()
    const { failed, assigned, moved: movedCount } = await read(id)
    assert.deepEqual([failed, assigned, movedCount], [2, 0, 0])
    const { data } = await admin.hierarchy.listAssignmentResults({ params: { id } })
    assert.deepEqual(
      data.map(({ outcome, code }) => [outcome, code]),
      [
        ['failed', 'node_not_found'],
        ['failed', 'node_not_found'],
      ],
    )
    assert.deepEqual(await assetsOf(one), [moved])
    const left = await admin.inventory.listRelations({ query: { filter: `object.id eq '${two}'` } })
    assert.equal(left.meta.totalElements, 0)
  })

  test('counts all assets again when events were deleted before they were counted', async () => {
    const { one } = await twoNodes('Deleted events')
    const ids = await devices('lost', 7)
    await admin.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds: ids } } })
    await projectAll(hub)
    await hub.asOwner(async (owner) => {
      const tenant = [hub.tenant.tenantId]
      await owner.query('begin')
      await owner.query('update hierarchy_positions set position = 1 where tenant_id = $1', tenant)
      await owner.query('delete from events where tenant_id = $1 and position is not null', tenant)
      await owner.query('delete from hierarchy_assets where tenant_id = $1', tenant)
      await owner.query('delete from hierarchy_counts where tenant_id = $1', tenant)
      await owner.query('commit')
    })
    await hub.settle()
    await projectAll(hub)
    const { data } = await admin.hierarchy.readNode({ params: { id: one } })
    assert.equal(data.totalAssetCount, 7)
  })

  test('leaves the projection and the publication of events to another process three seconds after a crash', async () => {
    const { one, two } = await twoNodes('Leases')
    const assetIds = await devices('leased', 1)
    await projectAll(hub)
    // The task waits for the table, as if its process had stopped during the run.
    for (const [table, kind, nodeId] of [
      ['hierarchy_positions', 'hierarchy.project', one],
      ['event_positions', 'events.relay', two],
    ] as const) {
      const { seconds, started } = await hub.asOwner(async (owner) => {
        await owner.query(`begin; lock table ${table} in exclusive mode`)
        const assignment = admin.hierarchy.assignAssets({ params: { id: nodeId }, body: { data: { assetIds } } })
        const lease = async () => {
          const { rows } = await owner.query<{ seconds: number }>(
            `select extract(epoch from lease_until - clock_timestamp())::float8 as seconds from jobs
             where tenant_id = $1 and kind = $2 and state = 'running'`,
            [hub.tenant.tenantId, kind],
          )
          return rows[0]?.seconds
        }
        let left = await lease()
        for (; left === undefined; left = await lease()) await setImmediate()
        await owner.query('rollback')
        return { seconds: left, started: assignment }
      })
      // The database rounds the end of the lease to milliseconds.
      assert.ok(seconds <= 3.001, `${kind}: ${seconds}`)
      await started
    }
  })

  test('does not store a step of the projection that another step has overtaken', async () => {
    await createHierarchy(admin, 'Steps')
    await projectAll(hub)
    const { database } = hub.contextOf('hierarchy')
    const progress = await database.read(hub.tenant, readProgress)
    assert.ok(progress !== undefined)
    const store = () => database.transaction(hub.tenant, (tx) => advance(tx, progress))
    assert.deepEqual([await store(), await store()], [true, false])
  })

  test('rebuilds the counts in smaller steps when other steps overtake it, and ends when its signal is aborted', async () => {
    const { id: hierarchyId, one } = await twoNodes('Overtaken')
    const assetIds = await devices('overtaken', 40)
    await admin.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds } } })
    await projectAll(hub)
    const context = hub.contextOf('hierarchy')
    const { database } = context
    const { tenantId } = hub.tenant
    const rebuilt = async (signal: AbortSignal, isOvertaken: (read: number[]) => boolean) => {
      const read: number[] = []
      const peers: Context['peers'] = (contract, caller) => {
        const client = context.peers(contract, caller)
        const { describeAssignedAssets } = client as Record<
          string,
          ((request: unknown) => Promise<unknown>) | undefined
        >
        const describeLate = async (request: { body: { data: { assetIds: string[] } } }) => {
          read.push(request.body.data.assetIds.length)
          assert.ok(read.length < 20, 'The rebuild does not end')
          if (isOvertaken(read))
            await database.transaction({ tenantId }, async (tx) => {
              const progress = await readProgress(tx)
              if (progress !== undefined) await advance(tx, progress)
            })
          return describeAssignedAssets?.(request)
        }
        return { ...client, describeAssignedAssets: describeLate }
      }
      const task = projectionTasks({ ...context, peers })['hierarchy.rebuild']
      await task?.run({ tenantId, signal, attempt: 1, payload: { hierarchyId } } as Parameters<typeof task.run>[0])
      return read
    }
    const sizes = await rebuilt(new AbortController().signal, (read) => (read.at(-1) ?? 0) > 16)
    assert.deepEqual(sizes.slice(0, 4), [40, 20, 16, 24])
    assert.equal((await admin.hierarchy.readNode({ params: { id: one } })).data.totalAssetCount, 40)
    const stopped = new AbortController()
    const overtakenTwice = (read: number[]) => {
      if (read.length === 2) stopped.abort()
      return true
    }
    await assert.rejects(rebuilt(stopped.signal, overtakenTwice), { name: 'AbortError' })
  })

  test('counts an asset as changed for 24 hours', async () => {
    const { one } = await twoNodes('Aging')
    const [first = '', second = ''] = await devices('aging', 2)
    await admin.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds: [first, second] } } })
    await projectAll(hub)
    const changed = async () => (await admin.hierarchy.readNode({ params: { id: one } })).data.health.changed
    assert.equal(await changed(), 2)
    await hub.asOwner(async (owner) => {
      const values = [hub.tenant.tenantId, first, new Date(Date.now() - 25 * 3_600_000)]
      await owner.query('update assets set modified_at = $3 where tenant_id = $1 and id = $2', values)
      await owner.query('update hierarchy_assets set changed_at = $3 where tenant_id = $1 and asset_id = $2', values)
    })
    await hub.contextOf('hierarchy').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 120_000) })
    assert.equal(await changed(), 1)
  })

  test('deletes old moves, assignments and deleted nodes, but no deleted node with relations', async () => {
    const { id, one, two } = await twoNodes('Retention')
    const third = (await createNode(admin, id, 'three')).id
    const assetIds = await devices('old', 2)
    const { data } = await admin.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds } } })
    const assignmentId = 'assignmentId' in data ? data.assignmentId : ''
    await admin.hierarchy.moveNode({ params: { id: third }, body: { data: { position: 0 } } })
    for (const node of [one, two])
      await admin.hierarchy.deleteNode({ params: { id: node }, query: { recursive: true } })
    const context = hub.contextOf('hierarchy')
    const caller = await tenantCaller(context, hub.tenant.tenantId)
    const { signal } = new AbortController()
    const status = async (operation: string, of: string) =>
      (await admin.exchange(hierarchy, operation, { params: { id: of } })).status
    const moves = async () => (await admin.hierarchy.listMoves({ params: { id: third } })).data.length
    await deleteExpired(context, caller, { now: new Date(), signal })
    assert.deepEqual([await status('readAssignment', assignmentId), await moves()], [200, 1])
    const later = new Date(Date.now() + (hierarchyLimits.retentionDays + 1) * 24 * 3_600_000)
    await deleteExpired(context, caller, { now: later, signal })
    assert.deepEqual([await status('readAssignment', assignmentId), await moves()], [404, 0])
    assert.deepEqual([await status('cleanupNode', one), await status('cleanupNode', two)], [200, 404])
    await deleteExpired(context, caller, { now: later, signal })
    assert.equal(await status('cleanupNode', one), 404)
    const left = await hub.asOwner((owner) =>
      owner.query('select 1 from hierarchy_assignment_items where tenant_id = $1 and assignment_id = $2', [
        hub.tenant.tenantId,
        assignmentId,
      ]),
    )
    assert.equal(left.rowCount, 0)
  })

  test('shows assignments of others only to callers that read all assets', async () => {
    const { one } = await twoNodes('Own assignments')
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'own line' } } })
    const [readable = ''] = await createAssets(admin, [{ name: 'own readable', accessGroup: 'own line' }])
    const [hidden = ''] = await devices('own hidden', 1)
    const limited = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_hierarchy_write', 'glb_inventory_write_relation_data'] },
      { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: group.id },
    ])
    const assign = (caller: TestCaller, assetIds: string[]) =>
      caller.hierarchy.assignAssets({ params: { id: one }, body: { data: { assetIds } } })
    const other = await assign(admin, [hidden])
    const own = await assign(limited, [readable, hidden])
    const idOf = ({ data }: typeof own) => ('assignmentId' in data ? data.assignmentId : '')
    const { data } = await limited.hierarchy.listAssignments({})
    assert.deepEqual(
      data.map(({ id }) => id),
      [idOf(own)],
    )
    for (const operation of ['readAssignment', 'listAssignmentResults', 'cancelAssignment', 'undoAssignment']) {
      const { status } = await limited.exchange(hierarchy, operation, { params: { id: idOf(other) } })
      assert.equal(status, 404, operation)
    }
    const results = await limited.hierarchy.listAssignmentResults({ params: { id: idOf(own) } })
    assert.deepEqual(
      results.data.map(({ assetId }) => assetId),
      [readable],
    )
  })
})

async function twoNodes(name: string) {
  const id = await createHierarchy(admin, name)
  return { id, one: (await createNode(admin, id, 'one')).id, two: (await createNode(admin, id, 'two')).id }
}

function devices(name: string, count: number): Promise<string[]> {
  return createAssets(
    admin,
    Array.from({ length: count }, (_, index) => ({ name: `${name} ${index}` })),
  )
}

async function assignByFilter(nodeId: string, name: string): Promise<string> {
  const { data } = await admin.hierarchy.assignAssets({
    params: { id: nodeId },
    body: { data: { filter: `startswith(name, '${name} ')` } },
  })
  const { id } = data as Assignment
  assert.equal((await ended(id)).state, 'finished')
  return id
}

/** Assigns assets by their ids. Returns the assignment and the portion that it stored. */
async function assignIds(nodeId: string, assetIds: string[]): Promise<{ id: string; portion: string }> {
  let id = ''
  const portion = await portionOf(async () => {
    const { data } = await admin.hierarchy.assignAssets({ params: { id: nodeId }, body: { data: { assetIds } } })
    id = 'assignmentId' in data ? data.assignmentId : ''
  })
  return { id, portion }
}

/** Returns the first portion that is stored during the work, as JSON text. */
async function portionOf(work: () => Promise<void>): Promise<string> {
  const sent = await hub.statements(work)
  return String(sent.find(({ text }) => text.includes('set portion = $3'))?.values[2])
}

function withOtherKey(portion: string): string {
  return JSON.stringify({ ...JSON.parse(portion), key: newId() })
}

async function assetsOf(nodeId: string): Promise<string[]> {
  const { data } = await admin.hierarchy.listNodeAssets({ params: { id: nodeId }, query: { fields: 'id' } })
  return data.map(({ id }) => String(id))
}

async function read(id: string): Promise<Assignment> {
  return (await admin.hierarchy.readAssignment({ params: { id } })).data
}

async function ended(id: string): Promise<Assignment> {
  for (;;) {
    const data = await read(id)
    if (data.state !== 'queued' && data.state !== 'running') return data
    await setImmediate()
  }
}

/** Resets a background assignment to its start, with or without a stored portion, and runs it again. */
async function runAgain(id: string, { portion, roles }: { portion: string | null; roles?: string }): Promise<void> {
  const { tenantId } = hub.tenant
  await reset(id, { portion, roles, minutesAgo: 0 })
  const { database, tasks } = hub.contextOf('hierarchy')
  await database.transaction({ tenantId }, (tx) => tasks.enqueue(tx, { kind: 'hierarchy.assign', key: '' }))
}

/** Resets an assignment by ids to the state of a process that died before it stored the results. */
async function abandon(id: string, portion: string): Promise<void> {
  await reset(id, { portion, roles: undefined, minutesAgo: 2 })
}

/** Runs the task that finds assignments whose process died. */
async function recover(): Promise<void> {
  await hub.contextOf('hierarchy').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 120_000) })
}

type ResetOptions = { portion: string | null; roles: string | undefined; minutesAgo: number }

async function reset(id: string, { portion, roles, minutesAgo }: ResetOptions): Promise<void> {
  const key = [hub.tenant.tenantId, id]
  await hub.asOwner(async (owner) => {
    await owner.query('delete from hierarchy_assignment_items where tenant_id = $1 and assignment_id = $2', key)
    await owner.query(
      `update hierarchy_assignments set state = 'running', done = 0, assigned = 0, moved = 0, unchanged = 0, cursor = null,
         problem = null, portion = $3, roles = coalesce($4, roles), modified_at = now() - $5 * interval '1 minute'
       where tenant_id = $1 and id = $2`,
      [...key, portion, roles ?? null, minutesAgo],
    )
  })
}

/** Returns the assets of the events about new relations to a node. */
async function createdRelations(nodeId: string): Promise<string[]> {
  await projectAll(hub)
  return hub.asOwner(async (owner) => {
    const { rows } = await owner.query<{ id: string }>(
      `select data->'relation'->'subject'->>'id' as id from events
       where tenant_id = $1 and type = 'inventory.relation.created' and data->'relation'->'object'->>'id' = $2`,
      [hub.tenant.tenantId, nodeId],
    )
    return rows.map(({ id }) => id)
  })
}
