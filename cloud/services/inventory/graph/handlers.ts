import type { Entity, inventory } from '@millwright/api/inventory.ts'
import { inventoryLimits } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { storableText } from '../../../platform/database/json.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { listIds } from '../assets/list-store.ts'
import { type Query as Selection, selectionOf } from '../assets/selection.ts'
import { momentOf } from '../history/point-in-time.ts'
import { requireKept } from '../history/retention.ts'
import { type RelationRow, showRelation } from '../relations/relation.ts'
import { isReadable } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import {
  type Bounds,
  boundsFor,
  type Direction,
  extend,
  isDone,
  reverse,
  startWalk,
  type Walk,
  wayBetween,
} from './graph.ts'
import { changeOf, differenceOf, noWalk } from './graph-difference.ts'
import {
  type Description,
  describeAssets,
  findGone,
  findHops,
  findVersions,
  readVersions,
  type View,
  wasReadable,
} from './graph-store.ts'

type Names = 'readGraph' | 'readGraphDifference' | 'readPath' | 'readTopology'

type Selected = Pick<Selection, 'filter' | 'caseInsensitive' | 'q'>

type Query = { direction?: Direction; predicates?: string; at?: string }

/** Graph queries run many statements and build large answers, so a tenant runs few of them at once. */
const waitingQueries = 64
const queries = new Semaphore({
  capacity: 4,
  perKey: 2,
  waitingPerKey: waitingQueries,
  refusal: `${waitingQueries} graph queries of this tenant wait. Send fewer at once`,
})

export function graphHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  const read = <Result>(caller: Caller, work: (handle: Handle) => Promise<Result>) =>
    queries.run(caller.tenantId, () => database.read(caller, work))
  return {
    async readGraph({ params: { id }, query }, caller) {
      const view = viewOf(query, readableGroups(caller))
      const { depth = 1, limit = 500 } = query
      return read(caller, async (handle) => {
        await requireKept(handle, view.at)
        await requireReadable(handle, id, view)
        const walk = await walkFrom(handle, id, { view, depth, limit })
        const nodes = await named(handle, [...walk.nodes.values()], view)
        return { data: { nodes, edges: shown(walk.edges.values()), truncated: walk.truncated } }
      })
    },

    async readTopology({ query }, caller) {
      const view = viewOf(query, readableGroups(caller))
      const { limit = inventoryLimits.graphNodes } = query
      return read(caller, async (handle) => {
        await requireKept(handle, view.at)
        const starts = await startsOf(handle, { query, caller, view, limit })
        const walk = startWalk(...starts.slice(0, limit).map((id) => ({ type: 'asset' as const, id })))
        await step(handle, walk, { view, bounds: boundsFor(limit) })
        return {
          data: {
            nodes: await named(handle, [...walk.nodes.values()], view),
            edges: shown(walk.edges.values()).map(({ id, subject, predicate, object }) => ({
              id,
              subject,
              predicate,
              object,
            })),
            truncated: walk.truncated || starts.length > limit,
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
        throw new Problem('invalid_query', 'from is later than to: the earlier time comes first')
      return read(caller, async (handle) => {
        await requireKept(handle, times.from)
        const seen = [await mayBeSeen(handle, id, before), await mayBeSeen(handle, id, after)]
        if (!seen.includes(true)) throw missing(id)
        const was = seen[0] ? await walkFrom(handle, id, { view: before, depth, limit }) : noWalk()
        const is = seen[1] ? await walkFrom(handle, id, { view: after, depth, limit }) : noWalk()
        if (was.truncated || is.truncated) throw tooLarge(limit)
        const { added, removed, kept, restated } = differenceOf(was, is)
        return {
          data: {
            ...times,
            added: { nodes: await named(handle, added.nodes, after), edges: shown(added.edges) },
            removed: { nodes: await named(handle, removed.nodes, before), edges: shown(removed.edges) },
            changed: {
              nodes: await changesBetween(handle, kept, { from: before.at, to: after.at }),
              edges: restated.map((pair) => ({ before: showRelation(pair.before), after: showRelation(pair.after) })),
            },
          },
        }
      })
    },

    async readPath({ params: { id }, query }, caller) {
      const { to, depth = inventoryLimits.graphDepth } = query
      const view = viewOf(query, readableGroups(caller))
      return read(caller, async (handle) => {
        await requireKept(handle, view.at)
        await requireReadable(handle, id, view)
        if (!(await mayBeSeen(handle, to, view))) throw new Problem('asset_not_found', `There is no asset ${to}`)
        const { way, truncated } = await findWay(handle, { from: id, to, depth, view })
        if (way === undefined) return { data: { found: false, nodes: [], edges: [], truncated } }
        const reached = way.nodes.map((entity, position) => ({ ...entity, depth: position }))
        return {
          data: {
            found: true,
            nodes: await named(handle, reached, view),
            edges: way.edges.map(showRelation),
            truncated: false,
          },
        }
      })
    },
  }
}

function viewOf({ direction = 'both', predicates, at }: Query, groups: View['groups']): View {
  const wanted = predicates
    ?.split(',')
    .map((predicate) => storableText(predicate).trim())
    .filter((predicate) => predicate !== '')
  return { groups, direction, predicates: wanted, at: at === undefined ? undefined : momentOf(at) }
}

async function requireReadable(handle: Handle, id: string, view: View): Promise<void> {
  if (!(await mayBeSeen(handle, id, view))) throw missing(id)
}

function missing(id: string): Problem {
  return new Problem('not_found', `There is no asset ${id}`)
}

type Starts = { query: Selected; caller: Caller; view: View; limit: number }

/** Which assets a topology is of: one more than it may have, if there are so many. */
async function startsOf(handle: Handle, { query, caller, view, limit }: Starts): Promise<string[]> {
  const { groups, at } = view
  const found = await listIds(handle, await selectionOf(handle, query, caller), { limit: limit + 1, since: at })
  const isWhole = query.filter === undefined && query.q === undefined
  if (at === undefined || !isWhole) return found
  return [...found, ...(await findGone(handle, { groups, at, limit: limit + 1 }))]
}

/** What is missing from a part of a graph cannot be told from what was not looked at. */
function tooLarge(limit: number): Problem {
  return new Problem(
    'graph_too_large',
    `More than ${limit} things are reached, or too many relations: ask for less depth, some predicates, or a higher limit`,
  )
}

function mayBeSeen(handle: Handle, id: string, { groups, at }: View): Promise<boolean> {
  return at === undefined ? isReadable(handle, { id, groups }) : wasReadable(handle, { id, groups, at })
}

type Extent = { view: View; depth: number; limit: number }

async function walkFrom(handle: Handle, id: string, { view, depth, limit }: Extent): Promise<Walk> {
  const walk = startWalk({ type: 'asset', id })
  while (!isDone(walk, depth)) await step(handle, walk, { view, bounds: boundsFor(limit) })
  return walk
}

type Step = { view: View; bounds: Bounds }

async function step(handle: Handle, walk: Walk, { view, bounds }: Step): Promise<void> {
  extend(walk, await findHops(handle, walk.frontier, { ...view, limit: bounds.edges }), bounds)
}

type Search = { from: string; to: string; depth: number; view: View }

/**
 * From both ends towards each other, always from the side with less to look at: a thing that everything hangs on is
 * then come to from two sides, and never spread out.
 */
async function findWay(handle: Handle, { from, to, depth, view }: Search) {
  const bounds = boundsFor(inventoryLimits.graphNodes)
  const near = startWalk({ type: 'asset', id: from })
  const far = startWalk({ type: 'asset', id: to })
  for (;;) {
    const way = wayBetween(near, far, view.direction)
    const truncated = near.truncated || far.truncated
    const exhausted = near.frontier.length === 0 || far.frontier.length === 0
    if (way !== undefined || truncated || exhausted || near.depth + far.depth >= depth) return { way, truncated }
    if (near.frontier.length <= far.frontier.length) await step(handle, near, { view, bounds })
    else await step(handle, far, { view: { ...view, direction: reverse(view.direction) }, bounds })
  }
}

/** Of those that were there both times, the ones that were changed. Only these are read as a whole. */
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

/** What was reached, the nearest first, assets with their names. */
async function named(handle: Handle, reached: readonly (Entity & { depth: number })[], view: View) {
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
