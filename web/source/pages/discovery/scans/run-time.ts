import type { DiscoveryRun } from '@millwright/api/discovery.ts'

/** The time in which results that belong to a run may arrive after its end. */
const lateMs = 60_000

/** Returns whether a time is before a run, during it, or after it. A time of a run that has not started is before it. */
export function timeInRun(
  timestamp: string,
  { startedTimestamp, endedTimestamp }: Pick<DiscoveryRun, 'startedTimestamp' | 'endedTimestamp'>,
): 'before' | 'during' | 'after' {
  const time = Date.parse(timestamp)
  if (startedTimestamp === undefined || time < Date.parse(startedTimestamp)) return 'before'
  return endedTimestamp !== undefined && time > Date.parse(endedTimestamp) + lateMs ? 'after' : 'during'
}
