import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Assignment, assignmentPredicate, hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { nodeHandlers } from './nodes.ts'
import { createAssets, createHierarchy, createNode, projectAll } from './testing.ts'

type Answered = { status: number; body: unknown }
const problemIn = ({ body }: Answered) => body as ProblemDocument

let hub: TestHub
let admin: TestCaller
let operator: TestCaller
let viewer: TestCaller
let lineGroup: string

describe('assignment of assets to nodes', () => {
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    operator = await hub.as('operator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    lineGroup = await group('line')
    await group('office')
    viewer = await hub.as('viewer')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('assigns assets, moves them within the hierarchy, and reports each result', async () => {
    const { one, two } = await twoNodes('By id')
    const [first = '', second = ''] = await createAssets(operator, [{ name: 'drive 1' }, { name: 'drive 2' }])
    const unknown = v7()
    const { data } = await assign(one, [first, second, unknown])
    assert.deepEqual(
      data.results.map(({ outcome, code }) => [outcome, code]),
      [
        ['assigned', undefined],
        ['assigned', undefined],
        ['failed', 'asset_not_found'],
      ],
    )
    const moved = await assign(two, [first])
    assert.deepEqual(moved.data.results, [{ assetId: first, outcome: 'moved', previousNodeId: one }])
    assert.equal((await assign(two, [first])).data.unchanged, 1)
    assert.deepEqual(await assetsOf(one), [second])
    assert.deepEqual(await assetsOf(two), [first])
    const relations = await viewer.inventory.listAssetRelations({ params: { id: first } })
    assert.deepEqual(
      relations.data.map(({ predicate, object, source }) => [predicate, object, source]),
      [['is_assigned_to_node', { type: 'node', id: two }, { type: 'manual' }]],
    )
  })

  test('keeps the nodes of an asset in other hierarchies', async () => {
    const here = await twoNodes('Location')
    const there = await twoNodes('Function')
    const [id = ''] = await createAssets(operator, [{ name: 'pump' }])
    await assign(here.one, [id])
    await assign(there.one, [id])
    await assign(there.two, [id])
    const { data } = await viewer.hierarchy.listAssetPaths({ params: { id } })
    assert.deepEqual(
      data.map(({ hierarchyName, path }) => [hierarchyName, path.map(({ name }) => name)]),
      [
        ['Function', ['two']],
        ['Location', ['one']],
      ],
    )
  })

  test('removes assets from a node', async () => {
    const { one, two } = await twoNodes('Removal')
    const [id = '', other = ''] = await createAssets(operator, [{ name: 'a' }, { name: 'b' }])
    await assign(one, [id])
    await assign(two, [other])
    const { data } = await operator.hierarchy.unassignAssets({
      params: { id: one },
      body: { data: { assetIds: [id, other] } },
    })
    assert.deepEqual(
      data.results.map(({ outcome }) => outcome),
      ['removed', 'unchanged'],
    )
    assert.deepEqual(await assetsOf(one), [])
    assert.deepEqual(await assetsOf(two), [other])
  })

  test('removes assets from a node and from the nodes below it', async () => {
    const { id, one, two } = await twoNodes('Removal below')
    const below = (await createNode(operator, id, 'below', { parentId: one })).id
    const assetIds = await createAssets(
      operator,
      ['upper', 'lower', 'elsewhere'].map((name) => ({ name: `removal ${name}` })),
    )
    for (const [index, nodeId] of [one, below, two].entries()) await assign(nodeId, [assetIds[index] ?? ''])
    const remove = async (includeBelow: boolean) => {
      const body = { data: { assetIds, includeBelow } }
      const { data } = await operator.hierarchy.unassignAssets({ params: { id: one }, body })
      return data.results.map(({ outcome, previousNodeId }) => [outcome, previousNodeId])
    }
    assert.deepEqual(await remove(true), [
      ['removed', one],
      ['removed', below],
      ['unchanged', undefined],
    ])
    await assign(below, [assetIds[1] ?? ''])
    assert.ok((await remove(false)).every(([outcome]) => outcome === 'unchanged'))
  })

  test('requires the permissions of POST /relations for each asset', async () => {
    const { one } = await twoNodes('Permissions')
    const [readable = '', hidden = ''] = await createAssets(operator, [
      { name: 'readable', accessGroup: 'line' },
      { name: 'hidden', accessGroup: 'office' },
    ])
    const limited = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_hierarchy_write', 'glb_inventory_write_relation_data'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    const { data } = await limited.hierarchy.assignAssets({
      params: { id: one },
      body: { data: { assetIds: [readable, hidden] } },
    })
    assert.deepEqual('results' in data && data.results.map(({ code }) => code), ['forbidden', 'asset_not_found'])
    const without = await createCaller(hub, [{ permissions: ['glb_hierarchy_read', 'glb_hierarchy_write'] }])
    const refused = await without.exchange(hierarchy, 'assignAssets', {
      params: { id: one },
      body: { data: { assetIds: [readable] } },
    })
    assert.equal(refused.status, 403)
  })

  test('lists the assets of a node and of all nodes below, with every list parameter', async () => {
    const id = await createHierarchy(operator, 'Lists')
    const site = await createNode(operator, id, 'Site')
    const line = await createNode(operator, id, 'Line', { parentId: site.id })
    const [upper = '', lower = '', free = ''] = await createAssets(operator, [
      { name: 'lists upper' },
      { name: 'lists lower' },
      { name: 'lists free' },
    ])
    await assign(site.id, [upper])
    await assign(line.id, [lower])
    const names = async (query: Record<string, unknown>) => {
      const answer = await viewer.inventory.listAssets({ query })
      assert.equal(answer.meta.totalElements, answer.data.length)
      return answer.data.map(({ name }) => name)
    }
    assert.deepEqual(await names({ hierarchyNode: site.id }), ['lists upper'])
    assert.deepEqual(await names({ hierarchyNode: site.id, includeBelow: true, sort: 'name' }), [
      'lists lower',
      'lists upper',
    ])
    assert.deepEqual(await names({ hierarchyNode: site.id, includeBelow: true, q: 'lower' }), ['lists lower'])
    assert.deepEqual(await names({ unassignedIn: id, filter: "startswith(name, 'lists')" }), ['lists free'])
    const { data } = await viewer.hierarchy.listNodeAssets({
      params: { id: site.id },
      query: { includeBelow: true, sort: '-name', fields: 'name' },
    })
    assert.deepEqual(data, [{ name: 'lists upper' }, { name: 'lists lower' }])
    for (const [query, code, detail] of [
      [{ hierarchyNode: v7() }, 'node_not_found', /does not exist/],
      [{ unassignedIn: v7() }, 'hierarchy_not_found', /does not exist/],
      [{ includeBelow: true }, 'invalid_query', /requires hierarchyNode/],
      [{ hierarchyNode: 'x' }, 'invalid_query', /must be a UUID/],
    ] as const) {
      const problem = problemIn(await viewer.exchange(inventory, 'listAssets', { query }))
      assert.equal(problem.code, code)
      assert.equal(problem.errors?.[0]?.pointer, `/${Object.keys(query)[0]}`)
      assert.match(problem.detail, detail)
    }
    assert.ok(free !== '')
  })

  test('counts the readable assets without a node, also on a page that does not contain all of them', async () => {
    const id = await createHierarchy(operator, 'Totals')
    const node = await createNode(operator, id, 'Node')
    const assets = ['totals 1', 'totals 2', 'totals 3', 'totals 4'].map((name) => ({ name, accessGroup: 'line' }))
    const [assigned = '', ...free] = await createAssets(operator, assets)
    await createAssets(operator, [{ name: 'totals hidden', accessGroup: 'office' }])
    await assign(node.id, [assigned])
    const reader = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    const totalOf = async (caller: TestCaller, query: Record<string, unknown>) =>
      (await caller.inventory.listAssets({ query: { limit: 1, ...query } })).meta.totalElements ?? 0
    const filter = "startswith(name, 'totals')"
    assert.equal(await totalOf(reader, { unassignedIn: id, filter }), free.length)
    assert.equal(await totalOf(reader, { unassignedIn: id, q: 'totals' }), free.length)
    assert.equal(await totalOf(viewer, { unassignedIn: id, filter }), free.length + 1)
    assert.equal(await totalOf(viewer, { unassignedIn: id }), (await totalOf(viewer, {})) - 1)
    assert.equal(await totalOf(viewer, { unassignedIn: id, hierarchyNode: node.id }), 0)
  })

  test('returns the path of a background assignment or undo in the Location header', async () => {
    const { one } = await twoNodes('Location header')
    await createAssets(operator, [{ name: 'located' }])
    const input = { params: { id: one }, body: { data: { filter: "name eq 'located'" } } }
    const started = await operator.exchange(hierarchy, 'assignAssets', input)
    const { id } = (started.body as { data: Assignment }).data
    assert.equal(started.headers.get('location'), `/hierarchy/v1/assignments/${id}`)
    await ended(id)
    const undo = await operator.exchange(hierarchy, 'undoAssignment', { params: { id } })
    const { id: undoId } = (undo.body as { data: Assignment }).data
    assert.equal(undo.headers.get('location'), `/hierarchy/v1/assignments/${undoId}`)
    await ended(undoId)
  })

  test('assigns all assets of a filter in the background, and undoes the assignment', async () => {
    const { one, two } = await twoNodes('Filter')
    const ids = await createAssets(
      operator,
      Array.from({ length: 250 }, (_, index) => ({ name: `bulk ${index}` })),
    )
    await assign(one, ids.slice(0, 10))
    await assign(two, ids.slice(10, 15))
    const started = await operator.hierarchy.assignAssets({
      params: { id: two },
      body: { data: { filter: "startswith(name, 'bulk ')" } },
    })
    const { id } = started.data as Assignment
    const finished = await ended(id)
    assert.deepEqual(
      [finished.state, finished.total, finished.assigned, finished.moved, finished.unchanged, finished.failed],
      ['finished', 250, 235, 10, 5, 0],
    )
    assert.equal(finished.progress, 100)
    const undo = await operator.hierarchy.undoAssignment({ params: { id } })
    const undone = await ended(undo.data.id)
    assert.deepEqual([undone.state, undone.removed, undone.moved], ['finished', 235, 10])
    assert.deepEqual(await assetsOf(one), ids.slice(0, 10).toSorted())
    assert.deepEqual(await assetsOf(two), ids.slice(10, 15).toSorted())
    const again = await operator.exchange(hierarchy, 'undoAssignment', { params: { id } })
    assert.equal(again.status, 409)
  })

  test('returns assets to their previous node when the node of the assignment was deleted', async () => {
    const { one, two } = await twoNodes('Undo after deletion')
    const [id = ''] = await createAssets(operator, [{ name: 'returned' }])
    await assign(one, [id])
    const { data } = await assign(two, [id])
    await operator.hierarchy.deleteNode({ params: { id: two }, query: { recursive: true } })
    const undo = await operator.hierarchy.undoAssignment({ params: { id: data.assignmentId } })
    const undone = await ended(undo.data.id)
    assert.deepEqual([undone.state, undone.moved], ['finished', 1])
    assert.deepEqual(await assetsOf(one), [id])
    assert.equal(await relationsTo(two), 0)
  })

  test('leaves assets where they are when an undo finds that their previous node was deleted', async () => {
    const { id, one, two } = await twoNodes('Undo without previous node')
    const three = (await createNode(operator, id, 'three')).id
    const [moved = '', removed = ''] = await createAssets(operator, [{ name: 'stays 1' }, { name: 'stays 2' }])
    await assign(one, [moved])
    await assign(three, [removed])
    const move = await assign(two, [moved])
    const body = { data: { assetIds: [removed] } }
    const removal = await operator.hierarchy.unassignAssets({ params: { id: three }, body })
    for (const nodeId of [one, three]) await operator.hierarchy.deleteNode({ params: { id: nodeId } })
    for (const { assignmentId } of [move.data, removal.data]) {
      const undone = await undo(assignmentId)
      assert.deepEqual([undone.state, undone.unchanged, undone.total], ['finished', 1, 1])
      const { data } = await viewer.hierarchy.listAssignmentResults({ params: { id: undone.id } })
      assert.deepEqual([data[0]?.outcome, data[0]?.code], ['unchanged', 'node_not_found'])
      assert.match(data[0]?.detail ?? '', /previous node .* was deleted. The asset stays where it is/)
    }
    assert.deepEqual(await assetsOf(two), [moved])
    assert.equal(await relationsTo(three), 0)
  })

  test('leaves assets where they are when their previous node is deleted during the undo', async () => {
    const { id, one, two } = await twoNodes('Deletion during undo')
    const [asset = ''] = await createAssets(operator, [{ name: 'undo racing' }])
    await assign(one, [asset])
    const { data } = await assign(two, [asset])
    const undone = await whileRelationsWait(async () => {
      const started = await operator.hierarchy.undoAssignment({ params: { id: data.assignmentId } })
      await assignmentStarted(id)
      await operator.hierarchy.deleteNode({ params: { id: one } })
      return () => ended(started.data.id)
    })
    assert.deepEqual([undone.state, undone.unchanged, undone.moved], ['finished', 1, 0])
    const results = await viewer.hierarchy.listAssignmentResults({ params: { id: undone.id } })
    assert.deepEqual([results.data[0]?.outcome, results.data[0]?.code], ['unchanged', 'node_not_found'])
    assert.deepEqual(await assetsOf(two), [asset])
    assert.equal(await relationsTo(one), 0)
  })

  test('keeps the counted relations when the new and the previous node are deleted during the assignment', async () => {
    const id = await createHierarchy(operator, 'Deletion of both nodes')
    const parentId = (await createNode(operator, id, 'parent')).id
    const [one = '', two = ''] = await Promise.all(
      ['one', 'two'].map(async (name) => (await createNode(operator, id, name, { parentId })).id),
    )
    const [asset = ''] = await createAssets(operator, [{ name: 'racing 4' }])
    await assign(one, [asset])
    const { data } = await whileRelationsWait(async () => {
      const started = assign(two, [asset])
      await assignmentStarted(id)
      const deletion = await operator.hierarchy.deleteNode({ params: { id: parentId }, query: { recursive: true } })
      assert.deepEqual([deletion.data.deletedNodes, deletion.data.remainingRelations], [3, 1])
      return () => started
    })
    assert.deepEqual([data.failed, data.moved, data.results[0]?.code], [1, 0, 'node_not_found'])
    assert.match(data.results[0]?.detail ?? '', /previous node .* was deleted too. The relation .* remains/)
    assert.deepEqual([await relationsTo(one), await relationsTo(two)], [1, 0])
    const cleaned = await operator.hierarchy.cleanupNode({ params: { id: parentId } })
    assert.deepEqual(cleaned.data, { deletedRelations: 1, remainingRelations: 0 })
  })

  test('undoes an assignment again after an undo that left assets where they are', async () => {
    const { id, one, two } = await twoNodes('Repeated undo')
    const three = (await createNode(operator, id, 'three')).id
    const [first = '', second = ''] = await createAssets(operator, [{ name: 'again 1' }, { name: 'again 2' }])
    await assign(one, [first, second])
    const { data } = await assign(two, [first, second])
    await assign(three, [first])
    const partial = await undo(data.assignmentId)
    assert.deepEqual([partial.moved, partial.unchanged], [1, 1])
    const read = async () => (await operator.hierarchy.readAssignment({ params: { id: data.assignmentId } })).data
    assert.deepEqual([(await read()).canUndo, (await read()).undoneBy], [true, undefined])
    await assign(two, [first])
    const complete = await undo(data.assignmentId)
    assert.deepEqual([complete.moved, complete.unchanged], [1, 1])
    assert.deepEqual(await assetsOf(one), [first, second].toSorted())
    assert.deepEqual([(await read()).canUndo, (await read()).undoneBy], [false, complete.id])
    const again = await operator.exchange(hierarchy, 'undoAssignment', { params: { id: data.assignmentId } })
    assert.equal(again.status, 409)
  })

  test('lists unchanged assets in the results, and refuses to undo an assignment without changes', async () => {
    const { one, two } = await twoNodes('Unchanged')
    const [asset = ''] = await createAssets(operator, [{ name: 'unchanged asset' }])
    await assign(one, [asset])
    const body = { data: { filter: "name eq 'unchanged asset'" } }
    const { data: background } = await operator.hierarchy.assignAssets({ params: { id: one }, body })
    const removal = { params: { id: two }, body: { data: { assetIds: [asset] } } }
    const ids = [
      (await assign(one, [asset])).data.assignmentId,
      (await ended((background as Assignment).id)).id,
      (await operator.hierarchy.unassignAssets(removal)).data.assignmentId,
    ]
    for (const id of ids) {
      const list = (outcome: 'unchanged' | 'moved') =>
        viewer.hierarchy.listAssignmentResults({ params: { id }, query: { outcome } })
      assert.deepEqual((await list('unchanged')).data, [{ assetId: asset, outcome: 'unchanged' }])
      assert.deepEqual((await list('moved')).data, [])
      assert.equal((await operator.hierarchy.readAssignment({ params: { id } })).data.canUndo, false)
      const refused = await operator.exchange(hierarchy, 'undoAssignment', { params: { id } })
      assert.deepEqual([refused.status, problemIn(refused).code], [409, 'conflict'])
      assert.match(problemIn(refused).detail, /changed no assets/)
    }
  })

  test('returns assets to their previous node when their new node is deleted during the assignment, with results in the order of the request', async () => {
    const { id, one, two } = await twoNodes('Deletion during assignment')
    const [moved = '', fresh = ''] = await createAssets(operator, [{ name: 'racing 1' }, { name: 'racing 2' }])
    const unknown = v7()
    await assign(one, [moved])
    const { data } = await whileRelationsWait(async () => {
      const started = assign(two, [moved, unknown, fresh])
      await assignmentStarted(id)
      const deletion = await operator.hierarchy.deleteNode({ params: { id: two } })
      assert.deepEqual([deletion.data.deletedNodes, deletion.data.remainingRelations], [1, 0])
      return () => started
    })
    assert.deepEqual(
      data.results.map(({ assetId, outcome, code }) => [assetId, outcome, code]),
      [
        [moved, 'failed', 'node_not_found'],
        [unknown, 'failed', 'asset_not_found'],
        [fresh, 'failed', 'node_not_found'],
      ],
    )
    assert.deepEqual([data.failed, data.assigned, data.moved], [3, 0, 0])
    assert.deepEqual(await assetsOf(one), [moved])
    assert.equal(await relationsTo(two), 0)
    const stored = await viewer.hierarchy.listAssignmentResults({ params: { id: data.assignmentId } })
    assert.deepEqual(
      stored.data.map(({ assetId, code }) => [assetId, code]),
      [
        [moved, 'node_not_found'],
        [fresh, 'node_not_found'],
      ],
    )
  })

  test('removes assets again when their hierarchy is deleted during the assignment', async () => {
    const { id, one } = await twoNodes('Deletion of hierarchy')
    const [asset = ''] = await createAssets(operator, [{ name: 'racing 3' }])
    const { data } = await whileRelationsWait(async () => {
      const started = assign(one, [asset])
      await assignmentStarted(id)
      const deletion = await operator.hierarchy.deleteHierarchy({ params: { id }, query: { recursive: true } })
      assert.deepEqual(deletion.data, { deletedNodes: 2, deletedRules: 0, assignedAssets: 0, remainingRelations: 0 })
      return () => started
    })
    assert.equal(data.results[0]?.code, 'node_not_found')
    assert.equal(await relationsTo(one), 0)
  })

  test('fails an assignment by filter whose node is deleted during a portion, and returns its assets', async () => {
    const { id, one, two } = await twoNodes('Deletion during portion')
    const [asset = ''] = await createAssets(operator, [{ name: 'portion racing' }])
    await assign(one, [asset])
    const assignment = await whileRelationsWait(async () => {
      const body = { data: { filter: "name eq 'portion racing'" } }
      const { data } = await operator.hierarchy.assignAssets({ params: { id: two }, body })
      await assignmentStarted(id)
      const deletion = await operator.hierarchy.deleteNode({ params: { id: two } })
      assert.deepEqual([deletion.data.deletedNodes, deletion.data.remainingRelations], [1, 0])
      return () => ended((data as Assignment).id)
    })
    assert.deepEqual([assignment.failed, assignment.moved, assignment.total], [1, 0, 1])
    assert.deepEqual(await assetsOf(one), [asset])
    assert.equal(await relationsTo(two), 0)
  })

  test('counts the relations of a node again when assets are assigned while it is deleted', async () => {
    const { two } = await twoNodes('Assignment during deletion')
    const [first = '', second = ''] = await createAssets(operator, [{ name: 'counted 1' }, { name: 'counted 2' }])
    const context = hub.contextOf('hierarchy')
    const late = [first, second]
    // Assigns an asset after each count of the relations, and before the deletion locks the hierarchy.
    const peers: Context['peers'] = (contract, caller) => {
      const client = context.peers(contract, caller)
      const { countNodeRelations } = client as Record<string, ((request: unknown) => Promise<unknown>) | undefined>
      const countThenAssign = async (request: unknown) => {
        const counted = await countNodeRelations?.(request)
        const asset = late.shift()
        if (asset !== undefined) await assign(two, [asset])
        return counted
      }
      return { ...client, countNodeRelations: countThenAssign }
    }
    const { deleteNode } = nodeHandlers({ ...context, peers })
    const request = { params: { id: two }, headers: {} } as const
    const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' })
    await assert.rejects(deleteNode({ ...request, query: {} }, caller), { code: 'hierarchy_not_empty' })
    assert.equal(late.length, 0)
    const { data } = await operator.hierarchy.deleteNode({ params: { id: two }, query: { recursive: true } })
    assert.equal(data.remainingRelations, 2)
  })

  test('counts and lists the assets that an undo leaves alone, with the reason', async () => {
    const { one, two } = await twoNodes('Left alone')
    const [returned = '', moved = '', removed = '', deleted = ''] = await createAssets(
      operator,
      ['returned', 'moved', 'removed', 'deleted'].map((name) => ({ name: `left alone ${name}` })),
    )
    const { data } = await assign(one, [returned, moved, removed, deleted])
    await assign(two, [moved])
    await operator.hierarchy.unassignAssets({ params: { id: one }, body: { data: { assetIds: [removed] } } })
    await operator.inventory.deleteAssets({ headers: { prefer: 'wait=30' }, body: { data: { ids: [deleted] } } })
    const undo = await operator.hierarchy.undoAssignment({ params: { id: data.assignmentId } })
    const undone = await ended(undo.data.id)
    assert.deepEqual([undone.total, undone.removed, undone.unchanged, undone.failed], [4, 1, 3, 0])
    const results = await admin.hierarchy.listAssignmentResults({ params: { id: undone.id } })
    assert.deepEqual(
      new Map(results.data.map(({ assetId, outcome, code }) => [assetId, [outcome, code]])),
      new Map([
        [returned, ['removed', undefined]],
        [moved, ['unchanged', 'conflict']],
        [removed, ['unchanged', undefined]],
        [deleted, ['unchanged', 'asset_not_found']],
      ]),
    )
    assert.deepEqual(await assetsOf(two), [moved])
  })

  test('lists results in pages whose cursor does not name an asset', async () => {
    const { one } = await twoNodes('Result pages')
    const ids = await createAssets(
      operator,
      Array.from({ length: 5 }, (_, index) => ({ name: `paged ${index}` })),
    )
    const { data } = await assign(one, ids)
    const listed: string[] = []
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) }
      const page = await viewer.hierarchy.listAssignmentResults({ params: { id: data.assignmentId }, query })
      const { totalElements, elements, offset } = page.meta
      assert.deepEqual([totalElements, elements, offset], [5, page.data.length, listed.length])
      listed.push(...page.data.map(({ assetId }) => assetId))
      cursor = page.meta.nextCursor
      isMore = cursor !== undefined
      assert.ok(!ids.includes(cursor ?? ''))
    }
    assert.deepEqual(listed, ids)
    const failed = await viewer.hierarchy.listAssignmentResults({
      params: { id: data.assignmentId },
      query: { outcome: 'failed' },
    })
    assert.deepEqual(failed.meta, { totalElements: 0, elements: 0, offset: 0 })
    const invalid = await viewer.exchange(hierarchy, 'listAssignmentResults', {
      params: { id: data.assignmentId },
      query: { cursor: ids[0] ?? '' },
    })
    assert.equal(problemIn(invalid).code, 'invalid_cursor')
  })

  test('counts assets that do not exist as failed, and does not store results for them', async () => {
    const { one } = await twoNodes('Missing assets')
    const { data } = await assign(
      one,
      Array.from({ length: 20 }, () => v7()),
    )
    assert.deepEqual([data.failed, data.results.length], [20, 20])
    const params = { id: data.assignmentId }
    const { data: assignment } = await viewer.hierarchy.readAssignment({ params })
    assert.deepEqual([assignment.state, assignment.total, assignment.failed], ['finished', 20, 20])
    assert.deepEqual((await viewer.hierarchy.listAssignmentResults({ params })).data, [])
  })

  test('refuses an asset with relations to 200 nodes, except for a move', async () => {
    const { one, two } = await twoNodes('Many nodes')
    const other = await twoNodes('Many nodes elsewhere')
    const [full = ''] = await createAssets(operator, [{ name: 'full' }])
    await assign(one, [full])
    const relations = Array.from({ length: inventoryLimits.nodesPerAsset - 1 }, () => ({
      subject: { type: 'asset' as const, id: full },
      predicate: assignmentPredicate,
      object: { type: 'node' as const, id: v7() },
    }))
    await operator.inventory.createRelations({ body: { data: { relations } } })
    const [refused] = (await assign(other.one, [full])).data.results
    assert.deepEqual([refused?.outcome, refused?.status, refused?.code], ['failed', 409, 'too_many_relations'])
    const [moved] = (await assign(two, [full])).data.results
    assert.equal(moved?.outcome, 'moved')
  })

  test('removes the reverse relation of a bidirectional assignment', async () => {
    const { one, two } = await twoNodes('Bidirectional')
    const [id = ''] = await createAssets(operator, [{ name: 'bidirectional' }])
    const relate = (nodeId: string) =>
      operator.inventory.createRelation({
        body: {
          data: {
            subject: { type: 'asset', id },
            predicate: 'is_assigned_to_node',
            object: { type: 'node', id: nodeId },
            isBidirectional: true,
          },
        },
      })
    const relations = async () => (await viewer.inventory.listAssetRelations({ params: { id } })).data.length
    await relate(one)
    assert.equal(await relations(), 2)
    await operator.hierarchy.unassignAssets({ params: { id: one }, body: { data: { assetIds: [id] } } })
    assert.equal(await relations(), 0)
    await relate(one)
    await assign(two, [id])
    assert.equal(await relations(), 1)
  })

  test('keeps the own node of an asset in a merge, and takes the node of the other asset in other hierarchies', async () => {
    const shared = await twoNodes('Merge shared')
    const single = await twoNodes('Merge single')
    const [kept = '', merged = ''] = await createAssets(operator, [{ name: 'merge kept' }, { name: 'merge other' }])
    await assign(shared.one, [kept])
    await assign(shared.two, [merged])
    await assign(single.one, [merged])
    const nodesOf = async (id: string) => {
      await projectAll(hub)
      const { data } = await viewer.hierarchy.listAssetPaths({ params: { id } })
      return new Map(data.map(({ hierarchyId, path }) => [hierarchyId, path.at(-1)?.id]))
    }
    const headers = { prefer: 'wait=30' }
    const body = { data: { other: merged } }
    const merge = await operator.inventory.mergeAsset({ params: { id: kept }, headers, body })
    assert.deepEqual(
      await nodesOf(kept),
      new Map([
        [shared.id, shared.one],
        [single.id, single.one],
      ]),
    )
    await until(async () => (await assetsOf(shared.two)).length === 0)
    const mergeId = String((merge.data.detail?.result as { mergeId?: string } | undefined)?.mergeId)
    await operator.inventory.undoMerge({ params: { id: kept, mergeId }, headers })
    assert.deepEqual(await nodesOf(kept), new Map([[shared.id, shared.one]]))
    assert.deepEqual(
      await nodesOf(merged),
      new Map([
        [shared.id, shared.two],
        [single.id, single.one],
      ]),
    )
  })

  test('applies only pairs that a rule proposes now', async () => {
    const { id, one, two } = await twoNodes('Applied rules')
    const [proposed = '', other = ''] = await createAssets(operator, [{ name: 'apply 1' }, { name: 'apply 2' }])
    const rules = [
      { nodeId: one, namePattern: 'apply 1' },
      { nodeId: two, namePattern: 'apply *' },
    ]
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules } } })
    const assets = [
      { assetId: proposed, nodeId: one },
      { assetId: other, nodeId: one },
    ]
    const { data } = await operator.hierarchy.applyProposals({ params: { id }, body: { data: { assets } } })
    const stored = await viewer.hierarchy.listAssignmentResults({ params: { id: data.assignmentId } })
    for (const results of [data.results, stored.data])
      assert.deepEqual(
        results.map(({ assetId, outcome, code }) => [assetId, outcome, code]),
        [
          [proposed, 'assigned', undefined],
          [other, 'failed', 'not_proposed'],
        ],
      )
    assert.deepEqual([data.assigned, data.failed], [1, 1])
    const laterRule = [{ assetId: proposed, nodeId: two }]
    const again = await operator.hierarchy.applyProposals({ params: { id }, body: { data: { assets: laterRule } } })
    assert.equal(again.data.results[0]?.code, 'not_proposed')
    assert.deepEqual(await assetsOf(one), [proposed])
  })

  test('deletes the rules of a node together with the node', async () => {
    const { id, one, two } = await twoNodes('Rules of deleted nodes')
    const below = (await createNode(operator, id, 'below', { parentId: one })).id
    const rules = [one, two, below].map((nodeId) => ({ nodeId, namePattern: 'Pump*' }))
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules } } })
    const counts = { deletedNodes: 2, deletedRules: 2, assignedAssets: 0, remainingRelations: 0 }
    const counted = await operator.hierarchy.deleteNode({ params: { id: one }, query: { dryRun: true } })
    assert.deepEqual(counted.data, counts)
    const refused = problemIn(await operator.exchange(hierarchy, 'deleteNode', { params: { id: one } }))
    assert.deepEqual([refused.childNodes, refused.assignmentRules], [1, 2])
    const deletion = await operator.hierarchy.deleteNode({ params: { id: one }, query: { recursive: true } })
    assert.deepEqual(deletion.data, counts)
    const { data } = await operator.hierarchy.readRules({ params: { id } })
    assert.deepEqual(data.rules, [{ nodeId: two, namePattern: 'Pump*' }])
    await operator.hierarchy.replaceRules({ params: { id }, body: { data } })
    const all = await operator.hierarchy.deleteHierarchy({ params: { id }, query: { dryRun: true } })
    assert.deepEqual([all.data.deletedNodes, all.data.deletedRules], [1, 1])
  })

  test('refuses an invalid filter, and an assignment with both or neither of ids and filter', async () => {
    const { one } = await twoNodes('Invalid')
    for (const [data, code] of [
      [{ filter: 'colour eq 1' }, 'unknown_property'],
      [{ filter: 'name eq' }, 'invalid_filter'],
      [{ filter: "name eq 'a\u0000'" }, 'invalid_filter'],
      [{}, 'invalid_body'],
      [{ filter: "name eq 'x'", assetIds: [v7()] }, 'invalid_body'],
    ] as const) {
      const answer = await operator.exchange(hierarchy, 'assignAssets', { params: { id: one }, body: { data } })
      assert.equal(problemIn(answer).code, code)
      const pointer = code === 'invalid_body' ? '/data' : '/data/filter'
      assert.equal(problemIn(answer).errors?.[0]?.pointer, pointer)
    }
  })

  test('ends the older relation when a client relates an asset to two nodes of one hierarchy', async () => {
    const { one, two } = await twoNodes('Direct relations')
    const [id = ''] = await createAssets(operator, [{ name: 'direct' }])
    for (const nodeId of [one, two])
      await operator.inventory.createRelation({
        body: {
          data: {
            subject: { type: 'asset', id },
            predicate: 'is_assigned_to_node',
            object: { type: 'node', id: nodeId },
          },
        },
      })
    await projectAll(hub)
    await until(async () => (await assetsOf(one)).length === 0)
    assert.deepEqual(await assetsOf(two), [id])
  })

  test('reports the remaining relations of deleted nodes, and deletes them with cleanup', async () => {
    const id = await createHierarchy(operator, 'Deletion')
    const site = await createNode(operator, id, 'Site')
    const line = await createNode(operator, id, 'Line', { parentId: site.id })
    const ids = await createAssets(
      operator,
      Array.from({ length: 120 }, (_, index) => ({ name: `left ${index}` })),
    )
    await assign(line.id, ids)
    const refused = await operator.exchange(hierarchy, 'deleteNode', { params: { id: site.id } })
    assert.equal(problemIn(refused).code, 'hierarchy_not_empty')
    assert.match(problemIn(refused).detail, /nodes below it: 1, assigned assets: 120/)
    const existing = await operator.exchange(hierarchy, 'cleanupNode', { params: { id: site.id } })
    assert.equal(existing.status, 409)
    const { data } = await operator.hierarchy.deleteNode({ params: { id: site.id }, query: { recursive: true } })
    assert.deepEqual(data, { deletedNodes: 2, deletedRules: 0, assignedAssets: 120, remainingRelations: 120 })
    assert.equal(await relationsTo(line.id), 120)
    const cleaned = await operator.hierarchy.cleanupNode({ params: { id: site.id } })
    assert.deepEqual(cleaned.data, { deletedRelations: 120, remainingRelations: 0 })
  })

  test('shows events of hierarchies without counts of assets and nodes of assignments to callers who cannot read all assets', async () => {
    const { one } = await twoNodes('Deletion event')
    const [id = ''] = await createAssets(operator, [{ name: 'hidden', accessGroup: 'office' }])
    await projectAll(hub)
    const { meta } = await admin.events.listEvents({ query: { limit: 1 } })
    await assign(one, [id])
    await operator.hierarchy.deleteNode({ params: { id: one }, query: { recursive: true } })
    const reader = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_audit_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    await projectAll(hub)
    const countsFor = async (caller: TestCaller) => {
      const { data } = await caller.events.listEvents({ query: { after: meta.newestPosition, limit: 100 } })
      const dataOf = (type: string) => data.find((event) => event.type.endsWith(type))?.data ?? assert.fail(type)
      const { assigned, nodeId } = dataOf('.hierarchy.assignment.changed')
      return [assigned, nodeId, dataOf('.hierarchy.node.deleted').remainingRelations]
    }
    assert.deepEqual(await countsFor(admin), [1, one, 1])
    assert.deepEqual(await countsFor(reader), [undefined, undefined, undefined])
  })

  test('proposes assets by name, subnet and gateway, and applies only what a person confirms', async () => {
    const { id, one, two } = await twoNodes('Rules')
    const [press = '', robot = ''] = await createAssets(operator, [{ name: 'rule press' }, { name: 'rule robot' }])
    await operator.hierarchy.replaceRules({
      params: { id },
      body: {
        data: {
          rules: [
            { nodeId: one, namePattern: 'rule p*' },
            { nodeId: two, namePattern: 'rule *' },
          ],
        },
      },
    })
    const { data } = await viewer.hierarchy.listProposals({ params: { id } })
    assert.deepEqual(
      data.map(({ assetId, nodeName, nodePath, rule }) => [assetId, nodeName, nodePath, rule]),
      [
        [press, 'one', ['one'], 0],
        [robot, 'two', ['two'], 1],
      ],
    )
    const applied = await operator.hierarchy.applyProposals({
      params: { id },
      body: { data: { assets: [{ assetId: press, nodeId: one }] } },
    })
    assert.equal(applied.data.assigned, 1)
    // The counts need not contain the applied asset yet.
    const rest = await viewer.hierarchy.listProposals({ params: { id } })
    assert.deepEqual(
      rest.data.map(({ assetId }) => assetId),
      [robot],
    )
    const rules = [{ nodeId: two, namePattern: 'rule *' }]
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules } } })
    const unassigned = await viewer.hierarchy.listProposals({ params: { id } })
    assert.deepEqual([unassigned.meta.elements, unassigned.meta.inOtherNode], [1, 1])
    const all = await viewer.hierarchy.listProposals({ params: { id }, query: { onlyUnassigned: false } })
    assert.deepEqual([all.meta.elements, all.meta.inOtherNode], [2, 1])
    assert.deepEqual(all.data.find(({ assetId }) => assetId === press)?.currentNodePath, ['one'])
    await createAssets(operator, [
      { name: 'subnet below', address: '10.20.1.7' },
      { name: 'subnet inside', address: '10.20.2.9' },
    ])
    await operator.hierarchy.replaceRules({
      params: { id },
      body: { data: { rules: [{ nodeId: two, subnet: '10.20.2.0/23' }] } },
    })
    const bySubnet = await viewer.hierarchy.listProposals({ params: { id } })
    assert.deepEqual(
      bySubnet.data.map(({ assetName }) => assetName),
      ['subnet inside'],
    )
    for (const rules of [[{ nodeId: one }], [{ nodeId: one, subnet: '10.0.0.0/33' }]]) {
      const answer = await operator.exchange(hierarchy, 'replaceRules', { params: { id }, body: { data: { rules } } })
      assert.equal(answer.status, 400)
    }
  })
})

async function twoNodes(name: string) {
  const id = await createHierarchy(operator, name)
  const one = (await createNode(operator, id, 'one')).id
  const two = (await createNode(operator, id, 'two')).id
  return { id, one, two }
}

async function assign(nodeId: string, assetIds: readonly string[]) {
  const { data } = await operator.hierarchy.assignAssets({
    params: { id: nodeId },
    body: { data: { assetIds: [...assetIds] } },
  })
  assert.ok('results' in data)
  return { data }
}

async function undo(id: string): Promise<Assignment> {
  return ended((await operator.hierarchy.undoAssignment({ params: { id } })).data.id)
}

/** Does work while the inventory cannot write relations. Then waits for the result of the work. */
async function whileRelationsWait<Result>(work: () => Promise<() => Promise<Result>>): Promise<Result> {
  const result = await hub.asOwner(async (owner) => {
    await owner.query('begin; lock table relations in exclusive mode')
    const started = await work()
    await owner.query('rollback')
    return started
  })
  return result()
}

/** Waits until an assignment of a hierarchy has a portion that the inventory gets. */
async function assignmentStarted(hierarchyId: string): Promise<void> {
  await until(async () => {
    const { data } = await viewer.hierarchy.listAssignments({ query: { hierarchyId } })
    return data.some(({ state }) => state === 'running')
  })
}

async function relationsTo(nodeId: string): Promise<number> {
  const { meta } = await viewer.inventory.listRelations({ query: { filter: `object.id eq '${nodeId}'` } })
  return meta.totalElements ?? 0
}

async function assetsOf(nodeId: string): Promise<string[]> {
  const { data } = await viewer.hierarchy.listNodeAssets({
    params: { id: nodeId },
    query: { limit: 100, fields: 'id' },
  })
  return data.map(({ id }) => String(id)).toSorted()
}

async function ended(id: string): Promise<Assignment> {
  for (;;) {
    const { data } = await viewer.hierarchy.readAssignment({ params: { id } })
    if (data.state !== 'queued' && data.state !== 'running') return data
    await setImmediate()
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now()
  while (!(await condition())) {
    assert.ok(performance.now() - startedAt < 120_000, 'The condition is not reached')
    await setImmediate()
  }
}
