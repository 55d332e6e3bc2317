import type { AnyJob } from '@millwright/api/jobs.ts'
import type { Formats } from '../../app/language/formats.ts'

type TimedJob = Pick<AnyJob, 'phase' | 'createdTimestamp' | 'startedTimestamp' | 'lastModifiedTimestamp' | 'scan'>

/** The times of a job. A job that waits, or was canceled while it waited, has no start. A job in progress has no end. */
type JobTimes = { created: string; started?: string; ended?: string }

/** Returns whether a job in this phase has ended. */
export function hasEnded(phase: AnyJob['phase']): boolean {
  return phase === 'finished' || phase === 'failed' || phase === 'canceled'
}

/**
 * Returns the times of a job. A scan has the times of its run, as on the page of the scan: it ends when the inventory contains the
 * devices. The start of jobs of earlier versions is not known. It is then the time of their creation.
 */
export function timesOf(job: TimedJob): JobTimes {
  const { phase, createdTimestamp, startedTimestamp, lastModifiedTimestamp, scan } = job
  const isKnownToWait = phase === 'waiting' || phase === 'canceled'
  const started = scan?.startedTimestamp ?? startedTimestamp ?? (isKnownToWait ? undefined : createdTimestamp)
  return {
    created: createdTimestamp,
    ...(started !== undefined && { started }),
    ...(hasEnded(phase) && { ended: scan?.endedTimestamp ?? lastModifiedTimestamp }),
  }
}

/** Returns the progress of a running job in percent. A job without a reported progress has 0. */
export function progressOf({ progress = 0 }: Pick<AnyJob, 'progress'>): number {
  return progress
}

/** Returns the times and the progress of the run of a running scan, from which the time until its end is estimated. */
export function runTimesOf(job: Pick<AnyJob, 'phase' | 'progress' | 'scan'>) {
  const { startedTimestamp, restartedTimestamp } = job.scan ?? {}
  return {
    state: job.phase === 'running' ? ('running' as const) : ('created' as const),
    progress: progressOf(job),
    ...(startedTimestamp !== undefined && { startedTimestamp }),
    ...(restartedTimestamp !== undefined && { restartedTimestamp }),
  }
}

/** Returns the duration of the work on a job in milliseconds, or undefined if it has not started or not ended. */
export function workMsOf(job: TimedJob): number | undefined {
  const { started, ended } = timesOf(job)
  return started === undefined || ended === undefined ? undefined : shownDifference(started, ended)
}

/** A shorter time between the creation of a job and its start is not shown: the gateway asks for work. */
const shownWaitMs = 60_000

/** Returns how long a job waited before its start, in milliseconds, or undefined if it did not wait for a minute. */
export function waitMsOf(job: TimedJob): number | undefined {
  const { created, started, ended } = timesOf(job)
  const until = started ?? ended
  const ms = until === undefined ? 0 : shownDifference(created, until)
  return ms < shownWaitMs ? undefined : ms
}

/** Returns the time between two times in milliseconds. It is the difference of the seconds that are shown. */
export function shownDifference(from: string, to: string): number {
  const secondOf = (time: string) => Math.floor(Date.parse(time) / 1_000)
  const seconds = secondOf(to) - secondOf(from)
  return Math.max(0, seconds === 0 ? Date.parse(to) - Date.parse(from) : seconds * 1_000)
}

type HistoryFormats = Pick<Formats, 'date' | 'time' | 'exact'>

/** Returns the time of each entry of a history as text. The date is left out if it is the same for all. */
export function historyTimesOf(
  timestamps: readonly string[],
  { date, time, exact }: HistoryFormats,
): { times: string[]; isDated: boolean } {
  const isDated = new Set(timestamps.map(date)).size > 1
  return { times: timestamps.map(isDated ? exact : time), isDated }
}
