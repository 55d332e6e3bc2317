import type { ResultOf } from '@millwright/api/contract.ts'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
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
        while (!signal.aborted && (await projectBatch(context, caller)));
      },
    },
    'hierarchy.age': {
      periodic: { everyMs: agingMs, pending: counts.anyProjection },
      async run({ tenantId, signal }) {
        const caller = await tenantCaller(context, tenantId)
        const before = new Date(Date.now() - dayMs).toISOString()
        const next = () => database.read(caller, (handle) => counts.listAged(handle, before, batch))
        for (let ids = await next(); ids.length > 0 && !signal.aborted; ids = await next())
          await project(context, caller, { assetIds: ids })
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

async function tenantCaller({ tenants }: Context, tenantId: string): Promise<Caller> {
  return systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
}

/** Projects the next events. Returns whether there may be more. */
async function projectBatch(context: Context, caller: Caller): Promise<boolean> {
  const { database } = context
  const { after, events, oldest } = await database.read(caller, async (handle) => {
    const position = await counts.readPosition(handle)
    if (position === undefined) return { after: 0, events: [], oldest: null }
    const found = await listOutlines(handle, { after: position, limit: batch, withDataOf: relationTypes })
    return { after: position, events: found, oldest: (await extent(handle)).oldest }
  })
  const last = events.at(-1)
  if (last === undefined) return false
  // Events were deleted before they were projected: the state of every assigned asset is read again.
  if (oldest !== null && oldest > after + 1) await rebuildAll(context, caller)
  const related = events.flatMap(relatedAsset)
  const changed = events.flatMap(changedAsset)
  const assigned = await database.read(caller, (handle) => counts.listProjected(handle, [...new Set(changed)]))
  const assetIds = [...new Set([...related, ...assigned.map(({ assetId }) => assetId)])]
  await project(context, caller, { assetIds, position: last.position })
  return events.length === batch
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

/** Reads the current state of assets and replaces their rows. With a position, stores it in the same transaction. */
async function project(
  context: Context,
  caller: Caller,
  { assetIds, position }: { assetIds: readonly string[]; position?: number },
): Promise<void> {
  const { database, peers } = context
  const states: AssetState[] = []
  for (let start = 0; start < assetIds.length; start += inventoryLimits.classified) {
    const part = assetIds.slice(start, start + inventoryLimits.classified)
    states.push(...(await peers(inventory, caller).describeAssignedAssets({ body: { data: { assetIds: part } } })).data)
  }
  const superseded = await database.transaction(caller, async (tx) => {
    const ended = assetIds.length === 0 ? [] : await replace(tx, assetIds, states)
    if (position !== undefined) await counts.movePosition(tx, position)
    return ended
  })
  for (let start = 0; start < superseded.length; start += inventoryLimits.batch) {
    const relationIds = superseded.slice(start, start + inventoryLimits.batch)
    await peers(inventory, caller).endNodeRelations({ body: { data: { relationIds } } })
  }
}

/** Replaces the rows of assets. Returns the relations that a newer one of the same hierarchy supersedes. */
async function replace(tx: Transaction, assetIds: readonly string[], states: readonly AssetState[]): Promise<string[]> {
  const nodeIds = states.flatMap((state) => state.nodes.map(({ nodeId }) => nodeId))
  // The nodes are read twice: first to find the hierarchies to lock, then with the lock, when no node can be deleted.
  const named = await nodes.describeNodes(tx, nodeIds)
  const before = await counts.listProjected(tx, assetIds)
  const hierarchyIds = new Set([...named, ...before].map(({ hierarchyId }) => hierarchyId))
  const locked = await nodes.lockHierarchies(tx, [...hierarchyIds])
  const hierarchyOf = new Map(
    (await nodes.describeNodes(tx, nodeIds))
      .filter(({ hierarchyId }) => locked.has(hierarchyId))
      .map(({ id, hierarchyId }) => [id, hierarchyId]),
  )
  const current = new Map((await counts.listProjected(tx, assetIds)).map((row) => [keyOf(row), row]))
  const superseded: string[] = []
  const after = new Map<string, ProjectedAsset>()
  const recentFrom = Date.now() - dayMs
  for (const state of states) {
    const newest = new Map<string, { nodeId: string; relationId: string }>()
    for (const relation of state.nodes) {
      const hierarchyId = hierarchyOf.get(relation.nodeId)
      if (hierarchyId === undefined) continue
      const older = newest.get(hierarchyId)
      if (older !== undefined && older.nodeId !== relation.nodeId) superseded.push(older.relationId)
      newest.set(hierarchyId, relation)
    }
    for (const [hierarchyId, { nodeId }] of newest) {
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
  return superseded
}

function keyOf({ hierarchyId, assetId }: Pick<ProjectedAsset, 'hierarchyId' | 'assetId'>): string {
  return `${hierarchyId} ${assetId}`
}

function isChange({ before, after }: { before?: ProjectedAsset | undefined; after?: ProjectedAsset | undefined }) {
  if (before === undefined || after === undefined) return true
  return (Object.keys(after) as (keyof ProjectedAsset)[]).some((name) => before[name] !== after[name])
}

async function rebuildAll(context: Context, caller: Caller): Promise<void> {
  const { rows } = await context.database.read(caller, (handle) =>
    nodes.listHierarchies(handle, { limit: 10_000, offset: 0 }),
  )
  for (const { id: hierarchyId } of rows) await rebuild(context, caller, { hierarchyId })
}

/**
 * Reads the state of all assigned assets of a hierarchy again, and computes its counts from the projected rows. Changes
 * during the rebuild have their own events, so nothing is lost.
 */
async function rebuild(
  context: Context,
  caller: Caller,
  { hierarchyId, signal }: { hierarchyId: string; signal?: AbortSignal },
): Promise<void> {
  const { database, peers } = context
  const nodeIds = await database.read(caller, (handle) => nodes.nodesOf(handle, hierarchyId))
  const related = async (after: string) =>
    nodeIds.length === 0
      ? []
      : (await peers(inventory, caller).listAssetsOfNodes({ body: { data: { nodeIds, after } } })).data
  const projected = (after: string) =>
    database.read(caller, (handle) =>
      counts.listProjectedIds(handle, hierarchyId, { after, limit: inventoryLimits.classified }),
    )
  for (const next of [related, projected]) {
    for (let ids = await next(lowestId); ids.length > 0; ids = await next(ids.at(-1) ?? lowestId)) {
      signal?.throwIfAborted()
      await project(context, caller, { assetIds: ids })
    }
  }
  await database.transaction(caller, async (tx) => {
    if ((await nodes.lockHierarchy(tx, hierarchyId)) !== undefined) await counts.recount(tx, hierarchyId)
  })
}
