import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import { type inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { assignmentResults } from '@millwright/api/inventory/node-assignments.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDeniedIn, requirePermission } from '../../../platform/access/permission-denied.ts'
import { recordAll } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { lowestId } from '../../../platform/database/id.ts'
import { emitAll } from '../../../platform/events/events.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { readableGroups } from '../visibility.ts'
import * as store from './node-assignment-store.ts'
import { authorOf, type RelationRow, relationDetail, relationEvents } from './relation.ts'
import { isReadable, lockAssets, putRelations } from './relation-store.ts'
import { nodeLimitExceeded, refusalOf } from './relation-writer.ts'

type Names =
  | 'describeAssignedAssets'
  | 'listAssetsOfNodes'
  | 'countNodeRelations'
  | 'assignNodes'
  | 'endNodeRelations'
  | 'matchAssets'

/** The number of assets that one query of `matchAssets` reads. */
const matchesRead = 2_000

/**
 * The operations for the hierarchy service. The inventory stores the relations from assets to nodes, but not the nodes.
 */
export function nodeAssignmentHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async describeAssignedAssets({ body: { data } }, caller) {
      return { data: await database.read(caller, (handle) => store.describeAssignedAssets(handle, data.assetIds)) }
    },

    async listAssetsOfNodes({ body: { data } }, caller) {
      const page = { after: data.after ?? lowestId, limit: inventoryLimits.classified }
      return { data: await database.read(caller, (handle) => store.listAssetsOfNodes(handle, data.nodeIds, page)) }
    },

    async countNodeRelations({ body: { data } }, caller) {
      return { data: await database.read(caller, (handle) => store.countNodeRelations(handle, data.nodeIds)) }
    },

    async assignNodes({ body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      return { data: await database.transaction(caller, (tx) => assign(tx, caller, data.assets)) }
    },

    async endNodeRelations({ body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const ended = await store.endAssignments(tx, data.relationIds, authorOf(caller))
        await reportRelations(tx, caller, { created: [], ended })
        return { data: { ended: ended.length } }
      })
    },

    async matchAssets({ body: { data } }, caller) {
      const { namePattern, subnet, gatewayId, assetIds, after = lowestId } = data
      const contains = subnet === undefined ? () => true : addressesIn(subnet)
      const query = {
        groups: readableGroups(caller),
        namePattern: namePattern === undefined ? undefined : likePattern(namePattern),
        addressPrefix: subnet === undefined ? undefined : prefixOf(subnet),
        gatewayId,
        assetIds,
        after,
        limit: matchesRead,
      }
      const rows = await database.read(caller, async (handle) => {
        // A gateway that the caller cannot read must not show which assets it found.
        const gateway = gatewayId === undefined ? undefined : { id: gatewayId, groups: query.groups }
        return gateway === undefined || (await isReadable(handle, gateway)) ? store.listMatches(handle, query) : []
      })
      const assets = rows.filter(({ addresses }) => contains(addresses)).map(({ id, name }) => ({ id, name }))
      const last = rows.length === matchesRead ? rows.at(-1)?.id : undefined
      return { data: { assets, ...(last === undefined ? {} : { next: last }) } }
    },
  }
}

type Item = {
  assetId: string
  nodeId: string | null
  otherNodeIds: readonly string[]
  knownNodeIds: readonly string[]
}
type Result = {
  assetId: string
  outcome: (typeof assignmentResults)[number]
  previousNodeId?: string
  status?: number
  code?: string
  detail?: string
}

/**
 * Assigns each asset to its node and ends its relations to the other nodes, in one transaction. An asset that already has
 * only this node is unchanged, without an event, so a repeated call has no further effect. The assignments of a tenant run one
 * after the other, so that each of them ends the relation that the previous one created.
 */
async function assign(tx: Transaction, caller: Caller, items: readonly Item[]): Promise<Result[]> {
  const assetIds = items.map(({ assetId }) => assetId)
  await store.serializeAssignments(tx)
  const groups = await lockAssets(tx, assetIds, readableGroups(caller))
  const relations = Map.groupBy(await store.lockAssignments(tx, assetIds), ({ subjectId }) => subjectId)
  const results: Result[] = []
  const additions: { assetId: string; nodeId: string }[] = []
  const endedIds: string[] = []
  for (const { assetId, nodeId, otherNodeIds, knownNodeIds } of items) {
    const refusal = refusalOf({ caller, relation: relationTo(assetId, nodeId ?? assetId), pointer: '/data' }, groups)
    if (refusal !== undefined) {
      const problem = refusal instanceof Problem ? refusal : await permissionDeniedIn(tx, caller, refusal)
      results.push(failed(assetId, problem))
      continue
    }
    const own = relations.get(assetId) ?? []
    const known = new Set(knownNodeIds)
    const otherNodes = new Set(otherNodeIds)
    if (own.some(({ objectId }) => objectId !== nodeId && !known.has(objectId))) {
      results.push({ assetId, outcome: 'stale' })
      continue
    }
    const others = own.filter(({ objectId }) => objectId !== nodeId && otherNodes.has(objectId))
    const previousNodeId = others.at(-1)?.objectId
    const isNew = nodeId !== null && !own.some(({ objectId }) => objectId === nodeId)
    // A move ends at least one relation, so the asset does not get more of them.
    if (isNew && others.length === 0 && own.length >= inventoryLimits.nodesPerAsset) {
      results.push(failed(assetId, nodeLimitExceeded(assetId, own.length, '/data')))
      continue
    }
    endedIds.push(...others.map(({ id }) => id))
    if (isNew) additions.push({ assetId, nodeId })
    const outcome =
      previousNodeId === undefined ? (isNew ? 'assigned' : 'unchanged') : nodeId === null ? 'removed' : 'moved'
    results.push({ assetId, outcome, ...(previousNodeId === undefined ? {} : { previousNodeId }) })
  }
  const author = authorOf(caller)
  const ended = await store.endAssignments(tx, endedIds, author)
  const put = await putRelations(
    tx,
    additions.map(({ assetId, nodeId }) => ({
      ...relationTo(assetId, nodeId),
      source: { type: 'manual' as const },
      author,
    })),
  )
  await reportRelations(tx, caller, { created: put.map(({ relation }) => relation), ended })
  return results
}

function failed(assetId: string, { status, code, message }: Problem): Result {
  return { assetId, outcome: 'failed', status, code, detail: message }
}

function relationTo(assetId: string, nodeId: string) {
  return {
    subject: { type: 'asset' as const, id: assetId },
    predicate: assignmentPredicate,
    object: { type: 'node' as const, id: nodeId },
  }
}

/** Writes the audit entries and the events of relations. */
export async function reportRelations(
  tx: Transaction,
  who: Caller,
  { created, ended }: { created: readonly RelationRow[]; ended: readonly RelationRow[] },
): Promise<void> {
  const entries = (action: string, relations: readonly RelationRow[]) =>
    relations.map((relation) => ({
      who,
      action,
      target: `relation/${relation.id}`,
      detail: relationDetail(relation),
    }))
  const records = [...entries('inventory.deleteRelations', ended), ...entries('inventory.createRelation', created)]
  if (records.length === 0) return
  await recordAll(tx, records)
  await emitAll(tx, [...relationEvents('deleted', ended), ...relationEvents('created', created)])
}

/** Converts a pattern with `*` to a pattern of SQL. */
function likePattern(pattern: string): string {
  return pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
}

/** Returns a function that checks whether one of the addresses is in the subnet. */
function addressesIn(subnet: string): (addresses: readonly string[]) => boolean {
  const [address = '', bits] = subnet.split('/')
  const list = new BlockList()
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  list.addSubnet(address, Number(bits), family)
  return (addresses) =>
    addresses.some((one) => (isIPv4(one) && list.check(one)) || (isIPv6(one) && list.check(one, 'ipv6')))
}

/** Returns the text with which every IPv4 address of the subnet starts. It is empty for IPv6. */
function prefixOf(subnet: string): string {
  const [address = '', bits] = subnet.split('/')
  if (!isIPv4(address)) return ''
  const whole = address.split('.').slice(0, Math.floor(Number(bits) / 8))
  return whole.length === 4 ? whole.join('.') : whole.map((octet) => `${octet}.`).join('')
}
