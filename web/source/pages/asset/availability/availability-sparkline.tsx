import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { type AvailabilityDay, availabilityDays, type StatePeriod } from './availability-days.ts'
import { availabilityMessages } from './messages.ts'

type AvailabilitySparklineProps = {
  changes: readonly StatePeriod[]
  days: number
  now: number
  /** The availability of all days as text, for the text alternative. */
  share: string
  /** The number of outages, for the text alternative. */
  outages: number
}

const barWidth = 8
const gap = 2
const height = 36
/** The height of a bar without any availability. The bar stays visible. */
const minHeight = 4

/**
 * `AvailabilitySparkline` shows a bar for each day. The height of a bar is the availability on that day. A day without
 * data is a short line. Colours only supplement the heights, and the text alternative contains the total.
 */
export function AvailabilitySparkline({ changes, days, now, share, outages }: AvailabilitySparklineProps) {
  const text = useText(availabilityMessages)
  const formats = useFormats()
  const all = availabilityDays(changes, days, now)
  const outageText = outages === 0 ? text.noOutage : text.outageCount(outages, formats.number(outages))
  const label = text.chart(formats.number(days), share, outageText)
  return (
    <figure className="sparkline">
      <svg
        viewBox={`0 0 ${days * (barWidth + gap) - gap} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {all.map((day, index) => (
          <DayBar key={day.start} day={day} index={index} />
        ))}
      </svg>
      <figcaption aria-hidden="true">
        <span>{text.daysAgo(formats.number(days - 1))}</span>
        <span>{text.today}</span>
      </figcaption>
    </figure>
  )
}

function DayBar({ day: { start, share }, index }: { day: AvailabilityDay; index: number }) {
  const text = useText(availabilityMessages)
  const formats = useFormats()
  const size = share === undefined ? 1 : Math.max(minHeight, share * height)
  const tone = share === undefined ? 'none' : share === 1 ? 'good' : share > 0 ? 'warning' : 'bad'
  return (
    <rect
      className="sparkline-bar"
      data-tone={tone}
      x={index * (barWidth + gap)}
      y={height - size}
      width={barWidth}
      height={size}
    >
      <title>{text.day(formats.date(start), share === undefined ? text.noData : formats.preciseShare(share))}</title>
    </rect>
  )
}
