import { randomInt } from 'node:crypto'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'

/** Rows per count. A transaction locks the row that it changes; with several rows, concurrent writers seldom wait. */
const parts = 8

const changeStatement = statement(
  `insert into relation_counts as c (tenant_id, predicate, part, relations, changes)
   select $1, predicate, $3::smallint, change, abs(change)
   from json_to_recordset($2::json) as r (predicate text, change bigint)
   on conflict (tenant_id, predicate, part) do update
   set relations = c.relations + excluded.relations, changes = c.changes + excluded.changes`,
)

/** Counts relations that were created (1) or ended (-1). */
export async function countPredicates(
  tx: Transaction,
  relations: readonly { predicate: string }[],
  sign: 1 | -1,
): Promise<void> {
  if (relations.length === 0) return
  const counts = Map.groupBy(relations, ({ predicate }) => predicate)
  // Sorted, so that two transactions that count the same predicates do not deadlock.
  const changes = [...counts.keys()]
    .toSorted()
    .map((predicate) => ({ predicate, change: sign * (counts.get(predicate)?.length ?? 0) }))
  await tx.run(changeStatement, jsonText(changes), randomInt(parts))
}

const predicatesStatement = statement<{ predicate: string; count: number }>(
  `select predicate, sum(relations)::bigint as count from relation_counts where tenant_id = $1
   group by predicate having sum(relations) > 0 order by predicate`,
)

export function listPredicates(handle: Handle): Promise<{ predicate: string; count: number }[]> {
  return handle.rows(predicatesStatement)
}

const totalStatement = statement<{ total: number }>(
  `select coalesce(sum(relations), 0)::bigint as total from relation_counts
   where tenant_id = $1 and ($2::text[] is null or predicate = any($2))`,
)

/** The stored number of relations: of these predicates, or of all. */
export async function totalRelations(handle: Handle, predicates: readonly string[] | null): Promise<number> {
  return (await handle.row(totalStatement, predicates))?.total ?? 0
}

const changesStatement = statement<{ changes: number }>(
  `select coalesce(sum(changes), 0)::bigint as changes from relation_counts where tenant_id = $1 and predicate = any($2)`,
)

const ordinalStatement = statement<{ ordinal: number }>(
  `select coalesce(sum(changes), 0)::bigint + 1 as ordinal from relation_counts where tenant_id = $1`,
)

/**
 * The ordinal of the next change of relations in the tenant, a Lamport clock: larger than that of every change that is
 * committed or belongs to this transaction. The clocks of the hosts cannot order the changes. Read it before the change is
 * counted with `countPredicates`.
 */
export async function nextChangeOrdinal(tx: Transaction): Promise<number> {
  return (await tx.row(ordinalStatement))?.ordinal ?? 1
}

/** How often relations of these predicates were created or ended. While it is the same, their set has not changed. */
export async function changesOf(handle: Handle, predicates: readonly string[]): Promise<number> {
  return (await handle.row(changesStatement, predicates))?.changes ?? 0
}
