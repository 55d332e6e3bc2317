import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { useInventoryWrite } from '../../../app/api/inventory-write.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { authorName } from '../../activity/author-name.ts'
import { assetEvents } from '../asset-data.ts'
import type { AssetTabProps } from '../asset-tab.ts'
import { assetMessages } from '../messages.ts'
import { Identifiers, IdentifierText } from './identifiers.tsx'
import { Matches } from './matches.tsx'
import { type DuplicateAsset, MergeDialog, UndoDialog } from './merge-dialogs.tsx'

/**
 * `Identity` shows the identifiers of an asset, and how reports were matched to it. It also shows possible duplicates
 * and merges of the asset.
 */
export function Identity(props: AssetTabProps) {
  return (
    <div className="cards">
      <Identifiers {...props} />
      <Matches {...props} />
      <Duplicates {...props} />
      <Merges {...props} />
    </div>
  )
}

type SuspectedDuplicate = Output<'inventory', 'listDuplicates'>['data'][number]

function Duplicates({ asset, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const [duplicate, setDuplicate] = useState<DuplicateAsset | 'any'>()
  const suspected = useQuery(
    query(['inventory', 'listDuplicates'], { query: { asset: asset.id, limit: 100 } }, { live: assetEvents }),
  )
  return (
    <Card
      title={text.duplicates}
      actions={
        canWrite && (
          <IxButton variant="secondary" onClick={() => setDuplicate('any')}>
            {text.mergeOther}
          </IxButton>
        )
      }
    >
      <QueryState query={suspected}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{text.noDuplicates}</p>
          ) : (
            <ul className="plain-list parts">
              {data.map((pair) => (
                <DuplicateItem
                  key={`${pair.asset.id}${pair.other.id}`}
                  pair={pair}
                  id={asset.id}
                  {...(canWrite && { onMerge: setDuplicate })}
                />
              ))}
            </ul>
          )
        }
      </QueryState>
      {duplicate !== undefined && (
        <MergeDialog
          id={asset.id}
          duplicate={duplicate === 'any' ? undefined : duplicate}
          onClose={() => setDuplicate(undefined)}
        />
      )}
    </Card>
  )
}

type DuplicateItemProps = { pair: SuspectedDuplicate; id: string; onMerge?: (duplicate: DuplicateAsset) => void }

function DuplicateItem({ pair, id, onMerge }: DuplicateItemProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const api = useApi()
  const write = useInventoryWrite()
  const other = pair.asset.id === id ? pair.other : pair.asset
  const dismiss = () =>
    write(
      api.inventory.dismissDuplicate({ body: { data: { asset: id, other: other.id } } }).then(() => ({})),
      text.dismissed,
    )
  return (
    <li>
      <span>
        <Link to="/assets/$id" params={{ id: other.id }}>
          {other.name ?? other.id}
        </Link>{' '}
        <span className="quiet">{text.suspectedFor(formats.dateTime(pair.firstSeenTimestamp))}</span>
      </span>
      <span className="quiet">{text.evidence}</span>
      <ul className="evidence">
        {pair.evidence.identifiers.map(({ assetId, identifier }) => (
          <li key={JSON.stringify(identifier)}>
            <IdentifierText identifier={identifier} />{' '}
            <span className="quiet">{assetId === id ? text.ofThis : text.ofOther}</span>
          </li>
        ))}
      </ul>
      {onMerge !== undefined && (
        <span className="chips">
          <IxButton variant="secondary" onClick={() => onMerge({ id: other.id, name: other.name ?? other.id })}>
            {text.merge}
          </IxButton>
          <IxButton variant="secondary" onClick={dismiss}>
            {text.dismiss}
          </IxButton>
        </span>
      )}
    </li>
  )
}

function Merges({ asset, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const [undoing, setUndoing] = useState<{ mergeId: string; name: string }>()
  const merges = useQuery(
    query(['inventory', 'listMerges'], { params: { id: asset.id }, query: { limit: 100 } }, { live: assetEvents }),
  )
  if (merges.data === undefined || merges.data.data.length === 0) return null
  return (
    <Card title={text.merges}>
      <ul className="plain-list parts">
        {merges.data.data.map((merge) => {
          const name = merge.otherName ?? merge.otherId
          return (
            <li key={merge.id}>
              <span>
                <Link to={`/assets/${merge.otherId}`}>{name}</Link>{' '}
                <span className="quiet">
                  <Time at={merge.mergedTimestamp} /> {text.by} {authorName(merge.principalName)}
                </span>
              </span>
              {merge.undoneTimestamp !== null ? (
                <StatusChip>{text.wasUndone}</StatusChip>
              ) : (
                canWrite && (
                  <span>
                    <IxButton variant="secondary" onClick={() => setUndoing({ mergeId: merge.id, name })}>
                      {text.undo}
                    </IxButton>
                  </span>
                )
              )}
            </li>
          )
        })}
      </ul>
      {undoing !== undefined && <UndoDialog id={asset.id} {...undoing} onClose={() => setUndoing(undefined)} />}
    </Card>
  )
}
