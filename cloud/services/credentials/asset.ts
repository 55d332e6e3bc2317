import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets, readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import type { UseScope } from './use-store.ts'

/**
 * Requires that an asset exists. A caller with credential permissions may assign and list instances by asset id, even
 * if the caller cannot read the asset. The responses therefore contain no data of the asset.
 */
export async function requireExisting(context: Context, caller: Caller, assetId: string): Promise<void> {
  const { data: gone } = await context
    .peers(inventory, systemCaller(caller))
    .findGone({ body: { data: { assets: [assetId] } } })
  if (gone.length > 0) throw new Problem('not_found', `Asset ${assetId} does not exist`)
}

/**
 * Requires that the caller can read the asset that represents a link. Hidden and missing assets return the same error.
 */
export async function requireReadable(context: Context, caller: Caller, assetId: string): Promise<void> {
  try {
    await context.peers(inventory, caller).readAsset({ params: { id: assetId }, query: { fields: 'id' } })
  } catch (error) {
    if (!(error instanceof Problem) || !['forbidden', 'not_found'].includes(error.code)) throw error
    throw new Problem('asset_not_found', `Asset ${assetId} does not exist`)
  }
}

type Use = { gatewayId: string; assetId?: string }

/**
 * Returns a function that checks whether the caller can read the gateway and the asset of a use. The address of a use
 * is an address of the asset, so a caller who cannot read the asset must not see the use.
 */
export async function readableUses(
  context: Context,
  caller: Caller,
  uses: readonly Use[],
): Promise<(use: Use) => boolean> {
  const ids = uses.flatMap(({ gatewayId, assetId }) => [gatewayId, ...(assetId === undefined ? [] : [assetId])])
  const readable = await readableAssets(context, caller, ids)
  return ({ gatewayId, assetId }) => readable.has(gatewayId) && (assetId === undefined || readable.has(assetId))
}

/** Returns the gateways and assets of uses that the caller can read. `undefined` means all. */
export async function readableScope(
  context: Context,
  caller: Caller,
  uses: () => Promise<readonly { gatewayId: string; assetId: string | null }[]>,
): Promise<UseScope> {
  if (readsAllAssets(caller)) return undefined
  const found = await uses()
  const gateways = new Set(found.map(({ gatewayId }) => gatewayId))
  const assets = new Set(found.flatMap(({ assetId }) => assetId ?? []))
  const readable = await readableAssets(context, caller, [...new Set([...gateways, ...assets])])
  return {
    gateways: [...gateways].filter((id) => readable.has(id)),
    assets: [...assets].filter((id) => readable.has(id)),
  }
}

/** Returns the rows. Sets `assetId` to null in each row whose asset the caller cannot read. */
export async function withoutHiddenAssets<Row extends { assetId: string | null }>(
  context: Context,
  caller: Caller,
  rows: readonly Row[],
): Promise<Row[]> {
  const ids = rows.flatMap(({ assetId }) => (assetId === null ? [] : [assetId]))
  const hidden = await hiddenAssets(context, caller, ids)
  return rows.map((row) => (row.assetId !== null && hidden.has(row.assetId) ? { ...row, assetId: null } : row))
}
