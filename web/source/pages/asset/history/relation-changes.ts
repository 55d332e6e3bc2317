import type { Entity, RelationChange } from '@millwright/api/inventory.ts'
import { type PagedList, usePagedList } from '../../../app/api/paged-list.ts'
import { labelOf } from '../../../components/graph/graph-data.ts'
import { assetEvents, relationEvents } from '../asset-data.ts'
import { otherEnd } from '../relations/neighbourhood.ts'

/** A relation of an asset that began or ended, seen from it. What has no name that is known has its id. */
export type RelationChangeRow = RelationChange & { direction: 'out' | 'in'; other: Entity; label: string }

/** An asset that is called otherwise is, everywhere. */
const live = [...relationEvents, ...assetEvents]

/** What became of the relations of an asset, the latest first. */
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
