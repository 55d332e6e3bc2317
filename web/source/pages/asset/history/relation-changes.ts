import type { Entity, RelationChange } from '@millwright/api/inventory/inventory.ts'
import { type PagedList, usePagedList } from '../../../app/api/paged-list.ts'
import { labelOf } from '../../../components/graph/graph-data.ts'
import { assetEvents, relationEvents } from '../asset-data.ts'
import { otherEnd } from '../relations/neighbourhood.ts'

/**
 * `RelationChangeRow` is an added or removed relation, from the perspective of one asset. `other` is the entity at the
 * other end. `label` is the name of `other`, or its id if it has no name.
 */
export type RelationChangeRow = RelationChange & { direction: 'out' | 'in'; other: Entity; label: string }

/**
 * The prefixes of the event types that refresh the list. Asset events are included, because a renamed asset changes a
 * label in the list.
 */
const live = [...relationEvents, ...assetEvents]

/** Returns the changes of an asset's relations, newest first. */
export function useRelationChanges(id: string): PagedList<RelationChangeRow> {
  const pagedList = usePagedList(['inventory', 'readRelationHistory'], { params: { id } }, { live })
  return {
    ...pagedList,
    rows: pagedList.rows.map((change) => {
      const { direction, other } = otherEnd({ type: 'asset', id }, change.relation)
      const name = (direction === 'out' ? change.objectName : change.subjectName) ?? ''
      return { ...change, direction, other, label: labelOf({ ...other, name }) }
    }),
  }
}
