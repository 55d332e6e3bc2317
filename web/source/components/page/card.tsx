import { type ReactNode, useId } from 'react'

type CardProps = {
  title: string
  children: ReactNode
  /** Buttons to the right of the title. */
  actions?: ReactNode
  /** The size of the card: `tall` spans two rows of the card grid, and `wide` spans all columns. */
  size?: 'wide' | 'tall'
  /** The heading level. Use 3 for a card below a section heading. */
  level?: 2 | 3
}

/** `Card` is a section of a page with a heading. */
export function Card({ title, children, actions, size, level = 2 }: CardProps) {
  const id = useId()
  const Heading = `h${level}` as const
  return (
    <section className="card" aria-labelledby={id} data-size={size}>
      <div className="card-head">
        <Heading id={id}>{title}</Heading>
        {actions !== undefined && <div className="card-actions">{actions}</div>}
      </div>
      {children}
    </section>
  )
}
