type SparklineProps = { values: readonly number[]; kind?: 'line' | 'bars' }

const size = { width: 100, height: 24 } as const
/** The smallest height of a bar with a value, so that it is visible next to large values. */
const smallestBar = 2

/**
 * `Sparkline` shows the course of a number without an axis. The text next to it must contain the numbers. It is hidden if
 * fewer than two values are not 0, because such values have no course.
 */
export function Sparkline({ values, kind = 'line' }: SparklineProps) {
  if (values.filter((value) => value !== 0).length < 2) return null
  const [low, high] = kind === 'bars' ? [0, Math.max(1, ...values)] : [Math.min(...values), Math.max(...values)]
  const range = high - low || 1
  const heightOf = (value: number) => ((value - low) / range) * (size.height - 2)
  const step = size.width / Math.max(1, kind === 'bars' ? values.length : values.length - 1)
  const points = values.map((value, index) => `${index * step},${size.height - 1 - heightOf(value)}`).join(' ')
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${size.width} ${size.height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      data-kind={kind}
    >
      {kind === 'line' ? (
        <>
          <polygon points={`0,${size.height} ${points} ${size.width},${size.height}`} />
          <polyline points={points} vectorEffect="non-scaling-stroke" />
        </>
      ) : (
        values.map((value, index) => {
          const height = value === 0 ? 0 : Math.max(smallestBar, heightOf(value))
          const x = index * step
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its place
          return <rect key={index} x={x} y={size.height - height} width={Math.max(0.3, step * 0.75)} height={height} />
        })
      )}
    </svg>
  )
}
