import { Problem } from '@millwright/api/problem.ts'
import type { CampaignAction, CampaignTargets } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { may, mayIn } from '../../platform/access/rights.ts'
import { hiddenAssets, idsIn, readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import type { CampaignRow } from './campaign-store.ts'
import { type DescribedAsset, describeAssets } from './described-assets.ts'

/**
 * The rights for campaigns. Every caller with `glb_jobs_read` sees the campaigns of the tenant, but only the assets that it
 * can read. Changes that update devices require write access to the assets of these devices.
 */

const write = 'inventory_write_asset_data'

/** Returns whether the caller can update the device of an asset. */
export function mayUpdate(caller: Pick<Caller, 'rights'>, { accessGroupId }: DescribedAsset): boolean {
  return mayIn(caller, 'inventory_read_asset_data', accessGroupId) && mayIn(caller, write, accessGroupId)
}

/** Requires that the caller can write all these assets. Deleted assets are not checked. */
export async function requireWritable(context: Context, caller: Caller, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length === 0 || (may(caller, write) && readsAllAssets(caller))) return
  const assets = await describeAssets(context, caller, assetIds)
  const refused = [...assets.values()].find((asset) => !asset.isDeleted && !mayUpdate(caller, asset))
  if (refused === undefined) return
  const { accessGroupId } = refused
  throw await context.database.read(caller, (handle) =>
    permissionDeniedIn(handle, caller, { permission: write, accessGroupId }),
  )
}

/** Returns the access groups whose devices the caller can count. Null means all. */
export function countedGroups(caller: Pick<Caller, 'rights'>): string[] | null {
  if (readsAllAssets(caller)) return null
  return [...(caller.rights.inGroups.get('inventory_read_asset_data') ?? [])]
}

/** Returns the targets without the assets that the caller cannot read. `limit` is the maximum number of asset ids. */
export async function visibleTargets(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  targets: CampaignTargets,
  limit: number,
): Promise<CampaignTargets> {
  if ('assetIds' in targets) {
    const assetIds = targets.assetIds.slice(0, limit)
    const readable = await readableAssets(context, caller, assetIds)
    return { assetIds: assetIds.filter((id) => readable.has(id)) }
  }
  const isHidden = (await hiddenAssets(context, caller, idsIn(targets.filter))).size > 0
  return isHidden ? { assetIds: [] } : targets
}

/** Returns whether a caller is a person, who can approve the campaigns of other persons. */
function isPerson({ principal }: Pick<Caller, 'principal'>): boolean {
  return principal.kind === 'user' || principal.kind === 'external'
}

/** Requires that the caller is a person, and has neither created nor started the campaign. */
export function requireApprover(caller: Caller, { principalId, createdById }: CampaignRow): void {
  if (!isPerson(caller)) throw new Problem('forbidden', 'Only a person can approve a campaign. Sign in as a user')
  if (caller.principal.id !== principalId && caller.principal.id !== createdById) return
  throw new Problem(
    'forbidden',
    'You created or started this campaign. Another person with `glb_update_manage` must approve it',
  )
}

/** Returns those of the actions that the caller can do, apart from the rights in the access groups of single devices. */
export function allowedActions(
  caller: Caller,
  { principalId, createdById }: Pick<CampaignRow, 'principalId' | 'createdById'>,
  actions: readonly CampaignAction[],
): CampaignAction[] {
  if (!may(caller, 'glb_update_manage')) return []
  const { id } = caller.principal
  const canApprove = isPerson(caller) && id !== principalId && id !== createdById
  return actions.filter((action) => action !== 'approve' || canApprove)
}

export function missingCampaign(id: string): Problem {
  return new Problem('not_found', `Campaign ${id} does not exist`)
}
