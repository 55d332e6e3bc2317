import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the maintenance windows of hierarchy nodes. A tenant has at most `updateLimits.nodeWindows` of them. */

type WindowRow = MaintenanceWindow & { nodeId: string }
export type StoredWindow = { nodeId: string; window: MaintenanceWindow }

const columns = `w.node_id as "nodeId", w.cron, w.minutes, w.timezone`
const listStatement = statement<WindowRow>(
  `select ${columns} from update_windows w where w.tenant_id = $1 order by w.node_id`,
)
const findStatement = statement<WindowRow>(
  `select ${columns} from update_windows w where w.tenant_id = $1 and w.node_id = $2`,
)

export async function listWindows(handle: Handle): Promise<StoredWindow[]> {
  return (await handle.rows(listStatement)).map(storedWindow)
}

export async function findWindow(handle: Handle, nodeId: string): Promise<StoredWindow | undefined> {
  const row = await handle.row(findStatement, nodeId)
  return row === undefined ? undefined : storedWindow(row)
}

function storedWindow({ nodeId, cron, minutes, timezone }: WindowRow): StoredWindow {
  return { nodeId, window: { cron, minutes, timezone } }
}

const lockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7269))`)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from update_windows w where w.tenant_id = $1 and w.node_id <> $2`,
)

/** Returns the number of windows of other nodes. Other transactions that count them wait until the end of this one. */
export async function countOtherWindows(tx: Transaction, nodeId: string): Promise<number> {
  await tx.run(lockStatement)
  return (await tx.row(countStatement, nodeId))?.total ?? 0
}

const putStatement = statement(
  `insert into update_windows (tenant_id, node_id, cron, minutes, timezone, modified_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (tenant_id, node_id) do update set cron = excluded.cron, minutes = excluded.minutes,
     timezone = excluded.timezone, modified_at = excluded.modified_at`,
)

export async function putWindow(tx: Transaction, { nodeId, window }: StoredWindow, now: string): Promise<void> {
  await tx.run(putStatement, nodeId, window.cron, window.minutes, window.timezone, now)
}

const deleteStatement = statement<{ nodeId: string }>(
  `delete from update_windows w where w.tenant_id = $1 and w.node_id = any($2::uuid[]) returning w.node_id as "nodeId"`,
)

/** Deletes the windows of nodes. Returns the nodes that had one. */
export async function deleteWindows(tx: Transaction, nodeIds: readonly string[]): Promise<string[]> {
  return (await tx.rows(deleteStatement, nodeIds)).map(({ nodeId }) => nodeId)
}
