export type KeyFigure = { name: string; value: string }

/** A few numbers that are the point of the page. */
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
