import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import { type Groups, isReadableRow } from '../visibility.ts'

/**
 * The key of an identity conflict: the asset that owns an identifier of a device, and the gateway that found the device but
 * may not write the asset.
 */
export type ConflictKey = { assetId: string; gatewayId: string }

export type IdentityConflict = ConflictKey & {
  jobId: string | null
  runId: string | null
  deviceName: string | null
  /** Those identifiers of the device that belong to the asset. */
  identifiers: readonly Record<string, unknown>[]
  time: string
}

const stored = rowset<Omit<IdentityConflict, 'identifiers'> & { identifiers: string }>({
  assetId: 'uuid',
  gatewayId: 'uuid',
  jobId: 'uuid',
  runId: 'uuid',
  deviceName: 'text',
  identifiers: 'json',
  time: 'timestamptz',
})
const putStatement = statement(
  `insert into identity_conflicts as c
     (tenant_id, asset_id, gateway_id, job_id, run_id, device_name, identifiers, first_seen, last_seen)
   select $1, "assetId", "gatewayId", "jobId", "runId", "deviceName", identifiers, time, time from ${stored.rows}
   on conflict (tenant_id, asset_id, gateway_id) do update
   set job_id = excluded.job_id, run_id = excluded.run_id, device_name = excluded.device_name,
       identifiers = excluded.identifiers, last_seen = greatest(c.last_seen, excluded.last_seen)`,
)

/** Stores identity conflicts, one row for each asset and gateway. A later run replaces the run and the time in the row. */
export async function putIdentityConflicts(tx: Transaction, conflicts: readonly IdentityConflict[]): Promise<void> {
  if (conflicts.length === 0) return
  const latest = new Map(conflicts.map((conflict) => [conflict.assetId + conflict.gatewayId, conflict]))
  const rows = [...latest.values()].map((row) => ({ ...row, identifiers: jsonText(row.identifiers) }))
  await tx.run(putStatement, ...stored.values(rows))
}

const resolved = rowset<ConflictKey>({ assetId: 'uuid', gatewayId: 'uuid' })
const deleteStatement = statement(
  `delete from identity_conflicts c using ${resolved.rows}
   where c.tenant_id = $1 and c.asset_id = r."assetId" and c.gateway_id = r."gatewayId"`,
)

export async function deleteIdentityConflicts(tx: Transaction, keys: readonly ConflictKey[]): Promise<void> {
  if (keys.length > 0) await tx.run(deleteStatement, ...resolved.values(keys))
}

export type IdentityConflictRow = ConflictKey & {
  assetName: string | null
  gatewayName: string | null
  jobId: string | null
  runId: string | null
  deviceName: string | null
  identifiers: Record<string, unknown>[]
  firstSeen: string
  lastSeen: string
}

const columns = `c.asset_id as "assetId", a.name as "assetName", c.gateway_id as "gatewayId", g.name as "gatewayName",
  c.job_id as "jobId", c.run_id as "runId", c.device_name as "deviceName", c.identifiers,
  c.first_seen as "firstSeen", c.last_seen as "lastSeen"`
const from = `identity_conflicts c join assets a on a.tenant_id = $1 and a.id = c.asset_id
  join assets g on g.tenant_id = $1 and g.id = c.gateway_id`
const filtered = `c.tenant_id = $1
  and ${isReadableRow('a', '$2')} and ${isReadableRow('g', '$2')}
  and ($3::uuid is null or c.asset_id = $3) and ($4::uuid is null or c.gateway_id = $4)`

const listStatement = statement<IdentityConflictRow>(
  `select ${columns} from ${from} where ${filtered}
   order by c.last_seen desc, c.asset_id, c.gateway_id limit $5 offset $6`,
)
const countStatement = statement<{ total: number }>(`select count(*) as total from ${from} where ${filtered}`)

type ListOptions = {
  groups: Groups
  asset: string | undefined
  gateway: string | undefined
  limit: number
  offset: number
}

/** Returns conflicts whose asset and gateway are both readable with these groups, latest first. */
export async function listIdentityConflicts(handle: Handle, options: ListOptions) {
  const { groups, asset = null, gateway = null, limit, offset } = options
  const rows = await handle.rows(listStatement, groups, asset, gateway, limit, offset)
  return { rows, total: (await handle.row(countStatement, groups, asset, gateway))?.total ?? 0 }
}
