import { inboxLimits, type Proposal } from '@millwright/api/inbox.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { isVisibleGroup } from '../../platform/access/rights.ts'
import { readableGateways } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import { listRules, type RuleRow } from './rule-store.ts'
import { namesOfTargets } from './target.ts'

/** The targets that rules propose for new assets. For each asset, the first rule that matches applies. */

export type RuleConditions = Pick<RuleRow, 'gatewayId' | 'ranges' | 'filter'>
export type MatchedAsset = { id: string; name: string | null }

/** The time after which a search for matching assets stops. */
const searchMs = 5_000

/** Returns the rules that the caller can read: it can read their gateway and sees their access group, or it is the author. */
export async function readableRules(context: Context, caller: Caller): Promise<RuleRow[]> {
  const rules = await context.database.read(caller, listRules)
  if (rules.length === 0) return rules
  const gateways = rules.some(({ gatewayId }) => gatewayId !== null) ? await readableGateways(context, caller) : null
  return rules.filter(({ principalId, gatewayId, accessGroupId }) => {
    if (principalId === caller.principal.id) return true
    const isGatewayReadable = gatewayId === null || gateways === null || gateways.includes(gatewayId)
    return isGatewayReadable && (accessGroupId === null || isVisibleGroup(caller.rights, accessGroupId))
  })
}

/** Returns the proposals for new assets, by the id of the asset. Assets that are not new have none. */
export async function proposalsFor(
  context: Context,
  caller: Caller,
  assetIds: readonly string[],
): Promise<Map<string, Proposal>> {
  const rules = (await readableRules(context, caller)).filter(({ paused }) => !paused)
  const proposals = new Map<string, Proposal>()
  if (rules.length === 0) return proposals
  const names = await namesOfTargets(context, caller, rules)
  for (const [assetId, index] of await firstMatches(context, caller, { rules, assetIds })) {
    const rule = rules[index]
    if (rule === undefined) continue
    const { id: ruleId, name: ruleName, accessGroupId, nodeId } = rule
    proposals.set(assetId, {
      assetId,
      ruleId,
      ruleName,
      ...(accessGroupId === null ? {} : { accessGroupId }),
      ...(nodeId === null ? {} : { nodeId }),
      ...names[index],
    })
  }
  return proposals
}

/** Returns the index of the first rule that matches each of these assets, by the id of the asset. */
async function firstMatches(
  { peers }: Context,
  caller: Caller,
  { rules, assetIds }: { rules: readonly RuleRow[]; assetIds: readonly string[] },
): Promise<Map<string, number>> {
  const matches = new Map<string, number>()
  if (rules.length === 0) return matches
  const deadline = performance.now() + searchMs
  for (let from = 0; from < assetIds.length; from += inventoryLimits.batch) {
    if (performance.now() > deadline)
      throw new Problem(
        'overloaded',
        `The comparison of ${assetIds.length} assets with the onboarding rules took too long. Select fewer assets`,
      )
    const { data } = await peers(inventory, caller).matchRules({
      body: {
        data: { rules: rules.map(conditionsOf), assetIds: assetIds.slice(from, from + inventoryLimits.batch) },
      },
    })
    for (const { assetId, rule } of data) matches.set(assetId, rule)
  }
  return matches
}

/** Counts the new assets for which each rule proposes a target. */
export async function countProposals(context: Context, caller: Caller) {
  const rules = (await readableRules(context, caller)).filter(({ paused }) => !paused)
  const names = await namesOfTargets(context, caller, rules)
  const deadline = performance.now() + searchMs
  const taken = new Set<string>()
  const counted: { ruleId: string; ruleName: string; assets: number; accessGroup?: string; nodePath?: string[] }[] = []
  let isComplete = true
  for (const [index, rule] of rules.entries()) {
    if (performance.now() > deadline) {
      isComplete = false
      break
    }
    const found = await matchAll(context, caller, conditionsOf(rule), { deadline })
    const fresh = found.assets.filter(({ id }) => !taken.has(id))
    for (const { id } of fresh) taken.add(id)
    isComplete &&= found.isComplete
    counted.push({ ruleId: rule.id, ruleName: rule.name, assets: fresh.length, ...names[index] })
  }
  return { rules: counted, isComplete }
}

/** Returns the new assets for which this rule, and no rule before it, proposes a target. */
export async function assetsOfRule(context: Context, caller: Caller, ruleId: string, limit: number) {
  const rules = await readableRules(context, caller)
  const rule = rules.find(({ id }) => id === ruleId)
  if (rule === undefined) throw missingRule(ruleId)
  if (rule.paused) throw new Problem('conflict', 'The rule is paused, so it proposes no targets. Resume the rule first')
  const found = await matchAll(context, caller, conditionsOf(rule))
  const earlier = rules.filter(({ paused, position }) => !paused && position < rule.position)
  const others = await firstMatches(context, caller, { rules: earlier, assetIds: found.assets.map(({ id }) => id) })
  return { target: rule, assets: found.assets.filter(({ id }) => !others.has(id)).slice(0, limit) }
}

export function missingRule(id: string): Problem {
  return new Problem('not_found', `Onboarding rule ${id} does not exist`)
}

type Match = { filter?: string; gatewayId?: string; ranges?: string[]; runId?: string }

export function conditionsOf({ gatewayId, ranges, filter }: RuleConditions): Match {
  return {
    ...(gatewayId === null ? {} : { gatewayId }),
    ...(ranges.length === 0 ? {} : { ranges }),
    ...(filter === null ? {} : { filter }),
  }
}

/** Returns the new assets that match, up to the limit of one decision. The search stops at the deadline. */
export async function matchAll(
  { peers }: Context,
  caller: Caller,
  match: Match,
  { deadline = performance.now() + searchMs }: { deadline?: number } = {},
): Promise<{ assets: MatchedAsset[]; isComplete: boolean }> {
  const assets: MatchedAsset[] = []
  let after: string | undefined
  for (;;) {
    const data = { ...match, ...(after === undefined ? {} : { after }) }
    const { data: page } = await peers(inventory, caller).matchNewAssets({ body: { data } })
    assets.push(...page.assets)
    after = page.next
    if (after === undefined) return { assets, isComplete: true }
    if (assets.length >= inboxLimits.assetsPerDecision || performance.now() > deadline)
      return { assets, isComplete: false }
  }
}
