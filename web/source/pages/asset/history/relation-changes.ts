import type { Entity, RelationChange } from '@millwright/api/inventory.ts'
import { type Paged, usePaged } from '../../../app/api/paged-list.ts'
import { labelOf } from '../../../components/graph/graph-data.ts'
import { assetEvents, relationEvents } from '../asset-data.ts'
import { seenFrom } from '../relations/neighbourhood.ts'

/** A relation of an asset that began or ended, seen from it. What has no name that is known has its id. */
export type ChangeRow = RelationChange & { way: 'out' | 'in'; other: Entity; label: string }

/** An asset that is called otherwise is, everywhere. */
const live = [...relationEvents, ...assetEvents]

/** What became of the relations of an asset, the latest first. */
export function useRelationChanges(id: string): Paged<ChangeRow> {
  const paged = usePaged(['inventory', 'readRelationHistory'], { params: { id } }, { live })
  return {
    ...paged,
    rows: paged.rows.map((change) => {
      const { way, other } = seenFrom({ type: 'asset', id }, change.relation)
      const name = (way === 'out' ? change.objectName : change.subjectName) ?? ''
      return { ...change, way, other, label: labelOf({ ...other, name }) }
    }),
  }
}
