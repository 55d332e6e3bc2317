import { barsOf, heightOf, scaleEnd } from './histogram-geometry.ts'
import './histogram.css'

type TimeBarsProps = {
  /** What the bars count, with the unit of time. It is also the name for screen readers. */
  label: string
  buckets: readonly { time: number; count: number }[]
  /** Returns the text of a count at the scale. */
  scaleLabel: (count: number) => string
  /** Returns the text of a bar, for its tooltip. */
  describe: (bucket: { time: number; count: number }) => string
  /** The labels at both ends of the time axis. */
  ends: { first: string; last: string }
}

const height = 56

/** `TimeBars` shows counts over time as small bars with a scale and a time axis. */
export function TimeBars({ label, buckets, scaleLabel, describe, ends }: TimeBarsProps) {
  const series = buckets.map(({ time, count }) => ({ time, counts: [count] }))
  const most = scaleEnd(series)
  const levels = [most, most / 2].map((count) => ({ count, y: height - heightOf(count, { most, height, series: 1 }) }))
  const step = 100 / Math.max(1, buckets.length)
  return (
    <figure className="time-bars">
      <figcaption>{label}</figcaption>
      <svg width="100%" height={height} aria-hidden="true">
        {levels.map(({ count, y }) => (
          <g key={count} className="histogram-level">
            <line x1="0" x2="100%" y1={y} y2={y} />
            <text x="-8" y={y}>
              {scaleLabel(count)}
            </text>
          </g>
        ))}
        {barsOf(series, height).map(({ bucket, x, width, y, size }) => (
          <rect key={bucket} className="histogram-bar" x={`${x}%`} width={`${width}%`} y={y} height={size} />
        ))}
        <line className="histogram-base" x1="0" x2="100%" y1={height - 0.5} y2={height - 0.5} />
        {buckets.map((bucket, index) => (
          <rect key={bucket.time} x={`${index * step}%`} width={`${step}%`} height={height} fill="transparent">
            <title>{describe(bucket)}</title>
          </rect>
        ))}
      </svg>
      <p className="time-bars-axis">
        <span>{ends.first}</span>
        <span>{ends.last}</span>
      </p>
    </figure>
  )
}
