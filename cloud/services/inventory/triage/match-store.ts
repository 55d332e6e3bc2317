import type { Handle } from '../../../platform/database/database.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { dynamicStatement } from '../../../platform/database/statement.ts'
import type { Selection } from '../assets/selection.ts'
import { isGatewayOrLink } from '../visibility.ts'

export type NewAssetQuery = {
  gatewayId?: string | undefined
  /** Only assets that this discovery run created. */
  runId?: string | undefined
  /** The assets to compare. Undefined means all new assets. */
  assetIds?: readonly string[] | undefined
  after: string
  limit: number
}

export type NewAsset = { id: string; name: string | null; addresses: string[] }

/**
 * Returns the next selected assets without a decision, with their IPv4 addresses, in the order of their ids.
 * Gateways and asset links are left out.
 */
export function listNewAssets(
  handle: Handle,
  selection: Selection,
  { gatewayId, runId, assetIds, after, limit }: NewAssetQuery,
): Promise<NewAsset[]> {
  const values = [...selection.values]
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const conditions = [
    selection.where,
    `a.management_state = 'unknown'`,
    `${isGatewayOrLink('a')} is not true`,
    `a.id > ${parameter(after)}::uuid`,
    ...(assetIds === undefined ? [] : [`a.id = any(${parameter(arrayOf('uuid', assetIds))}::uuid[])`]),
    ...(runId === undefined ? [] : [`a.found_run_id = ${parameter(runId)}::uuid`]),
    ...(gatewayId === undefined
      ? []
      : [
          `(select true from relations f where f.tenant_id = $1 and f.subject_id = a.id and f.subject_type = 'asset'
            and f.predicate = 'found_by_gateway' and f.object_id = ${parameter(gatewayId)}::uuid limit 1)`,
        ]),
  ]
  return handle.rows(
    dynamicStatement<NewAsset>(
      `select a.id, a.name, array(select n.address from asset_addresses n
          where n.tenant_id = $1 and n.asset_id = a.id and n.kind = 'ipv4') as addresses
       from assets a join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id
       where a.tenant_id = $1 and ${conditions.join(' and ')} order by a.id limit ${parameter(limit)}`,
    ),
    ...values,
  )
}
