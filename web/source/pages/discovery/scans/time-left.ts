import type { Discovery } from '@millwright/api/discovery.ts'

/** The progress from which the time that is left can be estimated, in percent. */
const estimatedFrom = 2
const minuteMs = 60_000

/**
 * Returns the estimated time until a running scan ends, in full minutes, in milliseconds. It assumes that the scan stays as fast as it
 * was so far. Returns undefined if the time is shorter than a minute, or if it is too early for an estimate.
 */
export function timeLeftOf(
  { state, progress, startedTimestamp }: Pick<Discovery, 'state' | 'progress' | 'startedTimestamp'>,
  now = Date.now(),
): number | undefined {
  if (state !== 'running' || startedTimestamp === undefined || progress < estimatedFrom) return undefined
  const elapsedMs = now - Date.parse(startedTimestamp)
  const leftMs = (elapsedMs * (100 - progress)) / progress
  return leftMs < minuteMs ? undefined : Math.round(leftMs / minuteMs) * minuteMs
}
