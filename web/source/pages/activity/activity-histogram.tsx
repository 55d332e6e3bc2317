import { useFormats, useText } from '../../app/language/language-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Histogram, type HistogramBucket } from '../../components/values/histogram.tsx'
import { type ActivityFilters, type Selected, useHistogram } from './activity-data.ts'
import { activityMessages } from './messages.ts'
import { denseBuckets, isLabelled, type TimeRange } from './time-range.ts'

type ActivityHistogramProps = {
  filters: ActivityFilters
  range: TimeRange
  now: Date
  selected: Selected | undefined
  onSelect: (selected: Selected | undefined) => void
}

/** `ActivityHistogram` counts the activity of a range by hour or day, and selects a part of the range. */
export function ActivityHistogram({ filters, range, now, selected, onSelect }: ActivityHistogramProps) {
  const text = useText(activityMessages)
  const formats = useFormats()
  const { data, error, refetch } = useHistogram(filters, range, now)
  if (error !== null && data === undefined) return <ProblemMessage failure={error} onRetry={refetch} />
  const buckets = denseBuckets(range, data ?? [], now)
  const endOf = ({ time }: HistogramBucket) => buckets.find((bucket) => bucket.time === time)?.end ?? time
  const selection =
    selected === undefined
      ? undefined
      : {
          first: Math.max(
            0,
            buckets.findLastIndex(({ time }) => time <= Date.parse(selected.from)),
          ),
          last: buckets.findLastIndex(({ time }) => time < Date.parse(selected.to)),
        }
  const day = (time: Date | number) => formats.shortDay(new Date(time).toISOString())
  const hour = (time: Date | number) => formats.shortTime(new Date(time).toISOString())
  const totals = [0, 1, 2, 3].map((series) =>
    buckets
      .filter((_, index) => selection === undefined || (index >= selection.first && index <= selection.last))
      .reduce((sum, { counts }) => sum + (counts[series] ?? 0), 0),
  )
  const describe = (first: HistogramBucket, last: HistogramBucket) => {
    const within = buckets.filter(({ time }) => time >= first.time && time <= last.time)
    const total = within.reduce((sum, { counts }) => sum + counts.reduce((a, b) => a + b, 0), 0)
    // The last hour has not ended yet.
    const end = new Date(Math.min(endOf(last), Math.max(now.getTime(), last.time)))
    const from = new Date(first.time)
    const shown =
      range.bucket === 'day'
        ? first === last
          ? day(from)
          : `${day(from)} – ${day(last.time)}`
        : `${day(from)} ${hour(from)} – ${from.getDate() === end.getDate() ? '' : `${day(end)} `}${hour(end)}`
    return text.bucketText(shown, formats.number(total), total)
  }
  const isEmpty = ({ counts }: HistogramBucket) => counts.every((count) => count === 0)
  const firstUsed = buckets.findIndex((bucket) => !isEmpty(bucket))
  const firstTime = buckets[firstUsed]?.time
  const isMidnight = (time: number) => new Date(time).getHours() === 0
  return (
    <>
      <Histogram
        label={text.histogram}
        hint={text.histogramHint}
        buckets={buckets}
        scaleLabel={formats.number}
        note={
          firstTime === undefined || firstUsed < buckets.length / 2
            ? undefined
            : {
                text: text.noneBefore(range.bucket === 'day' ? day(firstTime) : `${day(firstTime)} ${hour(firstTime)}`),
                share: firstUsed / buckets.length,
              }
        }
        selection={selection}
        onSelect={(chosen) => {
          const [first, last] = [buckets[chosen?.first ?? -1], buckets[chosen?.last ?? -1]]
          if (first === undefined || last === undefined) return onSelect(undefined)
          onSelect({
            from: new Date(first.time).toISOString(),
            to: new Date(last.end).toISOString(),
          })
        }}
        describe={describe}
        isTick={(time) => isLabelled(time, range, now)}
        tickLabel={(time) => (isMidnight(time) || range.bucket === 'day' ? day(time) : hour(time))}
      />
      <ul className="activity-legend">
        {[text.newLegend, text.changedLegend, text.deletedLegend, text.otherLegend].map((label, series) => (
          <li key={label} data-series={series} data-none={totals[series] === 0}>
            <strong>{formats.number(totals[series] ?? 0)}</strong> {label}
          </li>
        ))}
      </ul>
    </>
  )
}
