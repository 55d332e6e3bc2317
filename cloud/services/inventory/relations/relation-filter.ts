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
import { type AssetSet, type SortKey, sortKey, totalOrder } from '../assets/listing.ts'
import type { Groups } from '../visibility.ts'
import { assetsAtEnds, type Condition, type Ends, type Side } from './relation-store.ts'

type ColumnOptions = Pick<Scalar, 'nullable' | 'sortable'>

const unsorted: ColumnOptions = { nullable: false, sortable: false }
const sorted: ColumnOptions = { nullable: false }

/** The properties by which relations (`relations r`) can be filtered and sorted. */
export const relationProperties = propertyTable({
  'subject.type': { kind: 'text', column: 'r.subject_type', ...unsorted },
  'subject.id': { kind: 'uuid', column: 'r.subject_id', ...unsorted },
  'object.type': { kind: 'text', column: 'r.object_type', ...unsorted },
  'object.id': { kind: 'uuid', column: 'r.object_id', ...unsorted },
  predicate: { kind: 'text', column: 'r.predicate', ...sorted },
  'source.type': { kind: 'text', column: 'r.source_type', ...unsorted },
  'source.value': { kind: 'text', column: 'r.source_value', sortable: false },
  createdTimestamp: { kind: 'time', column: 'r.created_at', ...sorted },
  lastModifiedTimestamp: { kind: 'time', column: 'r.modified_at', ...sorted },
})

export type RelationFilter = { expression: Expression; condition: Condition; caseInsensitive: boolean }

export const everyRelation: Condition = { sql: 'true', values: [] }

export function parseRelationFilter(text: string, options: { caseInsensitive: boolean }): RelationFilter {
  const expression = parseFilter(text)
  return { expression, condition: compileFilter(expression, relationProperties, options), ...options }
}

/**
 * Returns the predicates of a filter if the filter has no other condition. The caller can use the stored totals of
 * these predicates. Returns `undefined` for other filters.
 */
export function predicatesAlone({ expression, caseInsensitive }: RelationFilter): string[] | undefined {
  const alone = caseInsensitive ? undefined : valuesAlone(expression)
  return alone?.property === 'predicate' ? alone.values : undefined
}

/**
 * Requires that each alternative of the filter names a subject, an object or a predicate. A filter therefore cannot match
 * all relations.
 */
export function requireNarrow({ expression }: RelationFilter): void {
  const narrowing = ['subject.id', 'object.id', 'predicate']
  if (isNarrow(expression, narrowing)) return
  throw new Problem(
    'filter_not_narrow',
    `Every alternative of the filter must compare ${narrowing.slice(0, -1).join(', ')} or ${narrowing.at(-1)} with eq or in`,
  )
}

/**
 * Returns the order of a list of relations. An id begins with the time of creation, so the index on the id sorts by that
 * time.
 */
export function orderOf(sort: string | undefined): SortKey[] {
  const keys = sort === undefined ? [] : parseSort(sort, relationProperties)
  const created = keys.findIndex(({ property }) => property === 'createdTimestamp')
  if (created < 0) return totalOrder(keys.map(sortKey), 'r.id')
  const id = { column: 'r.id', descending: keys[created]?.descending === true, nullable: false, cast: 'uuid' }
  return [...keys.slice(0, created).map(sortKey), id]
}

type RelatedAssetsOptions = {
  caseInsensitive?: boolean
  /** The number of the first parameter of the filter. `$1` is the tenant. */
  firstParameter?: number
  /** The access groups that the caller can read. A relation to an asset in another group is ignored. */
  groups?: Groups
}

const ends = ['subject.id', 'object.id']

/**
 * Returns the assets at the ends of the relations that match a filter. Each alternative of the filter selects its own
 * ends: the objects if it names the subject, the subjects if it names the object, both ends otherwise. Nodes at these
 * ends are left out.
 */
export function assetsRelatedBy(
  text: string,
  { caseInsensitive = false, firstParameter = 2, groups = null }: RelatedAssetsOptions = {},
): AssetSet & { values: unknown[] } {
  const values: unknown[] = groups === null ? [] : [groups]
  const groupsParameter = groups === null ? undefined : `$${firstParameter}`
  const selected = branchesOf(parseFilter(text), ends).flatMap((branch): Ends[] => {
    const next = firstParameter + values.length
    const condition = compileFilter(branch.expression, relationProperties, { caseInsensitive, firstParameter: next })
    values.push(...condition.values)
    return sidesOf(branch).map((side) => ({ side, sql: condition.sql }))
  })
  return { ...assetsAtEnds(selected, groupsParameter), values }
}

function sidesOf({ anchors }: Branch): Side[] {
  const [subject, object] = [anchors.has('subject.id'), anchors.has('object.id')]
  return subject === object ? ['subject', 'object'] : subject ? ['object'] : ['subject']
}
