import type { Assignment, ItemResult } from '@millwright/api/hierarchy.ts'
import type { Caller, PrincipalKind } from '../../platform/access/caller.ts'
import type { GrantedRole } from '../../platform/access/rights.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on assignments and on the results of their assets. */

type Counts = Pick<Assignment, 'assigned' | 'moved' | 'unchanged' | 'removed' | 'failed'>

export type AssignmentRow = Counts & {
  id: string
  kind: Assignment['kind']
  state: Assignment['state']
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
  principalId: string
  principalKind: PrincipalKind
  principalName: string
  /** The roles and the grants of the token with which the assignment was started. */
  roles: { roles: string[]; grants?: GrantedRole[] }
  createdAt: string
  modifiedAt: string
}

/** An asset with its new node, as the inventory receives it. */
export type PlannedAsset = { assetId: string; nodeId: string | null; otherNodeIds: string[]; knownNodeIds: string[] }

/** The place at which an assignment continues. */
export type NextPlace = { lastAssetId?: string; cursor?: string }

/** The assets that a running assignment changes next. A repeated request with the same key has no further effect. */
export type Portion = { key: string; attempt: number; assets: PlannedAsset[]; next: NextPlace | null }

export type RunningAssignment = AssignmentRow & { portion: Portion | null }

const unfinished = `('queued', 'running')`

/**
 * The undo of an assignment. An undo that was canceled, that failed, or that failed for some of its assets does not count,
 * so that the assignment can be undone again.
 */
const undoneBy = `(select u.id from hierarchy_assignments u
   where u.tenant_id = $1 and u.id = a.undone_by
     and (u.state in ${unfinished} or u.state = 'finished' and u.failed = 0))`

const columns = [
  `a.id, a.kind, a.state, a.hierarchy_id as "hierarchyId", a.node_id as "nodeId", a.filter, a.undoes`,
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
  { principal, roles, token }: Caller,
  { id, kind, state, hierarchyId, total, nodeId = null, filter = null, undoes = null }: NewAssignment,
  now: string,
): Promise<void> {
  const held = { roles: [...roles], ...(token?.grants === undefined ? {} : { grants: [...token.grants] }) }
  const values = [id, kind, state, hierarchyId, nodeId, filter, undoes, total]
  await tx.run(insertStatement, ...values, principal.id, principal.kind, principal.name, jsonText(held), now)
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
   where a.tenant_id = $1 and (a.state in ${unfinished} or a.portion is not null) order by a.id limit 1`,
)

/** Returns the oldest assignment that is not finished, or whose last portion is not stored. */
export async function nextAssignment(handle: Handle): Promise<string | undefined> {
  return (await handle.row(nextStatement))?.id
}

const startLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7248))`)
const countUnfinishedStatement = statement<{ total: number }>(
  `select count(*) as total from hierarchy_assignments a where a.tenant_id = $1 and a.state in ${unfinished}`,
)

/**
 * Returns the number of unfinished assignments. Other transactions that count them wait until the end of this one, so that
 * none exceeds the limit.
 */
export async function countUnfinished(tx: Transaction): Promise<number> {
  await tx.run(startLockStatement)
  return (await tx.row(countUnfinishedStatement))?.total ?? 0
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

export type AssignmentFilter = { hierarchyId: string | null; principalId: string | null }

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
     total = greatest(total, done + $4), modified_at = $12, portion = $13::json
   where tenant_id = $1 and id = $2`,
)

export type AssignmentProgress = {
  id: string
  state: AssignmentRow['state']
  results: readonly ItemResult[]
  /** The place at which the assignment continues. */
  next?: NextPlace | null | undefined
  /** The assets that the assignment tries again before it continues. */
  portion?: Portion | undefined
}

/** Adds results to the counts of an assignment, and stores its state and its place. */
export async function addResults(
  tx: Transaction,
  { id, state, results, next, portion }: AssignmentProgress,
  now: string,
): Promise<void> {
  const count = (outcome: ItemResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  const counts = [count('assigned'), count('moved'), count('unchanged'), count('removed'), count('failed')]
  await tx.run(
    progressStatement,
    id,
    state,
    results.length,
    ...counts,
    next?.lastAssetId ?? null,
    next?.cursor ?? null,
    now,
    portion === undefined ? null : jsonText(portion),
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
}

const items = rowset<ItemRow>({
  assetId: 'uuid',
  outcome: 'text',
  nodeId: 'uuid',
  previousNodeId: 'uuid',
  code: 'text',
  detail: 'text',
})
const insertItemsStatement = statement<{ assetId: string }>(
  `insert into hierarchy_assignment_items (tenant_id, assignment_id, asset_id, outcome, node_id, previous_node_id, code,
                                           detail)
   select $1, $8::uuid, "assetId", outcome, "nodeId", "previousNodeId", code, detail from ${items.rows}
   on conflict (tenant_id, assignment_id, asset_id) do nothing returning asset_id as "assetId"`,
)

export async function insertItems(tx: Transaction, assignmentId: string, rows: readonly ItemRow[]): Promise<void> {
  if (rows.length > 0) await tx.rows(insertItemsStatement, ...items.values(rows), assignmentId)
}

const listItemsStatement = statement<ItemRow>(
  `select i.asset_id as "assetId", i.outcome, i.node_id as "nodeId", i.previous_node_id as "previousNodeId", i.code,
          i.detail
   from hierarchy_assignment_items i
   where i.tenant_id = $1 and i.assignment_id = $2 and i.asset_id > $3 and ($4::text is null or i.outcome = $4)
   order by i.asset_id limit $5`,
)

/** Returns the next results of an assignment, in the order of the assets. */
export function listItems(
  handle: Handle,
  assignmentId: string,
  { after, outcome = null, limit }: { after: string; outcome?: string | null | undefined; limit: number },
): Promise<ItemRow[]> {
  return handle.rows(listItemsStatement, assignmentId, after, outcome, limit)
}
