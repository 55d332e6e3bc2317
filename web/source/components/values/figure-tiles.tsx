import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFormats } from '../../app/language/language-context.tsx'

/** `FigureTiles` shows the main figures of a page in one row of tiles. */
export function FigureTiles({ label, children }: { label?: string; children: ReactNode }) {
  return (
    <ul className="figure-tiles" aria-label={label}>
      {children}
    </ul>
  )
}

type FigureTileProps = {
  /** The page with the details. A tile without it is no link. */
  to?: string | undefined
  search?: Record<string, string>
  name: string
  /** The figure. It is undefined until it is loaded. */
  value: number | string | undefined
  tone?: 'bad' | 'critical' | 'warning' | 'good' | undefined
  /** The share or the trend of the figure. */
  hint?: ReactNode
}

export function FigureTile({ to, search, name, value, tone, hint }: FigureTileProps) {
  const formats = useFormats()
  const content = (
    <>
      <span className="figure-tile-name">{name}</span>
      <span className="figure-tile-value">{typeof value === 'number' ? formats.number(value) : (value ?? '–')}</span>
      <span className="figure-tile-hint">{hint}</span>
    </>
  )
  return (
    <li>
      {to === undefined ? (
        <div className="figure-tile" data-tone={tone}>
          {content}
        </div>
      ) : (
        <Link to={to} {...(search && { search: search as never })} className="figure-tile" data-tone={tone}>
          {content}
        </Link>
      )}
    </li>
  )
}
