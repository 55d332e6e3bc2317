/** The scale of the timeline: its time range, and the length of its bars. */

export const spans = ['hour', 'day', 'week', 'month'] as const
export type Span = (typeof spans)[number]

export function isSpan(text: string | undefined): text is Span {
  return spans.some((span) => span === text)
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const lengths: Readonly<Record<Span, number>> = { hour: hourMs, day: dayMs, week: 7 * dayMs, month: 30 * dayMs }
const buckets = { hour: 'minute', day: 'hour', week: 'hour', month: 'day' } as const satisfies Record<Span, string>
const bucketMs = { minute: minuteMs, hour: hourMs, day: dayMs } as const

/** Returns the shortest span that contains a time. Without a time, or for an older one, it returns the default or the longest span. */
export function spanFor(time: number | undefined, now: number): Span {
  if (time === undefined) return 'day'
  return spans.find((span) => now - lengths[span] <= time) ?? 'month'
}

/**
 * `TimelineScale` is the scale of the timeline from `from` to `to`. `bucket` is the unit in which the changes are counted. A bar
 * of the timeline has one bucket. `start` is the start of the first bucket, so the first and the last bar can be narrower.
 */
export type TimelineScale = {
  from: number
  to: number
  start: number
  bars: number
  barMs: number
  bucket: keyof typeof bucketMs
}

/** Returns the scale of a span that ends now. */
export function timelineOf(span: Span, now: number): TimelineScale {
  const bucket = buckets[span]
  const barMs = bucketMs[bucket]
  const from = now - lengths[span]
  const start = Math.floor(from / barMs) * barMs
  return { from, to: now, start, bars: Math.ceil((now - start) / barMs), barMs, bucket }
}

/** Returns the bar at whose start a time is, within the timeline. */
export function positionAt({ from, to, start, barMs, bars }: TimelineScale, time: number): number {
  if (time <= from) return 0
  return time >= to ? bars : Math.min(bars, Math.max(0, Math.round((time - start) / barMs)))
}

/** Returns the exact position of a time, which can be inside a bar. */
export function exactPositionAt({ from, to, start, barMs, bars }: TimelineScale, time: number): number {
  return time >= to ? bars : (Math.max(from, time) - start) / barMs
}

export function timeAt({ from, to, start, barMs }: TimelineScale, position: number): number {
  return Math.min(to, Math.max(from, start + position * barMs))
}

/** Returns the place of the start of a bar, from 0 at the start of the timeline to 1 at its end. */
export function placeOf(scale: TimelineScale, position: number): number {
  return (timeAt(scale, position) - scale.from) / (scale.to - scale.from)
}

/** Places nearer to the end than this mean the end. */
const endPlace = 0.99

/** Returns the bar whose start is nearest to a place from 0 to 1. */
export function nearestPosition(scale: TimelineScale, place: number): number {
  if (place >= endPlace) return scale.bars
  return positionAt(scale, scale.from + Math.max(0, place) * (scale.to - scale.from))
}

/** Returns the start of the compared time: the chosen start, or the start of the timeline. It is always before the displayed time. */
export function comparedSince(
  span: Span,
  { since, at, now }: { since: string | undefined; at: string | undefined; now: number },
): string {
  if (since !== undefined) return since
  const { from } = timelineOf(span, now)
  const shown = at === undefined ? now : Date.parse(at)
  return new Date(from < shown ? from : shown - dayMs).toISOString()
}

/**
 * A tick of the scale, at a place from 0 to 1. Ticks with `isDay` have the name of a day, others a time of day. A tick near the end has
 * no space for its name.
 */
export type Tick = { time: number; place: number; isDay: boolean; isNamed: boolean }

const ticksPerSpan: Readonly<Record<Span, number>> = {
  hour: 10 * minuteMs,
  day: 4 * hourMs,
  week: dayMs,
  month: 5 * dayMs,
}
/** The name of a tick after this place would not fit. */
const lastName = 0.925

/** Returns the ticks of the scale: the local midnights, and between them the hours of a day. */
export function ticksOf(span: Span, { from, to, start: firstBucket, bucket }: TimelineScale): Tick[] {
  const step = ticksPerSpan[span]
  const start = new Date(from)
  const first =
    bucket === 'day' ? firstBucket : new Date(start.getFullYear(), start.getMonth(), start.getDate()).getTime()
  const ticks: Tick[] = []
  for (let time = first; time < to; time += step) {
    const place = (time - from) / (to - from)
    const at = new Date(time)
    const isDay = bucket === 'day' || (at.getHours() === 0 && at.getMinutes() === 0)
    if (time >= from) ticks.push({ time, place, isDay, isNamed: place < lastName })
  }
  return ticks
}
