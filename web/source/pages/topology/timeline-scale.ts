/** The scale of the timeline: its time range, and the length of its bars. */

export const spans = ['day', 'week', 'month', 'quarter'] as const
export type Span = (typeof spans)[number]

export function isSpan(text: string | undefined): text is Span {
  return spans.some((span) => span === text)
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const days: Readonly<Record<Span, number>> = { day: 1, week: 7, month: 30, quarter: 90 }

/** `bucket` is the unit in which the changes are counted. A bar of the timeline has one bucket. */
export type TimelineScale = { from: number; to: number; bars: number; barMs: number; bucket: 'hour' | 'day' }

/** Returns the scale of a span that ends at the end of the current hour or day. */
export function timelineOf(span: Span, now: number): TimelineScale {
  const bucket = days[span] > 7 ? 'day' : 'hour'
  const barMs = bucket === 'day' ? dayMs : hourMs
  const to = Math.ceil((now + 1) / barMs) * barMs
  const bars = (days[span] * dayMs) / barMs
  return { from: to - bars * barMs, to, bars, barMs, bucket }
}

/** Returns the bar at whose start a time is, within the timeline. */
export function positionAt({ from, barMs, bars }: TimelineScale, time: number): number {
  return Math.min(bars, Math.max(0, Math.round((time - from) / barMs)))
}

export function timeAt({ from, barMs }: TimelineScale, position: number): number {
  return from + position * barMs
}
