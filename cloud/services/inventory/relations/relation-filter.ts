import { Problem } from '@millwright/api/problem.ts'
import {
  type Branch,
  branchesOf,
  compileFilter,
  type Expression,
  isNarrow,
  parseFilter,
  parseSort,
  propertyTable,
  type Scalar,
  valuesAlone,
} from '../../../platform/filter/filter.ts'
import { type AssetSet, type SortKey, sortKey, wholeOrder } from '../assets/listing.ts'
import type { Groups } from '../visibility.ts'
import { assetsAtEnds, type Condition, type Ends, type Side } from './relation-store.ts'

type Kept = Pick<Scalar, 'nullable' | 'sortable'>

const always: Kept = { nullable: false, sortable: false }
const ordered: Kept = { nullable: false }

/** What relations are filtered and sorted by, of `relations r`. */
export const relationProperties = propertyTable({
  'subject.type': { kind: 'text', column: 'r.subject_type', ...always },
  'subject.id': { kind: 'uuid', column: 'r.subject_id', ...always },
  'object.type': { kind: 'text', column: 'r.object_type', ...always },
  'object.id': { kind: 'uuid', column: 'r.object_id', ...always },
  predicate: { kind: 'text', column: 'r.predicate', ...ordered },
  'source.type': { kind: 'text', column: 'r.source_type', ...always },
  'source.value': { kind: 'text', column: 'r.source_value', sortable: false },
  createdTimestamp: { kind: 'time', column: 'r.created_at', ...ordered },
  lastModifiedTimestamp: { kind: 'time', column: 'r.modified_at', ...ordered },
})

export type RelationFilter = { expression: Expression; condition: Condition; caseInsensitive: boolean }

export const everyRelation: Condition = { sql: 'true', values: [] }

export function parseRelationFilter(text: string, options: { caseInsensitive: boolean }): RelationFilter {
  const expression = parseFilter(text)
  return { expression, condition: compileFilter(expression, relationProperties, options), ...options }
}

/** The predicates that a filter asks for when it asks for nothing else: then their total is known. */
export function predicatesAlone({ expression, caseInsensitive }: RelationFilter): string[] | undefined {
  const alone = caseInsensitive ? undefined : valuesAlone(expression)
  return alone?.property === 'predicate' ? alone.values : undefined
}

/** What deletes many relations at once must say in each of its alternatives which ones it means. */
export function requireNarrow({ expression }: RelationFilter): void {
  const narrowing = ['subject.id', 'object.id', 'predicate']
  if (isNarrow(expression, narrowing)) return
  throw new Problem(
    'filter_not_narrow',
    `Compare ${narrowing.join(', ')} with eq or in, at least one of them in every alternative of the filter`,
  )
}

/** The order of a list of relations. Ids are made of the time of creation, so they stand for it, and have an index. */
export function orderOf(sort: string | undefined): SortKey[] {
  const keys = sort === undefined ? [] : parseSort(sort, relationProperties)
  const created = keys.findIndex(({ property }) => property === 'createdTimestamp')
  if (created < 0) return wholeOrder(keys.map(sortKey), 'r.id')
  const id = { column: 'r.id', descending: keys[created]?.descending === true, nullable: false, cast: 'uuid' }
  return [...keys.slice(0, created).map(sortKey), id]
}

type Options = {
  caseInsensitive?: boolean
  /** The number of the first parameter: `$1` is the tenant. */
  firstParameter?: number
  /** The groups that the caller may read: a relation to an asset elsewhere is not there. */
  groups?: Groups
}

const ends = ['subject.id', 'object.id']

/**
 * Which ends of the matching relations are meant is decided for each alternative: where the subject is given, the
 * objects; where the object is given, the subjects; where both are or neither is, both ends. Nodes are never assets.
 */
export function assetsRelatedBy(
  text: string,
  { caseInsensitive = false, firstParameter = 2, groups = null }: Options = {},
): AssetSet & { values: unknown[] } {
  const values: unknown[] = groups === null ? [] : [groups]
  const groupsParameter = groups === null ? undefined : `$${firstParameter}`
  const meant = branchesOf(parseFilter(text), ends).flatMap((branch): Ends[] => {
    const next = firstParameter + values.length
    const condition = compileFilter(branch.expression, relationProperties, { caseInsensitive, firstParameter: next })
    values.push(...condition.values)
    return sidesOf(branch).map((side) => ({ side, sql: condition.sql }))
  })
  return { ...assetsAtEnds(meant, groupsParameter), values }
}

function sidesOf({ anchors }: Branch): Side[] {
  const [subject, object] = [anchors.has('subject.id'), anchors.has('object.id')]
  return subject === object ? ['subject', 'object'] : subject ? ['object'] : ['subject']
}
