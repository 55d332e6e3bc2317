import { operations } from 'virtual:operations'
import type { AuditEntry } from '@millwright/api/audit.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { type Choice, SelectField, TextField } from '../../components/forms/fields.tsx'
import { TimestampField } from '../../components/forms/timestamp-field.tsx'
import { auditMessages } from './messages.ts'

export const filterNames = ['outcome', 'principal', 'action', 'target', 'from', 'to', 'requestId'] as const
export type Filter = (typeof filterNames)[number]
type Filters = Partial<Record<Filter, string>>

const outcomes = ['done', 'denied', 'failed'] as const

/** The suggested actions: all operations of the API that change data. */
const actions = Object.entries(operations).flatMap(([service, named]) =>
  Object.entries(named).flatMap(([name, [method]]) => (method === 'GET' ? [] : [`${service}.${name}`])),
)

type AuditFiltersProps = {
  search: Filters
  onChange: (change: Partial<Record<Filter, string | undefined>>) => void
  rows: readonly AuditEntry[]
}

export function AuditFilters({ search, onChange, rows }: AuditFiltersProps) {
  const text = useText(auditMessages)
  const principals = usePrincipalChoices(search.principal, rows)
  return (
    <search className="question question-small">
      <SelectField
        label={text.outcome}
        value={search.outcome ?? ''}
        onChange={(outcome) => onChange({ outcome })}
        choices={[{ value: '', label: text.anyOutcome }, ...outcomes.map((value) => ({ value, label: text[value] }))]}
      />
      {principals.length > 0 && (
        <SelectField
          label={text.account}
          value={search.principal ?? ''}
          onChange={(principal) => onChange({ principal })}
          choices={[{ value: '', label: text.anyAccount }, ...principals]}
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
      <TimestampField label={text.since} value={search.from} onChange={(from) => onChange({ from })} />
      <TimestampField label={text.until} value={search.to} onChange={(to) => onChange({ to })} />
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

/**
 * Returns the principals to choose from. If the user has permission to list them, these are all users and service
 * accounts. Otherwise the only choice is the selected principal, whose name is found in the entries.
 */
function usePrincipalChoices(selected: string | undefined, rows: readonly AuditEntry[]): Choice[] {
  const canListPrincipals = usePermission('glb_access_manage')
  const query = useOperationQuery()
  const page = { query: { limit: 100 } }
  const principals = useQuery({ ...query(['identity', 'listUsers'], page), enabled: canListPrincipals })
  const serviceAccounts = useQuery({ ...query(['identity', 'listServerUsers'], page), enabled: canListPrincipals })
  const accounts = [...(principals.data?.data ?? []), ...(serviceAccounts.data?.data ?? [])].map(({ id, name }) => ({
    value: id,
    label: name,
  }))
  if (selected === undefined || accounts.some(({ value }) => value === selected)) return accounts
  const name = rows.find(({ principal }) => principal === selected)?.principalName ?? selected
  return [...accounts, { value: selected, label: name }]
}
