import type { MonitoringTargets } from '@millwright/api/monitoring.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on monitorings. */

export type MonitoringRow = StoredPrincipal & {
  id: string
  name: string
  templateId: string | null
  assetLinkIds: string[]
  targets: MonitoringTargets
  keys: string[]
  assignWorking: boolean
  cron: string | null
  timezone: string | null
  paused: boolean
  missedRuns: number
  runs: number
  latestRunId: string | null
  version: number
  createdAt: string
  modifiedAt: string
}

const ownerColumns = `m.principal_id as "principalId", m.principal_kind as "principalKind",
  m.principal_name as "principalName", m.roles`
const columns = `m.id, m.name, m.template_id as "templateId", m.asset_link_ids as "assetLinkIds", m.targets, m.keys,
  m.assign_working as "assignWorking", m.cron, m.timezone, m.paused, m.missed_runs as "missedRuns", m.runs,
  m.latest_run_id as "latestRunId", ${ownerColumns}, m.version, m.created_at as "createdAt", m.modified_at as "modifiedAt"`

/** The fields that users set, with the owner. */
export type MonitoringFields = StoredPrincipal &
  Pick<
    MonitoringRow,
    'name' | 'templateId' | 'assetLinkIds' | 'targets' | 'keys' | 'assignWorking' | 'cron' | 'timezone' | 'paused'
  >

function fieldValues(fields: MonitoringFields): unknown[] {
  const { name, templateId, assetLinkIds, targets, keys, assignWorking, cron, timezone, paused } = fields
  const { principalId, principalKind, principalName, roles } = fields
  return [
    ...[name, templateId, jsonText(assetLinkIds), jsonText(targets), jsonText(keys), assignWorking],
    ...[cron, timezone, paused, principalId, principalKind, principalName, jsonText(roles)],
  ]
}

const insertStatement = statement<MonitoringRow>(
  `insert into monitorings as m (tenant_id, id, created_at, modified_at, name, template_id, asset_link_ids, targets, keys,
     assign_working, cron, timezone, paused, principal_id, principal_kind, principal_name, roles)
   values ($1, $2, $3, $3, $4, $5, $6::json, $7::json, $8::json, $9, $10, $11, $12, $13, $14, $15, $16::json)
   returning ${columns}`,
)

export async function insertMonitoring(
  tx: Transaction,
  id: string,
  fields: MonitoringFields,
  now: string,
): Promise<MonitoringRow> {
  const row = await tx.row(insertStatement, id, now, ...fieldValues(fields))
  if (row === undefined) throw new TypeError('A monitoring was not stored')
  return row
}

const updateStatement = statement<MonitoringRow>(
  `update monitorings m set modified_at = $3, name = $4, template_id = $5, asset_link_ids = $6::json, targets = $7::json,
     keys = $8::json, assign_working = $9, cron = $10, timezone = $11, paused = $12, principal_id = $13,
     principal_kind = $14, principal_name = $15, roles = $16::json, version = m.version + 1
   where m.tenant_id = $1 and m.id = $2 returning ${columns}`,
)

export function updateMonitoring(
  tx: Transaction,
  id: string,
  fields: MonitoringFields,
  now: string,
): Promise<MonitoringRow | undefined> {
  return tx.row(updateStatement, id, now, ...fieldValues(fields))
}

const findStatement = statement<MonitoringRow>(
  `select ${columns} from monitorings m where m.tenant_id = $1 and m.id = $2`,
)
const lockStatement = statement<MonitoringRow>(
  `select ${columns} from monitorings m where m.tenant_id = $1 and m.id = $2 for update`,
)
const findManyStatement = statement<MonitoringRow>(
  `select ${columns} from monitorings m where m.tenant_id = $1 and m.id = any($2::uuid[]) order by m.name, m.id`,
)

export function findMonitoring(handle: Handle, id: string): Promise<MonitoringRow | undefined> {
  return handle.row(findStatement, id)
}

export function lockMonitoring(tx: Transaction, id: string): Promise<MonitoringRow | undefined> {
  return tx.row(lockStatement, id)
}

export async function findMonitorings(handle: Handle, ids: readonly string[]): Promise<MonitoringRow[]> {
  return ids.length === 0 ? [] : handle.rows(findManyStatement, ids)
}

const listStatement = statement<MonitoringRow>(
  `select ${columns} from monitorings m
   where m.tenant_id = $1 and ($2::boolean is null or (m.cron is not null) = $2)
   order by m.name, m.id limit $3 offset $4`,
)
const countListedStatement = statement<{ total: number }>(
  `select count(*) as total from monitorings m
   where m.tenant_id = $1 and ($2::boolean is null or (m.cron is not null) = $2)`,
)

export async function listMonitorings(
  handle: Handle,
  { scheduled, limit, offset }: { scheduled: boolean | undefined; limit: number; offset: number },
): Promise<{ rows: MonitoringRow[]; total: number }> {
  const rows = await handle.rows(listStatement, scheduled ?? null, limit, offset)
  return { rows, total: (await handle.row(countListedStatement, scheduled ?? null))?.total ?? 0 }
}

const countLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7281))`)
const countStatement = statement<{ total: number }>(`select count(*) as total from monitorings where tenant_id = $1`)

/** Returns the number of monitorings. Other transactions that count them wait until the end of this one. */
export async function countMonitorings(tx: Transaction): Promise<number> {
  await tx.run(countLockStatement)
  return (await tx.row(countStatement))?.total ?? 0
}

const deleteStatement = statement(`delete from monitorings where tenant_id = $1 and id = $2`)

export async function deleteMonitoring(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const missedStatement = statement(
  `update monitorings set missed_runs = missed_runs + 1 where tenant_id = $1 and id = $2`,
)

export async function countMissed(tx: Transaction, id: string): Promise<void> {
  await tx.run(missedStatement, id)
}

const numberStatement = statement<{ number: number }>(
  `update monitorings set runs = runs + 1, latest_run_id = $3 where tenant_id = $1 and id = $2 returning runs as number`,
)

/** Returns the number of a new run, which becomes the latest run of the monitoring. */
export async function nextRunNumber(tx: Transaction, id: string, runId: string): Promise<number> {
  return (await tx.row(numberStatement, id, runId))?.number ?? 1
}
