/** The time ranges of the activity. They are computed in the local time zone of the browser. */

export const presets = ['night', 'day', 'week', 'month', 'visit'] as const
export type Preset = (typeof presets)[number]

export type Bucket = 'hour' | 'day'

/** A range. Without an end, it ends now. */
export type TimeRange = { from: Date; to?: Date; bucket: Bucket }

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Last night starts at this hour of yesterday and ends at this hour of today. */
const night = { from: 18, to: 6 } as const

/** Hours are shown up to this length of a range, days above it. */
const longestByHour = 8 * dayMs

/** Returns the range of a preset. All ranges start at a full hour, so that they stay the same for an hour. */
export function rangeOf(preset: Preset, now: Date, lastVisit: Date | undefined): TimeRange {
  switch (preset) {
    case 'night': {
      const end = atHour(now, night.to)
      const from = atHour(new Date(end.getTime() - dayMs), night.from)
      return { from, ...(end < now ? { to: end } : {}), bucket: 'hour' }
    }
    case 'day':
      return { from: fullHour(new Date(now.getTime() - 23 * hourMs)), bucket: 'hour' }
    case 'week':
      return { from: atHour(new Date(now.getTime() - 6 * dayMs), 0), bucket: 'day' }
    case 'month':
      return { from: atHour(new Date(now.getTime() - 29 * dayMs), 0), bucket: 'day' }
    case 'visit': {
      const earliest = now.getTime() - 90 * dayMs
      const start = Math.max(earliest, lastVisit?.getTime() ?? now.getTime() - dayMs)
      const isLong = now.getTime() - start > longestByHour
      return { from: isLong ? atHour(new Date(start), 0) : fullHour(new Date(start)), bucket: isLong ? 'day' : 'hour' }
    }
  }
}

function fullHour(time: Date): Date {
  return atHour(time, time.getHours())
}

function atHour(time: Date, hour: number): Date {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate(), hour)
}

/** The start of the previous visit, and the last time at which the page was open. */
export type Visits = { previous?: string; last?: string }

/** Opening the page again within this time belongs to the same visit. */
const visitGapMs = 30 * 60_000

/** Returns the visits after the page is opened. A stored value of another form counts as no visit. */
export function visitsAt(stored: unknown, now: Date): Visits {
  const { previous, last } = (typeof stored === 'object' && stored !== null ? stored : {}) as Visits
  const lastMs = Date.parse(String(last))
  if (Number.isNaN(lastMs)) return { last: now.toISOString() }
  if (now.getTime() - lastMs > visitGapMs) return { previous: new Date(lastMs).toISOString(), last: now.toISOString() }
  return { ...(Number.isNaN(Date.parse(String(previous))) ? {} : { previous }), last: now.toISOString() } as Visits
}

type TimeTexts = { shortTime: (timestamp: string) => string; compact: (timestamp: string) => string }

/** Returns the times from the first to the last one, with their days if the days differ. A span of one day is in one line. */
export function spanText(from: string, to: string, { shortTime, compact }: TimeTexts): string {
  const isOneDay = new Date(from).toDateString() === new Date(to).toDateString()
  const [first, last] = isOneDay ? [shortTime(from), shortTime(to)] : [compact(from), compact(to)]
  return first === last ? first : `${first}\u00a0–\u00a0${last}`
}

export type CountedBucket = { time: string; created: number; updated: number; deleted: number; other: number }

export type DenseBucket = { time: number; end: number; counts: number[] }

/**
 * Returns all buckets of a range, also those without activity, which the server leaves out. The counts of hours in a range by
 * day are added.
 */
export function denseBuckets(range: TimeRange, counted: readonly CountedBucket[], now: Date): DenseBucket[] {
  // A page that stays open gets buckets of times after it was opened.
  const last = Math.max(...counted.map(({ time }) => Date.parse(time)))
  const buckets = emptyBuckets(range, Math.max((range.to ?? now).getTime(), last + 1))
  for (const { time, created, updated, deleted, other } of counted) {
    const found = buckets.findLast((bucket) => bucket.time <= Date.parse(time))
    if (found === undefined) continue
    found.counts = [created, updated, deleted, other].map((count, series) => count + (found.counts[series] ?? 0))
  }
  return buckets
}

/** Returns the buckets up to a time. Days start at midnight, so a day has 23 or 25 hours if the clocks change. */
function emptyBuckets({ from, bucket }: TimeRange, until: number): DenseBucket[] {
  const buckets: DenseBucket[] = []
  let time = from.getTime()
  do {
    const end = bucket === 'hour' ? time + hourMs : nextDay(new Date(time)).getTime()
    buckets.push({ time, end, counts: [0, 0, 0, 0] })
    time = end
  } while (time < until)
  return buckets
}

function nextDay(time: Date): Date {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() + 1)
}

/**
 * Returns the unit in which the server counts a range. Its days have 24 hours, so days are counted by hour if the clocks change
 * in the range.
 */
export function countedBy(range: TimeRange, now: Date): Bucket {
  const days = emptyBuckets(range, (range.to ?? now).getTime())
  return days.every(({ time, end }) => end - time === dayMs) ? range.bucket : 'hour'
}

/** Returns whether the axis has a label at a time: at midnight, or every few hours in a short range. */
export function isLabelled(time: number, { from, to, bucket }: TimeRange, now: Date): boolean {
  const at = new Date(time)
  const isShort = (to ?? now).getTime() - from.getTime() <= 2 * dayMs
  return bucket === 'day' || at.getHours() % (isShort ? 3 : 24) === 0
}
