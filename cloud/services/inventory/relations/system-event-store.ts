import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

const runningStatement = statement<{ id: string }>(
  `select id from relations
   where tenant_id = $1 and subject_id = $2 and predicate = 'is_running_on' and object_id = $3
     and subject_type = 'asset' and object_type = 'asset' for update`,
)

/** Locks the `is_running_on` relations from an asset link to a gateway, and returns their ids. */
export async function findRunning(
  tx: Transaction,
  { assetLink, gateway }: { assetLink: string; gateway: string },
): Promise<string[]> {
  return (await tx.rows(runningStatement, assetLink, gateway)).map(({ id }) => id)
}

type LinkRelation = { assetLink: string; predicate: 'is_installed_on' | 'is_running_on' }

const linkRelationsStatement = statement<LinkRelation>(
  `select subject_id as "assetLink", predicate from relations
   where tenant_id = $1 and subject_id = any($3::uuid[]) and predicate in ('is_installed_on', 'is_running_on')
     and object_id = $2 and source_type = 'assetlinkdiscovery' and subject_type = 'asset' and object_type = 'asset'`,
)

/**
 * Returns the relations from asset links to a gateway. It returns only relations that system events created, not
 * relations that users created.
 */
export function findLinkRelations(
  handle: Handle,
  { gateway, assetLinks }: { gateway: string; assetLinks: readonly string[] },
): Promise<LinkRelation[]> {
  return handle.rows(linkRelationsStatement, gateway, assetLinks)
}

const mergedStatement = statement<{ assetId: string; mergedInto: string | null }>(
  `select distinct on (asset_id) asset_id as "assetId", case when source_type = 'merge' then source_value end as "mergedInto"
   from asset_history where tenant_id = $1 and asset_id = any($2::uuid[]) and change = 'deleted'
   order by asset_id, version desc`,
)

/**
 * Returns the assets into which deleted assets were merged. The key of the map is the id of the deleted asset. Assets
 * that were deleted without a merge are not in the map.
 */
export async function findMergedInto(handle: Handle, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await handle.rows(mergedStatement, ids)
  return new Map(rows.flatMap(({ assetId, mergedInto }) => (mergedInto === null ? [] : [[assetId, mergedInto]])))
}
