import type { AnyJob } from '@millwright/api/jobs.ts'
import { locationOf, type SubjectLocation } from '../../app/navigation/subject-location.ts'
import { needsSignIn } from '../discovery/scans/error-cause.ts'
import { checkCountsOf } from './check-counts.ts'

/**
 * The number of errors of a finished job, and the page that lists them. For a check of devices, the errors are the devices that
 * could not be checked.
 */
export type JobErrors = SubjectLocation & { kind: 'errors' | 'unchecked'; count: number }

type FinishedJob = Pick<AnyJob, 'type' | 'phase' | 'message' | 'subject' | 'parts' | 'runId' | 'scan'>

/**
 * Returns the errors of a job that finished, or undefined if it had none: the errors of devices for a scan, the updates that
 * failed for a campaign, the failed rows for an import, and the devices that a check could not check.
 */
export function errorsOf(job: FinishedJob): JobErrors | undefined {
  const place = locationOf(job.subject?.reference ?? '')
  const count = job.phase === 'finished' ? countOf(job) : 0
  if (count === 0 || place === undefined) return undefined
  const search = { view: 'errors', ...(job.runId !== undefined && { run: job.runId }) }
  return {
    ...place,
    ...(job.scan === undefined ? {} : { search }),
    kind: job.type === 'monitoring' ? 'unchecked' : 'errors',
    count,
  }
}

/** Returns whether a job is a finished scan with errors of devices. */
export function hasRunErrors(job: FinishedJob): boolean {
  return job.scan !== undefined && job.runId !== undefined && errorsOf(job) !== undefined
}

/** Returns whether a job is a finished scan to whose devices no credentials could sign in. */
export function hasSignInErrors(job: FinishedJob): boolean {
  return hasRunErrors(job) && job.scan?.errorCauses?.some(needsSignIn) === true
}

function countOf({ type, message, parts, scan }: FinishedJob): number {
  if (scan !== undefined) return scan.errors
  // The message of an import ends with its counts.
  if (type === 'file-import') return Number(/failed: (\d+)$/.exec(message ?? '')?.[1] ?? 0)
  if (type === 'monitoring') return checkCountsOf(message)?.unchecked ?? 0
  return parts?.failed ?? 0
}
