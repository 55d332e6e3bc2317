import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

export type UseRow = {
  instanceId: string
  gatewayId: string
  address: string
  assetId: string | null
  deliveries: number
  jobId: string
  deliveredAt: string
  workedAt: string | null
  failedAt: string | null
}

const columns = `instance_id as "instanceId", gateway_id as "gatewayId", address, asset_id as "assetId", deliveries,
  job_id as "jobId", delivered_at as "deliveredAt", worked_at as "workedAt", failed_at as "failedAt"`

/** When an instance last opened a device, and last failed to. */
export type Record = { instanceId: string; workedAt: string | null; failedAt: string | null }

const recordColumns = `instance_id as "instanceId", max(worked_at) as "workedAt", max(failed_at) as "failedAt"`
const ofAddressStatement = statement<Record>(
  `select ${recordColumns} from credential_uses
   where tenant_id = $1 and gateway_id = $2 and address = $3 and worked_at is not null group by instance_id`,
)
const ofAssetsStatement = statement<Record>(
  `select ${recordColumns} from credential_uses
   where tenant_id = $1 and asset_id = any($2::uuid[]) and worked_at is not null group by instance_id`,
)
const copiesStatement = statement<{ id: string }>(
  `select id from credential_instances where tenant_id = $1 and asset_id = any($2::uuid[]) order by id desc`,
)
const recordsStatement = statement<Record>(
  `select ${recordColumns} from credential_uses
   where tenant_id = $1 and instance_id = any($2::uuid[]) group by instance_id`,
)

type Device = { gatewayId: string; address: string; assetIds: readonly string[] }

/** What belongs to a device: what opened it at this address or as one of these assets, and the copies of those. */
export async function findAssociated(
  handle: Handle,
  { gatewayId, address, assetIds }: Device,
): Promise<Map<string, Record>> {
  const ofAddress = await handle.rows(ofAddressStatement, gatewayId, address)
  if (assetIds.length === 0) return latestOf(ofAddress)
  const assets = arrayOf('uuid', assetIds)
  const ofAssets = await handle.rows(ofAssetsStatement, assets)
  const copies = await copiesForAsset(handle, assetIds)
  const ofCopies = copies.length === 0 ? [] : await handle.rows(recordsStatement, arrayOf('uuid', copies))
  const unused = copies.map((instanceId) => ({ instanceId, workedAt: null, failedAt: null }))
  return latestOf([...unused, ...ofCopies, ...ofAssets, ...ofAddress])
}

/** The copies that are assigned to assets, the newest first. */
export async function copiesForAsset(handle: Handle, assetIds: readonly string[]): Promise<string[]> {
  return (await handle.rows(copiesStatement, arrayOf('uuid', assetIds))).map(({ id }) => id)
}

function latestOf(records: readonly Record[]): Map<string, Record> {
  const latest = new Map<string, Record>()
  for (const record of records) {
    const before = latest.get(record.instanceId)
    latest.set(record.instanceId, {
      instanceId: record.instanceId,
      workedAt: later(before?.workedAt, record.workedAt),
      failedAt: later(before?.failedAt, record.failedAt),
    })
  }
  return latest
}

function later(a: string | null | undefined, b: string | null): string | null {
  return (a ?? '') > (b ?? '') ? (a ?? null) : b
}

const deliveredStatement = statement(
  `insert into credential_uses (tenant_id, instance_id, gateway_id, address, job_id)
   select $1, d.id, $2, $3, $4 from unnest($5::uuid[]) as d (id)
   on conflict (tenant_id, instance_id, gateway_id, address) do update
   set deliveries = credential_uses.deliveries + 1, job_id = excluded.job_id, delivered_at = now()`,
)

type Delivery = { gatewayId: string; address: string; jobId: string; instanceIds: readonly string[] }

export async function recordDelivery(
  tx: Transaction,
  { gatewayId, address, jobId, instanceIds }: Delivery,
): Promise<void> {
  await tx.run(deliveredStatement, gatewayId, address, jobId, arrayOf('uuid', instanceIds))
}

const lockStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and gateway_id = $2 and instance_id = any($3::uuid[])
   and address = any($4::text[]) order by instance_id, address for update`,
)

/** What was given to a gateway: of these instances, for these addresses. */
export function lockUses(
  tx: Transaction,
  gatewayId: string,
  uses: readonly { instanceId: string; address: string }[],
): Promise<UseRow[]> {
  const ids = uses.map(({ instanceId }) => instanceId)
  const addresses = uses.map(({ address }) => address)
  return tx.rows(lockStatement, gatewayId, arrayOf('uuid', ids), arrayOf('text', addresses))
}

export type Outcome = {
  gatewayId: string
  instanceId: string
  address: string
  assetId: string | null
  /** How often it opened the device, and how often it did not. */
  successes: number
  failures: number
}

const outcomes = rowset<Outcome>({
  gatewayId: 'uuid',
  instanceId: 'uuid',
  address: 'text',
  assetId: 'uuid',
  successes: 'integer',
  failures: 'integer',
})
const outcomeStatement = statement(
  `update credential_uses u set asset_id = coalesce(r."assetId", u.asset_id),
     worked_at = case when r.successes > 0 then now() else u.worked_at end,
     failed_at = case when r.failures > 0 then now() else u.failed_at end
   from ${outcomes.rows}
   where u.tenant_id = $1 and u.gateway_id = r."gatewayId" and u.instance_id = r."instanceId" and u.address = r.address`,
)

export async function recordOutcomes(tx: Transaction, rows: readonly Outcome[]): Promise<void> {
  if (rows.length > 0) await tx.run(outcomeStatement, ...outcomes.values(rows))
}

const lastStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and instance_id = $2 order by delivered_at desc limit $3`,
)
const workedStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and instance_id = $2 and worked_at is not null
   order by worked_at desc limit $3`,
)
const ofAssetStatement = statement<UseRow>(
  `select ${columns} from credential_uses where tenant_id = $1 and asset_id = $2 and worked_at is not null
   order by worked_at desc limit $3`,
)

export function lastDeliveries(handle: Handle, instanceId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(lastStatement, instanceId, limit)
}

export function lastSuccesses(handle: Handle, instanceId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(workedStatement, instanceId, limit)
}

export function usesOfAsset(handle: Handle, assetId: string, limit: number): Promise<UseRow[]> {
  return handle.rows(ofAssetStatement, assetId, limit)
}
