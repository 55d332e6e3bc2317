import { softwareOf } from '@millwright/api/asset-firmware.ts'
import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import { type Groups, isReadableRow } from '../visibility.ts'
import type { Selection } from './selection.ts'

/** Statements on the products and versions of devices, for the update hub. */

type DeviceRow = {
  id: string
  accessGroupId: string
  name: string | null
  manufacturer: string | null
  productId: string | null
  productName: string | null
  hardwareVersion: string | null
  firmwareVersion: string | null
  document: string | null
}

const columns = `a.id, a.access_group_id as "accessGroupId", a.name, a.manufacturer, a.product_id as "productId",
  a.product_name as "productName", a.product_version as "hardwareVersion", a.firmware_version as "firmwareVersion"`
/** The document is read only if it can contain software. Parsing it takes longer than reading all other columns. */
const documentIf = (condition: string) =>
  `case when ${condition} and a.document::text like '%"software_components"%' then a.document::text end as document`

const byIdsStatement = statement<DeviceRow>(
  `select ${columns}, ${documentIf('$4::boolean')} from assets a
   where a.tenant_id = $1 and a.id = any($2::uuid[]) and ${isReadableRow('a', '$3')} order by a.id`,
)

type DeviceQuery = { withSoftware: boolean; limit: number; after?: string | undefined }

/** Returns those of the assets that the caller can read. */
export async function devicesById(
  handle: Handle,
  ids: readonly string[],
  { groups, withSoftware }: { groups: Groups; withSoftware: boolean },
): Promise<InventoryDevice[]> {
  const rows = await handle.rows(byIdsStatement, arrayOf('uuid', ids), groups, withSoftware)
  return rows.map((row) => deviceOf(row, withSoftware))
}

/** Returns the first assets of a selection, in the order of their ids. */
export async function selectedDevices(
  handle: Handle,
  { where, values }: Pick<Selection, 'where' | 'values'>,
  { withSoftware, limit, after }: DeviceQuery,
): Promise<InventoryDevice[]> {
  const groups = /\bg\./.test(where) ? `join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id` : ''
  const next = after === undefined ? '' : `and a.id > $${values.length + 2}::uuid`
  const text = `select ${columns}, ${documentIf(String(withSoftware))} from assets a ${groups}
    where a.tenant_id = $1 and ${where} ${next} order by a.id limit ${limit}`
  const rows = await handle.rows(dynamicStatement<DeviceRow>(text), ...values, ...(after === undefined ? [] : [after]))
  return rows.map((row) => deviceOf(row, withSoftware))
}

type PlaceRow = { id: string; points: unknown }

const pointsStatement = statement<PlaceRow>(
  `select a.id, a.document::json -> 'connection_points' as points from assets a
   where a.tenant_id = $1 and a.id = any($2::uuid[])`,
)

/** Returns the addresses that the devices of assets reported, by the id of the asset. */
export async function reportedAddresses(handle: Handle, ids: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await handle.rows(pointsStatement, arrayOf('uuid', ids))
  return new Map(rows.map(({ id, points }) => [id, addressesIn(points)]))
}

function addressesIn(points: unknown): string[] {
  const all = (Array.isArray(points) ? points : []).flatMap((point) => [point?.ipv4_address, point?.ipv6_address])
  return all.filter((address) => typeof address === 'string')
}

function deviceOf({ document, id, accessGroupId, ...texts }: DeviceRow, withSoftware: boolean): InventoryDevice {
  const stored = Object.entries(texts).filter(([, text]) => text !== null)
  return {
    id,
    accessGroupId,
    ...Object.fromEntries(stored),
    ...(withSoftware ? { software: document === null ? [] : softwareOf(JSON.parse(document)) } : {}),
  }
}
