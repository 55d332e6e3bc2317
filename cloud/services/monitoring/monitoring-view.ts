import type { Monitoring, MonitoringResult, MonitoringRun } from '@millwright/api/monitoring.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { hiddenAssets, readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import { visibleTargets } from './monitoring-access.ts'
import type { MonitoringRow } from './monitoring-store.ts'
import { assetsOf, countResults, type ResultCount, type ResultRow } from './result-store.ts'
import { scheduleKind } from './run-schedule.ts'
import { findRuns, type JobRow, listJobs, type RunRow } from './run-store.ts'

/** Returns monitorings as the API shows them, without the assets that the caller cannot read. */
export async function showMonitorings(
  context: Context,
  caller: Caller,
  rows: readonly MonitoringRow[],
): Promise<Monitoring[]> {
  const { database, tasks } = context
  const ids = rows.map(({ id }) => id)
  const { runs, jobs, schedules, assets } = await database.read(caller, async (handle) => {
    const latest = rows.flatMap(({ latestRunId }) => latestRunId ?? [])
    return {
      runs: await findRuns(handle, latest),
      jobs: await listJobs(handle, latest),
      schedules: rows.some(({ cron }) => cron !== null) ? await tasks.listSchedules(handle, scheduleKind) : [],
      assets: readsAllAssets(caller) ? undefined : await assetsOf(handle, ids),
    }
  })
  const among = assets === undefined ? undefined : [...(await readableAssets(context, caller, assets))]
  const counts = await database.read(caller, (handle) => countResults(handle, ids, among))
  const nextRuns = new Map(schedules.map(({ key, nextRuns: next }) => [key, next]))
  const shownRuns = new Map(runs.map((run) => [run.id, showRun(run, { jobs, caller })]))
  return Promise.all(
    rows.map(async (row) => ({
      ...ownFields(row, nextRuns.get(row.id) ?? []),
      targets: await visibleTargets(context, caller, row.targets),
      ...latestOf(shownRuns.get(row.latestRunId ?? '')),
      summary: summaryOf(counts.filter(({ monitoringId }) => monitoringId === row.id)),
    })),
  )
}

function latestOf(latestRun: MonitoringRun | undefined) {
  return latestRun === undefined ? {} : { latestRun }
}

function ownFields(row: MonitoringRow, nextRuns: string[]) {
  const { id, name, templateId, assetLinkIds, keys, assignWorking, cron, timezone, paused, missedRuns, runs } = row
  return {
    id,
    jobId: id,
    jobType: 'MONITORING' as const,
    name,
    assetLinkIds,
    keys,
    assignWorking,
    ...(templateId === null ? {} : { instancesTemplateId: templateId }),
    ...(cron === null ? {} : { schedule: { cron, timezone: timezone ?? 'UTC', paused, nextRuns, missedRuns } }),
    owner: { id: row.principalId, name: row.principalName },
    runs,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

function summaryOf(counts: readonly ResultCount[]): Monitoring['summary'] {
  const sum = (isCounted: (count: ResultCount) => boolean) =>
    counts.filter(isCounted).reduce((total, { assets }) => total + assets, 0)
  return {
    targets: sum(() => true),
    reached: sum(({ state }) => state === 'reached'),
    failed: sum(({ state }) => state === 'failed'),
    unknown: sum(({ state }) => state === 'unknown'),
    changed: sum(({ isChanged }) => isChanged),
  }
}

/** Returns a run as the API shows it. A caller that cannot read all assets gets no counts, also not in the message. */
export function showRun(run: RunRow, { jobs, caller }: { jobs: readonly JobRow[]; caller: Caller }): MonitoringRun {
  const { id, monitoringId, number, cause, state, message, targets, reached, failed, unknown, changed } = run
  const done = reached + failed + unknown
  const progress = state === 'finished' ? 100 : targets === 0 ? 0 : Math.min(99, Math.floor((100 * done) / targets))
  return {
    id,
    monitoringId,
    number,
    trigger: cause,
    state,
    ...(message === null || (state === 'finished' && !readsAllAssets(caller)) ? {} : { message }),
    progress,
    ...(readsAllAssets(caller) ? { counts: { targets, reached, failed, unknown, changed } } : {}),
    jobIds: jobs.filter(({ runId }) => runId === id).map(({ jobId }) => jobId),
    createdTimestamp: run.createdAt,
    ...(run.startedAt === null ? {} : { startedTimestamp: run.startedAt }),
    ...(run.endedAt === null ? {} : { endedTimestamp: run.endedAt }),
  }
}

const hiddenReason = 'The gateway could not check this asset'

type ShownResult = Omit<MonitoringResult, 'assetId' | 'assetName'>

/** Returns results as the API shows them, without the gateways and credentials that the caller cannot read. */
export async function showResults<Row extends ResultRow>(
  context: Context,
  caller: Caller,
  rows: readonly Row[],
): Promise<{ row: Row; result: ShownResult }[]> {
  const gateways = rows.flatMap(({ checkedGatewayId }) => checkedGatewayId ?? [])
  const hidden = await hiddenAssets(context, caller, [...new Set(gateways)])
  const seesCredentials = may(caller, 'glb_credential_read')
  return rows.map((row) => {
    const { state, sinceAt, checkedAt, isChanged, message, reportError, firmwareVersion, values } = row
    const { checkedGatewayId: gatewayId, assetLinkId, instanceId } = row
    const isGatewayShown = gatewayId !== null && !hidden.has(gatewayId)
    // The reason of an unknown state names the gateway or its link.
    const isReasonHidden = state === 'unknown' && gatewayId !== null && !isGatewayShown
    const reason = isReasonHidden ? hiddenReason : message
    const result = {
      state,
      sinceTimestamp: sinceAt,
      ...(checkedAt === null ? {} : { checkedTimestamp: checkedAt }),
      changed: isChanged,
      ...(reason === null ? {} : { message: reason }),
      ...(reportError === null ? {} : { error: reportError }),
      ...(firmwareVersion === null ? {} : { firmwareVersion }),
      values,
      ...(isGatewayShown ? { gatewayId } : {}),
      ...(isGatewayShown && assetLinkId !== null ? { assetLinkId } : {}),
      ...(seesCredentials && instanceId !== null ? { instanceId } : {}),
    }
    return { row, result }
  })
}
