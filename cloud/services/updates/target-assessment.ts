import { discovery, type UpdateLink } from '@millwright/api/discovery.ts'
import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type CampaignTargets, type PlanOutcome, updateLimits } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { createYield } from '../../platform/event-loop.ts'
import type { Context } from '../../platform/service.ts'
import { artefactsFor } from './artefact-store.ts'
import { assessCompatibility, type Compatibility, type InstallableArtefact } from './compatibility.ts'
import { assetsInCampaigns } from './device-store.ts'
import { usabilityProblem } from './signatures.ts'
import { readSettings } from './trust-anchor-store.ts'

/** What a campaign does with an asset, and the link that does it. */
export type Assessment = {
  outcome: PlanOutcome
  reason?: string | undefined
  fromVersion?: string | undefined
  steps: Compatibility['steps']
  link?: UpdateLink['link']
}

/** Returns the readable targets of a campaign in the order of their ids. Throws `too_many_targets`. */
export async function readTargets(
  { peers }: Context,
  caller: Caller,
  { targets, withSoftware }: { targets: CampaignTargets; withSoftware: boolean },
): Promise<InventoryDevice[]> {
  const selection = 'filter' in targets ? { filter: targets.filter } : { ids: targets.assetIds }
  const { data } = await peers(inventory, caller).selectDevices({ body: { data: { ...selection, withSoftware } } })
  if (!data.isTruncated && data.devices.length <= updateLimits.targets) return data.devices
  throw new Problem(
    'too_many_targets',
    `The filter selects more than ${updateLimits.targets} assets. Use a filter that selects fewer assets, and create several campaigns`,
  )
}

/** Returns the artefacts of a manufacturer that can be installed. Artefacts that were read from devices are left out. */
export function readUsableArtefacts(
  { database }: Context,
  caller: Caller,
  selection: Parameters<typeof artefactsFor>[1],
): Promise<InstallableArtefact[]> {
  return database.read(caller, async (handle) => {
    const settings = await readSettings(handle)
    const at = new Date()
    return (await artefactsFor(handle, selection)).filter(
      (row) => row.sourceAssetId === null && usabilityProblem(row, { ...settings, at }) === undefined,
    )
  })
}

/** Returns the link of each asset that can install artefacts on its device, or the reason why there is none. */
export async function readUpdateLinks(
  { peers }: Context,
  { tenantId, tenantName }: Caller,
  assetIds: readonly string[],
): Promise<Map<string, UpdateLink>> {
  if (assetIds.length === 0) return new Map()
  const client = peers(discovery, systemCaller({ tenantId, tenantName }))
  const { data } = await client.findUpdateLinks({ body: { data: { assetIds: [...assetIds] } } })
  return new Map(data.map((one) => [one.assetId, one]))
}

export type AssessmentOptions = {
  artefact: InstallableArtefact
  devices: readonly InventoryDevice[]
  others: readonly InstallableArtefact[]
  allowsDowngrade: boolean
  campaignId?: string | undefined
}

/** What the update hub knows about devices apart from their products. */
export type DeviceSituation = { links: ReadonlyMap<string, UpdateLink>; held: ReadonlyMap<string, string> }

/** Reads the links of assets, and the campaigns that hold them. */
export async function readSituation(
  context: Context,
  caller: Caller,
  assetIds: readonly string[],
): Promise<DeviceSituation> {
  const [held, links] = await Promise.all([
    context.database.read(caller, (handle) => assetsInCampaigns(handle, assetIds)),
    readUpdateLinks(context, caller, assetIds),
  ])
  return { held, links }
}

/**
 * Returns what happens with each device, by its asset. The reasons are checked in this order: compatibility, permission,
 * another campaign, link.
 */
export async function assessDevices(
  context: Context,
  caller: Caller,
  options: AssessmentOptions,
): Promise<Map<string, Assessment>> {
  const assessed = await compatibilities(caller, options)
  const possible = options.devices.filter(({ id }) => assessed.get(id)?.outcome === 'update')
  const situation = await readSituation(
    context,
    caller,
    possible.map(({ id }) => id),
  )
  for (const device of possible) {
    const own = assessed.get(device.id)
    if (own !== undefined) assessed.set(device.id, withRefusal(caller, own, { ...options, device, situation }))
  }
  return assessed
}

type RefusalOptions = Pick<AssessmentOptions, 'artefact' | 'campaignId'> & {
  device: InventoryDevice
  situation: DeviceSituation
}

/** Returns the assessment of a compatible device: with its link, or with the reason why it is not updated. */
export function withRefusal(
  caller: Caller,
  own: Assessment,
  { artefact, campaignId, device: { id, accessGroupId }, situation: { held, links } }: RefusalOptions,
): Assessment {
  const refuse = (outcome: PlanOutcome, reason: string | undefined) => ({ ...own, outcome, reason, steps: [] })
  if (!mayIn(caller, 'inventory_write_asset_data', accessGroupId)) {
    return refuse('forbidden', 'Requires inventory_write_asset_data in the access group of the asset')
  }
  const holder = held.get(id)
  if (holder !== undefined && holder !== campaignId) {
    return refuse('busy', 'The asset is in another campaign that has not ended')
  }
  const { link, problem } = links.get(id) ?? {}
  if (link === undefined) return refuse('no-link', problem)
  if (link.kinds === 'firmware' && artefact.kind !== 'firmware') {
    return refuse('no-link', 'The asset link of this asset can install only firmware')
  }
  return { ...own, link }
}

/** Returns the compatibility of each device. Devices with the same product and version are computed once. */
async function compatibilities(
  caller: Caller,
  { artefact, devices, others, allowsDowngrade }: AssessmentOptions,
): Promise<Map<string, Assessment>> {
  const yieldTurn = createYield(caller.tenantId)
  const known = new Map<string, Compatibility>()
  const assessed = new Map<string, Assessment>()
  for (const { id, accessGroupId: _, name: __, ...product } of devices) {
    const key = JSON.stringify(product)
    const own = known.get(key) ?? assessCompatibility(artefact, product, { allowsDowngrade, others })
    known.set(key, own)
    assessed.set(id, own)
    await yieldTurn()
  }
  return assessed
}
