import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Assignment, hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { assignmentTasks } from './assignment-run.ts'
import { createAssets, createHierarchy, createNode, projectAll } from './testing.ts'

let hub: TestHub
let admin: TestCaller
let operator: TestCaller
/** A caller that reads all assets and can write none of them. */
let reader: TestCaller

const readerPermissions = [
  'glb_hierarchy_read',
  'glb_hierarchy_write',
  'glb_inventory_write_relation_data',
  'inventory_read_asset_data',
] as const

/** A client of the inventory whose requests take too long. */
const overloaded: Context['peers'] = () => {
  const cause = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  throw new Problem('overloaded', 'The query exceeded the time limit of the database', { cause })
}

describe('background assignments of a tenant', () => {
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    operator = await hub.as('operator')
    reader = await createCaller(hub, [{ permissions: readerPermissions }])
  })

  // The task of the previous test has ended, so it does not run the assignments of the next test.
  beforeEach(() => hub.settle())

  after(() => hub[Symbol.asyncDispose]())

  test('runs assignments one after the other, in the order of their creation', async () => {
    const node = await newNode('Order')
    await devices('order', 250)
    const started: string[] = []
    const sent = await hub.statements(async () => {
      for (let index = 0; index < 3; index++) started.push(await assignByFilter(node, 'order'))
      for (const id of started) assert.equal((await ended(id)).state, 'finished')
    })
    const portions = sent.filter(({ text }) => text.includes('set portion = $3')).map(({ values }) => values[1])
    assert.deepEqual(
      portions,
      started.flatMap((id) => [id, id, id]),
    )
  })

  test('ends a run after its time, and continues the assignment in the next run', async () => {
    const node = await newNode('Runs')
    await devices('runs', 250)
    const id = await storeQueued(node, 'runs')
    const states: [string, number][] = []
    while ((await runOnce({ runMs: 0 })) !== undefined) {
      const { state, assigned } = await read(id)
      states.push([state, assigned])
    }
    assert.deepEqual(states, [
      ['running', 100],
      ['running', 200],
      ['finished', 250],
    ])
  })

  test('fails an assignment after repeated crashes, and continues with the next one', async () => {
    const node = await newNode('Crashes')
    await devices('crashes', 2)
    const first = await storeQueued(node, 'crashes')
    const second = await storeQueued(node, 'crashes')
    await runOnce({ attempt: 11 })
    const { state, problem } = await read(first)
    assert.deepEqual([state, problem?.code], ['failed', 'unavailable'])
    await runOnce({ attempt: 1 })
    assert.equal((await read(second)).assigned, 2)
  })

  test('does not fail an assignment because the inventory is not available', async () => {
    const node = await newNode('Outage')
    await devices('outage', 2)
    const id = await storeQueued(node, 'outage')
    const peers: Context['peers'] = () => {
      throw new Problem('unavailable', 'The inventory does not respond')
    }
    await assert.rejects(async () => runOnce({ attempt: 10, peers }), { code: 'unavailable' })
    assert.equal((await read(id)).state, 'queued')
    await runOnce({ attempt: 1 })
    assert.equal((await read(id)).assigned, 2)
  })

  test('lets the other assignments run first when the requests of an assignment take too long, and then fails it', async () => {
    const node = await newNode('Timeouts')
    await devices('timeouts', 2)
    const slow = await storeQueued(node, 'timeouts')
    const attempt = () => assert.rejects(async () => runOnce({ peers: overloaded }), { code: 'overloaded' })
    await attempt()
    const other = await storeQueued(node, 'timeouts')
    await runOnce({})
    assert.deepEqual([(await read(slow)).state, (await read(other)).state], ['queued', 'finished'])
    for (let count = 2; count < 5; count++) await attempt()
    await runOnce({ peers: overloaded })
    const { state, problem } = await read(slow)
    assert.deepEqual([state, problem?.code], ['failed', 'unavailable'])
  })

  test('ends a canceled assignment when the requests for its last assets take too long', async () => {
    const node = await newNode('Canceled timeouts')
    const id = await storeQueued(node, 'none')
    const assets = [{ assetId: newId(), nodeId: node, otherNodeIds: [], knownNodeIds: [] }]
    const portion = JSON.stringify({ key: newId(), attempt: 1, assets, next: null })
    await hub.asOwner((owner) =>
      owner.query(
        `update hierarchy_assignments set state = 'canceled', portion = $3 where tenant_id = $1 and id = $2`,
        [hub.tenant.tenantId, id, portion],
      ),
    )
    await assert.rejects(async () => runOnce({ peers: overloaded }), { code: 'overloaded' })
    await runOnce({ peers: overloaded })
    assert.equal((await read(id)).state, 'canceled')
    assert.equal(await runOnce({}), undefined)
  })

  test('accepts no more unfinished assignments of a user than the limit when requests are concurrent', async () => {
    const node = await newNode('Limit')
    const [oldest = ''] = await Promise.all(
      Array.from({ length: hierarchyLimits.unfinishedAssignmentsOfUser - 1 }, () => storeQueued(node, 'none')),
    )
    const input = { params: { id: node }, body: { data: { filter: "startswith(name, 'none ')" } } }
    const start = () => operator.exchange(hierarchy, 'assignAssets', input)
    const answers = await whileLocked(oldest, () => Promise.all([start(), start(), start()]))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409, 409])
    const [accepted, refused] = answers.toSorted((one, other) => one.status - other.status).map(({ body }) => body)
    assert.match((refused as ProblemDocument).detail, /You have 5 unfinished assignments. The limit is 5/)
    assert.equal((await ended((accepted as { data: Assignment }).data.id)).state, 'finished')
    assert.equal((await start()).status, 202)
  })

  test('accepts an undo, but no assignment, when other users have as many unfinished assignments as the limit', async () => {
    const node = await newNode('Limit of the tenant')
    const id = await assignIds(node, await devices('tenant', 1))
    const other = newId()
    const [oldest = ''] = await Promise.all(
      Array.from({ length: hierarchyLimits.unfinishedAssignments }, () => storeQueued(node, 'none', other)),
    )
    const body = { data: { filter: "startswith(name, 'none ')" } }
    const { undo, refused } = await whileLocked(oldest, async () => ({
      refused: await operator.exchange(hierarchy, 'assignAssets', { params: { id: node }, body }),
      undo: (await operator.hierarchy.undoAssignment({ params: { id } })).data.id,
    }))
    assert.match((refused.body as ProblemDocument).detail, /The tenant has 20 unfinished assignments. The limit is 20/)
    assert.equal((await ended(undo)).removed, 1)
  })

  test('refuses an undo with 403 when the caller cannot write any of the assets', async () => {
    const node = await newNode('Refused undo')
    const id = await assignIds(node, await devices('refused', 3))
    const elsewhere = await writerOf('elsewhere')
    for (const caller of [reader, elsewhere])
      assert.equal((await caller.exchange(hierarchy, 'undoAssignment', { params: { id } })).status, 403)
    await projectAll(hub)
    assert.equal((await elsewhere.exchange(hierarchy, 'undoAssignment', { params: { id } })).status, 403)
    const canUndo = async (caller: TestCaller) =>
      (await caller.hierarchy.readAssignment({ params: { id } })).data.canUndo
    const canUndoListed = async (caller: TestCaller) =>
      (await caller.hierarchy.listAssignments({})).data.find((assignment) => assignment.id === id)?.canUndo
    for (const [caller, expected] of [
      [reader, false],
      [elsewhere, false],
      [operator, true],
    ] as const)
      assert.deepEqual([await canUndo(caller), await canUndoListed(caller)], [expected, expected])
  })

  test('undoes an assignment again when the caller of the first undo cannot write all of its assets', async () => {
    const node = await newNode('Partial undo')
    const partial = await writerOf('partial')
    const own = await createAssets(operator, [{ name: 'partial own', accessGroup: 'partial' }])
    const id = await assignIds(node, [...(await devices('partial', 2)), ...own])
    const first = await ended((await partial.hierarchy.undoAssignment({ params: { id } })).data.id)
    assert.deepEqual([first.state, first.failed, first.removed], ['finished', 2, 1])
    assert.equal((await read(id)).undoneBy, undefined)
    const undo = (await operator.hierarchy.undoAssignment({ params: { id } })).data.id
    assert.equal((await ended(undo)).removed, 2)
    assert.equal((await read(id)).undoneBy, undo)
    assert.equal((await operator.exchange(hierarchy, 'undoAssignment', { params: { id } })).status, 409)
  })

  test('undoes an assignment again when the first undo was canceled', async () => {
    const node = await newNode('Canceled undo')
    const id = await assignIds(node, await devices('canceled', 3))
    const earlier = await storeQueued(node, 'none')
    // The undo waits, because the earlier assignment waits for its lock.
    const canceled = await whileLocked(earlier, async () => {
      const undo = (await operator.hierarchy.undoAssignment({ params: { id } })).data.id
      assert.equal((await operator.exchange(hierarchy, 'undoAssignment', { params: { id } })).status, 409)
      return (await operator.hierarchy.cancelAssignment({ params: { id: undo } })).data
    })
    assert.deepEqual([canceled.state, canceled.removed], ['canceled', 0])
    const undo = await operator.hierarchy.undoAssignment({ params: { id } })
    assert.equal((await ended(undo.data.id)).removed, 3)
  })

  test('accepts one of several concurrent undos', async () => {
    const node = await newNode('Concurrent undo')
    const id = await assignIds(node, await devices('concurrent', 3))
    const earlier = await storeQueued(node, 'none')
    const undo = () => operator.exchange(hierarchy, 'undoAssignment', { params: { id } })
    const answers = await whileLocked(earlier, () => Promise.all([undo(), undo(), undo(), undo()]))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409, 409, 409])
  })

  test('cancels assignments of others only with glb_access_manage', async () => {
    const node = await newNode('Cancel')
    const id = await storeQueued(node, 'none')
    const refused = await reader.exchange(hierarchy, 'cancelAssignment', { params: { id } })
    assert.equal(refused.status, 403)
    const canCancel = async (caller: TestCaller) =>
      (await caller.hierarchy.readAssignment({ params: { id } })).data.canCancel
    assert.deepEqual([await canCancel(reader), await canCancel(operator), await canCancel(admin)], [false, true, true])
    assert.equal((refused.body as ProblemDocument).detail, 'Permission denied: requires `glb_access_manage`')
    assert.equal((await admin.hierarchy.cancelAssignment({ params: { id } })).data.state, 'canceled')
    const own = await storeQueued(node, 'none')
    assert.equal((await operator.hierarchy.cancelAssignment({ params: { id: own } })).data.state, 'canceled')
  })

  test('undoes all assets when an assignment is canceled while the inventory assigns its assets', async () => {
    const node = await newNode('In flight')
    await devices('flight', 30)
    const { id, undo } = await hub.asOwner(async (owner) => {
      // The inventory cannot write relations until the end of this transaction.
      await owner.query('begin; lock table relations in exclusive mode')
      const started = await assignByFilter(node, 'flight')
      while ((await read(started)).state !== 'running') await setImmediate()
      const { data: canceling } = await operator.hierarchy.cancelAssignment({ params: { id: started } })
      assert.deepEqual([canceling.state, canceling.assigned, canceling.canUndo], ['canceling', 0, true])
      const undone = (await operator.hierarchy.undoAssignment({ params: { id: started } })).data.id
      await owner.query('rollback')
      return { id: started, undo: undone }
    })
    const { state, removed } = await ended(undo)
    assert.deepEqual([state, removed], ['finished', 30])
    const canceled = await read(id)
    assert.deepEqual([canceled.state, canceled.assigned], ['canceled', 30])
    assert.equal((await admin.hierarchy.listNodeAssets({ params: { id: node } })).meta.totalElements, 0)
  })

  test('stores the results of a canceled assignment after a crash, before its undo runs', async () => {
    const node = await newNode('Crash after cancel')
    await devices('crashed', 30)
    let id = ''
    const sent = await hub.statements(async () => {
      id = await assignByFilter(node, 'crashed')
      await ended(id)
    })
    const portion = sent.find(({ text }) => text.includes('set portion = $3'))?.values[2]
    // The state of a process that died after the cancellation, and before the results of the portion were stored.
    await hub.asOwner(async (owner) => {
      const key = [hub.tenant.tenantId, id]
      await owner.query('delete from hierarchy_assignment_items where tenant_id = $1 and assignment_id = $2', key)
      await owner.query(
        `update hierarchy_assignments set state = 'canceled', done = 0, assigned = 0, portion = $3
         where tenant_id = $1 and id = $2`,
        [...key, portion],
      )
    })
    const undo = await operator.hierarchy.undoAssignment({ params: { id } })
    assert.equal((await ended(undo.data.id)).removed, 30)
    const { state, assigned } = await read(id)
    assert.deepEqual([state, assigned], ['canceled', 30])
  })
})

/** Creates a caller that reads all assets, and writes only the assets of a new access group. */
async function writerOf(name: string): Promise<TestCaller> {
  const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name } } })
  return createCaller(hub, [
    { permissions: readerPermissions },
    { permissions: ['inventory_write_asset_data'], accessGroupId: group.id },
  ])
}

async function newNode(name: string): Promise<string> {
  return (await createNode(operator, await createHierarchy(operator, name), 'node')).id
}

function devices(name: string, count: number): Promise<string[]> {
  return createAssets(
    operator,
    Array.from({ length: count }, (_, index) => ({ name: `${name} ${index}` })),
  )
}

async function assignIds(nodeId: string, assetIds: string[]): Promise<string> {
  const { data } = await operator.hierarchy.assignAssets({ params: { id: nodeId }, body: { data: { assetIds } } })
  return 'assignmentId' in data ? data.assignmentId : assert.fail()
}

async function assignByFilter(nodeId: string, name: string): Promise<string> {
  const body = { data: { filter: `startswith(name, '${name} ')` } }
  const { data } = await operator.hierarchy.assignAssets({ params: { id: nodeId }, body })
  return (data as Assignment).id
}

/** Stores an assignment that no task runs, until another assignment is started. */
async function storeQueued(nodeId: string, name: string, principalId = operator.principalId): Promise<string> {
  const { data: node } = await operator.hierarchy.readNode({ params: { id: nodeId } })
  const id = newId()
  await hub.asOwner((owner) =>
    owner.query(
      `insert into hierarchy_assignments (tenant_id, id, kind, state, hierarchy_id, node_id, filter, total,
         principal_id, principal_kind, principal_name, roles, created_at, modified_at)
       values ($1, $2, 'filter', 'queued', $3, $4, $5, 0, $6, 'user', 'operator', '{"roles":["operator"]}', now(), now())`,
      [hub.tenant.tenantId, id, node.hierarchyId, nodeId, `startswith(name, '${name} ')`, principalId],
    ),
  )
  return id
}

type RunOptions = { runMs?: number; attempt?: number; peers?: Context['peers'] }

/** Runs the task of the tenant once. Returns the time of the next run, or undefined if there is none. */
async function runOnce({ runMs, attempt = 1, peers }: RunOptions) {
  const context = hub.contextOf('hierarchy')
  const used = peers === undefined ? context : { ...context, peers }
  const kind = assignmentTasks(used, runMs === undefined ? {} : { runMs })['hierarchy.assign']
  const { signal } = new AbortController()
  const task = { tenantId: hub.tenant.tenantId, id: newId(), key: '', payload: {}, attempt, signal }
  const unused = () => assert.fail('The task ends after its run, and waits for no signal')
  return kind?.run({ ...task, complete: unused, mayDelayOthers: unused, nextWake: unused })
}

/** Does work while an assignment is locked, so that this assignment and all later ones cannot run. */
async function whileLocked<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  return hub.asOwner(async (owner) => {
    await owner.query('begin')
    const key = [hub.tenant.tenantId, id]
    await owner.query('select 1 from hierarchy_assignments where tenant_id = $1 and id = $2 for update', key)
    const result = await work()
    await owner.query('rollback')
    return result
  })
}

async function read(id: string): Promise<Assignment> {
  return (await admin.hierarchy.readAssignment({ params: { id } })).data
}

async function ended(id: string): Promise<Assignment> {
  for (;;) {
    const assignment = await read(id)
    if (assignment.state !== 'queued' && assignment.state !== 'running') return assignment
    await setImmediate()
  }
}
