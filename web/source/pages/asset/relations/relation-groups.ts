import { assignmentPredicate } from '@millwright/api/assignment-predicate.ts'
import type { RelationRow } from './neighbourhood.ts'

/** Groups the relations of an asset by relation type and direction, and places each group around the asset. */

/** The side of the asset on which a group is: what the asset belongs to above, its parts below, its network at the right. */
export type RelationSide = 'above' | 'left' | 'right' | 'below'

export type RelationGroup = {
  key: string
  predicate: string
  direction: RelationRow['direction']
  side: RelationSide
  rows: readonly RelationRow[]
}

/** Relations whose object contains or carries the subject. */
const containment: ReadonlySet<string> = new Set([
  assignmentPredicate,
  'is_part_of',
  'is_module_of',
  'is_periphery_of',
  'is_installed_on',
  'is_running_on',
])

function sideOf({ relation: { predicate }, direction }: RelationRow): RelationSide {
  if (containment.has(predicate)) return direction === 'out' ? 'above' : 'below'
  return predicate === 'is_connected_to' ? 'right' : 'left'
}

const sides: readonly RelationSide[] = ['above', 'left', 'right', 'below']

/** Returns the groups in the order of their sides. The largest groups of a side are first. */
export function relationGroups(rows: readonly RelationRow[]): RelationGroup[] {
  const groups = Map.groupBy(rows, ({ direction, relation }) => `${direction} ${relation.predicate}`)
  return [...groups]
    .flatMap(([key, members]): RelationGroup[] => {
      const [first] = members
      if (first === undefined) return []
      const { direction, relation } = first
      return [{ key, predicate: relation.predicate, direction, side: sideOf(first), rows: members }]
    })
    .toSorted(
      (one, other) => sides.indexOf(one.side) - sides.indexOf(other.side) || other.rows.length - one.rows.length,
    )
}
