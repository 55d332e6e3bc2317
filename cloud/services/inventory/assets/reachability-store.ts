import type { Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'

/** Statements on the times of reachability states. */

export type CheckedAsset = { id: string; accessGroupId: string; document: string }

const lockStatement = statement<CheckedAsset>(
  `select a.id, a.access_group_id as "accessGroupId", a.document as "document:text" from assets a
   where a.tenant_id = $1 and a.id = any($2::uuid[]) order by a.id for no key update`,
)

/** Locks assets against changes, in the order of their ids to avoid deadlocks. */
export function lockCheckedAssets(tx: Transaction, ids: readonly string[]): Promise<CheckedAsset[]> {
  return tx.rows(lockStatement, arrayOf('uuid', ids))
}

type TimeRow = { id: string; document: string; time: string }

const timeRows = rowset<TimeRow>({ id: 'uuid', document: 'json', time: 'timestamptz' })
const timesStatement = statement(
  `update assets a set document = r.document, reachability_state_at = r.time from ${timeRows.rows}
   where a.tenant_id = $1 and a.id = r.id`,
)

/** Replaces the documents of locked assets. They differ only in the time of the reachability state. */
export async function putReachabilityTimes(tx: Transaction, rows: readonly TimeRow[]): Promise<void> {
  if (rows.length > 0) await tx.run(timesStatement, ...timeRows.values(rows))
}
