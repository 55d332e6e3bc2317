import { isIPv4, isIPv6 } from 'node:net'
import {
  type hierarchy,
  hierarchyLimits,
  type ItemResult,
  type Proposal,
  type Rule,
} from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { readableGateways, readsAllAssets } from '../../platform/asset-visibility.ts'
import { bytesOfId, idBytes, idOfBytes } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { assignNow, currentNodes } from './assignment-run.ts'
import { listProjected } from './count-store.ts'
import { getHierarchy, lockedHierarchy, reportHierarchy } from './hierarchies.ts'
import * as store from './node-store.ts'

/** Rules propose nodes for assets. A person applies the proposals, so a rule never assigns an asset. */

type Names = 'readRules' | 'replaceRules' | 'listProposals' | 'applyProposals'

export function ruleHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database } = context
  return {
    async readRules({ params: { id } }, caller) {
      const row = await database.read(caller, (handle) => getHierarchy(handle, id))
      const rules = await shownRules(context, caller, row)
      return answer(200, { data: { rules } }, { etag: etagOf(row.rulesVersion) })
    },

    async replaceRules({ params: { id }, headers, body: { data } }, caller) {
      requireValid(data.rules)
      const existing = await existingGateways(context, caller, data.rules)
      return database.transaction(caller, async (tx) => {
        const before = await lockedHierarchy(tx, id)
        requireMatch(headers['if-match'], before.rulesVersion)
        const named = await store.describeNodes(
          tx,
          data.rules.map(({ nodeId }) => nodeId),
        )
        requireNodesOf(id, data.rules, named)
        // A caller that can read all assets also sees deleted gateways of stored rules, and can keep these rules.
        const kept = readsAllAssets(caller) ? before.rules.flatMap(({ gatewayId }) => gatewayId ?? []) : []
        const gatewayIds = new Set([...existing, ...kept])
        const rules = storedRules(context, data.rules, { before, gatewayIds })
        await store.replaceRules(tx, id, rules)
        const detail = { rules: data.rules.length }
        await reportHierarchy(tx, caller, { action: 'replaceRules', event: 'updated', row: before, detail })
        const shown = showRules(context, { id, rules }, readsAllAssets(caller) ? null : existing)
        return answer(200, { data: { rules: shown } }, { etag: etagOf(before.rulesVersion + 1) })
      })
    },

    async listProposals({ params: { id }, query: { onlyUnassigned = true } }, caller) {
      const { rules } = await database.read(caller, (handle) => getHierarchy(handle, id))
      const { proposals, ...meta } = await proposalsOf(context, caller, { hierarchyId: id, rules, onlyUnassigned })
      return { data: proposals, meta: { elements: proposals.length, ...meta } }
    },

    async applyProposals({ params: { id }, body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const { rules, named } = await database.read(caller, async (handle) => ({
        rules: (await getHierarchy(handle, id)).rules,
        named: await store.describeNodes(
          handle,
          data.assets.map(({ nodeId }) => nodeId),
        ),
      }))
      requireNodesOf(id, data.assets, named, '/data/assets')
      const first = new Map(data.assets.map(({ assetId }, index) => [assetId, index] as const).toReversed())
      const twice = data.assets.findIndex(({ assetId }, index) => first.get(assetId) !== index)
      if (twice >= 0) {
        const detail = `The asset ${data.assets[twice]?.assetId} is in the list twice. Remove one of the two entries`
        const pointer = `/data/assets/${twice}/assetId`
        throw fieldProblem('invalid_body', pointer, detail)
      }
      const assetIds = data.assets.map(({ assetId }) => assetId)
      const proposed = await proposedNodes(context, caller, { rules, assetIds })
      const isProposed = ({ assetId, nodeId }: (typeof data.assets)[number]) => proposed.get(assetId) === nodeId
      const refused = data.assets.filter((pair) => !isProposed(pair)).map(refusedResult)
      const targets = data.assets.filter(isProposed)
      return { data: await assignNow(context, caller, { hierarchyId: id, kind: 'rules', assetIds, targets, refused }) }
    },
  }
}

/** Checks the conditions of rules. A rule without a condition would match every asset. */
function requireValid(rules: readonly Rule[]): void {
  const errors = rules.flatMap(({ namePattern, subnet, gatewayId }, index): FieldError[] => {
    const pointer = `/data/rules/${index}`
    if (namePattern === undefined && subnet === undefined && gatewayId === undefined)
      return [
        { pointer, code: 'invalid_body', detail: 'A rule needs at least one of namePattern, subnet and gatewayId' },
      ]
    if (subnet === undefined || isSubnet(subnet)) return []
    return [
      {
        pointer: `${pointer}/subnet`,
        code: 'invalid_range',
        detail: `"${subnet}" is not a valid subnet. Use CIDR notation, such as 10.0.0.0/24`,
      },
    ]
  })
  const [first] = errors
  if (first !== undefined)
    throw new Problem(first.code === 'invalid_range' ? 'invalid_range' : 'invalid_body', first.detail, { errors })
}

function isSubnet(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/')
  const most = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : -1
  return more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most
}

/** Returns the existing gateways that the caller can read, if one of the rules has a gateway. */
async function existingGateways({ peers }: Context, caller: Caller, rules: readonly Rule[]): Promise<string[]> {
  if (rules.every(({ gatewayId }) => gatewayId === undefined)) return []
  return (await peers(inventory, caller).listReadableGateways({})).data
}

/**
 * Returns the rules of a hierarchy for a caller. A gateway that the caller cannot read has a substitute id, so that the
 * caller can write the rules back without knowing the gateway.
 */
async function shownRules(context: Context, caller: Caller, row: store.HierarchyRow): Promise<Rule[]> {
  if (row.rules.every(({ gatewayId }) => gatewayId === undefined)) return row.rules
  return showRules(context, row, await readableGateways(context, caller))
}

/** `readable` contains the gateways that the caller can read. Null means all gateways. */
function showRules(
  context: Context,
  { id, rules }: Pick<store.HierarchyRow, 'id' | 'rules'>,
  readable: readonly string[] | null,
): Rule[] {
  return rules.map(({ gatewayId, ...rule }) => {
    if (gatewayId === undefined) return rule
    const isReadable = readable === null || readable.includes(gatewayId)
    return { ...rule, gatewayId: isReadable ? gatewayId : substituteOf(context, id, gatewayId) }
  })
}

const substitutes = 'substitute ids of gateways'

function substituteOf({ secrets }: Context, hierarchyId: string, gatewayId: string): string {
  return idOfBytes(secrets.mac(substitutes, `${hierarchyId}/${gatewayId}`).subarray(0, idBytes))
}

type StoredGateways = { before: store.HierarchyRow; gatewayIds: ReadonlySet<string> }

/** Returns rules with the ids of their gateways. A substitute id must belong to a gateway of a stored rule. */
function storedRules({ secrets }: Context, rules: readonly Rule[], { before, gatewayIds }: StoredGateways): Rule[] {
  const errors: FieldError[] = []
  const stored = rules.map((rule, index): Rule => {
    const { gatewayId } = rule
    if (gatewayId === undefined || gatewayIds.has(gatewayId)) return rule
    const code = bytesOfId(gatewayId)
    const kept = before.rules.find(
      (one) => one.gatewayId !== undefined && secrets.isMac(substitutes, `${before.id}/${one.gatewayId}`, code),
    )
    if (kept?.gatewayId !== undefined) return { ...rule, gatewayId: kept.gatewayId }
    const detail = `Gateway ${gatewayId} does not exist`
    errors.push({ pointer: `/data/rules/${index}/gatewayId`, code: 'asset_not_found', detail })
    return rule
  })
  if (errors[0] !== undefined) throw new Problem('asset_not_found', errors[0].detail, { errors })
  return stored
}

/** Returns the nodes that the rules propose now for assets, by the id of the asset. */
async function proposedNodes(
  { peers }: Context,
  caller: Caller,
  { rules, assetIds }: { rules: readonly Rule[]; assetIds: readonly string[] },
): Promise<Map<string, string>> {
  const proposed = new Map<string, string>()
  for (const { nodeId, ...conditions } of rules) {
    const open = assetIds.filter((id) => !proposed.has(id))
    if (open.length === 0) break
    const { data } = await peers(inventory, caller).matchAssets({ body: { data: { ...conditions, assetIds: open } } })
    for (const { id } of data.assets) proposed.set(id, nodeId)
  }
  return proposed
}

function refusedResult({ assetId, nodeId }: { assetId: string; nodeId: string }): ItemResult {
  const { status, code, message } = new Problem(
    'not_proposed',
    `No rule proposes the node ${nodeId} for this asset now. List the proposals again`,
  )
  return { assetId, outcome: 'failed', status, code, detail: message }
}

function requireNodesOf(
  hierarchyId: string,
  items: readonly { nodeId: string }[],
  named: readonly { id: string; hierarchyId: string }[],
  pointer = '/data/rules',
): void {
  const known = new Set(named.filter((node) => node.hierarchyId === hierarchyId).map(({ id }) => id))
  const errors = items.flatMap(({ nodeId }, index) =>
    known.has(nodeId)
      ? []
      : [
          {
            pointer: `${pointer}/${index}/nodeId`,
            code: 'node_not_found',
            detail: `Node ${nodeId} does not exist in this hierarchy`,
          },
        ],
  )
  if (errors[0] !== undefined) throw new Problem('node_not_found', errors[0].detail, { errors })
}

type ProposalQuery = { hierarchyId: string; rules: readonly Rule[]; onlyUnassigned: boolean }

/** How long the search for proposals takes at most. Rules that match many assigned assets propose nothing for a long time. */
const proposalsMs = 10_000

/**
 * Returns the assets that rules would assign or move. The first matching rule of an asset applies. The list is incomplete if
 * the limit of proposals or of time is reached.
 */
async function proposalsOf(
  context: Context,
  caller: Caller,
  { hierarchyId, rules, onlyUnassigned }: ProposalQuery,
): Promise<{ proposals: Proposal[]; isComplete: boolean; inOtherNode: number }> {
  const { database, peers } = context
  const paths = await database.read(caller, (handle) =>
    store.pathsTo(
      handle,
      rules.map(({ nodeId }) => nodeId),
    ),
  )
  const startedAt = performance.now()
  const matched = new Set<string>()
  const proposals: Proposal[] = []
  let inOtherNode = 0
  for (const [index, { nodeId, ...conditions }] of rules.entries()) {
    const nodePath = namesOf(paths.get(nodeId))
    const nodeName = nodePath.at(-1)
    if (nodeName === undefined) continue
    for (let after: string | undefined, isMore = true; isMore; ) {
      if (performance.now() - startedAt > proposalsMs) return { proposals, isComplete: false, inOtherNode }
      const query = { ...conditions, ...(after === undefined ? {} : { after }) }
      const { data } = await peers(inventory, caller).matchAssets({ body: { data: query } })
      const fresh = data.assets.filter(({ id }) => !matched.has(id))
      for (const { id } of fresh) matched.add(id)
      const assetIds = fresh.map(({ id }) => id)
      const nodeOf = await nodesOfAssets(context, caller, { hierarchyId, assetIds, nodeId, onlyUnassigned })
      const currentPaths = await database.read(caller, (handle) =>
        store.pathsTo(handle, onlyUnassigned ? [] : [...nodeOf.values()]),
      )
      for (const { id, name } of fresh) {
        const currentNodeId = nodeOf.get(id)
        if (currentNodeId === nodeId) continue
        if (currentNodeId !== undefined) inOtherNode++
        if (currentNodeId !== undefined && onlyUnassigned) continue
        const currentNodePath = namesOf(currentPaths.get(currentNodeId ?? ''))
        if (proposals.length === hierarchyLimits.proposals) return { proposals, isComplete: false, inOtherNode }
        proposals.push({
          assetId: id,
          assetName: name,
          nodeId,
          nodeName,
          nodePath,
          ...(currentNodeId === undefined
            ? {}
            : { currentNodeId, currentNodeName: currentNodePath.at(-1) ?? '', currentNodePath }),
          rule: index,
        })
      }
      after = data.next
      isMore = after !== undefined
    }
  }
  return { proposals, isComplete: true, inOtherNode }
}

type MatchedAssets = { hierarchyId: string; assetIds: readonly string[]; nodeId: string; onlyUnassigned: boolean }

/**
 * Returns the nodes of matching assets in the hierarchy, by the id of the asset. The projection contains most assets that
 * have a node. The nodes of the assets that would be proposed are read from the inventory, because the projection does not
 * contain the latest assignments.
 */
async function nodesOfAssets(
  context: Context,
  caller: Caller,
  { hierarchyId, assetIds, nodeId, onlyUnassigned }: MatchedAssets,
): Promise<Map<string, string>> {
  const projected = await context.database.read(caller, (handle) => listProjected(handle, assetIds))
  const nodeOf = new Map(
    projected.filter((row) => row.hierarchyId === hierarchyId).map((row) => [row.assetId, row.nodeId]),
  )
  const proposed = assetIds.filter((id) => !nodeOf.has(id) || (!onlyUnassigned && nodeOf.get(id) !== nodeId))
  const { assetOf, inHierarchy } = await currentNodes(context, caller, { hierarchyId, assetIds: proposed })
  for (const id of proposed) {
    const current = assetOf.get(id)?.nodes.findLast((node) => inHierarchy.has(node.nodeId))
    if (current === undefined) nodeOf.delete(id)
    else nodeOf.set(id, current.nodeId)
  }
  return nodeOf
}

function namesOf(path: readonly { name: string }[] = []): string[] {
  return path.map(({ name }) => name)
}
