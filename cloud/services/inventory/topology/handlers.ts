import { evidenceLimitHours } from '@millwright/api/evidence.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import { type Grouping, restKey, type TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { monitoring } from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import { updates } from '@millwright/api/updates.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { idBytes, idOfBytes, isId } from '../../../platform/database/id.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { selectionOf } from '../assets/selection.ts'
import { graphQueries } from '../graph/handlers.ts'
import { pointInTime } from '../history/point-in-time.ts'
import { requireRetained } from '../history/retention.ts'
import {
  type Anchors,
  type GroupQuery,
  type GroupRow,
  hereKey,
  readAllAssets,
  readGroups,
  readRemoved,
  readSwitches,
  subnetBits,
  type Times,
} from './group-store.ts'
import { type GroupFrame, groupsOf } from './groups.ts'
import { type NetworkTree, networkTree, pathToSwitch, switchesBelow } from './network-tree.ts'
import { placeFinder } from './place.ts'
import { mapOf, type TreeGroup } from './topology-map.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

/** The groups of a request, and the nodes or switches that they consist of. */
type Frame = GroupFrame & { anchors: Anchors; switches?: string[]; subnet?: GroupQuery['subnet'] }

const noAnchors: Anchors = { ids: [], keys: [] }

type Names = 'readTopologyGroups' | 'readTopologyMap'

type TopologyQuery = {
  by: Grouping
  hierarchy?: string
  parent?: string
  at?: string
  since?: string
  filter?: string
  caseInsensitive?: boolean
  q?: string
}

export function topologyGroupHandlers(context: Context): Pick<Handlers<typeof inventory>, Names> {
  const read = async <Result extends object>(
    caller: Caller,
    query: TopologyQuery,
    work: (handle: Handle, query: GroupQuery) => Promise<Result>,
  ) => {
    const { parent, filter, q } = query
    const times = timesOf(query)
    const { outdatedVersions, checkedAssets, uncheckedAssets, unavailable } =
      times.at === undefined ? await readStates(context, caller) : unknownStates
    const result = await graphQueries.run(caller.tenantId, () =>
      context.database.read(caller, async (handle) => {
        await requireRetained(handle, times.at, query.since === undefined ? undefined : times.since)
        return work(handle, {
          readable: await selectionOf(handle, {}, caller),
          filtered: filter === undefined && q === undefined ? undefined : await selectionOf(handle, query, caller),
          times,
          by: query.by,
          anchors: noAnchors,
          switches: [],
          outdatedVersions,
          checkedAssets,
          uncheckedAssets,
          scope: parent === undefined ? 'all' : parent === restKey ? 'rest' : 'placed',
        })
      }),
    )
    return { data: { ...result, unavailable } }
  }
  return {
    async readTopologyGroups({ query }, caller) {
      const { by, parent, allSwitches = false, changeKinds: hasChangeKinds = false } = query
      const nodes = by === 'hierarchy' ? await hierarchyFrame(context, caller, query) : undefined
      const places = by === 'hierarchy' ? undefined : await placesIn(context, caller, query.hierarchy)
      return read(caller, query, async (handle, groupQuery) => {
        const frame =
          nodes ??
          (by === 'switch' ? await switchFrame(handle, groupQuery, { parent, allSwitches }) : subnetFrame(parent))
        const { anchors, subnet, switches = [] } = frame
        const complete = { ...groupQuery, anchors, subnet, switches, placeNodes: places?.nodes, hasChangeKinds }
        const rows = await readGroups(handle, complete)
        const removed = query.since === undefined ? [] : await readRemoved(handle, complete)
        return groupsOf({ ...frame, placeOf: places?.placeOf, hasChangeKinds }, rows, removed)
      })
    },

    async readTopologyMap({ query }, caller) {
      const { by } = query
      const nodes = by === 'hierarchy' ? await hierarchyTree(context, caller, query.hierarchy) : undefined
      return read(caller, query, async (handle, groupQuery) => {
        const network = by === 'switch' ? await readNetwork(handle, groupQuery) : undefined
        const known = nodes ?? (network === undefined ? undefined : switchTree(network))
        const ids = known?.tree.map(({ key }) => key) ?? []
        const switches = [...(network?.switches.keys() ?? [])]
        const rows = await readAllAssets(handle, { ...groupQuery, anchors: { ids, keys: ids }, switches })
        const assets = rows.filter(({ kind }) => kind === 'asset').length
        const { tree, truncated } = known ?? { tree: subnetTree(rows), truncated: false }
        const kind = by === 'hierarchy' ? 'node' : by
        const isCut = truncated || assets > inventoryLimits.topologyNodes
        return mapOf({ kind, tree, rows, truncated: isCut })
      })
    },
  }
}

type States = Pick<GroupQuery, 'outdatedVersions' | 'checkedAssets' | 'uncheckedAssets'> &
  Pick<TopologyGroups, 'unavailable'>

const unknownStates: States = {
  outdatedVersions: [],
  checkedAssets: [],
  uncheckedAssets: [],
  unavailable: ['outdated', 'monitoring'],
}

/** Reads what other services know about the current assets. The topology does not need it: without a service, it lacks its numbers. */
async function readStates({ peers, log }: Context, caller: Caller): Promise<States> {
  const unavailable: States['unavailable'] = []
  const without = (kind: States['unavailable'][number]) => (error: unknown) => {
    log.warn({ error, kind }, 'The topology lacks numbers that another service did not return')
    unavailable.push(kind)
    return undefined
  }
  const [outdated, monitored] = await Promise.all([
    (async () => (await peers(updates, caller).listOutdatedVersions({})).data)().catch(without('outdated')),
    (async () => (await peers(monitoring, caller).listMonitoredAssets({})).data)().catch(without('monitoring')),
  ])
  return {
    outdatedVersions: outdated ?? [],
    checkedAssets: idsOf(monitored?.checked ?? ''),
    uncheckedAssets: idsOf(monitored?.unchecked ?? ''),
    unavailable,
  }
}

/** Returns the ids that are packed as base64. */
function idsOf(packed: string): string[] {
  const bytes = Buffer.from(packed, 'base64')
  return Array.from({ length: bytes.length / idBytes }, (_, index) =>
    idOfBytes(bytes.subarray(index * idBytes, (index + 1) * idBytes)),
  )
}

type Places = { nodes: string[]; placeOf: NonNullable<GroupFrame['placeOf']> }

/** Returns the nodes of a hierarchy, and the function that finds the lowest node with most of the assets of a group. */
async function placesIn(
  context: Context,
  caller: Caller,
  hierarchyId: string | undefined,
): Promise<Places | undefined> {
  if (hierarchyId === undefined) return undefined
  const { tree } = await hierarchyTree(context, caller, hierarchyId)
  return { nodes: tree.map(({ key }) => key), placeOf: placeFinder(tree) }
}

function timesOf(query: TopologyQuery): Times {
  const at = query.at === undefined ? undefined : pointInTime(query.at)
  const end = at === undefined ? Date.now() : Date.parse(at)
  const dayBefore = new Date(end - dayMs).toISOString()
  const evidenceSince = new Date(end - evidenceLimitHours * hourMs).toISOString()
  const since = pointInTime(query.since ?? dayBefore)
  if (at !== undefined && since > at)
    throw new Problem('invalid_query', `since (${since}) is later than at (${at}). Exchange the two`)
  return { at, since, evidenceSince }
}

function requireHierarchy(id: string | undefined): string {
  if (id !== undefined) return id
  throw fieldProblem('invalid_query', '/hierarchy', 'by=hierarchy requires the id of a hierarchy: send hierarchy')
}

type Tree = { tree: TreeGroup[]; truncated: boolean }

async function hierarchyTree({ peers }: Context, caller: Caller, hierarchyId: string | undefined): Promise<Tree> {
  const body = { data: { hierarchyId: requireHierarchy(hierarchyId) } }
  const { nodes, truncated } = (await peers(hierarchy, caller).resolveTree({ body })).data
  return {
    tree: nodes.map(({ id, parentId, ...node }) => ({ key: id, ...node, parent: parentId ?? undefined })),
    truncated,
  }
}

function switchTree(tree: NetworkTree): Tree {
  const limit = inventoryLimits.topologyTreeNodes
  const all = [...tree.switches.values()].toSorted((one, other) =>
    compareNames(one.name ?? one.id, other.name ?? other.id),
  )
  return {
    tree: all.slice(0, limit).map(({ id, name }) => ({ key: id, name: name ?? id, parent: tree.parentOf.get(id) })),
    truncated: all.length > limit,
  }
}

function subnetTree(rows: readonly GroupRow[]): TreeGroup[] {
  const keys = new Set(rows.flatMap(({ kind, other }) => (kind === 'asset' && other !== null ? [other] : [])))
  keys.delete(restKey)
  return [...keys].toSorted(compareNames).map((key) => ({ key, name: key, parent: undefined }))
}

function compareNames(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

type HierarchyQuery = { hierarchy?: string; parent?: string }

async function hierarchyFrame(
  { peers }: Context,
  caller: Caller,
  { hierarchy: hierarchyId, parent }: HierarchyQuery,
): Promise<Frame> {
  const isRest = parent === restKey
  if (parent !== undefined && !isRest && !isId(parent))
    throw fieldProblem('invalid_query', '/parent', `${parent} is not the id of a node. Send the key of a group`)
  const parentId = parent === undefined || isRest ? undefined : parent
  const { data } = await peers(hierarchy, caller).resolveChildren({
    body: { data: { hierarchyId: requireHierarchy(hierarchyId), ...(parentId === undefined ? {} : { parentId }) } },
  })
  const ids: string[] = []
  const keys: string[] = []
  for (const { id, nodes } of data.children) {
    for (const node of idsOf(nodes)) {
      ids.push(node)
      keys.push(id)
    }
  }
  if (parentId !== undefined) {
    ids.push(parentId)
    keys.push(hereKey)
  }
  const named = data.children.map(({ childCount, nodes: _nodes, id, ...node }) => ({
    key: id,
    ...node,
    children: childCount,
  }))
  return {
    kind: 'node',
    path: data.path.map(({ id, ...node }) => ({ key: id, ...node })),
    named: isRest ? [] : named,
    truncated: data.truncated,
    anchors: { ids, keys },
  }
}

function subnetFrame(parent: string | undefined): Frame {
  const frame: Frame = { kind: 'subnet', path: [], named: [], truncated: false, anchors: noAnchors }
  if (parent === undefined || parent === restKey) return frame
  const bits = Number(/^[0-9a-f.:]+\/(8|16|24|64)$/.exec(parent)?.[1])
  if (Number.isNaN(bits))
    throw fieldProblem(
      'invalid_query',
      '/parent',
      `${parent} is not a subnet such as 10.0.3.0/24. Send the key of a group`,
    )
  const above = [8, 16, subnetBits].filter((each) => each < bits && bits <= subnetBits)
  const numbers = parent.split('.')
  const path = above.map((each) => `${numbers.slice(0, each / 8).join('.')}${'.0'.repeat(4 - each / 8)}/${each}`)
  return {
    ...frame,
    path: [...path, parent].map((key) => ({ key, name: key })),
    subnet: { key: parent, bits },
  }
}

async function readNetwork(handle: Handle, query: GroupQuery): Promise<NetworkTree> {
  const rows = await readSwitches(handle, query)
  return networkTree(
    rows.filter(({ other }) => other === null),
    rows.flatMap(({ id, other }) => (other === null ? [] : [[id, other] as const])),
  )
}

/**
 * Returns the groups of switches: the networks at the top, and the switches below a switch inside it. If there is only one
 * network, its root is opened at once, because a single group would say nothing.
 */
async function switchFrame(
  handle: Handle,
  query: GroupQuery,
  { parent, allSwitches }: { parent: string | undefined; allSwitches: boolean },
): Promise<Frame> {
  const tree = await readNetwork(handle, query)
  const nameOf = (id: string) => tree.switches.get(id)?.name ?? id
  const { size } = tree.switches
  if (allSwitches && parent === undefined && size > 1 && size <= inventoryLimits.topologyGroups)
    return allSwitchesFrame(tree)
  const [single] = tree.roots
  const isSingle = parent === undefined && tree.roots.length === 1 && single !== undefined
  const top = isSingle ? single : parent === restKey ? undefined : parent
  if (top !== undefined && !tree.switches.has(top))
    throw new Problem('not_found', `The switch ${top} does not exist. Read the groups again without parent`)
  const inside = top === undefined ? tree.roots : (tree.childrenOf.get(top) ?? [])
  const bySize = inside
    .map((id) => ({ id, below: switchesBelow(tree, id) }))
    .toSorted((one, other) => compareNames(nameOf(one.id), nameOf(other.id)))
  const shown = bySize.slice(0, inventoryLimits.topologyGroups)
  const anchors = shown.flatMap(({ id, below }) => below.map((each) => [each, id] as const))
  // For the group of assets without a switch, all switches are anchors, so that their assets are not in it.
  const own = top === undefined ? [] : ([[top, hereKey]] as const)
  const all = [...anchors, ...own]
  return {
    kind: 'switch',
    path:
      parent === undefined || top === undefined
        ? []
        : pathToSwitch(tree, top).map((id) => ({ key: id, name: nameOf(id) })),
    named:
      parent === restKey
        ? []
        : shown.map(({ id }) => ({ key: id, name: nameOf(id), children: tree.childrenOf.get(id)?.length ?? 0 })),
    truncated: bySize.length > shown.length,
    switches: [...tree.switches.keys()],
    anchors: { ids: all.map(([id]) => id), keys: all.map(([, key]) => key) },
  }
}

/** Returns every switch as a group of the assets that are connected to it. */
function allSwitchesFrame(tree: NetworkTree): Frame {
  const named = [...tree.switches.values()]
    .map(({ id, name }) => {
      const parent = tree.parentOf.get(id)
      const children = tree.childrenOf.get(id)?.length ?? 0
      return { key: id, name: name ?? id, children, ...(parent === undefined ? {} : { parent }) }
    })
    .toSorted((one, other) => compareNames(one.name, other.name))
  const ids = named.map(({ key }) => key)
  return { kind: 'switch', path: [], named, truncated: false, switches: ids, anchors: { ids, keys: ids } }
}
