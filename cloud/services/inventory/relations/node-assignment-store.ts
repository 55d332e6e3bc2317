import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import type { managementStates, reachabilityStates } from '@millwright/api/inventory/shapes.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import type { AssetSet, Fragment } from '../assets/listing.ts'
import { hasNode, type NodeSet } from '../assets/node-sets.ts'
import { type Groups, isGatewayOrLink, isReadableRow } from '../visibility.ts'
import type { RelationEnd, RelationRow } from './relation.ts'
import { columnsOf, endRelations } from './relation-store.ts'

/** Statements on the relations from assets to nodes of hierarchies. The nodes themselves are not stored here. */

const isAssignment = `r.subject_type = 'asset' and r.predicate = '${assignmentPredicate}' and r.object_type = 'node'`

export type AssignedAssetRow = {
  id: string
  accessGroupId: string
  isGateway: boolean
  reachabilityState: (typeof reachabilityStates)[number]
  managementState: (typeof managementStates)[number]
  modifiedTimestamp: string
}

const describeStatement = statement<AssignedAssetRow>(
  `select a.id, a.access_group_id as "accessGroupId", ${isGatewayOrLink('a')} is true as "isGateway",
          a.reachability_state as "reachabilityState", a.management_state as "managementState",
          a.modified_at as "modifiedTimestamp"
   from assets a where a.tenant_id = $1 and a.id = any($2::uuid[])`,
)
/** The time of a merge identifies the relations that the merge moved to the asset. */
const isFromMerge = `exists (select from asset_merges m
     where m.tenant_id = $1 and m.asset_id = r.subject_id and m.merged_at = r.created_at)`
const relationsOfStatement = statement<{ assetId: string; nodeId: string; relationId: string }>(
  `select r.subject_id as "assetId", r.object_id as "nodeId", r.id as "relationId" from relations r
   where r.tenant_id = $1 and r.subject_id = any($2::uuid[]) and ${isAssignment}
   order by ${isFromMerge} desc, r.created_ordinal, r.id`,
)

/**
 * Returns the states of assets and the nodes to which the assets are assigned, oldest assignment first. A node that a merge
 * took from the other asset comes before the asset's own nodes, so that the own node applies. Assets that do not exist are
 * left out.
 */
export async function describeAssignedAssets(handle: Handle, assetIds: readonly string[]) {
  const ids = arrayOf('uuid', assetIds)
  const [assets, relations] = await Promise.all([
    handle.rows(describeStatement, ids),
    handle.rows(relationsOfStatement, ids),
  ])
  const nodes = Map.groupBy(relations, ({ assetId }) => assetId)
  return assets.map((asset) => ({
    ...asset,
    nodes: (nodes.get(asset.id) ?? []).map(({ nodeId, relationId }) => ({ nodeId, relationId })),
  }))
}

const assetsOfNodesStatement = statement<{ id: string }>(
  `select distinct r.subject_id as id from relations r
   where r.tenant_id = $1 and r.object_id = any($2::uuid[]) and ${isAssignment} and r.subject_id > $3
   order by 1 limit $4`,
)

/** Returns the next assets that are assigned to one of the nodes, in the order of their ids. */
export async function listAssetsOfNodes(
  handle: Handle,
  nodeIds: readonly string[],
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await handle.rows(assetsOfNodesStatement, arrayOf('uuid', nodeIds), after, limit)
  return rows.map(({ id }) => id)
}

const countStatement = statement<{ nodeId: string; relations: number }>(
  `select r.object_id as "nodeId", count(*) as relations from relations r
   where r.tenant_id = $1 and r.object_id = any($2::uuid[]) and ${isAssignment} group by r.object_id`,
)

export function countNodeRelations(handle: Handle, nodeIds: readonly string[]) {
  return handle.rows(countStatement, arrayOf('uuid', nodeIds))
}

const nodesOfStatement = statement<{ subjectId: string; objectId: string }>(
  `select r.subject_id as "subjectId", r.object_id as "objectId" from relations r
   where r.tenant_id = $1 and r.subject_id = any($2::uuid[]) and ${isAssignment}`,
)

/** Returns the nodes to which assets have relations. */
export function listNodesOf(handle: Handle, assetIds: readonly string[]) {
  return handle.rows(nodesOfStatement, arrayOf('uuid', assetIds))
}

const serializeStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7247))`)

/** Makes other assignments of the tenant wait until the end of the transaction. Call it before you lock assets. */
export async function serializeAssignments(tx: Transaction): Promise<void> {
  await tx.run(serializeStatement)
}

const lockStatement = statement<RelationRow>(
  `select ${columnsOf('r')} from relations r
   where r.tenant_id = $1 and r.subject_id = any($2::uuid[]) and ${isAssignment} order by r.id for update`,
)

/** Locks the relations from these assets to nodes. Lock the assets before the call. */
export function lockAssignments(tx: Transaction, assetIds: readonly string[]): Promise<RelationRow[]> {
  return tx.rows(lockStatement, arrayOf('uuid', assetIds))
}

const pairs = rowset<{ assetId: string; nodeId: string }>({ assetId: 'uuid', nodeId: 'uuid' })
const reverseStatement = statement<{ id: string }>(
  `select v.id from ${pairs.rows} join relations v on v.tenant_id = $1 and v.subject_type = 'node'
     and v.subject_id = r."nodeId" and v.predicate = '${assignmentPredicate}' and v.object_type = 'asset'
     and v.object_id = r."assetId"
   order by v.id for update of v`,
)

/**
 * Ends relations from assets to nodes, and the reverse relations that a client created with `isBidirectional`. Returns all
 * of them.
 */
export async function endAssignments(
  tx: Transaction,
  ids: readonly string[],
  end: RelationEnd,
): Promise<RelationRow[]> {
  const ended = await endRelations(tx, ids, end)
  if (ended.length === 0) return ended
  const endedPairs = ended.map(({ subjectId, objectId }) => ({ assetId: subjectId, nodeId: objectId }))
  const reverse = await tx.rows(reverseStatement, ...pairs.values(endedPairs))
  const reverseIds = reverse.map(({ id }) => id)
  return [...ended, ...(await endRelations(tx, reverseIds, end))]
}

/** Up to this many nodes, a relation is compared with each node. More nodes are put into a hash table. */
const fewNodes = 100

/**
 * Returns the set of assets that are assigned to one of the nodes whose ids the SQL parameter contains. With many
 * nodes, the sub-select and `is true` make the server build one hash table per statement. A comparison with the array
 * would check each of its elements.
 */
export function assetsOfNodes(set: NodeSet, parameter: string): AssetSet {
  const { nodes } = set
  const isRelation = `r.tenant_id = $1 and ${isAssignment}`
  const isMany = nodes > fewNodes
  const isAny = `r.object_id = any(${parameter}::uuid[])`
  const isMember = isMany ? `(r.object_id in (select unnest(${parameter}::uuid[]))) is true` : isAny
  const ids = isMany
    ? `select r.subject_id as id from unnest(${parameter}::uuid[]) as n (id) join relations r on r.object_id = n.id and ${isRelation}`
    : `select r.subject_id as id from relations r where ${isRelation} and ${isAny}`
  return {
    ids,
    once: `select distinct s.id from (${ids}) as s`,
    has: `(select true from relations r where r.subject_id = a.id and ${isRelation} and ${isMember} limit 1)`,
    ...(isMany ? { check: { parameter, keysOf: nodesOfAssets, hasKey: (id) => hasNode(set, id) } } : {}),
  }
}

function nodesOfAssets(ids: string): string {
  return `select r.subject_id as id, r.object_id as key from relations r
    where r.tenant_id = $1 and r.subject_id = any(${ids}) and ${isAssignment}`
}

/** Returns the condition that asset `a` is assigned to none of the nodes whose ids the SQL parameter contains. */
export function isUnassigned(set: NodeSet, parameter: string): Fragment {
  return { sql: `${assetsOfNodes(set, parameter).has} is null`, values: [set.ids] }
}

export type MatchQuery = {
  groups: Groups
  namePattern: string | undefined
  addressPrefix: string | undefined
  gatewayId: string | undefined
  /** The assets to compare. Undefined means all assets. */
  assetIds: readonly string[] | undefined
  after: string
  limit: number
}

export type MatchedAsset = { id: string; name: string | null; addresses: string[] }

/** Returns the next readable assets that match all conditions, with their addresses, in the order of their ids. */
export function listMatches(
  handle: Handle,
  { groups, namePattern, addressPrefix, gatewayId, assetIds, after, limit }: MatchQuery,
): Promise<MatchedAsset[]> {
  const values: unknown[] = [groups, after, limit]
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const conditions = [
    ...(assetIds === undefined ? [] : [`a.id = any(${parameter(arrayOf('uuid', assetIds))}::uuid[])`]),
    ...(namePattern === undefined ? [] : [`a.name like ${parameter(namePattern)}`]),
    ...(addressPrefix === undefined
      ? []
      : [
          `(select true from asset_addresses p where p.tenant_id = $1 and p.asset_id = a.id
            and p.kind in ('ipv4', 'ipv6') and starts_with(p.address, ${parameter(addressPrefix)}) limit 1)`,
        ]),
    ...(gatewayId === undefined
      ? []
      : [
          `(select true from relations f where f.tenant_id = $1 and f.subject_id = a.id and f.subject_type = 'asset'
            and f.predicate = 'found_by_gateway' and f.object_id = ${parameter(gatewayId)} limit 1)`,
        ]),
  ]
  return handle.rows(
    dynamicStatement<MatchedAsset>(
      `select a.id, a.name, array(select i.address from asset_addresses i
          where i.tenant_id = $1 and i.asset_id = a.id and i.kind in ('ipv4', 'ipv6')) as addresses
       from assets a where a.tenant_id = $1 and ${isReadableRow('a', '$2')} and a.id > $3
         and ${conditions.join(' and ')} order by a.id limit $4`,
    ),
    ...values,
  )
}
