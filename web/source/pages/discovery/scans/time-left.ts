import type { Discovery } from '@millwright/api/discovery.ts'

/** The progress from which the time that is left can be estimated, in percent. */
const estimatedFrom = 2
const minuteMs = 60_000

type RunTimes = Pick<Discovery, 'state' | 'progress' | 'startedTimestamp' | 'restartedTimestamp'>

/**
 * Returns the estimated time until a running scan ends, in full minutes, in milliseconds. It is 0 for less than a minute. It assumes
 * that the scan stays as fast as it was since its start, or since its last start after an interruption. Returns undefined if it
 * is too early for an estimate.
 */
export function timeLeftOf(
  { state, progress, startedTimestamp, restartedTimestamp }: RunTimes,
  now = Date.now(),
): number | undefined {
  const started = restartedTimestamp ?? startedTimestamp
  if (state !== 'running' || started === undefined || progress < estimatedFrom) return undefined
  const elapsedMs = now - Date.parse(started)
  const leftMs = (elapsedMs * (100 - progress)) / progress
  return leftMs < minuteMs ? 0 : Math.round(leftMs / minuteMs) * minuteMs
}
