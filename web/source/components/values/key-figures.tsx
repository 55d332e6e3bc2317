import type { ReactNode } from 'react'

export type KeyFigure = { name: string; value: ReactNode }

/** `KeyFigures` shows the main numbers of a page. */
export function KeyFigures({ figures }: { figures: readonly KeyFigure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value }) => (
        <div key={name} className="figure">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
