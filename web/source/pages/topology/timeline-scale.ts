/** The scale of the timeline: its time range, and the length of its bars. */

export const spans = ['day', 'week', 'month', 'quarter'] as const
export type Span = (typeof spans)[number]

export function isSpan(text: string | undefined): text is Span {
  return spans.some((span) => span === text)
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const days: Readonly<Record<Span, number>> = { day: 1, week: 7, month: 30, quarter: 90 }

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
  bucket: 'hour' | 'day'
}

/** Returns the scale of a span that ends now. */
export function timelineOf(span: Span, now: number): TimelineScale {
  const bucket = days[span] > 7 ? 'day' : 'hour'
  const barMs = bucket === 'day' ? dayMs : hourMs
  const from = now - days[span] * dayMs
  const start = Math.floor(from / barMs) * barMs
  return { from, to: now, start, bars: Math.ceil((now - start) / barMs), barMs, bucket }
}

/** Returns the bar at whose start a time is, within the timeline. */
export function positionAt({ from, to, start, barMs, bars }: TimelineScale, time: number): number {
  if (time <= from) return 0
  return time >= to ? bars : Math.min(bars, Math.max(0, Math.round((time - start) / barMs)))
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

/** A label of the scale, at a place from 0 to 1. `isDay` labels name a day, others a time of day. */
export type Tick = { time: number; place: number; isDay: boolean }

const ticksPerSpan: Readonly<Record<Span, number>> = {
  day: 4 * hourMs,
  week: dayMs,
  month: 5 * dayMs,
  quarter: 15 * dayMs,
}
/** Labels nearer to the end than this would cover the label of the end. */
const lastTick = 0.89

/** Returns the labels of the scale: the local midnights, and between them the hours of a day. */
export function ticksOf(span: Span, { from, to, start: firstBucket, bucket }: TimelineScale): Tick[] {
  const step = ticksPerSpan[span]
  const start = new Date(from)
  const first =
    bucket === 'day' ? firstBucket : new Date(start.getFullYear(), start.getMonth(), start.getDate()).getTime()
  const ticks: Tick[] = []
  for (let time = first; time < to; time += step) {
    const place = (time - from) / (to - from)
    const isDay = bucket === 'day' || new Date(time).getHours() === 0
    if (time >= from && place < lastTick) ticks.push({ time, place, isDay })
  }
  return ticks
}
