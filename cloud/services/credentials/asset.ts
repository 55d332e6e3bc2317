import { inventory } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets, readableAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'

/**
 * A caller with credential permissions assigns and lists instances by the id of an asset, whether or not the asset is
 * readable. So only its existence is checked, and the responses contain no data of the asset.
 */
export async function requireExisting(context: Context, caller: Caller, assetId: string): Promise<void> {
  const { data: gone } = await context
    .peers(inventory, systemCaller(caller))
    .findGone({ body: { data: { assets: [assetId] } } })
  if (gone.length > 0) throw new Problem('not_found', `There is no asset ${assetId}`)
}

/** For the asset of a link, whose schemas are read. Hidden and missing assets return the same error. */
export async function requireReadable(context: Context, caller: Caller, assetId: string): Promise<void> {
  try {
    await context.peers(inventory, caller).readAsset({ params: { id: assetId }, query: { fields: 'id' } })
  } catch (error) {
    if (!(error instanceof Problem) || !['forbidden', 'not_found'].includes(error.code)) throw error
    throw new Problem('asset_not_found', `There is no asset ${assetId}`)
  }
}

type Use = { gatewayId: string; assetId?: string }

/**
 * The uses of instances whose gateway and asset the caller can read. The address of a use is one of the asset, so it is
 * hidden together with it.
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

/** The rows of instances without the ids of assets that the caller cannot read. */
export async function withoutHiddenAssets<Row extends { assetId: string | null }>(
  context: Context,
  caller: Caller,
  rows: readonly Row[],
): Promise<Row[]> {
  const ids = rows.flatMap(({ assetId }) => (assetId === null ? [] : [assetId]))
  const hidden = await hiddenAssets(context, caller, ids)
  return rows.map((row) => (row.assetId !== null && hidden.has(row.assetId) ? { ...row, assetId: null } : row))
}
