import type { AuditEntry } from '@millwright/api/audit.ts'
import { iconAuditReport } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../app/language-context.tsx'
import { usePaged } from '../../app/paged.ts'
import { useSearchState } from '../../app/search.ts'
import { useVisit } from '../../app/visit.tsx'
import type { Column } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { download } from '../../components/download.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Facts } from '../../components/facts.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { PagedTable } from '../../components/paged-table.tsx'
import { StatusChip, type Tone } from '../../components/status-chip.tsx'
import { Time } from '../../components/time.tsx'
import { Toolbar } from '../../components/toolbar.tsx'
import { ChainCheck } from './chain-check.tsx'
import { auditMessages } from './messages.ts'

const outcomes = ['done', 'denied', 'failed'] as const
const tones: Record<AuditEntry['outcome'], Tone> = { done: 'good', denied: 'warning', failed: 'bad' }

/** The audit trail, newest first. */
export function AuditPage() {
  const text = useText(auditMessages)
  const formats = useFormats()
  const { raw } = useVisit()
  const [search, setSearch] = useSearchState<'action' | 'outcome' | 'target'>()
  const [open, setOpen] = useState<AuditEntry>()
  usePageTitle(text.title)
  const filters = Object.fromEntries(
    (['action', 'outcome', 'target'] as const).flatMap((name) => (search[name] ? [[name, search[name]]] : [])),
  )
  const paged = usePaged(['audit', 'listEntries'], { query: filters })
  const save = async () => {
    const answer = await raw('audit', 'exportEntries', { query: filters })
    download(await answer.blob(), 'audit.ndjson')
  }
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={
          <>
            <ChainCheck />
            <IxButton variant="secondary" onClick={save}>
              {text.export}
            </IxButton>
          </>
        }
      />
      <Toolbar count={text.count(paged.total, formats.number(paged.total))}>
        <SelectField
          label={text.outcome}
          isLabelUnseen
          value={search.outcome ?? ''}
          onChange={(outcome) => setSearch({ outcome })}
          choices={[{ value: '', label: text.anyOutcome }, ...outcomes.map((value) => ({ value, label: text[value] }))]}
        />
        {(['action', 'target'] as const).map((name) => (
          <TextField
            key={name}
            label={text[name]}
            isLabelUnseen
            type="search"
            placeholder={text[`${name}Filter`]}
            value={search[name] ?? ''}
            onChange={(value) => setSearch({ [name]: value })}
          />
        ))}
      </Toolbar>
      <PagedTable
        label={text.title}
        paged={paged}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={setOpen}
        empty={
          <EmptyState icon={iconAuditReport} title={text.none}>
            <p>{text.noneHint}</p>
          </EmptyState>
        }
      />
      {open !== undefined && <EntryDialog entry={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

function EntryDialog({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const text = useText(auditMessages)
  return (
    <Dialog title={text.entry} onClose={onClose} isWide>
      <Facts
        facts={[
          { name: text.action, value: entry.action },
          { name: text.outcome, value: <StatusChip tone={tones[entry.outcome]}>{text[entry.outcome]}</StatusChip> },
          { name: text.time, value: <Time at={entry.time} /> },
          { name: text.who, value: `${entry.principalName} (${entry.principalKind})` },
          { name: text.target, value: entry.target && <code>{entry.target}</code> },
          { name: text.address, value: entry.address ?? text.system },
          { name: text.request, value: entry.requestId && <code>{entry.requestId}</code> },
          { name: text.place, value: entry.sequence ?? text.notSealed },
          { name: text.detail, value: <JsonView value={entry.detail} /> },
        ]}
      />
    </Dialog>
  )
}

type Text = (typeof auditMessages)['en']

function columnsOf(text: Text): Column<AuditEntry>[] {
  return [
    { id: 'time', header: text.time, width: 180, cell: ({ time }) => <Time at={time} /> },
    { id: 'who', header: text.who, width: 200, cell: ({ principalName }) => principalName },
    { id: 'action', header: text.action, width: 280, cell: ({ action }) => action },
    {
      id: 'outcome',
      header: text.outcome,
      width: 120,
      cell: ({ outcome }) => <StatusChip tone={tones[outcome]}>{text[outcome]}</StatusChip>,
    },
    { id: 'address', header: text.address, width: 140, cell: ({ address }) => address },
    { id: 'target', header: text.target, width: 340, cell: ({ target }) => target && <code>{target}</code> },
  ]
}
