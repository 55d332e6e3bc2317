import type { AuditEntry } from '@millwright/api/audit.ts'
import { iconAuditReport } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { usePagedList } from '../../app/api/paged-list.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { SubjectLink } from '../../components/values/subject-link.tsx'
import { Time } from '../../components/values/time.tsx'
import { ExportButton } from '../files/export/export-dialog.tsx'
import { AuditFilters, type Filter, filterNames } from './audit-filters.tsx'
import { ChainCheck } from './chain-check.tsx'
import { auditMessages } from './messages.ts'

const tones: Record<AuditEntry['outcome'], Tone> = { done: 'good', denied: 'warning', failed: 'bad' }

/** `AuditPage` lists audit entries, newest first. */
export function AuditPage() {
  const text = useText(auditMessages)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<Filter>()
  const [open, setOpen] = useState<AuditEntry>()
  usePageTitle(text.title)
  const filters = Object.fromEntries(filterNames.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
  const pagedList = usePagedList(['audit', 'listEntries'], { query: filters }, { live: ['*'] })
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={
          <>
            <ChainCheck />
            <ExportButton what="audit" selection={Object.keys(filters).length === 0 ? {} : { entries: filters }} />
          </>
        }
      />
      <AuditFilters search={search} onChange={setSearch} rows={pagedList.rows} />
      <p className="list-count" role="status">
        {text.count(pagedList.total, formats.number(pagedList.total))}
      </p>
      <PagedTable
        label={text.title}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState icon={iconAuditReport} title={text.none}>
            <p>{text.noneHint}</p>
          </EmptyState>
        }
      />
      {open !== undefined && (
        <EntryDialog
          entry={open}
          onOnly={(filter) => {
            setOpen(undefined)
            setSearch(filter)
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

type EntryDialogProps = {
  entry: AuditEntry
  /** Filters the list by an account, a target or a request of this entry. */
  onOnly: (filter: Partial<Record<Filter, string>>) => void
  onClose: () => void
}

function EntryDialog({ entry, onOnly, onClose }: EntryDialogProps) {
  const text = useText(auditMessages)
  const { principal, target, requestId } = entry
  const kinds = text as Readonly<Record<string, unknown>>
  const kind = kinds[entry.principalKind] ?? entry.principalKind
  return (
    <Dialog
      title={text.entry}
      onClose={onClose}
      isWide
      actions={
        <>
          {principal !== null && (
            <IxButton variant="secondary" onClick={() => onOnly({ principal })}>
              {text.moreByAccount}
            </IxButton>
          )}
          {target !== null && (
            <IxButton variant="secondary" onClick={() => onOnly({ target })}>
              {text.moreOnTarget}
            </IxButton>
          )}
          {requestId !== null && (
            <IxButton variant="secondary" onClick={() => onOnly({ requestId })}>
              {text.moreOfRequest}
            </IxButton>
          )}
        </>
      }
    >
      <KeyValueList
        items={[
          { name: text.action, value: entry.action },
          { name: text.outcome, value: <StatusChip tone={tones[entry.outcome]}>{text[entry.outcome]}</StatusChip> },
          { name: text.time, value: <Time at={entry.time} isExact /> },
          { name: text.account, value: `${entry.principalName} (${kind})` },
          { name: text.target, value: target !== null && <SubjectLink subject={target} /> },
          { name: text.address, value: entry.address ?? text.system },
          { name: text.request, value: requestId !== null && <code>{requestId}</code> },
          { name: text.sequence, value: entry.sequence ?? text.pending },
          { name: text.detail, value: <JsonView value={entry.detail} /> },
        ]}
      />
    </Dialog>
  )
}

type Text = (typeof auditMessages)['en']

function columnsOf(text: Text): Column<AuditEntry>[] {
  return [
    { id: 'time', header: text.time, width: 200, cell: ({ time }) => <Time at={time} isExact /> },
    { id: 'who', header: text.account, width: 190, cell: ({ principalName }) => principalName },
    { id: 'action', header: text.action, width: 260, cell: ({ action }) => action },
    {
      id: 'outcome',
      header: text.outcome,
      width: 120,
      cell: ({ outcome }) => <StatusChip tone={tones[outcome]}>{text[outcome]}</StatusChip>,
    },
    { id: 'address', header: text.address, width: 140, cell: ({ address }) => address },
    {
      id: 'target',
      header: text.target,
      width: 400,
      cell: ({ target }) => target !== null && <SubjectLink subject={target} />,
    },
  ]
}
