import { type Decision, type DecisionItem, inboxLimits } from '@millwright/api/inbox.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** An access group and a node, and the number of assets that get them. */
export type StoredTarget = { accessGroupId: string | null; nodeId: string | null; assets: number }

export type DecisionRow = StoredPrincipal &
  Pick<Decision, 'id' | 'action' | 'state' | 'total' | 'changed' | 'failed' | 'notAssigned'> & {
    problem: { code: string; detail: string } | null
    ruleId: string | null
    runId: string | null
    undoes: string | null
    undoneBy: string | null
    undoUntil: string
    /** The targets of onboarded assets, most assets first. */
    targets: StoredTarget[]
    /** The assignments of the hierarchy service. */
    assignments: string[]
    createdAt: string
    modifiedAt: string
  }

const principal = `d.principal_id as "principalId", d.principal_kind as "principalKind",
  d.principal_name as "principalName", d.roles`
const columns = `d.id, d.action, d.state, d.total, d.changed, d.failed, d.not_assigned as "notAssigned", d.problem,
  d.rule_id as "ruleId", d.run_id as "runId", d.undoes, d.undone_by as "undoneBy", d.undo_until as "undoUntil",
  d.targets, d.assignments, ${principal}, d.created_at as "createdAt", d.modified_at as "modifiedAt"`

const insertStatement = statement<DecisionRow>(
  `insert into inbox_decisions as d (tenant_id, id, action, state, total, rule_id, run_id, undoes, undo_until, assignments,
     principal_id, principal_kind, principal_name, roles, created_at, modified_at, targets)
   values ($1, $2, $3, 'running', $4, $5, $6, $7, $8, '[]'::json, $9, $10, $11, $12::json, $13, $13, $14::json)
   returning ${columns}`,
)

export type NewDecision = StoredPrincipal &
  Pick<DecisionRow, 'id' | 'action' | 'ruleId' | 'runId' | 'undoes' | 'undoUntil' | 'createdAt'>

/** What an asset gets by a decision, and the state in which it must be. */
export type NewItem = {
  assetId: string
  expectedStates: string[]
  expectedGroupId: string | null
  state: string
  accessGroupId: string | null
  nodeId: string | null
}

const newItems = rowset<Omit<NewItem, 'expectedStates'> & { ordinal: number; decisionId: string; expected: string }>({
  decisionId: 'uuid',
  ordinal: 'integer',
  assetId: 'uuid',
  expected: 'text',
  expectedGroupId: 'uuid',
  state: 'text',
  accessGroupId: 'uuid',
  nodeId: 'uuid',
})
const insertItemsStatement = statement(
  `insert into inbox_decision_items (tenant_id, decision_id, ordinal, asset_id, outcome, expected_states,
     expected_group_id, state, access_group_id, node_id)
   select $1, "decisionId", ordinal, "assetId", 'pending', string_to_array(expected, ','), "expectedGroupId", state,
     "accessGroupId", "nodeId"
   from ${newItems.rows} returning ordinal`,
)

/** Returns the most frequent targets of items. Items without a target keep their access group and node. */
function targetsOf(items: readonly NewItem[]): StoredTarget[] {
  const targeted = items.filter(({ accessGroupId, nodeId }) => accessGroupId !== null || nodeId !== null)
  const groups = Map.groupBy(targeted, ({ accessGroupId, nodeId }) => `${accessGroupId} ${nodeId}`)
  return [...groups.values()]
    .flatMap(([first, ...others]) => {
      if (first === undefined) return []
      return [{ accessGroupId: first.accessGroupId, nodeId: first.nodeId, assets: others.length + 1 }]
    })
    .toSorted((one, other) => other.assets - one.assets)
    .slice(0, inboxLimits.namedTargets)
}

export async function insertDecision(
  tx: Transaction,
  { roles, ...row }: NewDecision,
  items: readonly NewItem[],
): Promise<DecisionRow> {
  const inserted = await tx.row(
    insertStatement,
    row.id,
    row.action,
    items.length,
    row.ruleId,
    row.runId,
    row.undoes,
    row.undoUntil,
    row.principalId,
    row.principalKind,
    row.principalName,
    jsonText(roles),
    row.createdAt,
    jsonText(row.action === 'onboard' ? targetsOf(items) : []),
  )
  if (inserted === undefined) throw new TypeError('A decision was not stored')
  const rows = items.map(({ expectedStates, ...item }, index) => ({
    ...item,
    decisionId: row.id,
    ordinal: index + 1,
    expected: expectedStates.join(','),
  }))
  if (rows.length > 0) await tx.run(insertItemsStatement, ...newItems.values(rows))
  return inserted
}

const findStatement = statement<DecisionRow>(
  `select ${columns} from inbox_decisions d where d.tenant_id = $1 and d.id = $2`,
)
const lockStatement = statement<DecisionRow>(`${findStatement.text} for update`)

export function findDecision(handle: Handle, id: string): Promise<DecisionRow | undefined> {
  return handle.row(findStatement, id)
}

export function lockDecision(tx: Transaction, id: string): Promise<DecisionRow | undefined> {
  return tx.row(lockStatement, id)
}

const listed = `d.tenant_id = $1 and ($2::uuid is null or d.principal_id = $2) and ($3::uuid is null or d.rule_id = $3)
  and ($4::text is null or d.action = $4)`
const listStatement = statement<DecisionRow>(
  `select ${columns} from inbox_decisions d where ${listed} order by d.id desc limit $5 offset $6`,
)
const countStatement = statement<{ total: number }>(`select count(*) as total from inbox_decisions d where ${listed}`)

type Listing = {
  principalId: string | null
  ruleId: string | null
  action: Decision['action'] | null
  limit: number
  offset: number
}

export async function listDecisions(handle: Handle, { principalId, ruleId, action, limit, offset }: Listing) {
  const rows = await handle.rows(listStatement, principalId, ruleId, action, limit, offset)
  return { rows, total: (await handle.row(countStatement, principalId, ruleId, action))?.total ?? 0 }
}

const countLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7286))`)
const runningStatement = statement<{ running: number }>(
  `select count(*) as running from inbox_decisions d where d.tenant_id = $1 and d.state = 'running'`,
)

/** Returns the number of running decisions. Other transactions that count them wait until the end of this one. */
export async function countRunning(tx: Transaction): Promise<number> {
  await tx.run(countLockStatement)
  return (await tx.row(runningStatement))?.running ?? 0
}

export type ItemRow = NewItem & {
  ordinal: number
  outcome: DecisionItem['outcome']
  previousState: string | null
  previousGroupId: string | null
  code: string | null
  detail: string | null
}

const itemColumns = `i.ordinal, i.asset_id as "assetId", i.outcome, i.expected_states as "expectedStates",
  i.expected_group_id as "expectedGroupId", i.state, i.access_group_id as "accessGroupId", i.node_id as "nodeId",
  i.previous_state as "previousState", i.previous_group_id as "previousGroupId", i.code, i.detail`
const itemsStatement = statement<ItemRow>(
  `select ${itemColumns} from inbox_decision_items i
   where i.tenant_id = $1 and i.decision_id = $2 and i.outcome = coalesce($3, i.outcome)
   order by i.ordinal limit $4 offset $5`,
)

type ItemQuery = { outcome: DecisionItem['outcome'] | null; limit: number; offset?: number }

/** Returns items of a decision in their order. */
export function listItems(handle: Handle, id: string, { outcome, limit, offset = 0 }: ItemQuery): Promise<ItemRow[]> {
  return handle.rows(itemsStatement, id, outcome, limit, offset)
}

const firstItemsStatement = statement<{ decisionId: string; assetId: string }>(
  `select i.decision_id as "decisionId", i.asset_id as "assetId" from inbox_decision_items i
   where i.tenant_id = $1 and i.decision_id = any($2::uuid[]) and i.ordinal <= $3 order by i.decision_id, i.ordinal`,
)

/** Returns the first assets of each decision, in their order. */
export async function listFirstAssets(handle: Handle, ids: readonly string[], limit: number) {
  return Map.groupBy(
    await handle.rows(firstItemsStatement, arrayOf('uuid', ids), limit),
    ({ decisionId }) => decisionId,
  )
}

export type ItemResult = {
  ordinal: number
  outcome: 'changed' | 'failed'
  previousState: string | null
  previousGroupId: string | null
  code: string | null
  detail: string | null
}

const results = rowset<ItemResult>({
  ordinal: 'integer',
  outcome: 'text',
  previousState: 'text',
  previousGroupId: 'uuid',
  code: 'text',
  detail: 'text',
})
const putResultsStatement = statement<Pick<ItemResult, 'outcome'>>(
  `update inbox_decision_items i set outcome = r.outcome, previous_state = r."previousState",
     previous_group_id = r."previousGroupId", code = r.code, detail = r.detail
   from ${results.rows}
   where i.tenant_id = $1 and i.decision_id = $8 and i.ordinal = r.ordinal and i.outcome = 'pending'
   returning i.outcome`,
)
const addStatement = statement(
  `update inbox_decisions set changed = changed + $3, failed = failed + $4, not_assigned = not_assigned + $5,
     assignments = $6::json, modified_at = $7
   where tenant_id = $1 and id = $2`,
)

type Settled = { id: string; results: readonly ItemResult[]; notAssigned: number; assignments: string[]; now: string }

/**
 * Stores the results of items, and adds them to the counts of the decision. The decision must be locked. Results that another
 * process has stored do not count again.
 */
export async function settleItems(tx: Transaction, settled: Settled): Promise<void> {
  const { id, notAssigned, assignments, now } = settled
  const stored = await tx.rows(putResultsStatement, ...results.values(settled.results), id)
  if (stored.length === 0) return
  const count = (outcome: ItemResult['outcome']) => stored.filter((one) => one.outcome === outcome).length
  await tx.run(addStatement, id, count('changed'), count('failed'), notAssigned, jsonText(assignments), now)
}

const endStatement = statement<DecisionRow>(
  `update inbox_decisions d set state = $3, problem = $4::json, modified_at = $5
   where d.tenant_id = $1 and d.id = $2 and d.state = 'running' returning ${columns}`,
)

type DecisionEnding = { state: 'finished' | 'failed'; problem: DecisionRow['problem']; now: string }

export function endDecision(tx: Transaction, id: string, { state, problem, now }: DecisionEnding) {
  return tx.row(endStatement, id, state, problem === null ? null : jsonText(problem), now)
}

const undoneByStatement = statement(`update inbox_decisions set undone_by = $3 where tenant_id = $1 and id = $2`)

/** Stores the decision that undoes this one. Null means that the decision can be undone again. */
export async function setUndoneBy(tx: Transaction, id: string, undoneBy: string | null): Promise<void> {
  await tx.run(undoneByStatement, id, undoneBy)
}

export const anyDecision = statement(`select 1 from inbox_decisions d where d.tenant_id = $1 limit 1`)
const deleteItemsStatement = statement(
  `delete from inbox_decision_items where tenant_id = $1 and (decision_id, ordinal) in (
     select i.decision_id, i.ordinal from inbox_decision_items i
     join inbox_decisions d on d.tenant_id = $1 and d.id = i.decision_id
     where i.tenant_id = $1 and d.state <> 'running' and d.undo_until < $2 limit $3)`,
)
const deleteStatement = statement(
  `delete from inbox_decisions where tenant_id = $1 and id in (
     select d.id from inbox_decisions d where d.tenant_id = $1 and d.state <> 'running' and d.created_at < $2 limit $3)`,
)

/** Deletes the items of decisions that can no longer be undone, and old decisions. Returns the number of deleted rows. */
export async function deleteExpired(
  tx: Transaction,
  { now, before, limit }: { now: string; before: string; limit: number },
): Promise<number> {
  return (await tx.run(deleteItemsStatement, now, limit)) + (await tx.run(deleteStatement, before, limit))
}
