import type { CountedBucket } from '../activity/time-range.ts'

/** The number of days of a trend, including today. */
export const trendDays = 14

const dayMs = 86_400_000

/** Returns the start of the first day of the trend, in the local time zone. */
export function trendStart(now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - (trendDays - 1))
}

/**
 * Returns the number of assets at the end of each day of the trend. It is computed backwards from the current number and the
 * assets that were created and deleted since.
 */
export function totalsByDay(current: number, buckets: readonly CountedBucket[], start: Date): number[] {
  const differences = new Array<number>(trendDays).fill(0)
  for (const { time, created, deleted } of buckets) {
    const day = Math.min(trendDays - 1, Math.max(0, Math.floor((Date.parse(time) - start.getTime()) / dayMs)))
    differences[day] = (differences[day] ?? 0) + created - deleted
  }
  const totals: number[] = []
  let total = current
  for (const difference of differences.toReversed()) {
    totals.unshift(Math.max(0, total))
    total -= difference
  }
  return totals
}

/** A trend: the numbers of its days, and the index of its first day in the period. */
export type Trend = { firstDay: number; values: number[] }

/**
 * Returns the part of the period in which the number has a course, from the first day with assets. Returns undefined if the
 * number has fewer than two steps, for example because one scan found all assets.
 */
export function trendOf(totals: readonly number[]): Trend | undefined {
  const firstDay = totals.findIndex((total) => total > 0)
  const values = totals.slice(firstDay === -1 ? totals.length : firstDay)
  return new Set(values).size > 2 ? { firstDay, values } : undefined
}
