import { type ReactNode, useId } from 'react'

type Given = {
  title: string
  children: ReactNode
  /** At the right of the title. */
  actions?: ReactNode
  /** `tall` lets a card take two rows of its grid; `wide` all columns. */
  size?: 'wide' | 'tall'
}

/** A part of a page with a heading of its own. */
export function Card({ title, children, actions, size }: Given) {
  const id = useId()
  return (
    <section className="card" aria-labelledby={id} data-size={size}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div className="card-actions">{actions}</div>}
      </div>
      {children}
    </section>
  )
}
