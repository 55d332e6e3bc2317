import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'

/** A scheduled run that starts within this time is not late. */
const punctualMs = 300_000

type LateScan = Pick<Discovery, 'runId'> & { schedule?: Pick<NonNullable<Discovery['schedule']>, 'lastDueTimestamp'> }
type LateRun = Pick<DiscoveryRun, 'id' | 'trigger' | 'createdTimestamp'>

/**
 * Returns the planned time of a scheduled run that started late, because the platform was not running at that time. Returns
 * undefined for other runs. Only the planned time of the latest run is known.
 */
export function plannedTimeOf(scan: LateScan, run: LateRun | undefined): string | undefined {
  const due = scan.schedule?.lastDueTimestamp
  if (due === undefined || run?.trigger !== 'schedule' || run.id !== scan.runId) return undefined
  return Date.parse(run.createdTimestamp) - Date.parse(due) > punctualMs ? due : undefined
}
