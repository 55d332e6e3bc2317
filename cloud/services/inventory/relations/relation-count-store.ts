import { randomInt } from 'node:crypto'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'

/**
 * The number of rows over which the count of a predicate is distributed. A transaction locks the row that it changes,
 * so concurrent writers seldom wait for each other.
 */
const parts = 8

const changeStatement = statement(
  `insert into relation_counts as c (tenant_id, predicate, part, relations, changes)
   select $1, predicate, $3::smallint, change, abs(change)
   from json_to_recordset($2::json) as r (predicate text, change bigint)
   on conflict (tenant_id, predicate, part) do update
   set relations = c.relations + excluded.relations, changes = c.changes + excluded.changes`,
)

/** Changes the stored counts for relations that were created (1) or ended (-1). */
export async function countPredicates(
  tx: Transaction,
  relations: readonly { predicate: string }[],
  sign: 1 | -1,
): Promise<void> {
  if (relations.length === 0) return
  const counts = Map.groupBy(relations, ({ predicate }) => predicate)
  // The predicates are sorted, so that two transactions that count the same predicates do not deadlock.
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

/** Returns the stored number of relations with these predicates, or of all relations if `predicates` is null. */
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
 * Returns the ordinal of the next change of relations in the tenant. It is a Lamport clock: the ordinal is larger than that
 * of every change that is committed or belongs to this transaction. The clocks of the hosts differ, so times cannot order
 * the changes. Call it before `countPredicates` counts the change.
 */
export async function nextChangeOrdinal(tx: Transaction): Promise<number> {
  return (await tx.row(ordinalStatement))?.ordinal ?? 1
}

/**
 * Returns how often relations of these predicates were created or ended. While this number stays the same, the set of these
 * relations has not changed.
 */
export async function changesOf(handle: Handle, predicates: readonly string[]): Promise<number> {
  return (await handle.row(changesStatement, predicates))?.changes ?? 0
}
