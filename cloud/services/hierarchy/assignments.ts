import { type Assignment, type hierarchy, hierarchyLimits, type ItemResult } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { noRights } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { readableAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lowestId, newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import type { AssignmentRow } from './assignment-store.ts'
import * as store from './assignment-store.ts'
import * as nodes from './node-store.ts'
import { missingNode } from './nodes.ts'

/**
 * Assigns assets to nodes. The inventory stores the assignment as a relation and checks the permissions of the caller for
 * each asset.
 *
 * An assignment by filter, and an undo, run as a background task in portions of up to 500 assets in the order of their ids.
 * After each portion, the results and the place are stored in one transaction. If the process dies in between, the portion
 * is repeated: assets that already have the node are unchanged, so nothing happens twice.
 */

const portion = 500
/** The number of assets on one page of the inventory. */
const pageSize = 100
const taskKind = 'hierarchy.assign'

type Names =
  | 'assignAssets'
  | 'unassignAssets'
  | 'listAssetPaths'
  | 'listAssignments'
  | 'readAssignment'
  | 'listAssignmentResults'
  | 'cancelAssignment'
  | 'undoAssignment'

export function assignmentHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database, peers, tasks } = context
  return {
    async assignAssets({ params: { id: nodeId }, body: { data } }, caller) {
      const { assetIds, filter } = data
      if ((assetIds === undefined) === (filter === undefined))
        throw new Problem('invalid_body', 'Send either assetIds or filter', {
          errors: [{ pointer: '/data', code: 'invalid_body', detail: 'Send either assetIds or filter' }],
        })
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const node = await database.read(caller, (handle) => nodes.findNode(handle, nodeId))
      if (node === undefined) throw missingNode(nodeId)
      if (assetIds !== undefined) {
        const targets = assetIds.map((assetId) => ({ assetId, nodeId }))
        return {
          data: await assignNow(context, caller, { hierarchyId: node.hierarchyId, nodeId, kind: 'ids', targets }),
        }
      }
      // The first page checks the filter before the assignment is accepted, and gives the total.
      const query = { filter: filter ?? '', limit: 1, fields: 'id' }
      const { meta } = await peers(inventory, caller).listAssets({ query })
      const total = meta.totalElements ?? 0
      if (total > hierarchyLimits.assetsPerAssignment)
        throw new Problem(
          'conflict',
          `The filter selects ${total} assets. One assignment has at most ${hierarchyLimits.assetsPerAssignment}`,
        )
      const assignment = {
        id: newId(),
        kind: 'filter' as const,
        hierarchyId: node.hierarchyId,
        nodeId,
        filter: query.filter,
        total,
      }
      return enqueued(context, caller, assignment)
    },

    async unassignAssets({ params: { id: nodeId }, body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const node = await database.read(caller, (handle) => nodes.findNode(handle, nodeId))
      if (node === undefined) throw missingNode(nodeId)
      const targets = data.assetIds.map((assetId) => ({ assetId, nodeId: null, onlyFrom: nodeId }))
      return { data: await assignNow(context, caller, { hierarchyId: node.hierarchyId, nodeId, kind: 'ids', targets }) }
    },

    async listAssetPaths({ params: { id } }, caller) {
      // Reading the asset checks that the caller can read it.
      await peers(inventory, caller).readAsset({ params: { id }, query: { fields: 'id' } })
      const [asset] = await assignedAssets(context, caller, [id])
      return database.read(caller, async (handle) => {
        const named = await nodes.describeNodes(handle, asset?.nodes.map(({ nodeId }) => nodeId) ?? [])
        const paths = await nodes.pathsTo(
          handle,
          named.map((node) => node.id),
        )
        const trees = new Map(
          (await nodes.listHierarchies(handle, { limit: 10_000, offset: 0 })).rows.map((row) => [row.id, row]),
        )
        // With two relations in one hierarchy, the newer one is last and applies.
        const newest = new Map(
          (asset?.nodes ?? []).flatMap(({ nodeId }) => {
            const node = named.find((one) => one.id === nodeId)
            return node === undefined ? [] : [[node.hierarchyId, nodeId] as const]
          }),
        )
        const data = [...newest].map(([hierarchyId, nodeId]) => ({
          hierarchyId,
          hierarchyName: trees.get(hierarchyId)?.name ?? '',
          path: paths.get(nodeId) ?? [],
        }))
        return { data: data.toSorted((one, other) => (one.hierarchyName < other.hierarchyName ? -1 : 1)) }
      })
    },

    async listAssignments({ query: { limit = 50, offset = 0, hierarchyId } }, caller) {
      return database.read(caller, async (handle) => {
        const { rows, total } = await store.listAssignments(handle, hierarchyId ?? null, { limit, offset })
        return { data: rows.map(showAssignment), meta: { totalElements: total, elements: rows.length, offset } }
      })
    },

    async readAssignment({ params: { id } }, caller) {
      const row = await database.read(caller, (handle) => store.findAssignment(handle, id))
      if (row === undefined) throw missingAssignment(id)
      return { data: showAssignment(row) }
    },

    async listAssignmentResults({ params: { id }, query: { limit = 50, outcome, cursor } }, caller) {
      const after = cursor ?? lowestId
      if (!uuid.test(after)) throw new Problem('invalid_cursor', 'The cursor is not a cursor of this list')
      const found = await database.read(caller, async (handle) => {
        if ((await store.findAssignment(handle, id)) === undefined) throw missingAssignment(id)
        return store.listItems(handle, id, { after, outcome, limit: limit + 1 })
      })
      const rows = found.slice(0, limit)
      const readable = await readableAssets(
        context,
        caller,
        rows.map(({ assetId }) => assetId),
      )
      const data = rows.filter(({ assetId }) => readable.has(assetId)).map(showItem)
      const last = found.length > limit ? rows.at(-1)?.assetId : undefined
      return { data, meta: { elements: data.length, ...(last === undefined ? {} : { nextCursor: last }) } }
    },

    async cancelAssignment({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lockedAssignment(tx, id)
        if (row.state !== 'queued' && row.state !== 'running')
          throw new Problem('conflict', `The assignment has already ended with the state ${row.state}`)
        await store.setState(tx, { id, state: 'canceled' }, now())
        return { data: showAssignment(await reportAssignment(tx, caller, { id, action: 'cancelAssignment' })) }
      })
    },

    async undoAssignment({ params: { id } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const undoId = newId()
      return database.transaction(caller, async (tx) => {
        const row = await lockedAssignment(tx, id)
        if (row.state === 'queued' || row.state === 'running')
          throw new Problem('conflict', 'The assignment is still running. Cancel it or wait for its end, then undo it')
        if (row.undoneBy !== null) throw new Problem('conflict', `The assignment was already undone by ${row.undoneBy}`)
        const total = row.assigned + row.moved + row.removed
        const assignment = { id: undoId, kind: 'undo' as const, state: 'queued' as const, undoes: id, total }
        await store.insertAssignment(tx, caller, { ...assignment, hierarchyId: row.hierarchyId }, now())
        await store.setUndoneBy(tx, id, undoId)
        await tasks.enqueue(tx, { kind: taskKind, key: undoId, payload: { assignmentId: undoId } })
        const shown = showAssignment(await reportAssignment(tx, caller, { id: undoId, action: 'undoAssignment' }))
        return answer(202, { data: shown }, { location: locationOf(undoId) })
      })
    },
  }
}

export function assignmentTasks(context: Context): TaskKinds {
  return {
    [taskKind]: {
      async run({ tenantId, payload, signal }) {
        const { assignmentId } = payload as { assignmentId: string }
        await runAssignment(context, { tenantId, assignmentId, signal })
      },
    },
  }
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

function now(): string {
  return new Date().toISOString()
}

function locationOf(id: string): string {
  return `/hierarchy/v1/assignments/${id}`
}

function missingAssignment(id: string): Problem {
  return new Problem('not_found', `There is no assignment ${id}`)
}

/** An asset and its new node. Null removes the asset from the hierarchy, or only from the node `onlyFrom`. */
export type Target = { assetId: string; nodeId: string | null; onlyFrom?: string }

type Immediate = { hierarchyId: string; nodeId?: string; kind: 'ids' | 'rules'; targets: readonly Target[] }

/** Assigns assets within the request, and stores the assignment with its results. */
export async function assignNow(context: Context, caller: Caller, { hierarchyId, nodeId, kind, targets }: Immediate) {
  const id = newId()
  const results = await assignTargets(context, caller, { hierarchyId, targets })
  const row = await context.database.transaction(caller, async (tx) => {
    const assignment = {
      id,
      kind,
      state: 'running' as const,
      hierarchyId,
      total: targets.length,
      nodeId: nodeId ?? null,
    }
    await store.insertAssignment(tx, caller, assignment, now())
    await storeResults(tx, { id, state: 'finished', results, targets })
    return reportAssignment(tx, caller, { id, action: 'assignAssets' })
  })
  const { assigned, moved, unchanged, removed, failed } = row
  return { assignmentId: id, assigned, moved, unchanged, removed, failed, results }
}

async function enqueued({ database, tasks }: Context, caller: Caller, assignment: Omit<store.NewAssignment, 'state'>) {
  const { id } = assignment
  return database.transaction(caller, async (tx) => {
    await store.insertAssignment(tx, caller, { ...assignment, state: 'queued' }, now())
    await tasks.enqueue(tx, { kind: taskKind, key: id, payload: { assignmentId: id } })
    const row = await reportAssignment(tx, caller, { id, action: 'assignAssets' })
    return answer(202, { data: showAssignment(row) }, { location: locationOf(id) })
  })
}

async function assignedAssets({ peers }: Context, caller: Caller, assetIds: readonly string[]) {
  const body = { data: { assetIds: [...assetIds] } }
  return (await peers(inventory, systemCaller(caller)).describeAssignedAssets({ body })).data
}

/** Writes the relations of assets in the name of the caller. Relations to other nodes of the hierarchy end. */
async function assignTargets(
  context: Context,
  caller: Caller,
  { hierarchyId, targets }: { hierarchyId: string; targets: readonly Target[] },
): Promise<ItemResult[]> {
  const current = await assignedAssets(
    context,
    caller,
    targets.map(({ assetId }) => assetId),
  )
  const nodeIds = current.flatMap((asset) => asset.nodes.map(({ nodeId }) => nodeId))
  const named = await context.database.read(caller, (handle) => nodes.describeNodes(handle, nodeIds))
  const inHierarchy = new Set(named.filter((node) => node.hierarchyId === hierarchyId).map(({ id }) => id))
  const currentNodes = new Map(
    current.map((asset) => [asset.id, asset.nodes.map(({ nodeId }) => nodeId).filter((id) => inHierarchy.has(id))]),
  )
  const assets = targets.map(({ assetId, nodeId, onlyFrom }) => {
    const own = currentNodes.get(assetId) ?? []
    const otherNodeIds = own.filter((id) => id !== nodeId && (onlyFrom === undefined || id === onlyFrom))
    return { assetId, nodeId, otherNodeIds }
  })
  const results: ItemResult[] = []
  for (let start = 0; start < assets.length; start += portion) {
    const part = assets.slice(start, start + portion)
    results.push(...(await context.peers(inventory, caller).assignNodes({ body: { data: { assets: part } } })).data)
  }
  return results
}

type StoredResults = store.AssignmentProgress & { targets: readonly Target[] }

async function storeResults(tx: Transaction, { id, state, results, targets, next }: StoredResults): Promise<void> {
  const nodeOf = new Map(targets.map(({ assetId, nodeId }) => [assetId, nodeId]))
  const changed = results.filter(({ outcome }) => outcome !== 'unchanged')
  await store.insertItems(
    tx,
    id,
    changed.map(({ assetId, outcome, previousNodeId, code, detail }) => ({
      assetId,
      outcome,
      nodeId: nodeOf.get(assetId) ?? null,
      previousNodeId: previousNodeId ?? null,
      code: code ?? null,
      detail: detail ?? null,
    })),
  )
  await store.addResults(tx, { id, state, results, next }, now())
}

/** Runs an assignment until its end, portion by portion. */
async function runAssignment(
  context: Context,
  { tenantId, assignmentId: id, signal }: { tenantId: string; assignmentId: string; signal: AbortSignal },
): Promise<void> {
  const { database } = context
  for (;;) {
    signal.throwIfAborted()
    const row = await database.read({ tenantId }, (handle) => store.findAssignment(handle, id))
    if (row === undefined || (row.state !== 'queued' && row.state !== 'running')) return
    const caller = await callerOf(context, tenantId, row)
    try {
      const { targets, next } = await nextTargets(context, caller, row)
      const results =
        targets.length === 0 ? [] : await assignTargets(context, caller, { hierarchyId: row.hierarchyId, targets })
      await database.transaction(caller, async (tx) => {
        const current = await lockedAssignment(tx, id)
        // A canceled assignment keeps its state, but the results of the last portion are stored.
        const isEnd = next === undefined
        const state = current.state === 'canceled' ? 'canceled' : isEnd ? 'finished' : 'running'
        await storeResults(tx, { id, state, results, targets, next })
        if (isEnd) await reportAssignment(tx, caller, { id, action: 'finishAssignment' })
      })
      if (next === undefined) return
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error
      const problem = { code: error.code, detail: error.message }
      await database.transaction({ tenantId }, (tx) => store.setState(tx, { id, state: 'failed', problem }, now()))
      return
    }
  }
}

/** Returns the next assets of an assignment. Without `next`, they are the last ones. */
async function nextTargets(
  context: Context,
  caller: Caller,
  row: AssignmentRow,
): Promise<{ targets: Target[]; next: store.AssignmentProgress['next'] }> {
  if (row.kind === 'undo') {
    const after = row.lastAssetId ?? lowestId
    const items = await context.database.read(caller, (handle) =>
      store.listItems(handle, row.undoes ?? '', { after, limit: portion }),
    )
    const targets = await undoTargets(context, caller, { hierarchyId: row.hierarchyId, items })
    const lastAssetId = items.length < portion ? undefined : items.at(-1)?.assetId
    return { targets, next: lastAssetId === undefined ? undefined : { lastAssetId } }
  }
  if ((await context.database.read(caller, (handle) => nodes.findNode(handle, row.nodeId ?? ''))) === undefined)
    throw new Problem('node_not_found', `The node ${row.nodeId} was deleted`)
  const query = { filter: row.filter ?? '', limit: pageSize, fields: 'id', count: false }
  const { data, meta } = await context
    .peers(inventory, caller)
    .listAssets({ query: row.cursor === null ? query : { ...query, cursor: row.cursor } })
  const targets = data.map(({ id }) => ({ assetId: String(id), nodeId: row.nodeId }))
  return { targets, next: meta.nextCursor === undefined ? undefined : { cursor: meta.nextCursor } }
}

/** Returns the targets of an undo: the assets that still have the node of the assignment. */
async function undoTargets(
  context: Context,
  caller: Caller,
  { hierarchyId, items }: { hierarchyId: string; items: readonly store.ItemRow[] },
): Promise<Target[]> {
  const done = items.filter(({ outcome }) => outcome !== 'failed')
  if (done.length === 0) return []
  const assets = await assignedAssets(
    context,
    caller,
    done.map(({ assetId }) => assetId),
  )
  const nodeIds = [
    ...assets.flatMap((asset) => asset.nodes.map(({ nodeId }) => nodeId)),
    ...done.flatMap(({ previousNodeId }) => previousNodeId ?? []),
  ]
  const named = await context.database.read(caller, (handle) => nodes.describeNodes(handle, nodeIds))
  const inHierarchy = new Set(named.filter((node) => node.hierarchyId === hierarchyId).map(({ id }) => id))
  return done.flatMap(({ assetId, nodeId, previousNodeId }) => {
    const asset = assets.find(({ id }) => id === assetId)
    const current = asset?.nodes.map((one) => one.nodeId).findLast((id) => inHierarchy.has(id)) ?? null
    if (asset === undefined || current !== nodeId) return []
    // The previous node may have been deleted since then. The asset is then removed from its node.
    return [{ assetId, nodeId: previousNodeId !== null && inHierarchy.has(previousNodeId) ? previousNodeId : null }]
  })
}

/** Returns the principal that started the assignment, with its current rights. */
async function callerOf({ access, tenants }: Context, tenantId: string, row: AssignmentRow): Promise<Caller> {
  const held = await access.of(tenantId, row.principalId)
  const rights = held === undefined || held.principal.disabled ? noRights : access.effective(held, row.roles)
  return {
    tenantId,
    tenantName: (await tenants.byId(tenantId))?.name ?? '',
    principal: { id: row.principalId, kind: row.principalKind, name: row.principalName },
    roles: row.roles.roles,
    rights,
    request: { id: row.id, address: undefined },
  }
}

async function lockedAssignment(tx: Transaction, id: string): Promise<AssignmentRow> {
  const row = await store.lockAssignment(tx, id)
  if (row === undefined) throw missingAssignment(id)
  return row
}

function showAssignment(row: AssignmentRow): Assignment {
  const { id, kind, state, hierarchyId, nodeId, filter, undoes, undoneBy, total, done, problem } = row
  const { assigned, moved, unchanged, removed, failed, principalName, createdAt, modifiedAt } = row
  const hasEnded = state === 'finished'
  return {
    id,
    kind,
    state,
    hierarchyId,
    ...(nodeId === null ? {} : { nodeId }),
    ...(filter === null ? {} : { filter }),
    ...(undoes === null ? {} : { undoes }),
    ...(undoneBy === null ? {} : { undoneBy }),
    progress: hasEnded ? 100 : Math.min(99, Math.floor((100 * done) / Math.max(1, total))),
    total,
    assigned,
    moved,
    unchanged,
    removed,
    failed,
    ...(problem === null ? {} : { problem }),
    principalName,
    createdTimestamp: createdAt,
    lastModifiedTimestamp: modifiedAt,
  }
}

function showItem({ assetId, outcome, previousNodeId, code, detail }: store.ItemRow): ItemResult {
  return {
    assetId,
    outcome,
    ...(previousNodeId === null ? {} : { previousNodeId }),
    ...(code === null ? {} : { code }),
    ...(detail === null ? {} : { detail }),
  }
}

/** Writes the audit entry and the event of an assignment. Returns its current row. */
async function reportAssignment(
  tx: Transaction,
  caller: Caller,
  { id, action }: { id: string; action: string },
): Promise<AssignmentRow> {
  const row = await lockedAssignment(tx, id)
  const { kind, state, hierarchyId, nodeId, assigned, moved, unchanged, removed, failed } = row
  const data = { kind, state, hierarchyId, nodeId, assigned, moved, unchanged, removed, failed }
  const subject = `assignment/${id}`
  await record(tx, caller, { action: `hierarchy.${action}`, target: subject, detail: data })
  await emit(tx, { type: 'hierarchy.assignment.changed', subject, data })
  return row
}
