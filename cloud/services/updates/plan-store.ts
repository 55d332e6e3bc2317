import type { Handle } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

const inCampaignsStatement = statement<{ assetId: string; campaignId: string }>(
  `select d.asset_id as "assetId", d.campaign_id as "campaignId" from update_devices d
   where d.tenant_id = $1 and d.is_held and d.asset_id = any($2::uuid[])`,
)

/** Returns those of the assets that a campaign holds, with its id. */
export async function assetsInCampaigns(handle: Handle, assetIds: readonly string[]): Promise<Map<string, string>> {
  if (assetIds.length === 0) return new Map()
  const rows = await handle.rows(inCampaignsStatement, arrayOf('uuid', assetIds))
  return new Map(rows.map(({ assetId, campaignId }) => [assetId, campaignId]))
}
