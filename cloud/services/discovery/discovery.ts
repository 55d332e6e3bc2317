import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { Parameter } from './parameter.ts'
import type { DiscoveryRow, RunRow } from './store.ts'

/** The next times of a schedule, and its latest time that has passed. */
export type PlannedRuns = { nextRuns: string[]; lastDue: string | null }

/** Returns a discovery as the API shows it: its parameters, and the progress of its latest run. */
export function showDiscovery(
  row: DiscoveryRow,
  { run, planned }: { run: RunRow | undefined; planned: PlannedRuns | undefined },
): Discovery {
  const lastDue = planned?.lastDue ?? null
  return {
    jobId: row.id,
    gatewayId: row.gatewayId,
    assetLinkId: row.assetLinkId,
    ...(row.deviceClass === null ? {} : { deviceClass: row.deviceClass }),
    scanMode: 'FULL',
    jobType: 'DISCOVERY',
    discoveryFilters: row.filters.map(showParameter),
    discoveryOptions: row.options.map(showParameter),
    ...(row.cron === null
      ? {}
      : {
          schedule: {
            cron: row.cron,
            timezone: row.timezone ?? 'UTC',
            paused: row.paused,
            nextRuns: planned?.nextRuns ?? [],
            ...(lastDue === null ? {} : { lastDueTimestamp: lastDue }),
            missedRuns: row.missedRuns,
          },
        }),
    runs: row.runs,
    ...(run === undefined ? {} : { runId: run.id }),
    createdBy: row.createdBy,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
    ...progressOf(run),
  }
}

export function showRun(row: RunRow): DiscoveryRun {
  return {
    id: row.id,
    jobId: row.discoveryId,
    number: row.number,
    trigger: row.cause,
    createdTimestamp: row.createdAt,
    ...progressOf(row),
  }
}

const notRun = {
  progress: 0,
  found: 0,
  created: 0,
  updated: 0,
  unchanged: 0,
  gone: 0,
  newlyGone: 0,
  errors: 0,
} as const

function progressOf(run: RunRow | undefined) {
  if (run === undefined) return { state: 'created' as const, ...notRun }
  const { state, progress, message, found, created, updated, unchanged, gone, newlyGone, comparedRun, errors } = run
  const { startedAt, restartedAt, endedAt } = run
  return {
    state,
    progress,
    ...(message === null ? {} : { message }),
    found,
    created,
    updated,
    unchanged,
    gone,
    newlyGone,
    ...(comparedRun === null ? {} : { comparedRun }),
    errors,
    ...(startedAt === null ? {} : { startedTimestamp: startedAt }),
    ...(restartedAt === null ? {} : { restartedTimestamp: restartedAt }),
    ...(endedAt === null ? {} : { endedTimestamp: endedAt }),
  }
}

function showParameter({ key, comparisonOperator, value }: Parameter) {
  return {
    key,
    comparisonOperator: comparisonOperator as NonNullable<Discovery['discoveryFilters'][number]['comparisonOperator']>,
    value,
  }
}

export function isActive(run: RunRow | undefined): boolean {
  return run !== undefined && (run.state === 'created' || run.state === 'running')
}
