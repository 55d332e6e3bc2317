import type { ReactNode } from 'react'

export type KeyValueItem = { name: string; value: ReactNode }

/** Names and values; what is empty is left out. */
export function KeyValueList({ items }: { items: readonly (KeyValueItem | undefined | false)[] }) {
  const shown = items.filter((fact): fact is KeyValueItem => !!fact && fact.value !== undefined && fact.value !== '')
  return (
    <dl className="facts">
      {shown.map(({ name, value }) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
