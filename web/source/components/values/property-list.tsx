import type { ReactNode } from 'react'

export type Fact = { name: string; value: ReactNode }

/** Names and values; what is empty is left out. */
export function Facts({ facts }: { facts: readonly (Fact | undefined | false)[] }) {
  const shown = facts.filter((fact): fact is Fact => !!fact && fact.value !== undefined && fact.value !== '')
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
