import { pageLimits } from '@millwright/api/envelope.ts'
import {
  type inbox,
  inboxLimits,
  type OnboardingRule,
  type OnboardingRuleInput,
  type OnboardingRuleUpdate,
} from '@millwright/api/inbox.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { parseIpRange } from '@millwright/api/ip-range.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { storedPrincipal } from '../../platform/access/current-caller.ts'
import { permissionDenied } from '../../platform/access/permission-denied.ts'
import { may, mayIn } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { isReadableGateway, requireAssetFilter } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import {
  assetsOfRule,
  conditionsOf,
  countProposals,
  matchAll,
  missingRule,
  proposalsFor,
  readableRules,
} from './proposals.ts'
import type { RuleFields, RuleRow } from './rule-store.ts'
import * as store from './rule-store.ts'
import { namesOfTargets, requireTarget } from './target.ts'

type Names =
  | 'listOnboardingRules'
  | 'createOnboardingRule'
  | 'readOnboardingRule'
  | 'updateOnboardingRule'
  | 'deleteOnboardingRule'
  | 'previewOnboardingRule'
  | 'listRuleRuns'
  | 'proposeTargets'
  | 'countProposals'
  | 'listProposedAssets'

const writeAssets = 'inventory_write_asset_data'

export function ruleHandlers(context: Context): Pick<Handlers<typeof inbox>, Names> {
  const { database } = context

  const readable = async (caller: Caller, id: string): Promise<RuleRow> => {
    const rule = (await readableRules(context, caller)).find((one) => one.id === id)
    if (rule === undefined) throw missingRule(id)
    return rule
  }
  const show = async (caller: Caller, row: RuleRow): Promise<OnboardingRule> => {
    const [shown] = await showRules(context, caller, [row])
    if (shown === undefined) throw missingRule(row.id)
    return shown
  }

  return {
    async listOnboardingRules(_request, caller) {
      return { data: await showRules(context, caller, await readableRules(context, caller)) }
    },

    async createOnboardingRule({ body: { data } }, caller) {
      const fields = newFields(data, caller)
      await requireValid(context, caller, fields)
      const row = await database.transaction(caller, async (tx) => {
        const rules = await store.lockRules(tx)
        if (rules.length >= inboxLimits.rules)
          throw new Problem('conflict', `A tenant can have ${inboxLimits.rules} onboarding rules. Delete one first`)
        const created = { ...fields, id: newId(), position: rules.length + 1, now: new Date().toISOString() }
        const inserted = await store.insertRule(tx, created)
        await reportRule(tx, caller, { row: inserted, action: 'createOnboardingRule', event: 'created' })
        return inserted
      })
      const location = `/inbox/v1/rules/${row.id}`
      return answer(201, { data: await show(caller, row) }, { location, etag: etagOf(row.version) })
    },

    async readOnboardingRule({ params: { id } }, caller) {
      const row = await readable(caller, id)
      return answer(200, { data: await show(caller, row) }, { etag: etagOf(row.version) })
    },

    async updateOnboardingRule({ params: { id }, headers, body: { data } }, caller) {
      const before = await readable(caller, id)
      requireManage(caller, before)
      const fields = changedFields(before, data, caller)
      if (changesAuthor(data)) await requireValid(context, caller, fields)
      const row = await database.transaction(caller, async (tx) => {
        const rules = await store.lockRules(tx)
        const locked = rules.find((rule) => rule.id === id)
        if (locked === undefined) throw missingRule(id)
        requireMatch(headers['if-match'], locked.version)
        if (locked.version !== before.version)
          throw new Problem('conflict', 'Another request changed the rule at the same time. Retry the request')
        const now = new Date().toISOString()
        const updated = await store.updateRule(tx, { ...fields, id, now })
        if (data.position !== undefined) {
          requireMove(caller, rules, { rule: { ...fields, id }, position: data.position })
          const others = rules.map((rule) => rule.id).filter((other) => other !== id)
          await store.setOrder(tx, others.toSpliced(data.position - 1, 0, id))
        }
        await reportRule(tx, caller, { row: updated ?? locked, action: 'updateOnboardingRule', event: 'updated' })
        return (await store.listRules(tx)).find((rule) => rule.id === id) ?? locked
      })
      return answer(200, { data: await show(caller, row) }, { etag: etagOf(row.version) })
    },

    async deleteOnboardingRule({ params: { id } }, caller) {
      const row = await readable(caller, id)
      requireManage(caller, row)
      await database.transaction(caller, async (tx) => {
        const rules = await store.lockRules(tx)
        if (!rules.some((rule) => rule.id === id)) throw missingRule(id)
        await store.deleteRule(tx, id)
        await store.setOrder(
          tx,
          rules.map((rule) => rule.id).filter((other) => other !== id),
        )
        await reportRule(tx, caller, { row, action: 'deleteOnboardingRule', event: 'deleted' })
      })
      return answer(204)
    },

    async previewOnboardingRule({ body: { data } }, caller) {
      const fields = newFields({ name: 'preview', ...data }, caller)
      await requireConditions(context, caller, fields)
      const problem = await requireTarget(context, caller, fields).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof Problem && error.status < 500) return error.message
          throw error
        },
      )
      const { assets, isComplete } = await matchAll(context, caller, conditionsOf(fields))
      const shown = assets.slice(0, inboxLimits.previewAssets)
      return {
        data: { matched: assets.length, isComplete, assets: shown, ...(problem === undefined ? {} : { problem }) },
      }
    },

    async listRuleRuns({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      await readable(caller, id)
      const { rows, total } = await database.read(caller, (handle) => store.listRuleRuns(handle, id, { limit, offset }))
      const data = rows.map(({ runId, jobId, matched, taken, decisionId, problem, createdAt }) => ({
        ...{ runId, jobId, matched, taken },
        ...(decisionId === null ? {} : { decisionId }),
        ...(problem === null ? {} : { problem }),
        createdTimestamp: createdAt,
      }))
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async proposeTargets({ body: { data } }, caller) {
      return { data: [...(await proposalsFor(context, caller, data.assetIds)).values()] }
    },

    async countProposals(_request, caller) {
      return { data: await countProposals(context, caller) }
    },

    async listProposedAssets({ params: { id }, query: { limit = pageLimits.default, offset = 0 } }, caller) {
      const { assets } = await assetsOfRule(context, caller, id, inboxLimits.assetsPerDecision)
      const data = assets
        .toReversed()
        .slice(offset, offset + limit)
        .map((asset) => ({ id: asset.id, ...(asset.name === null ? {} : { name: asset.name }) }))
      return { data, meta: { totalElements: assets.length, elements: data.length, offset } }
    },
  }
}

function newFields(data: OnboardingRuleInput, caller: Caller): RuleFields {
  const { name, gatewayId = null, ranges = [], filter = null, accessGroupId = null, nodeId = null } = data
  const { mode = 'propose', cap = inboxLimits.defaultCap } = data
  return {
    ...storedPrincipal(caller),
    ...{ name, gatewayId, ranges, filter, accessGroupId, nodeId, mode, cap },
    paused: false,
    pauseReason: null,
  }
}

/**
 * Returns whether a request sets what the rule does, or resumes it. The caller then becomes the author. Otherwise a caller
 * could onboard assets with the rights of the former author.
 */
function changesAuthor({ position: _, paused, ...changes }: OnboardingRuleUpdate): boolean {
  return paused === false || Object.keys(changes).some((field) => field !== 'name')
}

function changedFields(before: RuleRow, data: OnboardingRuleUpdate, caller: Caller): RuleFields {
  const { principalId, principalKind, principalName, roles } = before
  const author = changesAuthor(data) ? storedPrincipal(caller) : { principalId, principalKind, principalName, roles }
  const paused = data.paused ?? before.paused
  return {
    ...author,
    name: data.name ?? before.name,
    gatewayId: data.gatewayId === undefined ? before.gatewayId : data.gatewayId,
    ranges: data.ranges ?? before.ranges,
    filter: data.filter === undefined ? before.filter : data.filter,
    accessGroupId: data.accessGroupId === undefined ? before.accessGroupId : data.accessGroupId,
    nodeId: data.nodeId === undefined ? before.nodeId : data.nodeId,
    mode: data.mode ?? before.mode,
    cap: data.cap ?? before.cap,
    paused,
    pauseReason: paused ? before.pauseReason : null,
  }
}

/** Checks the conditions and the target of a rule, with the rights of its author. */
async function requireValid(context: Context, author: Caller, fields: RuleFields): Promise<void> {
  await requireConditions(context, author, fields)
  await requireTarget(context, author, fields)
}

async function requireConditions(context: Context, caller: Caller, fields: RuleFields): Promise<void> {
  const { gatewayId, ranges, filter } = fields
  // A rule without a condition would match every new asset.
  if (gatewayId === null && ranges.length === 0 && filter === null)
    throw fieldProblem('invalid_body', '/data', 'A rule needs at least one condition: gatewayId, ranges or filter')
  for (const [index, range] of ranges.entries())
    if (parseIpRange(range) === undefined)
      throw fieldProblem(
        'invalid_range',
        `/data/ranges/${index}`,
        `"${range}" is not a range. Use 10.0.0.0/24 or 10.0.0.1-10.0.0.20`,
      )
  if (filter !== null) await requireAssetFilter(context, caller, { filter, pointer: '/data/filter' })
  if (gatewayId === null) return
  const described = await context.peers(inventory, systemCaller(caller)).describeGateways({
    body: { data: { ids: [gatewayId] } },
  })
  if (described.data.length === 0 || !(await isReadableGateway(context, caller, gatewayId)))
    throw fieldProblem('asset_not_found', '/data/gatewayId', `Gateway ${gatewayId} does not exist`)
}

/** Requires that the caller is the author of a rule, or may write the assets that the rule onboards. */
function requireManage(caller: Caller, { principalId, accessGroupId }: RuleRow): void {
  if (principalId === caller.principal.id) return
  const isAllowed = accessGroupId === null ? may(caller, writeAssets) : mayIn(caller, writeAssets, accessGroupId)
  if (!isAllowed) throw permissionDenied({ permission: writeAssets })
}

type RuleMove = { rule: RuleFields & { id: string }; position: number }

/**
 * Requires that the caller may move a rule past other rules. A rule of another author gets assets that the rules after it
 * would have got, with the rights of that author. So the caller must be able to manage these rules too.
 */
function requireMove(caller: Caller, rules: readonly RuleRow[], { rule, position }: RuleMove): void {
  if (rule.principalId === caller.principal.id) return
  const from = rules.findIndex(({ id }) => id === rule.id)
  const to = Math.min(position, rules.length) - 1
  const passed = from < to ? rules.slice(from + 1, to + 1) : rules.slice(to, from)
  for (const other of passed) requireManage(caller, other)
}

async function showRules(context: Context, caller: Caller, rows: readonly RuleRow[]): Promise<OnboardingRule[]> {
  const names = await namesOfTargets(context, caller, rows)
  const ids = rows.map(({ id }) => id)
  const uses = await context.database.read(caller, (handle) => store.listRuleUse(handle, ids))
  const gatewayIds = [...new Set(rows.flatMap(({ gatewayId }) => gatewayId ?? []))]
  const gateways =
    gatewayIds.length === 0
      ? []
      : (await context.peers(inventory, systemCaller(caller)).describeGateways({ body: { data: { ids: gatewayIds } } }))
          .data
  const gatewayNames = new Map(gateways.map(({ id, name }) => [id, name]))
  return rows.map((row, index) => {
    const { id, position, name, gatewayId, ranges, filter, accessGroupId, nodeId, mode, cap, paused, pauseReason } = row
    const gatewayName = gatewayNames.get(gatewayId ?? '')
    const { onboarded = 0, decidedAt, ranAt } = uses.get(id) ?? {}
    return {
      id,
      position,
      name,
      ...(gatewayId === null ? {} : { gatewayId }),
      ...(gatewayName ? { gatewayName } : {}),
      ranges,
      ...(filter === null ? {} : { filter }),
      ...(accessGroupId === null ? {} : { accessGroupId }),
      ...(nodeId === null ? {} : { nodeId }),
      ...names[index],
      mode,
      cap,
      paused,
      ...(pauseReason === null ? {} : { pauseReason }),
      author: row.principalName,
      onboarded,
      ...(decidedAt ? { lastDecisionTimestamp: decidedAt } : {}),
      ...(ranAt ? { lastRunTimestamp: ranAt } : {}),
      createdTimestamp: row.createdAt,
      lastModifiedTimestamp: row.modifiedAt,
    }
  })
}

type RuleChange = { row: RuleRow; action: string; event: 'created' | 'updated' | 'deleted' | 'paused' }

/** Writes the audit entry and the event of a change, in the transaction of the change. */
export async function reportRule(tx: Transaction, caller: Caller, { row, action, event }: RuleChange): Promise<void> {
  const { id, name, mode, cap, paused, pauseReason, accessGroupId, nodeId, gatewayId } = row
  const target = `onboarding-rule/${id}`
  const detail = {
    ...{ name, mode, cap, paused },
    ...(pauseReason === null ? {} : { pauseReason }),
    ...(accessGroupId === null ? {} : { accessGroupId }),
    ...(nodeId === null ? {} : { nodeId }),
    ...(gatewayId === null ? {} : { gatewayId }),
  }
  await record(tx, caller, { action: `inbox.${action}`, target, detail })
  // The ids decide who can read the event.
  const data = {
    ...{ name, mode, paused, principalId: row.principalId },
    ...(accessGroupId === null ? {} : { accessGroupId }),
    ...(gatewayId === null ? {} : { gatewayId }),
  }
  await emit(tx, { type: `inbox.rule.${event}`, subject: target, data })
}
