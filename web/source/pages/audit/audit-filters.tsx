import { operations } from 'virtual:operations'
import type { AuditEntry } from '@millwright/api/audit.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useMay } from '../../app/session/user-context.tsx'
import { type Choice, SelectField, TextField } from '../../components/forms/fields.tsx'
import { MomentField } from '../../components/forms/timestamp-field.tsx'
import { auditMessages } from './messages.ts'

export const filterNames = ['outcome', 'principal', 'action', 'target', 'from', 'to', 'requestId'] as const
export type Filter = (typeof filterNames)[number]
type Filters = Partial<Record<Filter, string>>

const outcomes = ['done', 'denied', 'failed'] as const

/** What can be done, by service and operation: what entries are mostly about. */
const actions = Object.entries(operations).flatMap(([service, named]) =>
  Object.entries(named).flatMap(([name, [method]]) => (method === 'GET' ? [] : [`${service}.${name}`])),
)

type Given = {
  search: Filters
  onChange: (change: Partial<Record<Filter, string | undefined>>) => void
  rows: readonly AuditEntry[]
}

export function AuditFilters({ search, onChange, rows }: Given) {
  const text = useText(auditMessages)
  const people = useWho(search.principal, rows)
  return (
    <search className="question question-small">
      <SelectField
        label={text.outcome}
        value={search.outcome ?? ''}
        onChange={(outcome) => onChange({ outcome })}
        choices={[{ value: '', label: text.anyOutcome }, ...outcomes.map((value) => ({ value, label: text[value] }))]}
      />
      {people.length > 0 && (
        <SelectField
          label={text.who}
          value={search.principal ?? ''}
          onChange={(principal) => onChange({ principal })}
          choices={[{ value: '', label: text.anybody }, ...people]}
        />
      )}
      <TextField
        label={text.action}
        type="search"
        placeholder={text.actionFilter}
        suggestions={actions.map((value) => ({ value, label: value }))}
        value={search.action ?? ''}
        onChange={(action) => onChange({ action })}
      />
      <TextField
        label={text.target}
        type="search"
        placeholder={text.targetFilter}
        value={search.target ?? ''}
        onChange={(target) => onChange({ target })}
      />
      <MomentField label={text.since} value={search.from} onChange={(from) => onChange({ from })} />
      <MomentField label={text.until} value={search.to} onChange={(to) => onChange({ to })} />
      {search.requestId !== undefined && (
        <TextField
          label={text.request}
          type="search"
          value={search.requestId}
          onChange={(requestId) => onChange({ requestId })}
        />
      )}
    </search>
  )
}

/** Everybody, for who may know them; else the one that was asked for, by the name that the entries have. */
function useWho(asked: string | undefined, rows: readonly AuditEntry[]): Choice[] {
  const mayKnow = useMay('glb_access_manage')
  const query = useOperationQuery()
  const page = { query: { limit: 100 } }
  const people = useQuery({ ...query(['identity', 'listUsers'], page), enabled: mayKnow })
  const programs = useQuery({ ...query(['identity', 'listServerUsers'], page), enabled: mayKnow })
  const known = [...(people.data?.data ?? []), ...(programs.data?.data ?? [])].map(({ id, name }) => ({
    value: id,
    label: name,
  }))
  if (asked === undefined || known.some(({ value }) => value === asked)) return known
  const name = rows.find(({ principal }) => principal === asked)?.principalName ?? asked
  return [...known, { value: asked, label: name }]
}
