import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { SelectField, TextField } from '../../components/forms/fields.tsx'
import { TimestampField } from '../../components/forms/timestamp-field.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { topologyMessages } from './messages.ts'
import type { TopologySearch } from './topology-search.ts'

type TopologyToolsProps = {
  search: Partial<Record<TopologySearch, string>>
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
  count: string
}

/**
 * `TopologyTools` contains the filters of the topology, and the fields for the displayed and the compared point in
 * time.
 */
export function TopologyTools({ search, change, count }: TopologyToolsProps) {
  const text = useText(topologyMessages)
  return (
    <Toolbar count={count}>
      <WordFilter key={search.q} value={search.q ?? ''} onChange={(q) => change({ q })} />
      <Predicates value={search.predicate ?? ''} onChange={(predicate) => change({ predicate })} />
      <TimestampField label={text.at} value={search.at} onChange={(at) => change({ at })} />
      <TimestampField label={text.compareWith} value={search.with} onChange={(other) => change({ with: other })} />
    </Toolbar>
  )
}

/**
 * `WordFilter` is the field for the search text. It applies the text only on Enter or when the field loses the focus,
 * because loading the topology is expensive.
 */
function WordFilter({ value, onChange }: { value: string; onChange: (words: string) => void }) {
  const text = useText(topologyMessages)
  const [typed, setTyped] = useState(value)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onChange(typed.trim())
  }
  return (
    <form onSubmit={submit} onBlur={() => typed.trim() !== value && onChange(typed.trim())}>
      <TextField
        label={text.filter}
        placeholder={text.filterHint}
        type="search"
        value={typed}
        onChange={setTyped}
        maxLength={256}
      />
    </form>
  )
}

function Predicates({ value, onChange }: { value: string; onChange: (predicate: string) => void }) {
  const text = useText(topologyMessages)
  const query = useOperationQuery()
  const canList = usePermission('glb_inventory_read_relation_data')
  const { data } = useQuery({ ...query(['inventory', 'listPredicates'], {}), enabled: canList })
  const predicates = data?.data.map(({ predicate }) => predicate) ?? []
  const offered = value === '' || predicates.includes(value) ? predicates : [value, ...predicates]
  if (!canList) return null
  return (
    <SelectField
      label={text.relations}
      value={value}
      onChange={onChange}
      choices={[
        { value: '', label: text.everyRelation },
        ...offered.map((predicate) => ({ value: predicate, label: predicate })),
      ]}
    />
  )
}
