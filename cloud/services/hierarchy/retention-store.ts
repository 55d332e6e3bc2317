import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements that delete old rows. Ids of assignments and moves contain their time. */

type Range = { before: string; limit: number }

const movesStatement = statement(
  `delete from hierarchy_moves where tenant_id = $1 and id = any(array(
     select m.id from hierarchy_moves m where m.tenant_id = $1 and m.id < $2 order by m.id limit $3))`,
)

/** Deletes the oldest moves before an id. Returns their number. */
export function deleteMoves(tx: Transaction, { before, limit }: Range): Promise<number> {
  return tx.run(movesStatement, before, limit)
}

const oldestAssignmentStatement = statement<{ id: string }>(
  `select a.id from hierarchy_assignments a
   where a.tenant_id = $1 and a.id < $2 and a.state in ('finished', 'failed', 'canceled') order by a.id limit 1`,
)
const itemsStatement = statement(
  `delete from hierarchy_assignment_items where tenant_id = $1 and assignment_id = $2 and asset_id = any(array(
     select i.asset_id from hierarchy_assignment_items i where i.tenant_id = $1 and i.assignment_id = $2
     order by i.asset_id limit $3))`,
)
const assignmentStatement = statement(`delete from hierarchy_assignments where tenant_id = $1 and id = $2`)

/**
 * Deletes the next results of the oldest ended assignment before an id, or the assignment itself when it has no more
 * results. Returns whether there was an assignment.
 */
export async function deleteAssignment(tx: Transaction, { before, limit }: Range): Promise<boolean> {
  const id = (await tx.row(oldestAssignmentStatement, before))?.id
  if (id === undefined) return false
  if ((await tx.run(itemsStatement, id, limit)) < limit) await tx.run(assignmentStatement, id)
  return true
}

const deletedNodesStatement = statement<{ id: string; deletedAt: string }>(
  `select d.id, d.deleted_at as "deletedAt" from hierarchy_deleted_nodes d
   where d.tenant_id = $1 and (d.deleted_at, d.id) > ($2::timestamptz, $3::uuid) and d.deleted_at < $4
   order by d.deleted_at, d.id limit $5`,
)

type DeletedNode = { id: string; deletedAt: string }

/** Returns the next nodes that were deleted before a time, in the order of their deletion. */
export function listDeletedNodes(
  handle: Handle,
  { after, before, limit }: { after: DeletedNode; before: string; limit: number },
): Promise<DeletedNode[]> {
  return handle.rows(deletedNodesStatement, after.deletedAt, after.id, before, limit)
}

const forgetNodesStatement = statement(
  `delete from hierarchy_deleted_nodes where tenant_id = $1 and id = any($2::uuid[])`,
)

export async function forgetNodes(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.run(forgetNodesStatement, arrayOf('uuid', ids))
}
