import type { ReactNode } from 'react'

export type KeyValueItem = { name: string; value: ReactNode }

/** `KeyValueList` shows names with their values. Empty values are left out. */
export function KeyValueList({ items }: { items: readonly (KeyValueItem | undefined | false)[] }) {
  const shown = items.filter((fact): fact is KeyValueItem => !!fact && fact.value !== undefined && fact.value !== '')
  return (
    <dl className="key-values">
      {shown.map(({ name, value }) => (
        <div key={name} className="key-value">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
