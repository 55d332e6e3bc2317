import type { Availability } from '@millwright/api/monitoring.ts'
import type { AvailabilityRow } from './availability-store.ts'
import { endOfResult } from './result.ts'

/** A period, and the time of the last result of the asset, which limits the current state. */
type Period = { from: Date; to: Date; checkedAt?: string | undefined }

/**
 * Returns the availability in a period from the stored states, which are sorted newest first. Times with an unknown state and
 * times without a result do not count.
 */
export function availabilityOf(
  states: readonly AvailabilityRow[],
  { from, to, checkedAt }: Period,
): Omit<Availability, 'results'> {
  const current = states.find(({ toAt }) => toAt === null)
  const end = earlier(checkedAt === undefined ? to.toISOString() : endOfResult(checkedAt), to.toISOString())
  const changes = states
    .map(({ state, fromAt, toAt }) => ({
      state,
      from: later(fromAt, from.toISOString()),
      to: toAt ?? end,
    }))
    .filter((change) => change.from < change.to)
    .toReversed()
  const timeIn = (wanted: string) =>
    changes
      .filter(({ state }) => state === wanted)
      .reduce((sum, change) => sum + Date.parse(change.to) - Date.parse(change.from), 0)
  const [reachedMs, failedMs] = [timeIn('reached'), timeIn('failed')]
  const known = reachedMs + failedMs
  return {
    state: current?.state ?? 'unknown',
    ...(current === undefined ? {} : { sinceTimestamp: current.fromAt }),
    from: from.toISOString(),
    to: to.toISOString(),
    ...(known === 0 ? {} : { availablePercent: Math.round((10_000 * reachedMs) / known) / 100 }),
    changes,
  }
}

function earlier(one: string, other: string): string {
  return one < other ? one : other
}

function later(one: string, other: string): string {
  return one > other ? one : other
}
