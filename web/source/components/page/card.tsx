import { type ReactNode, useId } from 'react'

type CardProps = {
  title: string
  children: ReactNode
  /** At the right of the title. */
  actions?: ReactNode
  /** `tall` lets a card take two rows of its grid; `wide` all columns. */
  size?: 'wide' | 'tall'
  /** Of its heading; 3 for a card below a heading of the page. */
  level?: 2 | 3
}

/** A part of a page with a heading of its own. */
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
