import { iconAdd, iconHistory, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useInventoryWrite } from '../../../app/api/inventory-write.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { assetKey, labelOf } from '../../../components/graph/graph-data.ts'
import { GraphExplorer } from '../../../components/graph/graph-explorer.tsx'
import { predicateName } from '../../../components/graph/predicate-name.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { nameOf } from '../../assets/model/asset.ts'
import { ExportButton } from '../../files/export/export-dialog.tsx'
import { NodeLink } from '../../hierarchy/node-link.tsx'
import type { AssetTabProps } from '../asset-tab.ts'
import { assetMessages } from '../messages.ts'
import { type RelationRow, useNeighbourhood } from './neighbourhood.ts'
import { RelationDialog } from './relation-dialog.tsx'

/** `Relations` shows the relations of an asset as a list and as a graph. The user can expand the graph. */
export function Relations({ asset, at, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const canRelate = usePermission('glb_inventory_write_relation_data') && canWrite
  const [isAdding, setAdding] = useState(false)
  const [deleting, setDeleting] = useState<RelationRow>()
  const [selected, setSelected] = useState<string>()
  const [, show] = useSearchState<'tab' | 'view'>()
  const neighbourhood = useNeighbourhood(asset.id, at)
  const select = (key: string | undefined) => {
    setSelected(key)
    if (key !== undefined) neighbourhood.expand(key)
  }
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
      {neighbourhood.rows.length === 0 ? (
        <EmptyState title={text.noRelations}>
          <p>{text.noRelationsHint}</p>
        </EmptyState>
      ) : (
        <>
          <GraphExplorer data={neighbourhood.data} selected={selected} onSelect={select} root={assetKey(asset.id)} />
          {neighbourhood.isTruncated && <p className="quiet">{text.truncatedGraph}</p>}
          <h2>{text.list}</h2>
          <RelationTable rows={neighbourhood.rows} onDelete={canRelate ? setDeleting : undefined} />
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

type RelationTableProps = { rows: readonly RelationRow[]; onDelete: ((row: RelationRow) => void) | undefined }

function RelationTable({ rows, onDelete }: RelationTableProps) {
  const text = useText(assetMessages)
  const language = useLanguage()
  return (
    <DataTable
      label={text.list}
      rows={rows}
      idOf={({ relation }) => relation.id}
      columns={[
        {
          id: 'direction',
          header: text.direction,
          width: 120,
          cell: ({ direction }) => (direction === 'out' ? text.out : text.in),
        },
        {
          id: 'predicate',
          header: text.predicate,
          width: 200,
          cell: ({ relation }) => <span title={relation.predicate}>{predicateName(relation.predicate, language)}</span>,
        },
        {
          id: 'other',
          header: text.relatedTo,
          width: 280,
          cell: ({ other, node }) =>
            other.type === 'asset' ? (
              <Link to="/assets/$id" params={{ id: other.id }}>
                {labelOf(node)}
              </Link>
            ) : (
              <NodeLink id={other.id} label={labelOf(node)} />
            ),
        },
        {
          id: 'source',
          header: text.source,
          width: 160,
          cell: ({ relation }) => relation.source.value ?? relation.source.type,
        },
        {
          id: 'since',
          header: text.sinceWhen,
          width: 180,
          cell: ({ relation }) => <Time at={relation.createdTimestamp} />,
        },
        {
          id: 'delete',
          header: text.actions,
          width: 110,
          cell: (row) =>
            onDelete !== undefined && (
              <IxIconButton
                icon={iconTrashcan}
                size="16"
                variant="subtle-tertiary"
                aria-label={`${text.deleteRelation}: ${predicateName(row.relation.predicate, language)} ${labelOf(row.node)}`}
                onClick={() => onDelete(row)}
              />
            ),
        },
      ]}
    />
  )
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
