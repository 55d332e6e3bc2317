import type { ImpactMode } from '@millwright/api/inventory/impact.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'
import { type Groups, lastGroupOf, wasLastReadable } from '../visibility.ts'
import type { StoredImpact } from './summary.ts'

/** Impact reports. A report is readable if its asset is readable, or was readable when the asset was deleted. */

export type ReportRow = {
  id: string
  name: string
  assetId: string
  assetName: string | null
  mode: ImpactMode
  affected: number
  degraded: number
  createdAt: string
  principalId: string
  principalName: string
}

const columns = `i.id, i.name, i.asset_id as "assetId", i.asset_name as "assetName", i.mode, i.affected, i.degraded,
  i.created_at as "createdAt", i.principal_id as "principalId", i.principal_name as "principalName"`

const insertStatement = statement(
  `insert into impact_reports (tenant_id, id, name, asset_id, asset_name, mode, affected, degraded, result, created_at,
                               principal_id, principal_name)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9::json, $10, $11, $12)`,
)

export async function insertReport(tx: Transaction, row: ReportRow, result: StoredImpact): Promise<void> {
  const { id, name, assetId, assetName, mode, affected, degraded, createdAt, principalId, principalName } = row
  const values = [id, name, assetId, assetName, mode, affected, degraded]
  await tx.run(insertStatement, ...values, jsonText(result), createdAt, principalId, principalName)
}

const countStatement = statement<{ reports: number }>(
  `select count(*) as reports from impact_reports i where i.tenant_id = $1`,
)

export async function countReports(handle: Handle): Promise<number> {
  return (await handle.row(countStatement))?.reports ?? 0
}

const isSelected = `i.tenant_id = $1 and ${wasLastReadable('i.asset_id', '$2')} and ($3::uuid is null or i.asset_id = $3)`
const listStatement = statement<ReportRow>(
  `select ${columns} from impact_reports i where ${isSelected} order by i.id desc limit $4 offset $5`,
)
const totalStatement = statement<{ total: number }>(
  `select count(*) as total from impact_reports i where ${isSelected}`,
)

export type ReportQuery = { groups: Groups; assetId: string | undefined; limit: number; offset: number }

/** Returns the readable reports, newest first. */
export async function listReports(handle: Handle, { groups, assetId, limit, offset }: ReportQuery) {
  const rows = await handle.rows(listStatement, groups, assetId ?? null, limit, offset)
  const total = (await handle.row(totalStatement, groups, assetId ?? null))?.total ?? 0
  return { rows, total }
}

const findStatement = statement<ReportRow & { result: StoredImpact; accessGroupId: string | null }>(
  `select ${columns}, i.result, ${lastGroupOf('i.asset_id')} as "accessGroupId" from impact_reports i
   where i.tenant_id = $1 and i.id = $3 and ${wasLastReadable('i.asset_id', '$2')}`,
)

export function findReport(handle: Handle, id: string, groups: Groups) {
  return handle.row(findStatement, groups, id)
}

const deleteStatement = statement(`delete from impact_reports where tenant_id = $1 and id = $2`)

export async function deleteReport(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}
