import type { Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'

/** The relations of one asset with one predicate that one gateway reported. */
export type ReportedPredicate = { assetId: string; gatewayId: string; predicate: string }

/**
 * `PendingRelation` is a relation of an asset to a device that is not in the inventory yet. `key` is one identifier of
 * this device, and `firstKey` is the first of its identifiers. `role` is the role of the device in the relation, or `both`
 * for a relation in both directions.
 */
export type PendingRelation = ReportedPredicate & {
  role: 'subject' | 'object' | 'both'
  key: string
  firstKey: string
  sourceValue: string | null
  reportedAt: string
}

/** The number of days after which a pending relation is no longer written. The cable may have been moved since then. */
const validDays = 30

const pendingStatement = statement<PendingRelation>(
  `select asset_id as "assetId", gateway_id as "gatewayId", predicate, role, key,
          first_key as "firstKey", source_value as "sourceValue", reported_at as "reportedAt"
   from pending_relations
   where tenant_id = $1 and gateway_id = any($2::uuid[]) and key = any($3::text[]) and reported_at > $4
   order by asset_id, predicate, role, key`,
)

/** Returns the relations that wait for one of the identifiers, and that one of the gateways reported. */
export async function findPendingRelations(
  tx: Transaction,
  { gatewayIds, keys }: { gatewayIds: readonly string[]; keys: readonly string[] },
): Promise<PendingRelation[]> {
  if (gatewayIds.length === 0 || keys.length === 0) return []
  const since = new Date(Date.now() - validDays * 24 * 3_600_000).toISOString()
  return tx.rows(pendingStatement, arrayOf('uuid', gatewayIds), arrayOf('text', keys), since)
}

const reported = rowset<ReportedPredicate>({ assetId: 'uuid', gatewayId: 'uuid', predicate: 'text' })
const deleteReportedStatement = statement(
  `delete from pending_relations p using ${reported.rows}
   where p.tenant_id = $1 and p.asset_id = r."assetId" and p.gateway_id = r."gatewayId" and p.predicate = r.predicate`,
)

/** Deletes all pending relations of an asset with a predicate, because a newer report replaces them. */
export async function deleteReportedRelations(tx: Transaction, all: readonly ReportedPredicate[]): Promise<void> {
  if (all.length === 0) return
  const rows = distinct(all, ({ assetId, gatewayId, predicate }) => `${assetId} ${gatewayId} ${predicate}`)
  await tx.run(deleteReportedStatement, ...reported.values(rows))
}

const keyColumns = { assetId: 'uuid', gatewayId: 'uuid', predicate: 'text', role: 'text', firstKey: 'text' } as const
const written = rowset<Pick<PendingRelation, keyof typeof keyColumns>>(keyColumns)
const deleteWrittenStatement = statement(
  `delete from pending_relations p using ${written.rows}
   where p.tenant_id = $1 and p.asset_id = r."assetId" and p.gateway_id = r."gatewayId" and p.predicate = r.predicate
     and p.role = r.role and p.first_key = r."firstKey"`,
)

/** Deletes pending relations that have been written. */
export async function deletePendingRelations(tx: Transaction, all: readonly PendingRelation[]): Promise<void> {
  if (all.length > 0) await tx.run(deleteWrittenStatement, ...written.values(distinct(all, pendingKey)))
}

const added = rowset<PendingRelation>({
  ...keyColumns,
  key: 'text',
  sourceValue: 'text',
  reportedAt: 'timestamptz',
})
const insertStatement = statement(
  `insert into pending_relations
     (tenant_id, asset_id, gateway_id, predicate, role, first_key, key, source_value, reported_at)
   select $1, "assetId", "gatewayId", predicate, role, "firstKey", key, "sourceValue",
          "reportedAt"
   from ${added.rows}
   on conflict (tenant_id, asset_id, gateway_id, predicate, role, key) do update
   set first_key = excluded.first_key, source_value = excluded.source_value, reported_at = excluded.reported_at`,
)

export async function putPendingRelations(tx: Transaction, all: readonly PendingRelation[]): Promise<void> {
  const rowKey = (one: PendingRelation) => `${one.assetId} ${one.gatewayId} ${one.role} ${one.predicate} ${one.key}`
  if (all.length > 0) await tx.run(insertStatement, ...added.values(distinct(all, rowKey)))
}

/** Returns a text that is equal for the rows of one relation. */
export function pendingKey({ assetId, gatewayId, predicate, role, firstKey }: PendingRelation): string {
  return `${assetId} ${gatewayId} ${role} ${predicate} ${firstKey}`
}

function distinct<Row>(all: readonly Row[], keyOf: (row: Row) => string): Row[] {
  return [...new Map(all.map((one) => [keyOf(one), one])).values()]
}
