import type { inbox } from '@millwright/api/inbox.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { maySomewhere, noRights } from '../../platform/access/rights.ts'
import { isFilterProblem, requireAssetFilter } from '../../platform/asset-visibility.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { createDecision, itemOfRule } from './decisions.ts'
import { conditionsOf, type MatchedAsset, matchAll } from './proposals.ts'
import type { RuleRow } from './rule-store.ts'
import * as store from './rule-store.ts'
import { reportRule } from './rules.ts'
import { requireTarget } from './target.ts'

/**
 * Applies the rules after a discovery run. Only assets that this run created and that have no decision are
 * considered, so a rule never changes the access group or the state of a known asset. The rules are compared in their order.
 * For each asset, the first rule that matches applies: a rule that proposes leaves the asset in the inbox. A rule onboards at
 * most `cap` assets after a run.
 *
 * A rule runs with the current rights of its author. A rule whose author has lost the rights pauses, and shows the reason.
 */
export function ruleRunHandlers(context: Context): Pick<Handlers<typeof inbox>, 'endDiscoveryRun'> {
  return {
    async endDiscoveryRun({ params: { id: runId }, body: { data } }, system) {
      const rules = await context.database.read(system, store.listRules)
      const active = rules.filter(({ paused }) => !paused)
      if (active.some(({ mode }) => mode === 'automatic'))
        await applyRules(context, system, { rules: active, runId, jobId: data.jobId })
      return answer(204)
    },
  }
}

const writeAssets = 'inventory_write_asset_data'

type EndedRun = { runId: string; jobId: string }

async function applyRules(
  context: Context,
  system: Caller,
  { rules, ...run }: EndedRun & { rules: readonly RuleRow[] },
): Promise<void> {
  const taken = new Set<string>()
  for (const rule of rules) {
    const author = await currentCaller(context, system.tenantId, rule)
    const problem = await problemOf(context, author, rule)
    if (problem !== undefined) {
      if (rule.mode === 'automatic') await pause(context, system, { rule, run, problem })
      continue
    }
    const found = await matchAll(context, author, { ...conditionsOf(rule), runId: run.runId })
    const assets = found.assets.filter(({ id }) => !taken.has(id))
    for (const { id } of assets) taken.add(id)
    if (rule.mode === 'automatic' && assets.length > 0) await onboard(context, author, { rule, run, assets })
  }
}

/** Returns why a rule cannot run with the current rights of its author, or undefined. */
async function problemOf(context: Context, author: Caller, rule: RuleRow): Promise<string | undefined> {
  const { principalName } = rule
  if (author.rights === noRights)
    return `The author ${principalName} was disabled or deleted. To become the author, resume the rule`
  if (!maySomewhere(author, writeAssets))
    return `The author ${principalName} can no longer onboard assets: ${writeAssets} is missing`
  try {
    await requireTarget(context, author, rule)
    if (rule.filter !== null) await requireAssetFilter(context, author, { filter: rule.filter, pointer: '/filter' })
    return undefined
  } catch (error) {
    if (isFilterProblem(error)) return `The filter of the rule is not valid: ${error.message}`
    if (!(error instanceof Problem) || error.status >= 500) throw error
    return `The author ${principalName} cannot onboard assets into the target: ${error.message}`
  }
}

type RuleEffect = { rule: RuleRow; run: EndedRun }

async function pause(
  { database }: Context,
  system: Caller,
  { rule, run, problem }: RuleEffect & { problem: string },
): Promise<void> {
  const now = new Date().toISOString()
  await database.transaction(system, async (tx) => {
    const paused = await store.pauseRule(tx, rule.id, { reason: problem, now })
    if (paused === undefined) return
    await store.insertRuleRun(tx, rule.id, { ...run, matched: 0, taken: 0, decisionId: null, problem, createdAt: now })
    await reportRule(tx, system, { row: paused, action: 'pauseOnboardingRule', event: 'paused' })
  })
}

/** Stores the decision of a rule. A repeated request finds the stored entry of the log and changes nothing. */
async function onboard(
  context: Context,
  author: Caller,
  { rule, run, assets }: RuleEffect & { assets: readonly MatchedAsset[] },
): Promise<void> {
  await context.database.transaction(author, async (tx) => {
    const [current] = (await store.lockRules(tx)).filter(({ id }) => id === rule.id)
    if (current === undefined || (await store.hasRuleRun(tx, rule.id, run.runId))) return
    // The discovery service repeats the request, which then applies the changed rule.
    if (current.version !== rule.version)
      throw new Problem('conflict', 'The rule was changed while it was applied. Retry the request')
    const items = assets.slice(0, rule.cap).map(({ id }) => itemOfRule(id, rule))
    const decision = await createDecision(context, tx, {
      caller: author,
      action: 'onboard',
      items,
      ruleId: rule.id,
      runId: run.runId,
    })
    await store.insertRuleRun(tx, rule.id, {
      ...run,
      matched: assets.length,
      taken: items.length,
      decisionId: decision.id,
      problem: null,
      createdAt: decision.createdAt,
    })
  })
}
