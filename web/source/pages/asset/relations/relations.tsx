import { assetClassOf } from '@millwright/api/asset-class.ts'
import { iconAdd, iconHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useMemo, useState } from 'react'
import { useInventoryWrite } from '../../../app/api/inventory-write.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { assetKey, labelOf } from '../../../components/graph/graph-data.ts'
import { predicateName } from '../../../components/graph/predicate-name.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { nameOf } from '../../assets/model/asset.ts'
import { ExportButton } from '../../files/export/export-dialog.tsx'
import type { AssetTabProps } from '../asset-tab.ts'
import { assetMessages } from '../messages.ts'
import { type RelationRow, useNeighbourhood } from './neighbourhood.ts'
import { RelationDialog } from './relation-dialog.tsx'
import { relationGroups } from './relation-groups.ts'
import { RelationList } from './relation-list.tsx'
import { RelationMap } from './relation-map.tsx'

/** `Relations` shows the relations of an asset as a picture and as a list. */
export function Relations({ asset, at, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const canRelate = usePermission('glb_inventory_write_relation_data') && canWrite
  const [isAdding, setAdding] = useState(false)
  const [deleting, setDeleting] = useState<RelationRow>()
  const [, show] = useSearchState<'tab' | 'view'>()
  const neighbourhood = useNeighbourhood(asset.id, at)
  const { rows } = neighbourhood
  const groups = useMemo(() => relationGroups(rows), [rows])
  const node = neighbourhood.data.nodes.get(assetKey(asset.id))
  if (neighbourhood.error !== null)
    return <ProblemMessage failure={neighbourhood.error} onRetry={neighbourhood.retry} />
  if (neighbourhood.isLoading) return <Loading />
  return (
    <div className="asset-relations">
      <div className="view-head">
        <p className="quiet">{text.relationsHint}</p>
        <div className="view-actions">
          <IxButton variant="secondary" icon={iconHistory} onClick={() => show({ tab: 'history', view: 'relations' })}>
            {text.relationHistory}
          </IxButton>
          <ExportButton what="relations" selection={{ filter: relationsOf(asset.id) }} />
          {canRelate && (
            <IxButton icon={iconAdd} onClick={() => setAdding(true)}>
              {text.addRelation}
            </IxButton>
          )}
        </div>
      </div>
      {rows.length === 0 ? (
        <EmptyState title={text.noRelations}>
          <p>{text.noRelationsHint}</p>
        </EmptyState>
      ) : (
        <>
          <div className="graph relations">
            <RelationMap
              name={nameOf(asset)}
              assetClass={assetClassOf({ type: node?.functional_object_type, name: node?.name })}
              groups={groups}
            />
            <RelationList groups={groups} onDelete={canRelate ? setDeleting : undefined} />
          </div>
          {neighbourhood.isTruncated && <p className="quiet">{text.truncatedGraph}</p>}
        </>
      )}
      {isAdding && <RelationDialog id={asset.id} name={nameOf(asset)} onClose={() => setAdding(false)} />}
      {deleting !== undefined && <DeleteRelation row={deleting} onClose={() => setDeleting(undefined)} />}
    </div>
  )
}

/** Returns the filter of the relations of an asset. */
function relationsOf(id: string): string {
  return `subject.id eq '${id}' or object.id eq '${id}'`
}

function DeleteRelation({ row, onClose }: { row: RelationRow; onClose: () => void }) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const language = useLanguage()
  return (
    <ConfirmDialog
      title={text.deleteRelationTitle}
      action={text.deleteVerb}
      isDangerous
      onClose={onClose}
      onConfirm={() =>
        write(
          api.inventory.deleteRelations({ body: { data: { ids: [row.relation.id] } } }).then(() => ({})),
          text.relationDeleted,
        )
      }
    >
      <p>
        {predicateName(row.relation.predicate, language)} <strong>{labelOf(row.node)}</strong>
      </p>
      <p className="quiet">{text.deleteRelationText}</p>
    </ConfirmDialog>
  )
}
