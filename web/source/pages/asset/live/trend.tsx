import { useFormats, useText } from '../../../app/language/language-context.tsx'
import type { Sample } from './live-properties.ts'
import { liveMessages } from './messages.ts'

const width = 160
const height = 32
const margin = 3

/** `Trend` draws the samples of a value as a line. The text alternative contains the smallest and the largest value. */
export function Trend({ samples, unit }: { samples: readonly Sample[]; unit: string }) {
  const text = useText(liveMessages)
  const formats = useFormats()
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 2)
    return <p className="quiet trend-note">{text.waiting}</p>
  const values = samples.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const shown = (value: number) => `${formats.number(value)}${unit === '' ? '' : ` ${unit}`}`
  const x = (at: number) => ((at - first.at) / Math.max(1, last.at - first.at)) * (width - 2 * margin) + margin
  const y = (value: number) =>
    high === low ? height / 2 : height - margin - ((value - low) / (high - low)) * (height - 2 * margin)
  const label = low === high ? text.steady(shown(low)) : text.trend(shown(low), shown(high))
  return (
    <>
      <svg
        className="trend"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <polyline points={samples.map(({ at, value }) => `${x(at)},${y(value)}`).join(' ')} />
      </svg>
      <p className="quiet trend-note" aria-hidden="true">
        {low === high ? text.unchanged : `${shown(low)} – ${shown(high)}`}
      </p>
    </>
  )
}
