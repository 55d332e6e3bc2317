import type { Assignment, ItemResult } from '@millwright/api/hierarchy.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { type StoredPrincipal, storedPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { lockHierarchy } from './node-store.ts'

/** Statements on assignments and on the results of their assets. */

type Counts = Pick<Assignment, 'assigned' | 'moved' | 'unchanged' | 'removed' | 'failed'>

export type AssignmentRow = Counts &
  StoredPrincipal & {
    id: string
    kind: Assignment['kind']
    state: Exclude<Assignment['state'], 'canceling'>
    /** Whether a portion of the assignment is not settled yet. */
    isOpen: boolean
    hierarchyId: string
    nodeId: string | null
    filter: string | null
    undoes: string | null
    undoneBy: string | null
    total: number
    done: number
    lastAssetId: string | null
    /** The cursor of the next page of assets. */
    cursor: string | null
    problem: { code: string; detail: string } | null
    createdAt: string
    modifiedAt: string
  }

/** The place of an asset in the list of results, from 1. Without it, the results are in the order of their storage. */
type Placed = { ordinal?: number }

/** An asset with its new node, and with the nodes that it had when it was planned. */
export type PlannedAsset = Placed & {
  assetId: string
  nodeId: string | null
  /** The nodes whose relations end. */
  otherNodeIds: string[]
  knownNodeIds: string[]
  onlyFrom?: string
  alsoFrom?: string | null
}

/** An asset whose new node was deleted during the assignment. It returns to its previous node. */
export type ReturningAsset = Placed & { assetId: string; nodeId: string; previousNodeId: string | null }

/** The place at which an assignment continues. */
export type NextPlace = { lastAssetId?: string; cursor?: string }

/** The assets that a running assignment changes next. A repeated request with the same key has no further effect. */
export type Portion = {
  key: string
  attempt: number
  assets: PlannedAsset[]
  next: NextPlace | null
  /** The results of assets that the assignment does not change. */
  known?: (ItemResult & Placed)[]
  /** The assets that return to their previous nodes before the assignment continues. */
  returning?: ReturningAsset[]
}

export type RunningAssignment = AssignmentRow & { portion: Portion | null }

const unfinished = `('queued', 'running')`
/** The kinds of assignments that run in the background. The others run within their request. */
const isBackground = `a.kind in ('filter', 'undo')`

/**
 * The undo of an assignment. An undo that was canceled, that failed, or that did not return all assets does not count, so
 * that the assignment can be undone again.
 */
const undoneBy = `(select u.id from hierarchy_assignments u
   where u.tenant_id = $1 and u.id = a.undone_by
     and (u.state in ${unfinished} or u.state = 'finished' and u.failed = 0 and u.kept = 0))`

const columns = [
  `a.id, a.kind, a.state, a.portion is not null as "isOpen", a.hierarchy_id as "hierarchyId", a.node_id as "nodeId", a.filter, a.undoes`,
  `${undoneBy} as "undoneBy", a.total, a.done, a.assigned, a.moved, a.unchanged, a.removed, a.failed`,
  `a.last_asset_id as "lastAssetId", a.cursor, a.problem, a.principal_id as "principalId"`,
  `a.principal_kind as "principalKind", a.principal_name as "principalName", a.roles`,
  `a.created_at as "createdAt", a.modified_at as "modifiedAt"`,
].join(', ')

const insertStatement = statement(
  `insert into hierarchy_assignments (tenant_id, id, kind, state, hierarchy_id, node_id, filter, undoes, total,
     principal_id, principal_kind, principal_name, roles, created_at, modified_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::json, $14, $14)`,
)

export type NewAssignment = Pick<AssignmentRow, 'id' | 'kind' | 'state' | 'hierarchyId' | 'total'> &
  Partial<Pick<AssignmentRow, 'nodeId' | 'filter' | 'undoes'>>

export async function insertAssignment(
  tx: Transaction,
  caller: Caller,
  { id, kind, state, hierarchyId, total, nodeId = null, filter = null, undoes = null }: NewAssignment,
  now: string,
): Promise<void> {
  const { principalId, principalKind, principalName, roles } = storedPrincipal(caller)
  const values = [id, kind, state, hierarchyId, nodeId, filter, undoes, total]
  await tx.run(insertStatement, ...values, principalId, principalKind, principalName, jsonText(roles), now)
}

const findStatement = statement<RunningAssignment>(
  `select ${columns}, a.portion from hierarchy_assignments a where a.tenant_id = $1 and a.id = $2`,
)
const lockStatement = statement(`select 1 from hierarchy_assignments where tenant_id = $1 and id = $2 for update`)

export function findAssignment(handle: Handle, id: string): Promise<RunningAssignment | undefined> {
  return handle.row(findStatement, id)
}

/** Locks an assignment, then reads it. The second statement also sees an undo that was committed during the wait. */
export async function lockAssignment(tx: Transaction, id: string): Promise<RunningAssignment | undefined> {
  await tx.run(lockStatement, id)
  return findAssignment(tx, id)
}

const nextStatement = statement<{ id: string }>(
  `select a.id from hierarchy_assignments a
   where a.tenant_id = $1 and (a.state in ${unfinished} or a.portion is not null) and ${isBackground}
     and not exists (select from hierarchy_assignments u
       where u.tenant_id = $1 and u.id = a.undoes and u.portion is not null)
   order by a.timeouts, a.id limit 1`,
)

/**
 * Returns the oldest background assignment that is not finished, or whose last portion is not stored. An assignment whose
 * last attempts exceeded a time limit comes after the others. An undo waits until all results of the assignment are stored.
 */
export async function nextAssignment(handle: Handle): Promise<string | undefined> {
  return (await handle.row(nextStatement))?.id
}

/** A statement that returns the oldest assignment whose request died. Requests end earlier than this time. */
export const anyAbandoned = statement<{ id: string }>(
  `select a.id from hierarchy_assignments a
   where a.tenant_id = $1 and (a.state in ${unfinished} or a.portion is not null) and not ${isBackground}
     and a.modified_at < now() - interval '1 minute' order by a.timeouts, a.id limit 1`,
)

export async function nextAbandoned(handle: Handle): Promise<string | undefined> {
  return (await handle.row(anyAbandoned))?.id
}

const startLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7248))`)
const countUnfinishedStatement = statement<{ ofTenant: number; ofUser: number }>(
  `select count(*) as "ofTenant", count(*) filter (where a.principal_id = $2) as "ofUser" from hierarchy_assignments a
   where a.tenant_id = $1 and a.state in ${unfinished} and ${isBackground}`,
)

/**
 * Returns the number of unfinished background assignments of the tenant and of a user. Other transactions that count them
 * wait until the end of this one, so that none exceeds the limit.
 */
export async function countUnfinished(tx: Transaction, principalId: string) {
  await tx.run(startLockStatement)
  return (await tx.row(countUnfinishedStatement, principalId)) ?? { ofTenant: 0, ofUser: 0 }
}

const listStatement = statement<AssignmentRow>(
  `select ${columns} from hierarchy_assignments a
   where a.tenant_id = $1 and ($2::uuid is null or a.hierarchy_id = $2) and ($3::uuid is null or a.principal_id = $3)
   order by a.id desc limit $4 offset $5`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from hierarchy_assignments a
   where a.tenant_id = $1 and ($2::uuid is null or a.hierarchy_id = $2) and ($3::uuid is null or a.principal_id = $3)`,
)

type AssignmentFilter = { hierarchyId: string | null; principalId: string | null }

export async function listAssignments(
  handle: Handle,
  { hierarchyId, principalId }: AssignmentFilter,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await handle.rows(listStatement, hierarchyId, principalId, limit, offset)
  return { rows, total: (await handle.row(countStatement, hierarchyId, principalId))?.total ?? 0 }
}

const portionStatement = statement(
  `update hierarchy_assignments set portion = $3::json, state = 'running', modified_at = $4
   where tenant_id = $1 and id = $2`,
)

/** Stores the assets that an assignment changes next. */
export async function setPortion(tx: Transaction, id: string, portion: Portion, now: string): Promise<void> {
  await tx.run(portionStatement, id, jsonText(portion), now)
}

const progressStatement = statement(
  `update hierarchy_assignments set state = $3, done = done + $4, assigned = assigned + $5, moved = moved + $6,
     unchanged = unchanged + $7, removed = removed + $8, failed = failed + $9,
     last_asset_id = coalesce($10::uuid, last_asset_id), cursor = coalesce($11, cursor),
     total = greatest(total, done + $4), modified_at = $12, portion = $13::json,
     kept = kept + $14, timeouts = 0
   where tenant_id = $1 and id = $2`,
)

type AssignmentProgress = {
  id: string
  state: AssignmentRow['state']
  results: readonly ItemResult[]
  /** The place at which the assignment continues. */
  next: NextPlace | null
  /** The assets that the assignment tries again or returns before it continues. */
  portion: Portion | null
}

/** Returns the number of results per outcome. */
export function countOutcomes(results: readonly ItemResult[]): Counts {
  const counts = { assigned: 0, moved: 0, unchanged: 0, removed: 0, failed: 0 }
  for (const { outcome } of results) counts[outcome]++
  return counts
}

/** Adds results to the counts of an assignment, and stores its state and its place. */
export async function addResults(
  tx: Transaction,
  { id, state, results, next, portion }: AssignmentProgress,
  now: string,
): Promise<void> {
  const { assigned, moved, unchanged, removed, failed } = countOutcomes(results)
  await tx.run(
    progressStatement,
    id,
    state,
    results.length,
    assigned,
    moved,
    unchanged,
    removed,
    failed,
    next?.lastAssetId ?? null,
    next?.cursor ?? null,
    now,
    portion === null ? null : jsonText(portion),
    results.filter(({ outcome, code }) => outcome === 'unchanged' && code !== undefined).length,
  )
}

const cancelStatement = statement(
  `update hierarchy_assignments set state = 'canceled', modified_at = $3 where tenant_id = $1 and id = $2`,
)

/** Cancels an assignment. A portion that the inventory already has stays, until its results are stored. */
export async function cancelAssignment(tx: Transaction, id: string, now: string): Promise<void> {
  await tx.run(cancelStatement, id, now)
}

const failStatement = statement(
  `update hierarchy_assignments
   set state = case when state in ${unfinished} then 'failed' else state end, problem = $3::json, modified_at = $4,
       portion = null
   where tenant_id = $1 and id = $2`,
)

/** Ends an assignment because of a problem. A canceled assignment keeps its state. */
export async function failAssignment(
  tx: Transaction,
  { id, problem }: { id: string; problem: NonNullable<AssignmentRow['problem']> },
  now: string,
): Promise<void> {
  await tx.run(failStatement, id, jsonText(problem), now)
}

const timeoutStatement = statement<{ timeouts: number; state: AssignmentRow['state'] }>(
  `update hierarchy_assignments set timeouts = timeouts + 1 where tenant_id = $1 and id = $2 returning timeouts, state`,
)

/** Counts an attempt that exceeded a time limit. Returns the number of these attempts since the last stored results. */
export function countTimeout(tx: Transaction, id: string) {
  return tx.row(timeoutStatement, id)
}

const undoneStatement = statement(`update hierarchy_assignments set undone_by = $3 where tenant_id = $1 and id = $2`)

export async function setUndoneBy(tx: Transaction, id: string, undoneBy: string): Promise<void> {
  await tx.run(undoneStatement, id, undoneBy)
}

export type ItemRow = {
  assetId: string
  outcome: ItemResult['outcome']
  nodeId: string | null
  previousNodeId: string | null
  code: string | null
  detail: string | null
  /** The place of the result in the list of results, from 1. */
  ordinal: number
}

const items = rowset<ItemRow>({
  assetId: 'uuid',
  outcome: 'text',
  nodeId: 'uuid',
  previousNodeId: 'uuid',
  code: 'text',
  detail: 'text',
  ordinal: 'integer',
})
const insertItemsStatement = statement<{ assetId: string }>(
  `insert into hierarchy_assignment_items (tenant_id, assignment_id, asset_id, outcome, node_id, previous_node_id, code,
                                           detail, ordinal)
   select $1, $9::uuid, "assetId", outcome, "nodeId", "previousNodeId", code, detail, ordinal from ${items.rows}
   on conflict (tenant_id, assignment_id, asset_id) do nothing returning asset_id as "assetId"`,
)

export async function insertItems(tx: Transaction, assignmentId: string, rows: readonly ItemRow[]): Promise<void> {
  if (rows.length > 0) await tx.rows(insertItemsStatement, ...items.values(rows), assignmentId)
}

const itemColumns = `i.asset_id as "assetId", i.outcome, i.node_id as "nodeId", i.previous_node_id as "previousNodeId", i.code,
          i.detail, i.ordinal`

const listItemsStatement = statement<ItemRow>(
  `select ${itemColumns} from hierarchy_assignment_items i
   where i.tenant_id = $1 and i.assignment_id = $2 and i.ordinal > $3 and ($4::text is null or i.outcome = $4)
   order by i.ordinal limit $5`,
)

/** Returns the next results of an assignment, in the order of their ordinals. */
export function listItems(
  handle: Handle,
  assignmentId: string,
  { after, outcome = null, limit }: { after: number; outcome?: string | null | undefined; limit: number },
): Promise<ItemRow[]> {
  return handle.rows(listItemsStatement, assignmentId, after, outcome, limit)
}

const listChangesStatement = statement<ItemRow>(
  `select ${itemColumns} from hierarchy_assignment_items i
   where i.tenant_id = $1 and i.assignment_id = $2 and i.asset_id > $3 and i.outcome in ('assigned', 'moved', 'removed')
   order by i.asset_id limit $4`,
)

/** Returns the next assets that an assignment has changed, in the order of their ids. */
export function listChanges(
  handle: Handle,
  assignmentId: string,
  { after, limit }: { after: string; limit: number },
): Promise<ItemRow[]> {
  return handle.rows(listChangesStatement, assignmentId, after, limit)
}

type UndoableAsset = { assignmentId: string; assetId: string; isWritable: boolean }

const undoableStatement = statement<UndoableAsset>(
  `select a.id as "assignmentId", c."assetId", c."isWritable" from unnest($2::uuid[], $3::uuid[]) as a (id, hierarchy_id)
   cross join lateral (
     select i.asset_id as "assetId", p.asset_id is not null as "isWritable" from (
       select x.asset_id from hierarchy_assignment_items x
       where x.tenant_id = $1 and x.assignment_id = a.id and x.outcome in ('assigned', 'moved', 'removed')
       order by x.asset_id limit $5) as i
     left join hierarchy_assets p on p.tenant_id = $1 and p.hierarchy_id = a.hierarchy_id and p.asset_id = i.asset_id
     where p.asset_id is null or p.access_group_id = any($4::uuid[])
     order by p.asset_id nulls last limit $6) as c`,
)

type UndoableQuery = {
  groups: readonly string[]
  /** The number of changed assets that are read of each assignment. Null means all. */
  read: number | null
  /** The number of assets that are returned of each assignment. */
  limit: number
}

/**
 * Returns changed assets of assignments that are in one of the access groups, or whose access group is not known here. The
 * known ones of each assignment are first, with `isWritable`.
 */
export function listUndoable(
  handle: Handle,
  assignments: readonly Pick<AssignmentRow, 'id' | 'hierarchyId'>[],
  { groups, read, limit }: UndoableQuery,
): Promise<UndoableAsset[]> {
  return handle.rows(
    undoableStatement,
    arrayOf(
      'uuid',
      assignments.map(({ id }) => id),
    ),
    arrayOf(
      'uuid',
      assignments.map(({ hierarchyId }) => hierarchyId),
    ),
    arrayOf('uuid', groups),
    read,
    limit,
  )
}

const itemCountsStatement = statement<{ total: number; before: number }>(
  `select count(*) as total, count(*) filter (where i.ordinal <= $3) as before from hierarchy_assignment_items i
   where i.tenant_id = $1 and i.assignment_id = $2 and ($4::text is null or i.outcome = $4)`,
)

/** Returns the number of results of an assignment, and how many of them are up to the place `after`. */
export async function countItems(
  handle: Handle,
  assignmentId: string,
  { after, outcome = null }: { after: number; outcome?: string | null | undefined },
) {
  return (await handle.row(itemCountsStatement, assignmentId, after, outcome)) ?? { total: 0, before: 0 }
}

const noteStatement = statement<{ id: string }>(
  `update hierarchy_nodes set assignments = assignments + 1
   where tenant_id = $1 and hierarchy_id = $2 and id = any($3::uuid[]) returning id`,
)

/**
 * Counts an assignment on each of the nodes that still exist, and returns their ids. The hierarchy stays locked until the
 * end of the transaction, so that a deletion of a node sees either the count or no later assignment.
 */
export async function noteAssignments(
  tx: Transaction,
  hierarchyId: string,
  nodeIds: readonly string[],
): Promise<Set<string>> {
  if (nodeIds.length === 0) return new Set()
  await lockHierarchy(tx, hierarchyId)
  const rows = await tx.rows(noteStatement, hierarchyId, arrayOf('uuid', [...new Set(nodeIds)]))
  return new Set(rows.map(({ id }) => id))
}

const notedStatement = statement<{ total: number }>(
  `select coalesce(sum(n.assignments), 0)::bigint as total from hierarchy_nodes n
   where n.tenant_id = $1 and n.id = any($2::uuid[])`,
)

/** Returns how many assignments were counted on the nodes. A larger number than before means new assignments. */
export async function countNoted(handle: Handle, nodeIds: readonly string[]): Promise<number> {
  return (await handle.row(notedStatement, arrayOf('uuid', nodeIds)))?.total ?? 0
}
