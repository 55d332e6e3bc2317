import type { ResultOf } from '@millwright/api/contract.ts'
import { assignmentPredicate, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Relation } from '@millwright/api/inventory/relations.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
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
 * Batches, rebuilds and the aging of changes are steps. A step reads the state of assets without a transaction, so that it
 * holds no connection while it waits for the inventory. It is stored only if no other step was stored since then; otherwise
 * it is repeated with half its size. So no step stores a state that is older than the stored one, and a task with long steps
 * does not wait without end for a task with short ones.
 *
 * An asset has one node per hierarchy. If a client created a second relation directly, the newer one applies, and the
 * projection ends the older one.
 */

/** The maximum number of events or assets in one step, and the number that a repeated step may always have. */
const stepSizes = { most: 500, least: 16 } as const
const everyMs = 1_000
/** After this time without a renewal, another process continues the projection, so that the counts are not old for long. */
const leaseMs = 3_000
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
      leaseMs,
      async run({ tenantId, signal }) {
        const steps = new Steps(context, await tenantCaller(context, tenantId), signal)
        while (!signal.aborted && (await projectBatch(steps)));
      },
    },
    'hierarchy.age': {
      periodic: { everyMs: agingMs, pending: counts.anyProjection },
      async run({ tenantId, signal }) {
        const caller = await tenantCaller(context, tenantId)
        const steps = new Steps(context, caller, signal)
        const before = new Date(Date.now() - dayMs).toISOString()
        const next = () => database.read(caller, (handle) => counts.listAged(handle, before, stepSizes.most))
        for (let ids = await next(); ids.length > 0 && !signal.aborted; ids = await next())
          await steps.projectAssets(ids)
      },
    },
    'hierarchy.rebuild': {
      async run({ tenantId, payload, signal }) {
        const { hierarchyId } = payload as { hierarchyId: string }
        await rebuild(new Steps(context, await tenantCaller(context, tenantId), signal), hierarchyId)
      },
    },
  }
}

/** Returns the caller for background work in a tenant. */
export async function tenantCaller({ tenants }: Context, tenantId: string): Promise<Caller> {
  return systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
}

/** The assets that a step projects, and the position of the last event that it contains. */
type StepContent = { assetIds: readonly string[]; position?: number }

/** Runs the steps of a task one after the other. */
class Steps {
  readonly context: Context
  readonly caller: Caller
  readonly #signal: AbortSignal
  /** The maximum number of events or assets in the next step. */
  #size: number = stepSizes.most

  constructor(context: Context, caller: Caller, signal: AbortSignal) {
    this.context = context
    this.caller = caller
    this.#signal = signal
  }

  /**
   * Runs a step. If another step is stored meanwhile, a smaller step is selected and read again. Returns undefined if the
   * tenant has no projection.
   */
  async run(
    select: (handle: Handle, options: { position: number; size: number }) => Promise<StepContent>,
  ): Promise<StepContent | undefined> {
    const { database } = this.context
    for (;;) {
      this.#signal.throwIfAborted()
      const selected = await database.read(this.caller, async (handle) => {
        const progress = await counts.readProgress(handle)
        return progress && { progress, ...(await select(handle, { position: progress.position, size: this.#size })) }
      })
      if (selected === undefined) return undefined
      const { progress, assetIds, position = progress.position } = selected
      const once = [...new Set(assetIds)]
      const states = await statesOf(this.context, this.caller, once)
      const isStored = await database.transaction(this.caller, async (tx) => {
        if (!(await counts.advance(tx, { steps: progress.steps, position }))) return false
        await replace(tx, once, states)
        return true
      })
      this.#size = isStored ? Math.min(stepSizes.most, 2 * this.#size) : this.#sizeBelow(once.length)
      if (isStored) return selected
    }
  }

  #sizeBelow(overtaken: number): number {
    return Math.max(stepSizes.least, Math.ceil(Math.min(this.#size, overtaken) / 2))
  }

  /** Projects the current state of assets. */
  async projectAssets(assetIds: readonly string[]): Promise<void> {
    for (let start = 0; start < assetIds.length; ) {
      const stored = await this.run(async (_, { size }) => ({ assetIds: assetIds.slice(start, start + size) }))
      if (stored === undefined) return
      start += stored.assetIds.length
    }
  }
}

/** Projects the next events. Returns whether there may be more. */
async function projectBatch(steps: Steps): Promise<boolean> {
  const { progress, oldest, newest } = await steps.context.database.read(steps.caller, async (handle) => ({
    progress: await counts.readProgress(handle),
    ...(await extent(handle)),
  }))
  if (progress === undefined || newest <= progress.position) return false
  // Events were deleted before they were projected. The state of every assigned asset is read again.
  if (oldest === null || oldest > progress.position + 1) {
    await rebuildAll(steps)
    await steps.run(async () => ({ assetIds: [], position: (oldest ?? newest + 1) - 1 }))
    return true
  }
  let isFull = false
  await steps.run(async (handle, { position: after, size }) => {
    const events = await listOutlines(handle, { after, limit: size, withDataOf: relationTypes })
    isFull = events.length === size
    const assigned = await counts.listProjected(handle, [...new Set(events.flatMap(changedAsset))])
    const assetIds = [...events.flatMap(relatedAsset), ...assigned.map(({ assetId }) => assetId)]
    return { assetIds, position: events.at(-1)?.position ?? after }
  })
  return isFull
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

/** Returns the current state of assets. Ends the relations that a newer one of the same hierarchy supersedes. */
async function statesOf(context: Context, caller: Caller, assetIds: readonly string[]): Promise<AssetState[]> {
  const { database, peers } = context
  const states: AssetState[] = []
  for (let start = 0; start < assetIds.length; start += inventoryLimits.classified) {
    const part = assetIds.slice(start, start + inventoryLimits.classified)
    states.push(...(await peers(inventory, caller).describeAssignedAssets({ body: { data: { assetIds: part } } })).data)
  }
  const superseded = await database.read(caller, (handle) => supersededIn(handle, states))
  for (let start = 0; start < superseded.length; start += inventoryLimits.batch) {
    const relationIds = superseded.slice(start, start + inventoryLimits.batch)
    await peers(inventory, caller).endNodeRelations({ body: { data: { relationIds } } })
  }
  return states
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
 * crash, the same events find them again.
 */
async function supersededIn(handle: Handle, states: readonly AssetState[]): Promise<string[]> {
  const several = states.filter((state) => state.nodes.length > 1)
  if (several.length === 0) return []
  const nodeIds = several.flatMap((state) => state.nodes.map(({ nodeId }) => nodeId))
  const hierarchyOf = new Map(
    (await nodes.describeNodes(handle, nodeIds)).map(({ id, hierarchyId }) => [id, hierarchyId]),
  )
  return several.flatMap((state) => newestNodes(state, hierarchyOf).superseded)
}

/** Replaces the rows of assets. */
async function replace(tx: Transaction, assetIds: readonly string[], states: readonly AssetState[]): Promise<void> {
  if (assetIds.length === 0) return
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

async function rebuildAll(steps: Steps): Promise<void> {
  const { rows } = await steps.context.database.read(steps.caller, (handle) =>
    nodes.listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 }),
  )
  for (const { id } of rows) await rebuild(steps, id)
}

/** The number of nodes whose assets one request of a rebuild lists. */
const nodesPerRequest = 1_000

/**
 * Reads the state of all assigned assets of a hierarchy again, and computes its counts from the projected rows. Changes
 * during the rebuild have their own events, so nothing is lost.
 */
async function rebuild(steps: Steps, hierarchyId: string): Promise<void> {
  const { context, caller } = steps
  for await (const ids of assetsToRebuild(context, caller, hierarchyId)) await steps.projectAssets(ids)
  await context.database.transaction(caller, async (tx) => {
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
  for (let start = 0; start < all.length; start += nodesPerRequest) {
    const nodeIds = all.slice(start, start + nodesPerRequest)
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
