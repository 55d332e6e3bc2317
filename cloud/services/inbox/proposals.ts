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
  for (let from = 0; from < assetIds.length; from += inventoryLimits.batch) {
    let open = assetIds.slice(from, from + inventoryLimits.batch)
    for (const [index, rule] of rules.entries()) {
      if (open.length === 0) break
      const found = await matchedBy(context, caller, { ...conditionsOf(rule), assetIds: open })
      const { accessGroupId, nodeId } = rule
      const target = {
        ...(accessGroupId === null ? {} : { accessGroupId }),
        ...(nodeId === null ? {} : { nodeId }),
        ...names[index],
      }
      for (const { id } of found.assets)
        proposals.set(id, { assetId: id, ruleId: rule.id, ruleName: rule.name, ...target })
      open = open.filter((id) => !proposals.has(id))
    }
  }
  return proposals
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
  const assets: MatchedAsset[] = []
  const earlier = rules.filter(({ paused, position }) => !paused && position < rule.position)
  for (let from = 0; from < found.assets.length && assets.length < limit; from += inventoryLimits.batch) {
    const some = found.assets.slice(from, from + inventoryLimits.batch)
    const others = new Set<string>()
    for (const one of earlier) {
      const matched = await matchedBy(context, caller, { ...conditionsOf(one), assetIds: some.map(({ id }) => id) })
      for (const { id } of matched.assets) others.add(id)
    }
    assets.push(...some.filter(({ id }) => !others.has(id)))
  }
  return { target: rule, assets: assets.slice(0, limit) }
}

export function missingRule(id: string): Problem {
  return new Problem('not_found', `Onboarding rule ${id} does not exist`)
}

type Match = { filter?: string; gatewayId?: string; ranges?: string[]; runId?: string; assetIds?: readonly string[] }

export function conditionsOf({ gatewayId, ranges, filter }: RuleConditions): Match {
  return {
    ...(gatewayId === null ? {} : { gatewayId }),
    ...(ranges.length === 0 ? {} : { ranges }),
    ...(filter === null ? {} : { filter }),
  }
}

/** Returns one page of the new assets that match, among those that the caller can read. */
async function matchedBy({ peers }: Context, caller: Caller, { assetIds, ...match }: Match & { after?: string }) {
  const ids = assetIds === undefined ? {} : { assetIds: [...assetIds] }
  return (await peers(inventory, caller).matchNewAssets({ body: { data: { ...match, ...ids } } })).data
}

/** Returns the new assets that match, up to the limit of one decision. The search stops at the deadline. */
export async function matchAll(
  context: Context,
  caller: Caller,
  match: Match,
  { deadline = performance.now() + searchMs }: { deadline?: number } = {},
): Promise<{ assets: MatchedAsset[]; isComplete: boolean }> {
  const assets: MatchedAsset[] = []
  let after: string | undefined
  for (;;) {
    const page = await matchedBy(context, caller, { ...match, ...(after === undefined ? {} : { after }) })
    assets.push(...page.assets)
    after = page.next
    if (after === undefined) return { assets, isComplete: true }
    if (assets.length >= inboxLimits.assetsPerDecision || performance.now() > deadline)
      return { assets, isComplete: false }
  }
}
