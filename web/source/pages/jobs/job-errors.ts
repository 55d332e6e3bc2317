import type { AnyJob } from '@millwright/api/jobs.ts'
import { locationOf, type SubjectLocation } from '../../app/navigation/subject-location.ts'

/** The number of errors of a finished job, and the page that lists them. */
export type JobErrors = SubjectLocation & { count: number }

type FinishedJob = Pick<AnyJob, 'type' | 'phase' | 'message' | 'subject' | 'parts' | 'runId' | 'scan'>

/**
 * Returns the errors of a job that finished, or undefined if it had none: the errors of devices for a scan, the updates that
 * failed for a campaign, and the failed rows for an import.
 */
export function errorsOf(job: FinishedJob): JobErrors | undefined {
  const place = locationOf(job.subject?.reference ?? '')
  const count = job.phase === 'finished' ? countOf(job) : 0
  if (count === 0 || place === undefined) return undefined
  const search = { view: 'errors', ...(job.runId !== undefined && { run: job.runId }) }
  return { ...place, ...(job.scan === undefined ? {} : { search }), count }
}

function countOf({ type, message, parts, scan }: FinishedJob): number {
  if (scan !== undefined) return scan.errors
  // The message of an import ends with its counts.
  if (type === 'file-import') return Number(/failed: (\d+)$/.exec(message ?? '')?.[1] ?? 0)
  return parts?.failed ?? 0
}
