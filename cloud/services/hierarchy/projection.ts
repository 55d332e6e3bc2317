import type { ResultOf } from '@millwright/api/contract.ts'
import { assignmentPredicate, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Relation } from '@millwright/api/inventory/relations.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lowestId } from '../../platform/database/id.ts'
import { placedTopic } from '../../platform/events/events.ts'
import { extent, listOutlines } from '../../platform/events/store.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import type { ProjectedAsset } from './count-store.ts'
import * as counts from './count-store.ts'
import * as nodes from './node-store.ts'

/**
 * Keeps the counts of the nodes current.
 *
 * The inventory owns assets and relations. For each batch of events, the projection reads the current state of the named
 * assets, compares it with its own rows, and adds the differences to the counts of the node and of all nodes above. It
 * stores its position in the same transaction, so that each event counts once. A batch takes a few milliseconds. A process
 * that shares no memory with the inventory looks for events every second, so the counts are at most two seconds old.
 *
 * Each batch locks the position of the tenant before it reads the state of assets. Batches, rebuilds and the aging of changes
 * therefore run one after the other, and none of them can store a state that is older than the stored one. Only the
 * projection locks this row, so a batch that waits for the inventory blocks no request.
 *
 * An asset has one node per hierarchy. If a client created a second relation directly, the newer one applies, and the
 * projection ends the older one.
 */

/** The maximum number of events in one batch. */
const batch = 500
const everyMs = 1_000
const dayMs = 24 * 3_600_000
/** How long an asset that changed may stay counted as recent after 24 hours. */
const agingMs = 60_000

/** The types of events whose data the projection reads. */
const relationTypes = ['inventory.relation.created', 'inventory.relation.deleted']

type EventOutline = Awaited<ReturnType<typeof listOutlines>>[number]
type AssetState = ResultOf<(typeof inventory)['operations']['describeAssignedAssets']>['data'][number]

export function projectionTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    'hierarchy.project': {
      periodic: { everyMs, wakeOn: placedTopic, pending: counts.anyUnprojected },
      async run({ tenantId, signal }) {
        const caller = await tenantCaller(context, tenantId)
        while (!signal.aborted && (await projectBatch(context, caller, signal)));
      },
    },
    'hierarchy.age': {
      periodic: { everyMs: agingMs, pending: counts.anyProjection },
      async run({ tenantId, signal }) {
        const caller = await tenantCaller(context, tenantId)
        const before = new Date(Date.now() - dayMs).toISOString()
        const next = () => database.read(caller, (handle) => counts.listAged(handle, before, batch))
        for (let ids = await next(); ids.length > 0 && !signal.aborted; ids = await next())
          await locked(context, caller, (tx) => project(context, caller, { tx, assetIds: ids }))
      },
    },
    'hierarchy.rebuild': {
      async run({ tenantId, payload, signal }) {
        const { hierarchyId } = payload as { hierarchyId: string }
        await rebuild(context, await tenantCaller(context, tenantId), { hierarchyId, signal })
      },
    },
  }
}

/** Returns the caller for background work in a tenant. */
export async function tenantCaller({ tenants }: Context, tenantId: string): Promise<Caller> {
  return systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
}

/** Projects the next events. Returns whether there may be more. */
async function projectBatch(context: Context, caller: Caller, signal: AbortSignal): Promise<boolean> {
  const { position, oldest, newest } = await context.database.read(caller, async (handle) => ({
    position: await counts.readPosition(handle),
    ...(await extent(handle)),
  }))
  if (position === undefined || newest <= position) return false
  // Events were deleted before they were projected. The state of every assigned asset is read again.
  if (oldest === null || oldest > position + 1) {
    await rebuildAll(context, caller, signal)
    await context.database.transaction(caller, (tx) => counts.movePosition(tx, (oldest ?? newest + 1) - 1))
    return true
  }
  return locked(context, caller, async (tx, after) => {
    const events = await listOutlines(tx, { after, limit: batch, withDataOf: relationTypes })
    const last = events.at(-1)
    if (last === undefined) return false
    const related = events.flatMap(relatedAsset)
    const assigned = await counts.listProjected(tx, [...new Set(events.flatMap(changedAsset))])
    await project(context, caller, { tx, assetIds: [...related, ...assigned.map(({ assetId }) => assetId)] })
    await counts.movePosition(tx, last.position)
    return events.length === batch
  })
}

/**
 * Runs a step of the projection with the position of the tenant locked. The step calls the inventory, which uses its own
 * connection.
 */
function locked<Result>(
  { database }: Context,
  caller: Caller,
  step: (tx: Transaction, position: number) => Promise<Result>,
): Promise<Result> {
  return database.enclosing(caller, async (tx) => step(tx, await counts.lockPosition(tx)))
}

/** Returns the asset of an event about a relation to a node. */
function relatedAsset({ data }: EventOutline): string[] {
  if (data === null) return []
  const { subject, predicate, object } = data.relation as Relation
  return predicate === assignmentPredicate && subject.type === 'asset' && object.type === 'node' ? [subject.id] : []
}

/** Returns the asset of an event about a change of an asset. */
function changedAsset({ type, subject }: EventOutline): string[] {
  return type.startsWith('inventory.asset.') ? [subject.slice('asset/'.length)] : []
}

/** Reads the current state of assets and replaces their rows. The position of the tenant must be locked. */
async function project(
  context: Context,
  caller: Caller,
  { tx, assetIds }: { tx: Transaction; assetIds: readonly string[] },
): Promise<void> {
  const { peers } = context
  const once = [...new Set(assetIds)]
  if (once.length === 0) return
  const states: AssetState[] = []
  for (let start = 0; start < once.length; start += inventoryLimits.classified) {
    const part = once.slice(start, start + inventoryLimits.classified)
    states.push(...(await peers(inventory, caller).describeAssignedAssets({ body: { data: { assetIds: part } } })).data)
  }
  const superseded = await supersededIn(tx, states)
  for (let start = 0; start < superseded.length; start += inventoryLimits.batch) {
    const relationIds = superseded.slice(start, start + inventoryLimits.batch)
    await peers(inventory, caller).endNodeRelations({ body: { data: { relationIds } } })
  }
  await replace(tx, once, states)
}

/** Returns the newest node of an asset in each hierarchy, and the relations that it supersedes. */
function newestNodes({ nodes: relations }: AssetState, hierarchyOf: ReadonlyMap<string, string>) {
  const newest = new Map<string, AssetState['nodes'][number]>()
  const superseded: string[] = []
  for (const relation of relations) {
    const hierarchyId = hierarchyOf.get(relation.nodeId)
    if (hierarchyId === undefined) continue
    const older = newest.get(hierarchyId)
    if (older !== undefined && older.nodeId !== relation.nodeId) superseded.push(older.relationId)
    newest.set(hierarchyId, relation)
  }
  return { newest, superseded }
}

/**
 * Returns the relations that a newer one of the same hierarchy supersedes. They end before the rows are stored: after a
 * crash, the same events find them again. The inventory must not be called while hierarchies are locked.
 */
async function supersededIn(tx: Transaction, states: readonly AssetState[]): Promise<string[]> {
  const several = states.filter((state) => state.nodes.length > 1)
  if (several.length === 0) return []
  const nodeIds = several.flatMap((state) => state.nodes.map(({ nodeId }) => nodeId))
  const hierarchyOf = new Map((await nodes.describeNodes(tx, nodeIds)).map(({ id, hierarchyId }) => [id, hierarchyId]))
  return several.flatMap((state) => newestNodes(state, hierarchyOf).superseded)
}

/** Replaces the rows of assets. */
async function replace(tx: Transaction, assetIds: readonly string[], states: readonly AssetState[]): Promise<void> {
  const nodeIds = states.flatMap((state) => state.nodes.map(({ nodeId }) => nodeId))
  // The nodes are read twice: first to find the hierarchies to lock, then with the lock, when no node can be deleted.
  const named = await nodes.describeNodes(tx, nodeIds)
  const before = await counts.listProjected(tx, assetIds)
  const hierarchyIds = new Set([...named, ...before].map(({ hierarchyId }) => hierarchyId))
  const lockedIds = await nodes.lockHierarchies(tx, [...hierarchyIds])
  const hierarchyOf = new Map(
    (await nodes.describeNodes(tx, nodeIds))
      .filter(({ hierarchyId }) => lockedIds.has(hierarchyId))
      .map(({ id, hierarchyId }) => [id, hierarchyId]),
  )
  const current = new Map((await counts.listProjected(tx, assetIds)).map((row) => [keyOf(row), row]))
  const after = new Map<string, ProjectedAsset>()
  const recentFrom = Date.now() - dayMs
  for (const state of states) {
    for (const [hierarchyId, { nodeId }] of newestNodes(state, hierarchyOf).newest) {
      const row = {
        hierarchyId,
        assetId: state.id,
        nodeId,
        accessGroupId: state.accessGroupId,
        isGateway: state.isGateway,
        reachabilityState: state.reachabilityState,
        isUndecided: state.managementState === 'unknown',
        changedAt: state.modifiedTimestamp,
        isRecent: Date.parse(state.modifiedTimestamp) >= recentFrom,
      }
      after.set(keyOf(row), row)
    }
  }
  const keys = new Set([...current.keys(), ...after.keys()])
  const changes = [...keys].map((key) => ({ before: current.get(key), after: after.get(key) }))
  await counts.replaceProjected(tx, changes.filter(isChange))
}

function keyOf({ hierarchyId, assetId }: Pick<ProjectedAsset, 'hierarchyId' | 'assetId'>): string {
  return `${hierarchyId} ${assetId}`
}

function isChange({ before, after }: { before?: ProjectedAsset | undefined; after?: ProjectedAsset | undefined }) {
  if (before === undefined || after === undefined) return true
  return (Object.keys(after) as (keyof ProjectedAsset)[]).some((name) => before[name] !== after[name])
}

async function rebuildAll(context: Context, caller: Caller, signal: AbortSignal): Promise<void> {
  const { rows } = await context.database.read(caller, (handle) =>
    nodes.listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 }),
  )
  for (const { id: hierarchyId } of rows) await rebuild(context, caller, { hierarchyId, signal })
}

/** The number of nodes whose assets one request of a rebuild lists, and the number of assets in one step. */
const rebuilt = { nodes: 1_000, assets: 500 } as const

/**
 * Reads the state of all assigned assets of a hierarchy again, and computes its counts from the projected rows. Changes
 * during the rebuild have their own events, so nothing is lost.
 */
async function rebuild(
  context: Context,
  caller: Caller,
  { hierarchyId, signal }: { hierarchyId: string; signal: AbortSignal },
): Promise<void> {
  const { database } = context
  for await (const ids of assetsToRebuild(context, caller, hierarchyId)) {
    for (let start = 0; start < ids.length; start += rebuilt.assets) {
      signal.throwIfAborted()
      const assetIds = ids.slice(start, start + rebuilt.assets)
      await locked(context, caller, (tx) => project(context, caller, { tx, assetIds }))
    }
  }
  await database.transaction(caller, async (tx) => {
    if ((await nodes.lockHierarchy(tx, hierarchyId)) !== undefined) await counts.recount(tx, hierarchyId)
  })
}

/** Returns the assets with a relation to a node of the hierarchy, and then the assets with a projected row. */
async function* assetsToRebuild(
  { database, peers }: Context,
  caller: Caller,
  hierarchyId: string,
): AsyncGenerator<string[]> {
  const all = await database.read(caller, (handle) => nodes.nodesOf(handle, hierarchyId))
  for (let start = 0; start < all.length; start += rebuilt.nodes) {
    const nodeIds = all.slice(start, start + rebuilt.nodes)
    yield* pages((after) => peers(inventory, caller).listAssetsOfNodes({ body: { data: { nodeIds, after } } }))
  }
  const limit = inventoryLimits.classified
  yield* pages(async (after) => ({
    data: await database.read(caller, (handle) => counts.listProjectedIds(handle, hierarchyId, { after, limit })),
  }))
}

async function* pages(next: (after: string) => Promise<{ data: string[] }>): AsyncGenerator<string[]> {
  for (let after: string | undefined = lowestId; after !== undefined; ) {
    const { data }: { data: string[] } = await next(after)
    if (data.length > 0) yield data
    after = data.length < inventoryLimits.classified ? undefined : data.at(-1)
  }
}
