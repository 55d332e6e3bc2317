import type { ReactNode } from 'react'
import { useFormats } from '../../app/language/language-context.tsx'

export type Bar = { label: ReactNode; count: number; key: string; tone?: number }

type BarChartProps = {
  bars: readonly Bar[]
  label: string
  /** The number that a full bar has. With it, each bar also shows its share. Without it, the longest bar is full. */
  total?: number
}

/** `BarChart` shows counts as horizontal bars with their numbers. */
export function BarChart({ bars, label, total }: BarChartProps) {
  const formats = useFormats()
  const most = Math.max(1, total ?? 0, ...bars.map(({ count }) => count))
  return (
    <ul className="bars" aria-label={label}>
      {bars.map((bar) => (
        <li key={bar.key} className="bar">
          <span className="bar-label">{bar.label}</span>
          <span className="bar-count">
            {formats.number(bar.count)}
            {total !== undefined && <span className="bar-share">{formats.percent(bar.count / most)}</span>}
          </span>
          <svg className="bar-line" width="100%" height="6" aria-hidden="true">
            <rect className="bar-ground" width="100%" height="6" rx="3" />
            <rect className="bar-fill" width={`${Math.max(1, (bar.count / most) * 100)}%`} height="6" rx="3" />
          </svg>
        </li>
      ))}
    </ul>
  )
}
