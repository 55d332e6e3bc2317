import type { Entity, inventory } from '@millwright/api/inventory.ts'
import { inventoryLimits } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle } from '../../platform/database/database.ts'
import type { Context, Handlers } from '../../platform/service.ts'
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
import { describeAssets, findHops, type View, wasReadable } from './graph-store.ts'
import { momentOf } from './moment.ts'
import { type RelationRow, showRelation } from './relation.ts'
import { isReadable } from './relation-store.ts'
import { readableGroups } from './relations.ts'

type Names = 'readGraph' | 'readPath'

type Query = { direction?: Direction; predicates?: string; at?: string }

export function graphHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async readGraph({ params: { id }, query }, caller) {
      const view = viewOf(query, readableGroups(caller))
      const { depth = 1, limit = 500 } = query
      return database.read(caller, async (handle) => {
        await requireReadable(handle, id, view)
        const walk = startWalk({ type: 'asset', id })
        while (!isDone(walk, depth)) await step(handle, walk, { view, bounds: boundsFor(limit) })
        const nodes = await named(handle, [...walk.nodes.values()], view)
        return { data: { nodes, edges: shown(walk.edges.values()), truncated: walk.truncated } }
      })
    },

    async readPath({ params: { id }, query }, caller) {
      const { to, depth = inventoryLimits.graphDepth } = query
      const view = viewOf(query, readableGroups(caller))
      return database.read(caller, async (handle) => {
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
    .map((predicate) => predicate.trim())
    .filter((predicate) => predicate !== '')
  return { groups, direction, predicates: wanted, at: at === undefined ? undefined : momentOf(at) }
}

async function requireReadable(handle: Handle, id: string, view: View): Promise<void> {
  if (!(await mayBeSeen(handle, id, view))) throw new Problem('not_found', `There is no asset ${id}`)
}

function mayBeSeen(handle: Handle, id: string, { groups, at }: View): Promise<boolean> {
  return at === undefined ? isReadable(handle, { id, groups }) : wasReadable(handle, { id, groups, at })
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

/** What was reached, the nearest first, assets with their names. */
async function named(handle: Handle, reached: readonly (Entity & { depth: number })[], view: View) {
  const ids = reached.filter(({ type }) => type === 'asset').map(({ id }) => id)
  const descriptions = await describeAssets(handle, ids, view)
  return reached.map(({ type, id, depth }) => {
    const { name = null, type: objectType = null } = (type === 'asset' ? descriptions.get(id) : undefined) ?? {}
    return {
      type,
      id,
      ...(name === null ? {} : { name }),
      ...(objectType === null ? {} : { functional_object_type: objectType }),
      depth,
    }
  })
}

function shown(rows: Iterable<RelationRow>) {
  return [...rows].toSorted((one, other) => (one.id < other.id ? -1 : 1)).map(showRelation)
}
