import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createAssets, createHierarchy, createNode, listTree, projectAll, type TreeNode } from './testing.ts'

/**
 * Compares random sequences of requests with a simple model. In each step, two processes send one request each at the same
 * time. The results and the tree must equal those of one request after the other, in one of the two orders. At the end of a
 * sequence, the stored counts must equal a count of the model for every caller.
 */

const runs = Number(process.env.MILLWRIGHT_HIERARCHY_RUNS ?? 5)
const assetsPerRun = 6
const groupNames = ['model line', 'model office'] as const

type Operation = keyof typeof operations
type Step = { operation: Operation; node: number; target: number; position: number; asset: number }

/** An asset of the model. `node` is its node in the hierarchy. */
type ModelAsset = {
  id: string
  isGateway: boolean
  group: number
  reachability: string
  management: string
  node: string | undefined
}

/** The state of one hierarchy: the children of each node in order, and the assets. `top` is the parent of the top level. */
class Model {
  readonly children: Map<string, string[]>
  readonly names: Map<string, string>
  readonly assets: Map<string, ModelAsset>
  /** The number of relations to the nodes of the last deletion. */
  remaining = 0

  constructor(parts: Pick<Model, 'children' | 'names' | 'assets'>) {
    this.children = new Map([...parts.children].map(([id, ids]) => [id, [...ids]]))
    this.names = new Map(parts.names)
    this.assets = new Map([...parts.assets].map(([id, asset]) => [id, { ...asset }]))
  }

  has(id: string): boolean {
    return id === top || this.names.has(id)
  }

  childrenOf(id: string): string[] {
    return this.children.get(id) ?? []
  }

  parentOf(id: string): string {
    return [...this.children].find(([, ids]) => ids.includes(id))?.[0] ?? top
  }

  subtree(id: string): string[] {
    return [id, ...this.childrenOf(id).flatMap((child) => this.subtree(child))]
  }

  add(id: string, name: string, { parent, position }: { parent: string; position: number }): void {
    this.names.set(id, name)
    const siblings = this.childrenOf(parent)
    this.children.set(parent, siblings.toSpliced(Math.min(position, siblings.length), 0, id))
  }

  detach(id: string): void {
    const parent = this.parentOf(id)
    this.children.set(
      parent,
      this.childrenOf(parent).filter((other) => other !== id),
    )
  }

  assetsIn(ids: readonly string[]): ModelAsset[] {
    return [...this.assets.values()].filter(({ node }) => node !== undefined && ids.includes(node))
  }

  delete(id: string): string {
    const ids = this.subtree(id)
    this.detach(id)
    const assigned = this.assetsIn(ids)
    this.remaining = assigned.length
    for (const asset of assigned) asset.node = undefined
    for (const one of ids) {
      this.names.delete(one)
      this.children.delete(one)
    }
    return deletion(ids.length, assigned.length)
  }

  printed(id = top, level = 0): string[] {
    return this.childrenOf(id).flatMap((child) => [
      `${'  '.repeat(level)}${this.names.get(child)}`,
      ...this.printed(child, level + 1),
    ])
  }

  /** Replaces the keys of new nodes with the ids that the service assigned. The trees must be equal. */
  static from(tree: readonly TreeNode[], assets: Map<string, ModelAsset>): Model {
    const model = new Model({ children: new Map(), names: new Map(), assets })
    for (const { id, name, parentId } of tree) model.add(id, name, { parent: parentId ?? top, position: tree.length })
    return model
  }
}

const top = 'top'
/** The result of an assignment whose node was deleted meanwhile. */
const returned = 'failed  node_not_found'
/** A node that does not exist. */
const missing = '01980000-0000-7000-8000-000000000000'

/** The entities of a step. They are chosen before both requests are sent, so the other request may delete them. */
type Chosen = { hierarchyId: string; node: string; target: string; position: number; asset: string; name: string }

type OperationModel = {
  send(caller: TestCaller, chosen: Chosen): Promise<string>
  apply(model: Model, chosen: Chosen): string
}

function deletion(nodes: number, relations: number): string {
  return `deleted ${nodes}, remaining ${relations}`
}

const parentOf = (target: string) => (target === top ? null : target)

async function exchange(
  caller: TestCaller,
  name: string,
  input: object,
  show: (data: never) => string,
): Promise<string> {
  const contract = name in inventory.operations ? inventory : hierarchy
  const { status, body } = await caller.exchange(contract, name, input as never)
  return status < 300 ? show((body as { data: never }).data) : (body as { code: string }).code
}

/** Sends a write of an asset and waits until it is applied. */
function write(caller: TestCaller, name: string, input: object): Promise<string> {
  return exchange(caller, name, { ...input, headers: { prefer: 'wait=30' } }, () => 'written')
}

const shownResult = (data: { results: { outcome: string; previousNodeId?: string; code?: string }[] }) => {
  const [{ outcome, previousNodeId = '', code = '' } = { outcome: 'none' }] = data.results
  return [outcome, previousNodeId, code].join(' ').trim()
}

const operations = {
  create: {
    send: (caller, { hierarchyId, target, position, name }) =>
      exchange(
        caller,
        'createNode',
        { params: { id: hierarchyId }, body: { data: { name, parentId: parentOf(target), position } } },
        ({ position: found }) => `created ${found}`,
      ),
    apply(model, { target, position, name }) {
      if (!model.has(target)) return 'node_not_found'
      const place = Math.min(position, model.childrenOf(target).length)
      model.add(`new ${name}`, name, { parent: target, position })
      return `created ${place}`
    },
  },
  move: {
    send: (caller, { node, target, position }) =>
      exchange(
        caller,
        'moveNode',
        { params: { id: node }, body: { data: { parentId: parentOf(target), position } } },
        ({ position: found }) => `moved ${found}`,
      ),
    apply(model, { node, target, position }) {
      if (!model.has(node)) return 'not_found'
      if (!model.has(target)) return 'node_not_found'
      if (model.subtree(node).includes(target)) return 'node_below_itself'
      const name = model.names.get(node) ?? ''
      model.detach(node)
      const place = Math.min(position, model.childrenOf(target).length)
      model.add(node, name, { parent: target, position })
      return `moved ${place}`
    },
  },
  copy: {
    send: (caller, { node, target, position, name }) =>
      exchange(
        caller,
        'copyNode',
        { params: { id: node }, body: { data: { parentId: parentOf(target), position, name } } },
        ({ copiedNodes }) => `copied ${copiedNodes}`,
      ),
    apply(model, { node, target, position, name }) {
      if (!model.has(node)) return 'not_found'
      if (!model.has(target)) return 'node_not_found'
      const ids = model.subtree(node)
      const original = new Model(model)
      const copy = (id: string, parent: string, at: number) => {
        const key = `copy of ${id} as ${name}`
        model.add(key, id === node ? name : (original.names.get(id) ?? ''), { parent, position: at })
        for (const child of original.childrenOf(id)) copy(child, key, Number.MAX_SAFE_INTEGER)
      }
      copy(node, target, position)
      return `copied ${ids.length}`
    },
  },
  delete: {
    send: (caller, { node }) =>
      exchange(
        caller,
        'deleteNode',
        { params: { id: node }, query: { recursive: true } },
        ({ deletedNodes, remainingRelations }) => deletion(deletedNodes, remainingRelations),
      ),
    apply: (model, { node }) => (model.has(node) ? model.delete(node) : 'not_found'),
  },
  deleteEmpty: {
    send: (caller, { node }) =>
      exchange(caller, 'deleteNode', { params: { id: node } }, ({ deletedNodes, remainingRelations }) =>
        deletion(deletedNodes, remainingRelations),
      ),
    apply(model, { node }) {
      if (!model.has(node)) return 'not_found'
      const isEmpty = model.childrenOf(node).length === 0 && model.assetsIn([node]).length === 0
      return isEmpty ? model.delete(node) : 'hierarchy_not_empty'
    },
  },
  assign: {
    send: (caller, { node, asset }) =>
      exchange(caller, 'assignAssets', { params: { id: node }, body: { data: { assetIds: [asset] } } }, shownResult),
    apply(model, { node, asset: id }) {
      if (!model.has(node)) return 'not_found'
      const asset = model.assets.get(id)
      if (asset === undefined) return 'failed  asset_not_found'
      const previous = asset.node
      asset.node = node
      return previous === undefined ? 'assigned' : previous === node ? 'unchanged' : `moved ${previous}`
    },
  },
  unassign: {
    send: (caller, { node, asset }) =>
      exchange(caller, 'unassignAssets', { params: { id: node }, body: { data: { assetIds: [asset] } } }, shownResult),
    apply(model, { node, asset: id }) {
      if (!model.has(node)) return 'not_found'
      const asset = model.assets.get(id)
      if (asset === undefined) return 'failed  asset_not_found'
      if (asset.node !== node) return 'unchanged'
      asset.node = undefined
      return `removed ${node}`
    },
  },
  relate: {
    send: (caller, { node, asset }) =>
      exchange(
        caller,
        'createRelation',
        {
          body: {
            data: {
              subject: { type: 'asset', id: asset },
              predicate: 'is_assigned_to_node',
              object: { type: 'node', id: node },
            },
          },
        },
        () => 'related',
      ),
    apply(model, { node, asset: id }) {
      const asset = model.assets.get(id)
      if (asset === undefined) return 'asset_not_found'
      if (model.has(node)) asset.node = node
      return 'related'
    },
  },
  reach: {
    send: (caller, { asset, position }) =>
      write(caller, 'setReachabilityState', {
        params: { id: asset },
        body: { data: { state_value: reached(position) } },
      }),
    apply: (model, { asset: id, position }) => changed(model, id, { reachability: reached(position) }),
  },
  decide: {
    send: (caller, { asset, position }) =>
      write(caller, 'setManagementState', {
        params: { id: asset },
        body: { data: { state_value: decided(position) } },
      }),
    apply: (model, { asset: id, position }) => changed(model, id, { management: decided(position) }),
  },
  regroup: {
    send: (caller, { asset, position }) =>
      write(caller, 'setAccessGroup', {
        params: { id: asset },
        body: { data: { access_group: groups[position % groups.length] } },
      }),
    apply: (model, { asset: id, position }) => changed(model, id, { group: position % groups.length }),
  },
  deleteAsset: {
    send: (caller, { asset }) => write(caller, 'deleteAssets', { body: { data: { ids: [asset] } } }),
    apply(model, { asset }) {
      model.assets.delete(asset)
      return 'written'
    },
  },
} satisfies Record<string, OperationModel>

const reached = (number: number) => ['reached', 'failed', 'unknown'][number % 3] ?? ''
const decided = (number: number) => ['regarded', 'unknown'][number % 2] ?? ''

function changed(model: Model, id: string, change: Partial<ModelAsset>): string {
  const asset = model.assets.get(id)
  if (asset === undefined) return 'not_found'
  Object.assign(asset, change)
  return 'written'
}

/** Writes of assets are accepted and applied later, so a write can be accepted for an asset that is deleted meanwhile. */
const ofAssets: readonly Operation[] = ['reach', 'decide', 'regroup', 'deleteAsset', 'relate']

let hub: TestHub
let sibling: TestHub
let processes: [TestCaller, TestCaller]
let readers: { caller: TestCaller; canRead: (asset: ModelAsset) => boolean }[]
let groups: string[]

describe('hierarchies under concurrent changes of two processes', () => {
  before(async () => {
    hub = await testHub()
    sibling = await hub.sibling()
    const admin = await hub.as('administrator')
    groups = []
    for (const name of groupNames)
      groups.push((await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id)
    processes = [admin, sibling.withToken(admin.token, admin.principalId)]
    const line = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: groups[0] ?? '' },
    ])
    const gateways = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_inventory_read_gateway_data'] },
    ])
    readers = [
      { caller: admin, canRead: () => true },
      { caller: line, canRead: ({ group }) => group === 0 },
      { caller: gateways, canRead: ({ isGateway }) => isGateway },
    ]
  })

  after(async () => {
    await sibling[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const step: fc.Arbitrary<Step> = fc.record({
    operation: fc.constantFrom(...(Object.keys(operations) as Operation[])),
    node: fc.nat(20),
    target: fc.nat(20),
    position: fc.nat(4),
    asset: fc.nat(assetsPerRun - 1),
  })

  /** A deletion of the node to which the other request assigns an asset. */
  const deletedNode: fc.Arbitrary<[Step, Step]> = fc
    .tuple(step, fc.constantFrom<Operation>('delete', 'deleteEmpty'))
    .map(([one, operation]) => [
      { ...one, operation: 'assign' },
      { ...one, operation },
    ])
  const pair = fc.oneof({ arbitrary: fc.tuple(step, step), weight: 5 }, { arbitrary: deletedNode, weight: 1 })

  test('gives the results of some serial order, and stores the counts of the tree', onlyInLongRuns, async () => {
    await fc.assert(fc.asyncProperty(fc.array(pair, { minLength: 10, maxLength: 14 }), runSequence), {
      numRuns: runs,
      seed: 14,
      endOnFailure: true,
    })
  })

  test('gives one winner when two nodes are moved below each other', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await createHierarchy(processes[0], `Crossing ${round}`)
      const a = (await createNode(processes[0], id, 'A')).id
      const b = (await createNode(processes[0], id, 'B')).id
      const move = (caller: TestCaller, node: string, target: string) =>
        operations.move.send(caller, { hierarchyId: id, node, target, position: 0, asset: '', name: '' })
      const results = await Promise.all([move(processes[0], a, b), move(processes[1], b, a)])
      assert.deepEqual(results.toSorted(), ['moved 0', 'node_below_itself'])
      assert.equal((await listTree(processes[0], id)).length, 2)
    }
  })

  test('keeps every node once when one subtree is moved by many requests while its nodes are deleted', async () => {
    const id = await createHierarchy(processes[0], 'Busy subtree')
    const targets = await Promise.all(
      ['one', 'two', 'three'].map(async (name) => (await createNode(processes[0], id, name)).id),
    )
    const root = (await createNode(processes[0], id, 'subtree')).id
    const leaves = await Promise.all(
      Array.from(
        { length: 6 },
        async (_, index) => (await createNode(processes[0], id, `leaf ${index}`, { parentId: root })).id,
      ),
    )
    const chosen = { hierarchyId: id, position: 0, asset: '', name: '' }
    const moves = Array.from({ length: 12 }, (_, index) =>
      operations.move.send(processes[index % 2] as TestCaller, {
        ...chosen,
        node: root,
        target: targets[index % 3] ?? '',
      }),
    )
    const deletions = leaves
      .slice(0, 3)
      .map((leaf, index) =>
        operations.delete.send(processes[index % 2] as TestCaller, { ...chosen, node: leaf, target: top }),
      )
    const results = await Promise.all([...moves, ...deletions])
    assert.deepEqual([...new Set(results)].toSorted(), [deletion(1, 0), 'moved 0'])
    const tree = await listTree(processes[0], id)
    assert.deepEqual(tree.map(({ name }) => name).toSorted(), [
      'leaf 3',
      'leaf 4',
      'leaf 5',
      'one',
      'subtree',
      'three',
      'two',
    ])
    assert.ok(targets.includes(tree.find(({ name }) => name === 'subtree')?.parentId ?? ''))
    assert.equal((await processes[0].hierarchy.readHierarchy({ params: { id } })).data.nodeCount, 7)
  })

  test('leaves one node per hierarchy when two processes assign the same assets to different nodes', async () => {
    const id = await createHierarchy(processes[0], 'Contested')
    const nodes = [await createNode(processes[0], id, 'one'), await createNode(processes[0], id, 'two')] as const
    const assetIds = await createAssets(
      processes[0],
      Array.from({ length: 20 }, (_, index) => ({ name: `contested ${index}` })),
    )
    const results = await Promise.all(
      nodes.map(({ id: nodeId }, index) =>
        processes[index]?.hierarchy.assignAssets({ params: { id: nodeId }, body: { data: { assetIds } } }),
      ),
    )
    const outcomes = results.map((result) =>
      result !== undefined && 'results' in result.data ? result.data.results.map(({ outcome }) => outcome) : [],
    )
    for (const [index, assetId] of assetIds.entries()) {
      assert.deepEqual([outcomes[0]?.[index], outcomes[1]?.[index]].toSorted(), ['assigned', 'moved'])
      const relations = await processes[0].inventory.listAssetRelations({ params: { id: assetId } })
      assert.equal(relations.data.length, 1)
    }
  })

  async function runSequence(steps: [Step, Step][]): Promise<void> {
    const [admin] = processes
    const hierarchyId = await createHierarchy(admin, `Model ${performance.now()}`)
    const ids = await createAssets(
      admin,
      Array.from({ length: assetsPerRun }, (_, index) => ({
        name: `model ${index}`,
        accessGroup: groupNames[index % 2] ?? '',
        ...(index < 2 ? { type: 'Gateway' } : {}),
      })),
    )
    const assets = new Map(
      ids.map((id, index): [string, ModelAsset] => [
        id,
        { id, isGateway: index < 2, group: index % 2, reachability: 'unknown', management: 'unknown', node: undefined },
      ]),
    )
    for (const name of ['root', 'hall', 'line']) await createNode(admin, hierarchyId, name)
    let model = Model.from(await listTree(admin, hierarchyId), assets)
    for (const [index, pair] of steps.entries()) {
      const chosen = pair.map((one, side) => choose(model, one, { hierarchyId, ids, name: `n${index}${side}` }))
      model = await runPair(model, pair, chosen as [Chosen, Chosen])
    }
    await projectAll(hub)
    await requireCounts(model)
    await requireLists(model)
    await requireUnchangedByRebuild(hierarchyId)
  }

  function choose(
    model: Model,
    { node, target, position, asset }: Step,
    { hierarchyId, ids, name }: { hierarchyId: string; ids: readonly string[]; name: string },
  ): Chosen {
    const nodes = [...model.names.keys()].toSorted()
    return {
      hierarchyId,
      node: nodes[node % (nodes.length + 1)] ?? missing,
      target: [top, ...nodes][target % (nodes.length + 2)] ?? missing,
      position,
      asset: ids[asset] ?? '',
      name,
    }
  }

  /** Sends two requests at the same time and returns the state after them. */
  async function runPair(model: Model, pair: [Step, Step], chosen: [Chosen, Chosen]): Promise<Model> {
    const models = pair.map(({ operation }) => operations[operation] as OperationModel)
    const send = (side: 0 | 1) => (models[side] as OperationModel).send(processes[side], chosen[side])
    const isSerial = pair.some(({ operation }) => ofAssets.includes(operation)) && chosen[0].asset === chosen[1].asset
    const results = isSerial ? [await send(0), await send(1)] : await Promise.all([send(0), send(1)])
    // A relation that a client created may supersede another one. The projection ends the older relation.
    if (pair.some(({ operation }) => operation === 'relate')) await projectAll(hub)
    const apply = (state: Model, side: 0 | 1) => (models[side] as OperationModel).apply(state, chosen[side])
    const orders: (0 | 1)[][] = isSerial
      ? [[0, 1]]
      : [
          [0, 1],
          [1, 0],
        ]
    const candidates = orders.map((order) => {
      const state = new Model(model)
      const found: string[] = []
      for (const side of order) found[side] = apply(state, side)
      return { found, state }
    })
    // A node may be deleted while the inventory assigns an asset to it. The asset then returns to its previous node. The
    // deletion may have counted its relation.
    const assignment = pair[0].operation === 'assign' ? 0 : 1
    const other = assignment === 0 ? 1 : 0
    const isAssigned = pair[assignment].operation === 'assign'
    if (isAssigned && pair[other].operation.startsWith('delete')) {
      const state = new Model(model)
      const deleted = apply(state, other)
      if (!state.has(chosen[assignment].node))
        for (const extra of [0, 1]) {
          const counted = deleted.replace(/\d+$/, (count) => String(Number(count) + extra))
          const found = assignment === 0 ? [returned, counted] : [counted, returned]
          candidates.push({ found, state })
        }
    }
    const tree = await listTree(processes[0], chosen[0].hierarchyId)
    const printed = tree.map(({ name, level }) => `${'  '.repeat(level)}${name}`)
    const match = candidates.find(({ found, state }) => {
      return isEqual(found, results) && isEqual(state.printed(), printed)
    })
    assert.ok(
      match !== undefined,
      `No order explains ${JSON.stringify({ pair, results, printed, candidates: candidates.map(({ found, state }) => [found, state.printed()]) }, null, 1)}`,
    )
    if (isAssigned && results[other]?.startsWith('deleted '))
      assert.equal(await relationsTo(model.subtree(chosen[other].node)), match.state.remaining)
    return Model.from(tree, match.state.assets)
  }

  async function relationsTo(nodeIds: readonly string[]): Promise<number> {
    const filter = `object.id in (${nodeIds.map((id) => `'${id}'`).join(', ')})`
    return (await processes[0].inventory.listRelations({ query: { filter, limit: 1 } })).meta.totalElements ?? 0
  }

  async function requireCounts(model: Model): Promise<void> {
    for (const { caller, canRead } of readers)
      for (const [id, name] of model.names) {
        const { data } = await caller.hierarchy.readNode({ params: { id } })
        const readable = model.assetsIn(model.subtree(id)).filter(canRead)
        const count = (condition: (asset: ModelAsset) => boolean) => readable.filter(condition).length
        const expected = {
          assetCount: count(({ node }) => node === id),
          totalAssetCount: readable.length,
          childCount: model.childrenOf(id).length,
          health: {
            online: count(({ reachability }) => reachability === 'reached'),
            offline: count(({ reachability }) => reachability === 'failed'),
            unknown: count(({ reachability }) => reachability === 'unknown'),
            undecided: count(({ management }) => management === 'unknown'),
            changed: readable.length,
          },
        }
        const { assetCount, totalAssetCount, childCount, health } = data
        assert.deepEqual({ assetCount, totalAssetCount, childCount, health }, expected, `the counts of ${name}`)
      }
  }

  /** Compares the lists of assets with the model: of each node, of each subtree, and of the assets without a node. */
  async function requireLists(model: Model): Promise<void> {
    for (const { caller, canRead } of readers.slice(0, 2))
      for (const id of model.names.keys())
        for (const includeBelow of [false, true]) {
          const nodes = includeBelow ? model.subtree(id) : [id]
          const { data } = await caller.inventory.listAssets({
            query: { hierarchyNode: id, includeBelow, fields: 'id' },
          })
          const expected = model.assetsIn(nodes).filter(canRead)
          assert.deepEqual(
            data.map((asset) => String(asset.id)).toSorted(),
            expected.map((asset) => asset.id).toSorted(),
          )
        }
  }

  async function requireUnchangedByRebuild(hierarchyId: string): Promise<void> {
    const stored = await countsOf(hierarchyId)
    await processes[0].hierarchy.rebuildCounts({ params: { id: hierarchyId } })
    const isRebuilding = () =>
      hub.context.database.read(hub.tenant, async (handle) => {
        return (await hub.contextOf('hierarchy').tasks.list(handle, { kind: 'hierarchy.rebuild' })).length > 0
      })
    while (await isRebuilding()) await setImmediate()
    assert.deepEqual(await countsOf(hierarchyId), stored)
  }

  /** Returns the stored counts that are not zero. */
  function countsOf(hierarchyId: string): Promise<unknown[]> {
    return hub.asOwner(async (owner) => {
      const { rows } = await owner.query(
        `select * from hierarchy_counts where tenant_id = $1 and hierarchy_id = $2 and assets <> 0
         order by node_id, access_group_id, is_gateway`,
        [hub.tenant.tenantId, hierarchyId],
      )
      return rows
    })
  }
})

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index])
}
