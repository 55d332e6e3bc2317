import type { Duplicate } from '@millwright/api/inventory/identity.ts'
import { iconSuccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { Time } from '../../components/values/time.tsx'
import { identifierLine } from '../assets/model/identifier-names.ts'
import { inboxMessages } from './messages.ts'

/** Returns the pairs of possible duplicates. */
export function useDuplicates() {
  const query = useOperationQuery()
  return useQuery(query(['inventory', 'listDuplicates'], { query: { limit: 100 } }, { live: ['inventory'] }))
}

/** `Duplicates` lists pairs of possible duplicates, with the identifiers that both assets have. */
export function Duplicates() {
  const text = useText(inboxMessages)
  const pairs = useDuplicates()
  return (
    <QueryState query={pairs}>
      {({ data }) =>
        data.length === 0 ? (
          <EmptyState icon={iconSuccess} title={text.noDuplicates}>
            <p>{text.noDuplicatesHint}</p>
            <Link to="/inbox">{text.toNew}</Link>
          </EmptyState>
        ) : (
          <ul className="duplicates">
            {data.map((pair) => (
              <Pair key={`${pair.asset.id} ${pair.other.id}`} pair={pair} />
            ))}
          </ul>
        )
      }
    </QueryState>
  )
}

function Pair({ pair }: { pair: Duplicate }) {
  const text = useText(inboxMessages)
  const language = useLanguage()
  const canWrite = usePermission('inventory_write_asset_data')
  const [openDialog, setAsking] = useState<'merge' | 'dismiss'>()
  const [one, other] = [nameOf(pair.asset), nameOf(pair.other)]
  return (
    <li className="duplicate">
      <div className="duplicate-names">
        <Link to={`/assets/${pair.asset.id}`}>{one}</Link>
        <span className="quiet">{text.and}</span>
        <Link to={`/assets/${pair.other.id}`}>{other}</Link>
        <span className="quiet">
          <Time at={pair.lastSeenTimestamp} isRelative />
        </span>
      </div>
      <p className="quiet">
        {text.reportedTogether}{' '}
        {pair.evidence.identifiers.map(({ identifier }) => identifierLine(identifier, language)).join(', ')}
      </p>
      {canWrite && (
        <div className="form-actions">
          <IxButton onClick={() => setAsking('merge')}>{text.merge}</IxButton>
          <IxButton variant="secondary" onClick={() => setAsking('dismiss')}>
            {text.dismiss}
          </IxButton>
        </div>
      )}
      {openDialog !== undefined && (
        <DuplicateDialog pair={pair} action={openDialog} onClose={() => setAsking(undefined)} />
      )}
    </li>
  )
}

type DuplicateDialogProps = { pair: Duplicate; action: 'merge' | 'dismiss'; onClose: () => void }

function DuplicateDialog({ pair: { asset, other }, action, onClose }: DuplicateDialogProps) {
  const text = useText(inboxMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const isMerge = action === 'merge'
  const confirm = async () => {
    if (isMerge) {
      const body = { data: { other: other.id } }
      await api.inventory.mergeAsset({ params: { id: asset.id }, headers: { prefer: 'wait=20' }, body })
    } else {
      await api.inventory.dismissDuplicate({ body: { data: { asset: asset.id, other: other.id } } })
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listDuplicates') })
    showSuccess(isMerge ? text.merged : text.dismissed)
  }
  return (
    <ConfirmDialog
      title={isMerge ? text.mergeTitle : text.dismissTitle}
      action={isMerge ? text.merge : text.dismiss}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>{isMerge ? text.mergeText(nameOf(asset), nameOf(other)) : text.dismissText(nameOf(asset), nameOf(other))}</p>
    </ConfirmDialog>
  )
}

function nameOf({ id, name }: Duplicate['asset']): string {
  return name ?? id
}
