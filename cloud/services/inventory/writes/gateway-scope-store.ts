import { platformIdentifiers } from '@millwright/api/inventory/identity.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { ConflictKey } from '../identity/identity-conflict-store.ts'
import { GatewayScope } from './gateway-scope.ts'

const foundByGatewayStatement = statement<ConflictKey>(
  `select subject_id as "assetId", object_id as "gatewayId" from relations
   where tenant_id = $1 and subject_id = any($2::uuid[]) and predicate = 'found_by_gateway' and object_id = any($3::uuid[])
     and subject_type = 'asset' and object_type = 'asset'`,
)
const managedAssetsStatement = statement<{ assetId: string }>(
  `select asset_id as "assetId" from asset_identifiers
   where tenant_id = $1 and asset_id = any($2::uuid[]) and type = 'CustomIdentifier' and name = any($3::text[])`,
)
const conflictsAmongStatement = statement<ConflictKey>(
  `select asset_id as "assetId", gateway_id as "gatewayId" from identity_conflicts
   where tenant_id = $1 and asset_id = any($2::uuid[]) and gateway_id = any($3::uuid[])`,
)

const empty = new GatewayScope({ found: [], managed: [], conflicts: [] })

export async function loadGatewayScope(
  tx: Transaction,
  { gatewayIds, assetIds }: { gatewayIds: readonly string[]; assetIds: readonly string[] },
): Promise<GatewayScope> {
  if (gatewayIds.length === 0 || assetIds.length === 0) return empty
  const [assets, gateways] = [arrayOf('uuid', assetIds), arrayOf('uuid', gatewayIds)]
  const [found, managed, conflicts] = await Promise.all([
    tx.rows(foundByGatewayStatement, assets, gateways),
    tx.rows(managedAssetsStatement, assets, arrayOf('text', Object.values(platformIdentifiers))),
    tx.rows(conflictsAmongStatement, assets, gateways),
  ])
  return new GatewayScope({ found, managed: managed.map(({ assetId }) => assetId), conflicts })
}
