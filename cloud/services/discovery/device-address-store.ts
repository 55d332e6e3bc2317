import { isIP, isIPv6 } from 'node:net'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement, timePlus } from '../../platform/database/statement.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import type { Upload } from './finding-store.ts'
import type { WriteResult } from './inventory-writes.ts'

/**
 * This file stores at which address each link found the device of an asset. The addresses come from the connections of the
 * link. A device cannot change them, unlike the addresses and identifiers that it reports about itself.
 *
 * Two devices can report the same identifiers, and then they are one asset that was found at two addresses. The address at
 * which the asset was found first is its own address. Credentials of the asset are delivered only for this address.
 */

/**
 * The time for which an asset keeps an address at which it is no longer found. After this time, the next address becomes
 * the own address of the asset.
 */
const keptDays = 7

/** After this time without a finding, an address is deleted, even if its asset is not found again. */
const deletedAfterDays = 400
/** The interval of the task that deletes them. */
const deletionMs = 24 * 60 * 60_000

/** The age at which the time of the last finding is written again. Frequent scans then write little. */
const writtenAgainHours = 1

const oldStatement = statement(
  `select asset_id from device_addresses
   where tenant_id = $1 and last_found_at < now() - interval '${deletedAfterDays} days' limit 1`,
)
const deleteOldStatement = statement(
  `delete from device_addresses where tenant_id = $1 and last_found_at < $2::timestamptz`,
)

/** Deletes the addresses of assets that were deleted, or that no gateway finds. */
export function deviceAddressTasks({ database }: Pick<Context, 'database'>): TaskKinds {
  return {
    'discovery.device-addresses': {
      periodic: { everyMs: deletionMs, pending: oldStatement },
      async run(job) {
        const before = new Date(Date.now() - deletedAfterDays * 86_400_000).toISOString()
        await database.transaction({ tenantId: job.tenantId }, async (tx) => {
          await tx.run(deleteOldStatement, before)
          await job.complete(tx)
        })
      },
    },
  }
}

export type LinkKey = { gatewayId: string; assetLinkId: string }
type FoundAddress = { assetId: string; address: string }

/**
 * Returns the addresses of the devices that were written to the inventory, in their stored form. A device that credentials
 * opened was found at their address. Older versions of the gateway report only these addresses.
 */
export function foundAddresses(
  written: readonly WriteResult[],
  { deviceAddresses = [], tried }: Pick<Upload, 'deviceAddresses' | 'tried'>,
): FoundAddress[] {
  const found = [...deviceAddresses, ...(tried?.uses ?? [])].flatMap(({ asset, address }): FoundAddress[] => {
    const result = asset === undefined ? undefined : written[asset]
    if (result === undefined || !('assetId' in result) || isIP(address) === 0) return []
    return [{ assetId: result.assetId, address: storedForm(address) }]
  })
  return [...new Map(found.map((one) => [`${one.assetId} ${one.address}`, one])).values()]
}

/** Returns an IP address in the form in which it is stored. IPv6 addresses are shortened, and have no zone. */
function storedForm(address: string): string {
  const [plain = ''] = address.split('%')
  return isIPv6(plain) ? new URL(`http://[${plain}]`).hostname.slice(1, -1) : plain
}

const forgetStatement = statement(
  `delete from device_addresses where tenant_id = $1 and last_found_at < $2::timestamptz
   and (asset_id = any($3::uuid[]) or (gateway_id = $4 and app_instance_id = $5 and address = any($6::text[])))`,
)

type StoredAddress = FoundAddress & LinkKey & { foundAt: string }
const stored = rowset<StoredAddress>({
  assetId: 'uuid',
  gatewayId: 'uuid',
  assetLinkId: 'text',
  address: 'text',
  foundAt: 'timestamptz',
})
const putStatement = statement(
  `insert into device_addresses (tenant_id, asset_id, gateway_id, app_instance_id, address, first_found_at, last_found_at)
   select $1, "assetId", "gatewayId", "assetLinkId", address, "foundAt", "foundAt" from ${stored.rows}
   on conflict (tenant_id, asset_id, gateway_id, app_instance_id, address) do update
   set last_found_at = excluded.last_found_at
   where device_addresses.last_found_at < ${timePlus('excluded.last_found_at', `interval '-${writtenAgainHours} hours'`)}`,
)

/** Stores at which addresses a link found assets, and removes outdated addresses of these assets. */
export async function putDeviceAddresses(
  tx: Transaction,
  { gatewayId, assetLinkId }: LinkKey,
  found: readonly FoundAddress[],
): Promise<void> {
  if (found.length === 0) return
  const nowMs = Date.now()
  const iso = (ms: number) => new Date(ms).toISOString()
  const assetIds = arrayOf('uuid', [...new Set(found.map(({ assetId }) => assetId))])
  const addresses = arrayOf('text', [...new Set(found.map(({ address }) => address))])
  await tx.run(forgetStatement, iso(nowMs - keptDays * 86_400_000), assetIds, gatewayId, assetLinkId, addresses)
  // All transactions lock the rows in the same order.
  const rows = found
    .map((one) => ({ ...one, gatewayId, assetLinkId, foundAt: iso(nowMs) }))
    .toSorted((a, b) => (`${a.assetId} ${a.address}` < `${b.assetId} ${b.address}` ? -1 : 1))
  await tx.run(putStatement, ...stored.values(rows))
}

export const addressesOfAssetStatement = statement<{ address: string }>(
  `select address from device_addresses
   where tenant_id = $1 and asset_id = $2 and gateway_id = $3 and app_instance_id = $4
   order by first_found_at, address limit $5`,
)

/** Returns the addresses at which a link found an asset, oldest first. */
export async function addressesOfAsset(
  handle: Handle,
  { gatewayId, assetLinkId, assetId }: LinkKey & { assetId: string },
  limit: number,
): Promise<string[]> {
  const rows = await handle.rows(addressesOfAssetStatement, assetId, gatewayId, assetLinkId, limit)
  return rows.map(({ address }) => address)
}

export const addressesOfAssetsStatement = statement<{ assetId: string; assetLinkId: string; address: string }>(
  `select asset_id as "assetId", app_instance_id as "assetLinkId", address from device_addresses
   where tenant_id = $1 and asset_id = any($2::uuid[]) and gateway_id = $3
   order by asset_id, first_found_at, address`,
)

/** Returns the addresses at which the links of a gateway found assets, oldest first. */
export function addressesOfAssets(handle: Handle, gatewayId: string, assetIds: readonly string[]) {
  return handle.rows(addressesOfAssetsStatement, arrayOf('uuid', assetIds), gatewayId)
}

/** The maximum number of addresses of an asset that are returned. Wrong data must not make the list large. */
const mostGatewayAddresses = 64

export const gatewayAddressesStatement = statement<{ gatewayId: string; address: string; isOwn: boolean }>(
  `select d.gateway_id as "gatewayId", d.address, d.address = (
     select o.address from device_addresses o where o.tenant_id = $1 and o.asset_id = $2
     order by o.first_found_at, o.address limit 1) as "isOwn"
   from device_addresses d where d.tenant_id = $1 and d.asset_id = $2
   group by d.gateway_id, d.address order by min(d.first_found_at), d.address, d.gateway_id limit $3`,
)

/** Returns the addresses at which gateways found an asset, oldest first. */
export function gatewayAddresses(handle: Handle, assetId: string) {
  return handle.rows(gatewayAddressesStatement, assetId, mostGatewayAddresses)
}

export const assetsAtStatement = statement<{ address: string; assetId: string; isOwn: boolean }>(
  `select d.address, d.asset_id as "assetId", d.address = (
     select o.address from device_addresses o where o.tenant_id = $1 and o.asset_id = d.asset_id
     order by o.first_found_at, o.address limit 1) as "isOwn"
   from device_addresses d
   where d.tenant_id = $1 and d.gateway_id = $2 and d.app_instance_id = $3 and d.address = any($4::text[])
   order by d.last_found_at desc, d.asset_id`,
)

export type AssetAtAddress = {
  assetId: string
  /** Whether the asset was found at this address first. */
  isOwn: boolean
}

/** Returns the assets that a link found at each address, in the order of the addresses. */
export async function assetsAt(
  handle: Handle,
  { gatewayId, assetLinkId, addresses }: LinkKey & { addresses: readonly string[] },
): Promise<AssetAtAddress[][]> {
  const forms = addresses.map(storedForm)
  const rows = await handle.rows(assetsAtStatement, gatewayId, assetLinkId, [...new Set(forms)])
  const byAddress = Map.groupBy(rows, ({ address }) => address)
  return forms.map((form) => (byAddress.get(form) ?? []).map(({ assetId, isOwn }) => ({ assetId, isOwn })))
}
