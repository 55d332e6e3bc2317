import type { Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import { inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { storableText } from '../../../platform/database/json.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { listIds } from '../assets/list-store.ts'
import { type Query as Selection, selectionOf } from '../assets/selection.ts'
import { pointInTime } from '../history/point-in-time.ts'
import { requireRetained } from '../history/retention.ts'
import { ignoredPredicates } from '../impact/impact.ts'
import { type RelationRow, showRelation } from '../relations/relation.ts'
import { isReadable } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import {
  type Bounds,
  boundsFor,
  type Direction,
  extend,
  isDone,
  pathBetween,
  reverse,
  startTraversal,
  type Traversal,
} from './graph.ts'
import { changeOf, differenceOf, emptyTraversal } from './graph-difference.ts'
import {
  type Description,
  describeAssets,
  findDeletedSince,
  findHops,
  findVersions,
  readVersions,
  type View,
  wasReadable,
} from './graph-store.ts'

type Names = 'readGraph' | 'readGraphDifference' | 'readPath' | 'readTopology'

type Selected = Pick<Selection, 'filter' | 'caseInsensitive' | 'q'>

type Query = { direction?: Direction; predicates?: string; at?: string }

/**
 * At most this many graph queries of a tenant may wait. Graph queries run many statements and build large answers, so a
 * tenant runs only a few of them at once.
 */
const waitingQueries = 64
export const graphQueries = new Semaphore({
  capacity: 4,
  perKey: 2,
  waitingPerKey: waitingQueries,
  refusal: `${waitingQueries} graph queries of this tenant are already waiting. Send fewer requests at the same time`,
})

export function graphHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  const read = <Result>(caller: Caller, work: (handle: Handle) => Promise<Result>) =>
    graphQueries.run(caller.tenantId, () => database.read(caller, work))
  return {
    async readGraph({ params: { id }, query }, caller) {
      const view = viewOf(query, readableGroups(caller))
      const { depth = 1, limit = 500 } = query
      return read(caller, async (handle) => {
        await requireRetained(handle, view.at)
        await requireReadable(handle, id, view)
        const traversal = await traverseFrom(handle, id, { view, depth, limit })
        const nodes = await withNames(handle, [...traversal.nodes.values()], view)
        return { data: { nodes, edges: shown(traversal.edges.values()), truncated: traversal.truncated } }
      })
    },

    async readTopology({ query }, caller) {
      const view = viewOf(query, readableGroups(caller))
      const { limit = inventoryLimits.graphNodes } = query
      return read(caller, async (handle) => {
        await requireRetained(handle, view.at)
        const starts = await startsOf(handle, { query, caller, view, limit })
        const traversal = startTraversal(...starts.slice(0, limit).map((id) => ({ type: 'asset' as const, id })))
        await step(handle, traversal, { view, bounds: boundsFor(limit) })
        return {
          data: {
            nodes: await withNames(handle, [...traversal.nodes.values()], view),
            edges: shown(traversal.edges.values()).map(({ id, subject, predicate, object }) => ({
              id,
              subject,
              predicate,
              object,
            })),
            truncated: traversal.truncated || starts.length > limit,
          },
        }
      })
    },

    async readGraphDifference({ params: { id }, query }, caller) {
      const { depth = 1, limit = 500 } = query
      const groups = readableGroups(caller)
      const before = viewOf({ ...query, at: query.from }, groups)
      const after = viewOf({ ...query, ...(query.to === undefined ? {} : { at: query.to }) }, groups)
      const times = { from: before.at ?? '', to: after.at ?? new Date().toISOString() }
      if (times.from > times.to)
        throw new Problem('invalid_query', `from (${times.from}) is later than to (${times.to}). Exchange the two`)
      return read(caller, async (handle) => {
        await requireRetained(handle, times.from)
        const visible = [await isVisible(handle, id, before), await isVisible(handle, id, after)]
        if (!visible.includes(true)) throw missing(id)
        const old = visible[0] ? await traverseFrom(handle, id, { view: before, depth, limit }) : emptyTraversal()
        const current = visible[1] ? await traverseFrom(handle, id, { view: after, depth, limit }) : emptyTraversal()
        if (old.truncated || current.truncated) throw tooLarge(limit)
        const { added, removed, common, recreated } = differenceOf(old, current)
        return {
          data: {
            ...times,
            added: { nodes: await withNames(handle, added.nodes, after), edges: shown(added.edges) },
            removed: { nodes: await withNames(handle, removed.nodes, before), edges: shown(removed.edges) },
            changed: {
              nodes: await changesBetween(handle, common, { from: before.at, to: after.at }),
              edges: recreated.map((pair) => ({ before: showRelation(pair.before), after: showRelation(pair.after) })),
            },
          },
        }
      })
    },

    async readPath({ params: { id }, query }, caller) {
      const { to, depth = inventoryLimits.graphDepth } = query
      const view = viewOf(query, readableGroups(caller))
      return read(caller, async (handle) => {
        await requireRetained(handle, view.at)
        await requireReadable(handle, id, view)
        if (!(await isVisible(handle, to, view))) throw new Problem('asset_not_found', `Asset ${to} does not exist`)
        const { path, truncated } = await findPath(handle, { from: id, to, depth, view })
        if (path === undefined) return { data: { found: false, nodes: [], edges: [], truncated } }
        const reached = path.nodes.map((entity, position) => ({ ...entity, depth: position }))
        return {
          data: {
            found: true,
            nodes: await withNames(handle, reached, view),
            edges: path.edges.map(showRelation),
            truncated: false,
          },
        }
      })
    },
  }
}

function viewOf({ direction = 'both', predicates, at }: Query, groups: View['groups']): View {
  const names = predicates
    ?.split(',')
    .map((predicate) => storableText(predicate).trim())
    .filter((predicate) => predicate !== '')
  return { groups, direction, predicates: names, at: at === undefined ? undefined : pointInTime(at) }
}

async function requireReadable(handle: Handle, id: string, view: View): Promise<void> {
  if (!(await isVisible(handle, id, view))) throw missing(id)
}

function missing(id: string): Problem {
  return new Problem('not_found', `Asset ${id} does not exist`)
}

type Starts = { query: Selected; caller: Caller; view: View; limit: number }

/**
 * Returns the assets from which a topology starts. It may return more assets than the limit, so that the caller notices
 * when assets are left out.
 */
async function startsOf(handle: Handle, { query, caller, view, limit }: Starts): Promise<string[]> {
  const { groups, at } = view
  const ids = await listIds(handle, await selectionOf(handle, query, caller), { limit: limit + 1, since: at })
  const isUnfiltered = query.filter === undefined && query.q === undefined
  if (at === undefined || !isUnfiltered) return ids
  return [...ids, ...(await findDeletedSince(handle, { groups, at, limit: limit + 1 }))]
}

/**
 * Returns the problem for a comparison of truncated graphs. Truncated graphs cannot be compared, because a node may be
 * missing only because of the truncation.
 */
function tooLarge(limit: number): Problem {
  return new Problem(
    'graph_too_large',
    `The graph has more than ${limit} nodes, or more than ${boundsFor(limit).edges} relations. Use a smaller depth, fewer predicates or a larger limit`,
  )
}

function isVisible(handle: Handle, id: string, { groups, at }: View): Promise<boolean> {
  return at === undefined ? isReadable(handle, { id, groups }) : wasReadable(handle, { id, groups, at })
}

type Extent = { view: View; depth: number; limit: number }

async function traverseFrom(handle: Handle, id: string, { view, depth, limit }: Extent): Promise<Traversal> {
  const traversal = startTraversal({ type: 'asset', id })
  while (!isDone(traversal, depth)) await step(handle, traversal, { view, bounds: boundsFor(limit) })
  return traversal
}

/** Relations of the predicates in `without` are not followed. */
type Step = { view: View; bounds: Bounds; without?: ReadonlySet<string> | undefined }

async function step(handle: Handle, traversal: Traversal, { view, bounds, without }: Step): Promise<void> {
  const { rows, cut } = await findHops(handle, traversal.frontier, { ...view, limit: bounds.edges })
  const followed = without === undefined ? rows : rows.filter(({ predicate }) => !without.has(predicate))
  extend(traversal, { rows: followed, cut }, bounds)
}

type Search = { from: string; to: string; depth: number; view: View; without?: ReadonlySet<string> }

/**
 * Finds a path. All assets of one scan or of one place are related to the same gateway or node, so a path over these relations
 * is used only if no other path exists, or if the caller names the predicates.
 */
async function findPath(handle: Handle, search: Search) {
  if (search.view.predicates !== undefined) return searchPath(handle, search)
  const result = await searchPath(handle, { ...search, without: ignoredPredicates })
  return result.path === undefined ? searchPath(handle, search) : result
}

/**
 * Searches a path with a bidirectional breadth-first search. Each step extends the traversal that has the smaller frontier. A
 * node with very many relations is therefore reached from both sides, but seldom expanded.
 */
async function searchPath(handle: Handle, { from, to, depth, view, without }: Search) {
  const bounds = boundsFor(inventoryLimits.graphNodes)
  const near = startTraversal({ type: 'asset', id: from })
  const far = startTraversal({ type: 'asset', id: to })
  for (;;) {
    const path = pathBetween(near, far, view.direction)
    const truncated = near.truncated || far.truncated
    const exhausted = near.frontier.length === 0 || far.frontier.length === 0
    if (path !== undefined || truncated || exhausted || near.depth + far.depth >= depth) return { path, truncated }
    if (near.frontier.length <= far.frontier.length) await step(handle, near, { view, bounds, without })
    else await step(handle, far, { view: { ...view, direction: reverse(view.direction) }, bounds, without })
  }
}

/** Returns the changes of assets that existed at both times. It reads complete documents only for assets that changed. */
async function changesBetween(
  handle: Handle,
  ids: readonly string[],
  { from, to }: { from: string | undefined; to: string | undefined },
) {
  const before = await findVersions(handle, ids, from)
  const after = await findVersions(handle, ids, to)
  const changed = ids.filter((id) => before.get(id) !== after.get(id))
  const of = (versions: ReadonlyMap<string, number>) => changed.map((id) => ({ id, version: versions.get(id) ?? 0 }))
  const earlier = new Map((await readVersions(handle, of(before))).map((version) => [version.id, version]))
  return (await readVersions(handle, of(after))).flatMap((version) => {
    const was = earlier.get(version.id)
    return was === undefined ? [] : [changeOf(was, version)]
  })
}

/** Returns the reached nodes, nearest first. Assets get their names and states. */
async function withNames(handle: Handle, reached: readonly (Entity & { depth: number })[], view: View) {
  const ids = reached.filter(({ type }) => type === 'asset').map(({ id }) => id)
  const descriptions = await describeAssets(handle, ids, view)
  return reached.map(({ type, id, depth }) => {
    return { type, id, ...(type === 'asset' && describe(descriptions.get(id))), depth }
  })
}

function describe(description: Description | undefined) {
  if (description === undefined) return {}
  const { name, type, manufacturer, managementState, reachabilityState } = description
  return {
    ...(name !== null && { name }),
    ...(type !== null && { functional_object_type: type }),
    ...(manufacturer !== null && { manufacturer }),
    ...(managementState !== null && { management_state: managementState }),
    ...(reachabilityState !== null && { reachability_state: reachabilityState }),
  }
}

function shown(rows: Iterable<RelationRow>) {
  return [...rows].toSorted((one, other) => (one.id < other.id ? -1 : 1)).map(showRelation)
}
