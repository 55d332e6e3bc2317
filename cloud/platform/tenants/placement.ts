import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { StartError } from '../start-error.ts'
import type { Owner } from './owner-store.ts'
import type { ClusterNode, ShardSize, TenantShard, TransferMode } from './placement-store.ts'
import * as store from './placement-store.ts'

export type { TransferMode } from './placement-store.ts'

/** `Placement` is the location of the data of a tenant in a Citus cluster. */
export type Placement = {
  tenant: string
  state: string
  worker: string
  shard: string
  /** The number of other tenants in the same shard. */
  sharedWith: number
  /** The estimated size of the data. Null if the worker is not reachable. */
  bytes: number | null
}

/** Returns the placement of all tenants. Works while a worker is down, without the sizes of its tenants. */
export async function listPlacements(owner: Owner): Promise<Placement[]> {
  await requireDistributed(owner)
  const nodes = new Map((await store.selectNodes(owner)).map((node) => [node.id, node]))
  const shards = await store.selectTenantShards(owner)
  const sizes = await store.readShardSizes(owner)
  const inRange = Map.groupBy(shards, ({ range }) => range)
  const bytes = estimateSizes(
    shards,
    [...sizes.values()].flatMap((found) => (Array.isArray(found) ? found : [])),
  )
  return shards.map(({ tenantId, tenant, state, shard, range, nodeId }) => ({
    tenant,
    state,
    worker: nameOf(nodes.get(nodeId)),
    shard,
    sharedWith: (inRange.get(range)?.length ?? 1) - 1,
    bytes: Array.isArray(sizes.get(nodeId)) ? (bytes.get(tenantId) ?? 0) : null,
  }))
}

export async function requireDistributed(owner: Owner): Promise<void> {
  const { citus, distributed } = await store.readClusterState(owner)
  if (!citus) throw new StartError('This server is not a Citus coordinator: all tenants are in this database.')
  if (!distributed) throw new StartError('The tables are not distributed: run millwright database distribute.')
}

/** How many ids are tried for a new tenant until the worker of one of them is reachable. */
const idAttempts = 100

/**
 * Returns the id for a new tenant. On a cluster the id determines the worker, so this function returns an id whose worker
 * is reachable.
 */
export async function newTenantId(owner: Owner): Promise<{ id: string; distributed: boolean }> {
  const { distributed } = await store.readClusterState(owner)
  if (!distributed) return { id: v7(), distributed }
  const nodes = await store.selectNodes(owner)
  const reachable = new Map<number, boolean>()
  for (let attempt = 0; attempt < idAttempts; attempt++) {
    const id = v7()
    const place = await store.selectNodeOf(owner, id)
    const node = nodes.find(({ id: nodeId }) => nodeId === place)
    if (node === undefined) continue
    const isReachable = reachable.get(node.id) ?? (await store.isReachable(owner, node))
    if (isReachable) return { id, distributed }
    reachable.set(node.id, false)
  }
  const lost = nodes.filter(({ id }) => reachable.get(id) === false).map(nameOf)
  throw new StartError(`No worker of the cluster is reachable (${lost.join(', ')}): start a worker, and retry.`)
}

/** Returns the name of a node as the command line prints and accepts it. */
export function nameOf(node: Pick<ClusterNode, 'host' | 'port'> | undefined): string {
  return node === undefined ? '' : `${node.host}:${node.port}`
}

/**
 * Estimates the size of the data of each tenant in bytes. Each shard of a table is divided by the share of the rows in
 * the statistics. Tenants without statistics divide the rest of the shard equally.
 */
export function estimateSizes(
  tenants: readonly Pick<TenantShard, 'tenantId' | 'range'>[],
  sizes: readonly ShardSize[],
): Map<string, number> {
  const estimates = new Map(tenants.map(({ tenantId }) => [tenantId, 0]))
  const inRange = Map.groupBy(tenants, ({ range }) => range)
  for (const { range, bytes, tenants: common, shares } of sizes) {
    const all = inRange.get(range) ?? []
    const shareOf = new Map(common.map((tenantId, index) => [tenantId, shares[index] ?? 0]))
    const others = all.filter(({ tenantId }) => !shareOf.has(tenantId)).length
    const rest = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)) / Math.max(1, others)
    for (const { tenantId } of all) {
      const share = shareOf.get(tenantId) ?? rest
      estimates.set(tenantId, (estimates.get(tenantId) ?? 0) + bytes * share)
    }
  }
  return new Map([...estimates].map(([tenantId, bytes]) => [tenantId, Math.round(bytes)]))
}

export type MovedTenant = { tenantId: string; from: string; to: string; isolated: boolean }

/**
 * Moves the data of one tenant to another worker. If other tenants are in the same shard, the tenant first gets its own
 * shard. Returns undefined if the tenant is already on the worker. The cluster can complete a move whose
 * command was interrupted, and the command can be repeated.
 */
export async function moveTenant(
  owner: Owner,
  { name, to: target, mode }: MoveRequest,
): Promise<MovedTenant | undefined> {
  await requireDistributed(owner)
  return withMoveLock(owner, name, () => moveShards(owner, { name, to: target, mode }))
}

/** Runs the work while no other command moves the tenant. Two moves would disturb each other with misleading errors. */
export async function withMoveLock<Result>(owner: Owner, name: string, work: () => Promise<Result>): Promise<Result> {
  if (!(await store.lockMove(owner, name)))
    throw new StartError(`Another command moves tenant ${name} at the moment: wait until it has ended, and retry.`)
  try {
    return await work()
  } finally {
    await store.unlockMove(owner, name).catch(() => {})
  }
}

type MoveRequest = { name: string; to: string; mode: TransferMode }

async function moveShards(owner: Owner, { name, to: target, mode }: MoveRequest): Promise<MovedTenant | undefined> {
  const nodes = await store.selectNodes(owner)
  const to = nodes.find((node) => nameOf(node) === target)
  if (to === undefined || !to.hasShards) {
    const workers = nodes.filter(({ hasShards }) => hasShards).map(nameOf)
    throw new StartError(`${target} is not a worker of this cluster: use one of ${workers.join(', ')}.`)
  }
  const shards = await store.selectTenantShards(owner)
  const own = shards.find(({ tenant }) => tenant === name)
  if (own === undefined) throw new Problem('not_found', `Tenant ${name} does not exist`)
  const from = nodes.find(({ id }) => id === own.nodeId)
  if (from === undefined || from.id === to.id) return undefined
  const isolated = shards.some(({ range, tenantId }) => range === own.range && tenantId !== own.tenantId)
  let { shard } = own
  try {
    if (isolated) shard = await store.isolateTenant(owner, own.tenantId, mode)
    await store.moveShard(owner, { shard, from, to, mode })
  } catch (error) {
    throw failedMove(name, error as Error)
  }
  // The tenant has moved. If this fails, the cluster updates its statistics and deletes the old copy later.
  await store.analyzeShards(owner, shard, to).catch(() => {})
  await store.dropOldShards(owner).catch(() => {})
  return { tenantId: own.tenantId, from: nameOf(from), to: nameOf(to), isolated }
}

/** What to do after an error of Citus, by its message. */
const remedies: readonly (readonly [message: RegExp, remedy: string])[] = [
  [
    /missing reference tables/,
    'run "select replicate_reference_tables()" on the coordinator as a superuser, and retry',
  ],
  [
    /output plugin|wal_level|replication/,
    'set wal_level to logical on all workers and, if the server has it, add pgoutput and citus to output_plugin_libraries, or pass --block-writes',
  ],
]

/** Turns an error of Citus into a message with a remedy. */
function failedMove(name: string, error: Error): StartError {
  const reason = error.message.split('\n')[0]?.replace(/^ERROR: +/, '')
  const remedy = remedies.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'check that all nodes run, and retry'
  return new StartError(`Tenant ${name} was not moved (${reason}): ${remedy}.`, { cause: error })
}
