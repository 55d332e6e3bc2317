import { Problem } from '@millwright/api/problem.ts'
import type { CampaignTargets, MaintenanceWindow, PlannedDevice, Wave } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { InstallableArtefact } from './compatibility.ts'

export type PlanInput = {
  artefact: InstallableArtefact
  targets: CampaignTargets
  waves: readonly Wave[]
  window?: MaintenanceWindow | undefined
  allowsDowngrade: boolean
  /** The campaign of the plan. Its own devices do not count as devices of another campaign. */
  campaignId?: string | undefined
}

/** A device of a plan, with what the platform needs to update it. */
export type PlanRow = PlannedDevice & {
  accessGroupId: string
  gatewayId?: string
  assetLinkId?: string
  linkAssetId?: string
  /** Only one device of a group is updated at a time. */
  group: string
  /** The windows of the nodes of the asset and of all nodes above. */
  windows: MaintenanceWindow[]
  nodeIds: string[]
}

/**
 * Computes what a campaign would do with each target, and why. Targets that the caller cannot read are left out. Nothing is
 * changed.
 */
export async function computePlan(_context: Context, _caller: Caller, _input: PlanInput): Promise<PlanRow[]> {
  throw new Problem('unavailable', 'Not available yet')
}
