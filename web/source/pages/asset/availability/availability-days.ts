/** `StatePeriod` is a time in which the reachability of an asset did not change. Without an end, it lasts until now. */
export type StatePeriod = { state: string; from: string; to?: string | null | undefined }

/** `AvailabilityDay` is one day. `share` is undefined if the reachability was unknown on the whole day. */
export type AvailabilityDay = { start: string; share: number | undefined; failedMs: number }

/**
 * Returns the availability of the last days, oldest first. The last day is today, until now. Days start at midnight in
 * the time zone of the browser.
 */
export function availabilityDays(periods: readonly StatePeriod[], days: number, now: number): AvailabilityDay[] {
  return Array.from({ length: days }, (_, index) => {
    const start = midnight(now, index + 1 - days)
    const end = Math.min(midnight(now, index + 2 - days), now)
    const reachedMs = timeIn(periods, 'reached', { start, end, now })
    const failedMs = timeIn(periods, 'failed', { start, end, now })
    const knownMs = reachedMs + failedMs
    return {
      start: new Date(start).toISOString(),
      share: knownMs === 0 ? undefined : reachedMs / knownMs,
      failedMs,
    }
  })
}

/** Returns the midnight at the start of a day. 0 is today, and -1 is yesterday. A day can have 23 or 25 hours. */
function midnight(now: number, day: number): number {
  const date = new Date(now)
  date.setHours(0, 0, 0, 0)
  date.setDate(date.getDate() + day)
  return date.getTime()
}

type TimeWindow = { start: number; end: number; now: number }

function timeIn(periods: readonly StatePeriod[], state: string, { start, end, now }: TimeWindow): number {
  return periods
    .filter((period) => period.state === state)
    .map(({ from, to }) => Math.min(end, to == null ? now : Date.parse(to)) - Math.max(start, Date.parse(from)))
    .reduce((sum, duration) => sum + Math.max(0, duration), 0)
}

/** Returns the periods in which the asset was not reachable and that end after a time, newest first. */
export function outagesSince(periods: readonly StatePeriod[], since: number): StatePeriod[] {
  return periods
    .filter(({ state, to }) => state === 'failed' && (to == null || Date.parse(to) > since))
    .toSorted((one, other) => Date.parse(other.from) - Date.parse(one.from))
}
