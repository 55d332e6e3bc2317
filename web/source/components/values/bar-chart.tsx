import type { ReactNode } from 'react'
import { useFormats } from '../../app/language/language-context.tsx'

export type Bar = { label: ReactNode; count: number; key: string; tone?: number }

/** `BarChart` shows counts as horizontal bars with their numbers. */
export function BarChart({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const formats = useFormats()
  const most = Math.max(1, ...bars.map(({ count }) => count))
  return (
    <ul className="bars" aria-label={label}>
      {bars.map((bar) => (
        <li key={bar.key} className="bar">
          <span className="bar-label">{bar.label}</span>
          <span className="bar-count">{formats.number(bar.count)}</span>
          <svg className="bar-line" width="100%" height="6" aria-hidden="true">
            <rect className="bar-ground" width="100%" height="6" rx="3" />
            <rect className="bar-fill" width={`${Math.max(1, (bar.count / most) * 100)}%`} height="6" rx="3" />
          </svg>
        </li>
      ))}
    </ul>
  )
}
