import { type Entity, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle } from '../../../platform/database/database.ts'
import {
  type Branch,
  branchesOf,
  compileFilter,
  type Expression,
  parseFilter,
  withoutPins,
} from '../../../platform/filter/filter.ts'
import type { Fragment } from '../assets/listing.ts'
import { relationProperties } from '../relations/relation-filter.ts'
import type { Side } from '../relations/relation-store.ts'
import type { Groups } from '../visibility.ts'
import { type ConditionBuilder, findEnds, findNextEnds } from './relation-path-store.ts'

type PathOptions = { depth: number; caseInsensitive: boolean; firstParameter: number; groups: Groups }

/**
 * One alternative of a filter as a path. The first step follows the relations that match `start` to their `side` end.
 * Each further step follows the relations that match `next`, which is the filter without the comparison that names the
 * first entity.
 */
type RelationPath = { side: Side; start: Expression; next: Expression | undefined }

const ends = ['subject.id', 'object.id']

/**
 * Turns `relationsFilter` with a depth into a condition on `assets a`. It selects the assets that are reached from the
 * entities in the filter by at most `depth` consecutive relations. A path does not pass through assets that the caller
 * cannot read.
 */
export async function reachedCondition(handle: Handle, text: string, options: PathOptions): Promise<Fragment> {
  const reached = new Map<string, Entity>()
  const budget = { relations: inventoryLimits.relationsFollowed }
  for (const path of branchesOf(parseFilter(text), ends).map(pathOf)) {
    for (const entity of await follow(handle, path, { ...options, budget })) reached.set(keyOf(entity), entity)
  }
  const assets = [...reached.values()].filter(({ type }) => type === 'asset').map(({ id }) => id)
  return { sql: `a.id = any($${options.firstParameter}::uuid[])`, values: [assets] }
}

function pathOf({ anchors, expression }: Branch): RelationPath {
  const [anchor] = anchors
  if (anchors.size !== 1 || anchor === undefined) {
    throw new Problem(
      'invalid_filter',
      'With depth, every alternative of the filter must compare either subject.id or object.id with eq or in, because the path starts at this asset',
    )
  }
  return {
    side: anchor === 'subject.id' ? 'object' : 'subject',
    start: expression,
    next: withoutPins(expression, [anchor]),
  }
}

type FollowOptions = PathOptions & {
  /** The number of relations that may still be followed. All paths share this number. */
  budget: { relations: number }
}

/** Follows a path level by level. Each entity is followed only once, so cycles end. */
async function follow(handle: Handle, path: RelationPath, options: FollowOptions): Promise<Iterable<Entity>> {
  const { depth, groups, budget } = options
  const step = (expression: Expression | undefined) => ({
    side: path.side,
    condition: conditionOf(expression, options),
    groups,
    limit: budget.relations + 1,
  })
  const reached = new Map<string, Entity>()
  let ends = await findEnds(handle, step(path.start))
  for (let level = 1; ; level++) {
    budget.relations -= ends.length
    if (budget.relations < 0) throw tooLarge(depth)
    const frontier = [...new Map(ends.map((entity) => [keyOf(entity), entity]))].filter(([key]) => !reached.has(key))
    for (const [key, entity] of frontier) reached.set(key, entity)
    if (level >= depth || frontier.length === 0) return reached.values()
    ends = await findNextEnds(
      handle,
      frontier.map(([, entity]) => entity),
      step(path.next),
    )
  }
}

function conditionOf(expression: Expression | undefined, { caseInsensitive }: PathOptions): ConditionBuilder {
  if (expression === undefined) return () => ({ sql: 'true', values: [] })
  return (firstParameter) => compileFilter(expression, relationProperties, { caseInsensitive, firstParameter })
}

function tooLarge(depth: number): Problem {
  const { relationsFollowed } = inventoryLimits
  return new Problem(
    'graph_too_large',
    `More than ${relationsFollowed} relations are within depth ${depth}. Use a smaller depth, or add a condition on predicate to the filter`,
  )
}

function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}
