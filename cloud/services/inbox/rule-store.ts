import type { OnboardingRule } from '@millwright/api/inbox.ts'
import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

export type RuleFields = StoredPrincipal &
  Pick<OnboardingRule, 'name' | 'ranges' | 'mode' | 'cap' | 'paused'> & {
    gatewayId: string | null
    filter: string | null
    accessGroupId: string | null
    nodeId: string | null
    pauseReason: string | null
  }

export type RuleRow = RuleFields & {
  id: string
  position: number
  version: number
  createdAt: string
  modifiedAt: string
}

const columns = `u.id, u.position, u.name, u.gateway_id as "gatewayId", u.ranges, u.filter,
  u.access_group_id as "accessGroupId", u.node_id as "nodeId", u.mode, u.cap, u.paused, u.pause_reason as "pauseReason",
  u.principal_id as "principalId", u.principal_kind as "principalKind", u.principal_name as "principalName", u.roles,
  u.version, u.created_at as "createdAt", u.modified_at as "modifiedAt"`

const listStatement = statement<RuleRow>(
  `select ${columns} from inbox_rules u where u.tenant_id = $1 order by u.position, u.id`,
)

/** Returns all rules in their order. Their number is limited. */
export function listRules(handle: Handle): Promise<RuleRow[]> {
  return handle.rows(listStatement)
}

const lockStatement = statement<RuleRow>(`${listStatement.text} for update`)

/** Locks and returns all rules, so that their order and number do not change. */
export async function lockRules(tx: Transaction): Promise<RuleRow[]> {
  await tx.run(serializeStatement)
  return tx.rows(lockStatement)
}

const serializeStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7285))`)

const insertStatement = statement<RuleRow>(
  `insert into inbox_rules as u (tenant_id, id, position, name, gateway_id, ranges, filter, access_group_id, node_id, mode,
     cap, paused, pause_reason, principal_id, principal_kind, principal_name, roles, created_at, modified_at)
   values ($1, $2, $18, $3, $4, $5::json, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::json, $17, $17)
   returning ${columns}`,
)
const updateStatement = statement<RuleRow>(
  `update inbox_rules u set name = $3, gateway_id = $4, ranges = $5::json, filter = $6, access_group_id = $7, node_id = $8,
     mode = $9, cap = $10, paused = $11, pause_reason = $12, principal_id = $13, principal_kind = $14,
     principal_name = $15, roles = $16::json, modified_at = $17, version = u.version + 1
   where u.tenant_id = $1 and u.id = $2 returning ${columns}`,
)

function valuesOf(id: string, fields: RuleFields, now: string): unknown[] {
  const { name, gatewayId, ranges, filter, accessGroupId, nodeId, mode, cap, paused, pauseReason } = fields
  const { principalId, principalKind, principalName, roles } = fields
  const rule = [id, name, gatewayId, jsonText(ranges), filter, accessGroupId, nodeId, mode, cap, paused, pauseReason]
  return [...rule, principalId, principalKind, principalName, jsonText(roles), now]
}

export async function insertRule(
  tx: Transaction,
  { id, position, now, ...fields }: RuleFields & { id: string; position: number; now: string },
): Promise<RuleRow> {
  const row = await tx.row(insertStatement, ...valuesOf(id, fields, now), position)
  if (row === undefined) throw new TypeError('A rule was not stored')
  return row
}

export function updateRule(
  tx: Transaction,
  { id, now, ...fields }: RuleFields & { id: string; now: string },
): Promise<RuleRow | undefined> {
  return tx.row(updateStatement, ...valuesOf(id, fields, now))
}

const places = rowset<{ id: string; position: number }>({ id: 'uuid', position: 'integer' })
const positionsStatement = statement(
  `update inbox_rules u set position = r.position from ${places.rows} where u.tenant_id = $1 and u.id = r.id`,
)

/** Gives rules the positions of this order, from 1. */
export async function setOrder(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await tx.run(positionsStatement, ...places.values(ids.map((id, index) => ({ id, position: index + 1 }))))
}

const pauseStatement = statement<RuleRow>(
  `update inbox_rules u set paused = true, pause_reason = $3, modified_at = $4, version = u.version + 1
   where u.tenant_id = $1 and u.id = $2 and not u.paused returning ${columns}`,
)

export function pauseRule(tx: Transaction, id: string, { reason, now }: { reason: string; now: string }) {
  return tx.row(pauseStatement, id, reason, now)
}

const deleteStatement = statement(`delete from inbox_rules where tenant_id = $1 and id = $2`)

export async function deleteRule(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

export type RuleUse = { ruleId: string; onboarded: number; decidedAt: string | null; ranAt: string | null }

const useStatement = statement<RuleUse>(
  `select u.id as "ruleId", coalesce(d.onboarded, 0)::integer as onboarded, d.decided_at as "decidedAt", r.ran_at as "ranAt"
   from inbox_rules u
   left join (select rule_id, sum(changed) as onboarded, max(created_at) as decided_at from inbox_decisions
     where tenant_id = $1 and rule_id = any($2::uuid[]) and action = 'onboard' and undone_by is null
     group by rule_id) as d on d.rule_id = u.id
   left join (select rule_id, max(created_at) as ran_at from inbox_rule_runs
     where tenant_id = $1 and rule_id = any($2::uuid[]) group by rule_id) as r on r.rule_id = u.id
   where u.tenant_id = $1 and u.id = any($2::uuid[])`,
)

/** Returns what rules have onboarded, and when they did something last. */
export async function listRuleUse(handle: Handle, ids: readonly string[]): Promise<Map<string, RuleUse>> {
  const rows = await handle.rows(useStatement, arrayOf('uuid', ids))
  return new Map(rows.map((row) => [row.ruleId, row]))
}

export type RuleRunRow = {
  runId: string
  jobId: string
  matched: number
  taken: number
  decisionId: string | null
  problem: string | null
  createdAt: string
}

const insertRunStatement = statement(
  `insert into inbox_rule_runs (tenant_id, rule_id, run_id, job_id, matched, taken, decision_id, problem, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (tenant_id, rule_id, run_id) do nothing`,
)

/** Stores what a rule did after a run. Returns false if it is already stored. */
export async function insertRuleRun(tx: Transaction, ruleId: string, run: RuleRunRow): Promise<boolean> {
  const { runId, jobId, matched, taken, decisionId, problem, createdAt } = run
  return (await tx.run(insertRunStatement, ruleId, runId, jobId, matched, taken, decisionId, problem, createdAt)) > 0
}

const runStatement = statement<{ found: number }>(
  `select 1 as found from inbox_rule_runs where tenant_id = $1 and rule_id = $2 and run_id = $3`,
)

export async function hasRuleRun(handle: Handle, ruleId: string, runId: string): Promise<boolean> {
  return (await handle.row(runStatement, ruleId, runId)) !== undefined
}

const runsStatement = statement<RuleRunRow>(
  `select l.run_id as "runId", l.job_id as "jobId", l.matched, l.taken, l.decision_id as "decisionId", l.problem,
          l.created_at as "createdAt"
   from inbox_rule_runs l where l.tenant_id = $1 and l.rule_id = $2 order by l.created_at desc, l.run_id limit $3 offset $4`,
)
const countRunsStatement = statement<{ total: number }>(
  `select count(*) as total from inbox_rule_runs where tenant_id = $1 and rule_id = $2`,
)

export async function listRuleRuns(
  handle: Handle,
  ruleId: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await handle.rows(runsStatement, ruleId, limit, offset)
  return { rows, total: (await handle.row(countRunsStatement, ruleId))?.total ?? 0 }
}

const deleteRunsStatement = statement(
  `delete from inbox_rule_runs where tenant_id = $1 and (rule_id, run_id) in (
     select l.rule_id, l.run_id from inbox_rule_runs l where l.tenant_id = $1 and l.created_at < $2 limit $3)`,
)

export async function deleteOldRuns(
  tx: Transaction,
  { before, limit }: { before: string; limit: number },
): Promise<number> {
  return tx.run(deleteRunsStatement, before, limit)
}
