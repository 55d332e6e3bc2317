import { type Campaign, type CampaignDevice, updateLimits } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import { allowedActions, countedGroups, visibleTargets } from './campaign-access.ts'
import { countsByWave, currentWave, isEnded, possibleActions, totalCounts } from './campaign-state.ts'
import { type CampaignRow, countDevices, type StateCount } from './campaign-store.ts'
import type { DeviceRow } from './device-store.ts'

/** Campaigns and their devices, as clients see them. */

/** Returns a campaign with the counts of the devices that the caller can read. */
export async function showCampaign(context: Context, caller: Caller, row: CampaignRow): Promise<Campaign> {
  const [campaign] = await showCampaigns(context, caller, [row], updateLimits.targets)
  if (campaign === undefined) throw new TypeError('A campaign is shown as one campaign')
  return campaign
}

/** Returns campaigns with the counts of their devices. `targets` is the maximum number of shown asset ids of each. */
export async function showCampaigns(
  context: Context,
  caller: Caller,
  rows: readonly CampaignRow[],
  targets: number = updateLimits.shownTargets,
): Promise<Campaign[]> {
  const ids = rows.map(({ id }) => id)
  const counts = await context.database.read(caller, (handle) => countDevices(handle, ids, countedGroups(caller)))
  const byCampaign = Map.groupBy(counts, ({ campaignId }) => campaignId)
  const shown: Campaign[] = []
  for (const row of rows) {
    const visible = await visibleTargets(context, caller, row.targets, targets)
    shown.push(show(caller, { ...row, targets: visible }, byCampaign.get(row.id) ?? []))
  }
  return shown
}

function show(caller: Caller, row: CampaignRow, counts: readonly StateCount[]): Campaign {
  const total = totalCounts(counts)
  const wave = row.state === 'draft' || isEnded(row.state) ? undefined : currentWave(counts)
  return {
    id: row.id,
    name: row.name,
    artefactId: row.artefactId,
    targets: row.targets,
    waves: row.waves,
    stopOnFailurePercent: row.stopOnFailurePercent,
    ...(row.window === null ? {} : { window: row.window }),
    approval: row.approval,
    concurrentDevices: row.concurrentDevices,
    verifyMinutes: row.verifyMinutes,
    allowsDowngrade: row.allowsDowngrade,
    state: row.state,
    ...(row.stateReason === null ? {} : { stateReason: row.stateReason }),
    artefact: row.artefact,
    devices: counts.reduce((sum, { devices }) => sum + devices, 0),
    counts: total,
    ...(wave === undefined ? {} : { wave }),
    waveCounts: countsByWave(counts),
    actions: allowedActions(caller, row, possibleActions(row.state, total)),
    ...(row.jobId === null ? {} : { jobId: row.jobId }),
    createdBy: { id: row.createdById, name: row.createdByName },
    ...(row.approvedById === null ? {} : { approvedBy: { id: row.approvedById, name: row.approvedByName ?? '' } }),
    createdTimestamp: row.createdAt,
    ...(row.startedAt === null ? {} : { startedTimestamp: row.startedAt }),
    ...(row.finishedAt === null ? {} : { finishedTimestamp: row.finishedAt }),
  }
}

export function showDevice(row: DeviceRow): CampaignDevice {
  return {
    id: row.id,
    campaignId: row.campaignId,
    assetId: row.assetId,
    ...(row.assetName === null ? {} : { assetName: row.assetName }),
    ...(row.fromVersion === null ? {} : { fromVersion: row.fromVersion }),
    toVersion: row.toVersion,
    steps: row.steps,
    wave: row.wave,
    state: row.state,
    progress: row.progress,
    step: row.step,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.reportedVersion === null ? {} : { reportedVersion: row.reportedVersion }),
    attempt: row.attempt,
    ...(row.gatewayId === null ? {} : { gatewayId: row.gatewayId }),
    ...(row.jobId === null ? {} : { jobId: row.jobId }),
    lastModifiedTimestamp: row.modifiedAt,
  }
}
