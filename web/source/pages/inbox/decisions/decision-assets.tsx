import type { Decision, DecisionItem } from '@millwright/api/inbox.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowLink } from '../../../components/tables/row-link.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { decisionMessages } from '../messages.ts'

const tones = { changed: 'good', pending: 'info', failed: 'warning' } as const

/** `DecisionAssets` lists the assets of a decision with their results. */
export function DecisionAssets({ decision, onClose }: { decision: Decision; onClose: () => void }) {
  const text = useText(decisionMessages)
  const formats = useFormats()
  const live = { live: ['inbox.decision'] }
  const items = usePagedList(['inbox', 'listDecisionResults'], { params: { id: decision.id } }, live)
  const columns: Column<DecisionItem>[] = [
    {
      id: 'name',
      width: 280,
      header: text.asset,
      cell: ({ assetId, name }) => <RowLink to={`/assets/${assetId}`}>{name ?? assetId}</RowLink>,
    },
    {
      id: 'outcome',
      width: 140,
      header: text.result,
      cell: ({ outcome }) => <StatusChip tone={tones[outcome]}>{text[outcome]}</StatusChip>,
    },
    {
      id: 'detail',
      width: 280,
      isGrowing: true,
      header: text.reason,
      cell: ({ detail }) => <span lang="en">{detail}</span>,
    },
  ]
  const title = text.assetsOf(formats.exact(decision.createdTimestamp))
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <p className="card-lead">{text.assetsOfText}</p>
      <PagedTable label={title} pagedList={items} columns={columns} idOf={({ assetId }) => assetId} empty={null} />
    </Dialog>
  )
}
