import { type Entity, inventoryLimits } from '@millwright/api/inventory.ts'
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
import { type Followed, findEnds, findFurther } from './relation-path-store.ts'

type Options = { depth: number; caseInsensitive: boolean; firstParameter: number; groups: Groups }

/** How a filter is followed: from what it names, to these ends, and on along whatever fulfils the rest of it. */
type Way = { side: Side; start: Expression; onward: Expression | undefined }

const ends = ['subject.id', 'object.id']

/**
 * `relationsFilter` with a depth, as a condition on `assets a`: what is come to from what the filter names, by so many
 * relations one after the other. Over what may not be read no way leads.
 */
export async function findReachedCondition(handle: Handle, text: string, options: Options): Promise<Fragment> {
  const reached = new Map<string, Entity>()
  const budget = { relations: inventoryLimits.relationsFollowed }
  for (const way of branchesOf(parseFilter(text), ends).map(wayOf)) {
    for (const entity of await follow(handle, way, { ...options, budget })) reached.set(keyOf(entity), entity)
  }
  const assets = [...reached.values()].filter(({ type }) => type === 'asset').map(({ id }) => id)
  return { sql: `a.id = any($${options.firstParameter}::uuid[])`, values: [assets] }
}

function wayOf({ anchors, expression }: Branch): Way {
  const [anchor] = anchors
  if (anchors.size !== 1 || anchor === undefined) {
    throw new Problem(
      'invalid_filter',
      'With depth, every alternative of the filter compares either subject.id or object.id with eq or in: the way begins there',
    )
  }
  return {
    side: anchor === 'subject.id' ? 'object' : 'subject',
    start: expression,
    onward: withoutPins(expression, [anchor]),
  }
}

type Following = Options & { /** What is left to be followed, for all ways together. */ budget: { relations: number } }

/** Level by level. What was come to before is not gone on from again: that is what makes it end in a cycle. */
async function follow(handle: Handle, way: Way, options: Following): Promise<Iterable<Entity>> {
  const { depth, groups, budget } = options
  const step = (expression: Expression | undefined) => ({
    side: way.side,
    condition: conditionOf(expression, options),
    groups,
    limit: budget.relations + 1,
  })
  const reached = new Map<string, Entity>()
  let found = await findEnds(handle, step(way.start))
  for (let level = 1; ; level++) {
    budget.relations -= found.length
    if (budget.relations < 0) throw tooLarge(depth)
    const frontier = [...new Map(found.map((entity) => [keyOf(entity), entity]))].filter(([key]) => !reached.has(key))
    for (const [key, entity] of frontier) reached.set(key, entity)
    if (level >= depth || frontier.length === 0) return reached.values()
    found = await findFurther(
      handle,
      frontier.map(([, entity]) => entity),
      step(way.onward),
    )
  }
}

function conditionOf(expression: Expression | undefined, { caseInsensitive }: Options): Followed {
  if (expression === undefined) return () => ({ sql: 'true', values: [] })
  return (firstParameter) => compileFilter(expression, relationProperties, { caseInsensitive, firstParameter })
}

function tooLarge(depth: number): Problem {
  const { relationsFollowed } = inventoryLimits
  return new Problem(
    'graph_too_large',
    `More than ${relationsFollowed} relations lie within depth ${depth}: ask for less depth, or name a predicate in the filter`,
  )
}

function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}
