import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Yields a row when anything is kept for an asset. */
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

/** The next assets for which a copy or an association is kept, in the order of their ids. */
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

export type Gone = { assetId: string; mergedInto?: string }

export type EndedUse = {
  instanceId: string
  gatewayId: string
  address: string
  assetId: string
  mergedInto: string | null
}

/** That something was given to a gateway stays; that it opened a device goes with the device. */
const endStatement = statement<EndedUse>(
  `update credential_uses u set asset_id = g.merged_into,
     worked_at = case when g.merged_into is null then null else u.worked_at end
   from unnest($2::uuid[], $3::uuid[]) as g (asset_id, merged_into)
   where u.tenant_id = $1 and u.asset_id = g.asset_id and u.worked_at is not null
   returning u.instance_id as "instanceId", u.gateway_id as "gatewayId", u.address, g.asset_id as "assetId",
     g.merged_into as "mergedInto"`,
)

/** Ends the associations with assets that are gone, or makes them those of what the assets became part of. */
export function endAssociations(tx: Transaction, gone: readonly Gone[]): Promise<EndedUse[]> {
  const assetIds = gone.map(({ assetId }) => assetId)
  const mergedInto = gone.map((asset) => asset.mergedInto ?? null)
  return tx.rows(endStatement, arrayOf('uuid', assetIds), arrayOf('uuid', mergedInto))
}
