import { platformIdentifiers } from '@millwright/api/inventory-identity.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import type { QueuedOperation } from './operation-store.ts'

/**
 * `GatewayScope` holds, for one batch, what decides which assets a gateway may write beyond its access groups. A write of a
 * gateway is an accepted write whose principal is a gateway: discovery queues it for the devices and links it reported.
 * - An asset with `found_by_gateway` to the gateway stays writable, also after a person moved it to another group.
 * - An asset that the platform manages (of a gateway, of an asset link) is never written by a discovered device.
 */
export class GatewayScope {
  readonly #found: ReadonlySet<string>
  readonly #managed: ReadonlySet<string>
  readonly #conflicts: ReadonlySet<string>

  constructor({ found, managed, conflicts }: { found: Iterable<Pair>; managed: Iterable<string>; conflicts: Pair[] }) {
    this.#found = new Set([...found].map(pairKey))
    this.#managed = new Set(managed)
    this.#conflicts = new Set(conflicts.map(pairKey))
  }

  isFoundBy(assetId: string, gatewayId: string): boolean {
    return this.#found.has(pairKey({ assetId, gatewayId }))
  }

  isManaged(assetId: string): boolean {
    return this.#managed.has(assetId)
  }

  /** Whether an identity conflict between the two is recorded. */
  isInConflict(assetId: string, gatewayId: string): boolean {
    return this.#conflicts.has(pairKey({ assetId, gatewayId }))
  }
}

type Pair = { assetId: string; gatewayId: string }

function pairKey({ assetId, gatewayId }: Pair): string {
  return assetId + gatewayId
}

export function isOfGateway({ principalKind }: Pick<QueuedOperation, 'principalKind'>): boolean {
  return principalKind === 'gateway'
}

const foundByGatewayStatement = statement<Pair>(
  `select subject_id as "assetId", object_id as "gatewayId" from relations
   where tenant_id = $1 and subject_id = any($2::uuid[]) and predicate = 'found_by_gateway' and object_id = any($3::uuid[])
     and subject_type = 'asset' and object_type = 'asset'`,
)
const managedAssetsStatement = statement<{ assetId: string }>(
  `select asset_id as "assetId" from asset_identifiers
   where tenant_id = $1 and asset_id = any($2::uuid[]) and type = 'CustomIdentifier' and name = any($3::text[])`,
)
const conflictsAmongStatement = statement<Pair>(
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
