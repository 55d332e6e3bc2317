import type { AnyJob } from '@millwright/api/jobs.ts'
import type { ErrorGroup } from '../discovery/scans/error-groups.ts'

/** The finished run of a scan, with the number of its errors. */
export type FaultyRun = {
  scanId: string
  runId: string
  /** The name of the link. It is absent if the user cannot read it. */
  linkName?: string
  scope: readonly string[]
  errors: number
  endedTimestamp: string
}

/**
 * Returns the latest finished run of each scan that ended at or after the time, if it had errors. The run with the most errors is first.
 * A scan counts also while it runs again. The jobs are the finished jobs of scans, newest first.
 */
export function faultyRuns(jobs: readonly AnyJob[], since: string): FaultyRun[] {
  const latest = new Map<string, AnyJob>()
  for (const job of jobs) {
    const [, scanId = ''] = job.subject?.reference.split('/') ?? []
    if (job.scan !== undefined && !latest.has(scanId)) latest.set(scanId, job)
  }
  return [...latest]
    .flatMap(([scanId, { runId, subject, scan }]): FaultyRun[] => {
      const { errors = 0, scope = [], endedTimestamp } = scan ?? {}
      if (runId === undefined || errors === 0 || endedTimestamp === undefined || endedTimestamp < since) return []
      return [{ scanId, runId, ...(subject?.name && { linkName: subject.name }), scope, errors, endedTimestamp }]
    })
    .toSorted((one, other) => other.errors - one.errors)
}

/** The number of causes that a step names. */
const maxCauses = 2

/** Returns the most frequent causes of errors. Without all errors, only their names are known. */
export function causesText(
  groups: readonly Pick<ErrorGroup, 'name' | 'errors'>[],
  { isComplete, textOf }: { isComplete: boolean; textOf: (name: string, count: number) => string },
): string[] {
  return groups.slice(0, maxCauses).map(({ name, errors }) => (isComplete ? textOf(name, errors.length) : name))
}
