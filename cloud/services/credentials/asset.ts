import { inventory } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'

type Wanted = { assetId: string; missing?: 'not_found' | 'asset_not_found' }

/** The inventory is asked in the caller's name: an asset that the caller may not read is not there. */
export async function requireVisible(
  context: Context,
  caller: Caller,
  { assetId, missing = 'not_found' }: Wanted,
): Promise<void> {
  try {
    await context.peers(inventory, caller).readAsset({ params: { id: assetId }, query: { fields: 'id' } })
  } catch (error) {
    if (!(error instanceof Problem) || !['forbidden', 'not_found'].includes(error.code)) throw error
    throw new Problem(missing, `There is no asset ${assetId}`)
  }
}
