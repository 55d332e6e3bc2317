import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Returns rows if an instance or a recorded use of the tenant refers to an asset. */
export const anyHeld = statement(
  `(select asset_id from credential_instances where tenant_id = $1 and asset_id is not null order by asset_id limit 1)
   union all
   (select asset_id from credential_uses where tenant_id = $1 and asset_id is not null and worked_at is not null
    order by asset_id limit 1)`,
)

const heldStatement = statement<{ assetId: string }>(
  `select held.asset_id as "assetId" from (
     (select distinct asset_id from credential_instances where tenant_id = $1 and asset_id > $2
      order by asset_id limit $3)
     union
     (select distinct asset_id from credential_uses where tenant_id = $1 and asset_id > $2 and worked_at is not null
      order by asset_id limit $3)
   ) as held order by held.asset_id limit $3`,
)

/**
 * Returns the next assets that have a copied instance or an association with an instance, in the order of their ids.
 */
export async function heldAssets(
  handle: Handle,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  return (await handle.rows(heldStatement, after, limit)).map(({ assetId }) => assetId)
}

export type DeletedCopy = { id: string; schemaId: string; name: string; version: number; assetId: string }

const deleteStatement = statement<DeletedCopy>(
  `delete from credential_instances where tenant_id = $1 and asset_id = any($2::uuid[])
   returning id, schema_id as "schemaId", name, version, asset_id as "assetId"`,
)

export function deleteCopies(tx: Transaction, assetIds: readonly string[]): Promise<DeletedCopy[]> {
  return assetIds.length === 0 ? Promise.resolve([]) : tx.rows(deleteStatement, arrayOf('uuid', assetIds))
}

export type DeletedAsset = { assetId: string; mergedInto?: string }

export type EndedUse = {
  instanceId: string
  gatewayId: string
  address: string
  assetId: string
  mergedInto: string | null
}

/**
 * Ends an association, but keeps the record of the delivery. If the asset was merged into another asset, the
 * association moves to that asset.
 */
const endStatement = statement<EndedUse>(
  `update credential_uses u set asset_id = g.merged_into,
     worked_at = case when g.merged_into is null then null else u.worked_at end
   from unnest($2::uuid[], $3::uuid[]) as g (asset_id, merged_into)
   where u.tenant_id = $1 and u.asset_id = g.asset_id and u.worked_at is not null
   returning u.instance_id as "instanceId", u.gateway_id as "gatewayId", u.address, g.asset_id as "assetId",
     g.merged_into as "mergedInto"`,
)

/**
 * Ends the associations with deleted assets. If a deleted asset was merged into another asset, its associations move to
 * that asset.
 */
export function endAssociations(tx: Transaction, deletedAssets: readonly DeletedAsset[]): Promise<EndedUse[]> {
  const assetIds = deletedAssets.map(({ assetId }) => assetId)
  const mergedInto = deletedAssets.map((asset) => asset.mergedInto ?? null)
  return tx.rows(endStatement, arrayOf('uuid', assetIds), arrayOf('uuid', mergedInto))
}
