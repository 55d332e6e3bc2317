import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useMay } from '../../app/session/user-context.tsx'
import { SelectField, TextField } from '../../components/forms/fields.tsx'
import { MomentField } from '../../components/forms/timestamp-field.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { topologyMessages } from './messages.ts'
import type { TopologySearch } from './topology-page.tsx'

type Given = {
  search: Partial<Record<TopologySearch, string>>
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
  count: string
}

/** Which part of the plant, and when. */
export function TopologyTools({ search, change, count }: Given) {
  const text = useText(topologyMessages)
  return (
    <Toolbar count={count}>
      <Words key={search.q} given={search.q ?? ''} onChange={(q) => change({ q })} />
      <Predicates value={search.predicate ?? ''} onChange={(predicate) => change({ predicate })} />
      <MomentField label={text.at} value={search.at} onChange={(at) => change({ at })} />
      <MomentField label={text.compareWith} value={search.with} onChange={(other) => change({ with: other })} />
    </Toolbar>
  )
}

/** A plant is not read at every letter. */
function Words({ given, onChange }: { given: string; onChange: (words: string) => void }) {
  const text = useText(topologyMessages)
  const [typed, setTyped] = useState(given)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onChange(typed.trim())
  }
  return (
    <form onSubmit={submit} onBlur={() => typed.trim() !== given && onChange(typed.trim())}>
      <TextField label={text.only} type="search" value={typed} onChange={setTyped} maxLength={256} />
    </form>
  )
}

function Predicates({ value, onChange }: { value: string; onChange: (predicate: string) => void }) {
  const text = useText(topologyMessages)
  const query = useOperationQuery()
  const mayList = useMay('glb_inventory_read_relation_data')
  const { data } = useQuery({ ...query(['inventory', 'listPredicates'], {}), enabled: mayList })
  const known = data?.data.map(({ predicate }) => predicate) ?? []
  const offered = value === '' || known.includes(value) ? known : [value, ...known]
  if (!mayList) return null
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
