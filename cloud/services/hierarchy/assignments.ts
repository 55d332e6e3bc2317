import { type Assignment, type hierarchy, hierarchyLimits, type ItemResult } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { noRights } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isId, lowestId, newId } from '../../platform/database/id.ts'
import { isTransient } from '../../platform/database/transient.ts'
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
 * An assignment by filter, and an undo, run in the background in portions of up to 500 assets in the order of their ids.
 * A tenant has one task for all its assignments. They run one after the other in the order of their creation. So an undo
 * sees all results of the assignment that it undoes, and other tenants do not wait for a tenant with many assignments.
 *
 * Each portion is stored with a key before the inventory gets it, and its results are stored in one transaction with the
 * next place. If the process dies in between, the same request is sent again. The inventory then returns the stored results
 * of the key, so the counts are exact and nothing happens twice.
 */

const portion = 500
/** The number of assets on one page of the inventory. */
const pageSize = 100
const taskKind = 'hierarchy.assign'
/** The key of the task. It is always the same, because a tenant runs one assignment at a time. */
const taskKey = ''
/** After this many attempts without progress, the assignment fails. */
const maxAttempts = 10
/** After this time, a run ends and the assignment continues in the next run, so that other tasks get their turn. */
const longestRunMs = 1_000
/** After this time without a renewal, another process continues the assignment. */
const leaseMs = 5_000
/** How often assets are read again if other requests change their nodes at the same time. */
const staleAttempts = 5

type Names =
  | 'assignAssets'
  | 'unassignAssets'
  | 'listAssignments'
  | 'readAssignment'
  | 'listAssignmentResults'
  | 'cancelAssignment'
  | 'undoAssignment'

export function assignmentHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database, peers } = context
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
      if (filter?.includes('\0'))
        throw invalidFilter(new Problem('invalid_filter', 'The filter contains a NUL character'))
      // The first page checks the filter before the assignment is accepted, and gives the total.
      const query = { filter: filter ?? '', limit: 1, fields: 'id' }
      const { meta } = await peers(inventory, caller)
        .listAssets({ query })
        .catch((error: unknown) => {
          throw invalidFilter(error)
        })
      const total = meta.totalElements ?? 0
      if (total > hierarchyLimits.assetsPerAssignment)
        throw new Problem(
          'conflict',
          `The filter selects ${total} assets. The limit of one assignment is ${hierarchyLimits.assetsPerAssignment} assets. Use a filter that selects fewer assets`,
        )
      const assignment = {
        id: newId(),
        kind: 'filter' as const,
        hierarchyId: node.hierarchyId,
        nodeId,
        filter: query.filter,
        total,
      }
      return database.transaction(caller, (tx) => enqueue(context, caller, { tx, assignment, action: 'assignAssets' }))
    },

    async unassignAssets({ params: { id: nodeId }, body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const node = await database.read(caller, (handle) => nodes.findNode(handle, nodeId))
      if (node === undefined) throw missingNode(nodeId)
      const targets = data.assetIds.map((assetId) => ({ assetId, nodeId: null, onlyFrom: nodeId }))
      return { data: await assignNow(context, caller, { hierarchyId: node.hierarchyId, nodeId, kind: 'ids', targets }) }
    },

    async listAssignments({ query: { limit = 50, offset = 0, hierarchyId } }, caller) {
      return database.read(caller, async (handle) => {
        const filter = { hierarchyId: hierarchyId ?? null, principalId: visiblePrincipal(caller) }
        const { rows, total } = await store.listAssignments(handle, filter, { limit, offset })
        return { data: rows.map(showAssignment), meta: { totalElements: total, elements: rows.length, offset } }
      })
    },

    async readAssignment({ params: { id } }, caller) {
      const row = await database.read(caller, (handle) => store.findAssignment(handle, id))
      return { data: showAssignment(requireVisible(caller, id, row)) }
    },

    async listAssignmentResults({ params: { id }, query: { limit = 50, outcome, cursor } }, caller) {
      const after = cursor ?? lowestId
      if (!isId(after))
        throw new Problem('invalid_cursor', 'The cursor does not belong to this list. Start again without a cursor')
      const found = await database.read(caller, async (handle) => {
        requireVisible(caller, id, await store.findAssignment(handle, id))
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
        const row = requireVisible(caller, id, await store.lockAssignment(tx, id))
        if (row.principalId !== caller.principal.id) requirePermission(caller, 'glb_access_manage')
        if (!isRunning(row))
          throw new Problem(
            'conflict',
            `The assignment has already ended with the state ${row.state}, so it cannot be canceled`,
          )
        await store.cancelAssignment(tx, id, now())
        return { data: showAssignment(await reportAssignment(tx, caller, { id, action: 'cancelAssignment' })) }
      })
    },

    async undoAssignment({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = requireVisible(caller, id, await store.lockAssignment(tx, id))
        requirePermission(caller, 'glb_inventory_write_relation_data')
        if (isRunning(row))
          throw new Problem('conflict', 'The assignment is still running. Cancel it or wait for its end, then undo it')
        if (row.undoneBy !== null)
          throw new Problem('conflict', `The assignment was already undone by assignment ${row.undoneBy}`)
        const undoId = newId()
        const total = row.assigned + row.moved + row.removed
        const undo = { id: undoId, kind: 'undo' as const, hierarchyId: row.hierarchyId, undoes: id, total }
        await store.setUndoneBy(tx, id, undoId)
        return enqueue(context, caller, { tx, assignment: undo, action: 'undoAssignment' })
      })
    },
  }
}

/** Adds the pointer to the filter of the body to a problem of the filter. */
function invalidFilter(error: unknown): unknown {
  if (!(error instanceof Problem) || (error.code !== 'invalid_filter' && error.code !== 'unknown_property'))
    return error
  const errors = [{ pointer: '/data/filter', code: error.code, detail: error.message }]
  return new Problem(error.code, error.message, { errors, cause: error })
}

export function assignmentTasks(context: Context, { runMs = longestRunMs }: { runMs?: number } = {}): TaskKinds {
  return {
    [taskKind]: {
      // The task never fails, because other assignments of the tenant wait for it. The assignment fails instead.
      maxAttempts: Number.POSITIVE_INFINITY,
      leaseMs,
      async run({ tenantId, signal, attempt }) {
        const assignmentId = await context.database.read({ tenantId }, store.nextAssignment)
        if (assignmentId === undefined) return undefined
        await runAssignment(context, { tenantId, assignmentId, signal, attempt, runMs })
        return { runAgainAt: new Date() }
      },
    },
  }
}

function now(): string {
  return new Date().toISOString()
}

function locationOf(id: string): string {
  return `/hierarchy/v1/assignments/${id}`
}

function missingAssignment(id: string): Problem {
  return new Problem('not_found', `Assignment ${id} does not exist`)
}

/**
 * An asset and its new node. Null removes the asset from the hierarchy, or only from the node `onlyFrom`. The relation to
 * `alsoFrom` ends too, even if that node was deleted.
 */
export type Target = { assetId: string; nodeId: string | null; onlyFrom?: string; alsoFrom?: string | null }

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

type QueuedAssignment = { tx: Transaction; assignment: Omit<store.NewAssignment, 'state'>; action: string }

/** Stores an assignment that runs in the background, and returns the response. */
async function enqueue({ tasks }: Context, caller: Caller, { tx, assignment, action }: QueuedAssignment) {
  const { id } = assignment
  if ((await store.countUnfinished(tx)) >= hierarchyLimits.unfinishedAssignments)
    throw new Problem(
      'conflict',
      `The tenant has ${hierarchyLimits.unfinishedAssignments} unfinished assignments, which is the limit. Wait until an assignment ends, or cancel one`,
    )
  await store.insertAssignment(tx, caller, { ...assignment, state: 'queued' }, now())
  await tasks.enqueue(tx, { kind: taskKind, key: taskKey })
  const row = await reportAssignment(tx, caller, { id, action })
  return answer(202, { data: showAssignment(row) }, { location: locationOf(id) })
}

async function assignedAssets({ peers }: Context, caller: Caller, assetIds: readonly string[]) {
  const body = { data: { assetIds: [...assetIds] } }
  const system = systemCaller({ tenantId: caller.tenantId, tenantName: caller.tenantName })
  return (await peers(inventory, system).describeAssignedAssets({ body })).data
}

/** Returns assets with the nodes that they have now. Relations to other nodes of the hierarchy will end. */
async function planAssets(
  context: Context,
  caller: Caller,
  { hierarchyId, targets }: { hierarchyId: string; targets: readonly Target[] },
): Promise<store.PlannedAsset[]> {
  const current = await assignedAssets(
    context,
    caller,
    targets.map(({ assetId }) => assetId),
  )
  const nodesOf = new Map(current.map((asset) => [asset.id, asset.nodes.map(({ nodeId }) => nodeId)]))
  const named = await context.database.read(caller, (handle) =>
    nodes.describeNodes(handle, [...nodesOf.values()].flat()),
  )
  const inHierarchy = new Set(named.filter((node) => node.hierarchyId === hierarchyId).map(({ id }) => id))
  return targets.map(({ assetId, nodeId, onlyFrom, alsoFrom }) => {
    const knownNodeIds = nodesOf.get(assetId) ?? []
    const own = knownNodeIds.filter((id) => inHierarchy.has(id) || id === alsoFrom)
    const otherNodeIds = own.filter((id) => id !== nodeId && (onlyFrom === undefined || id === onlyFrom))
    return { assetId, nodeId, otherNodeIds, knownNodeIds }
  })
}

type SentResults = { results: ItemResult[]; staleIds: Set<string> }

/** Writes the relations of assets in the name of the caller. A repeated call with the same key returns the same results. */
async function sendAssets(
  { peers }: Context,
  caller: Caller,
  { assets, key }: { assets: readonly store.PlannedAsset[]; key?: string },
): Promise<SentResults> {
  const sent: SentResults = { results: [], staleIds: new Set() }
  if (assets.length === 0) return sent
  const headers = key === undefined ? {} : { headers: { 'idempotency-key': key } }
  const { data } = await peers(inventory, caller).assignNodes({ ...headers, body: { data: { assets: [...assets] } } })
  for (const { outcome, ...result } of data)
    if (outcome === 'stale') sent.staleIds.add(result.assetId)
    else sent.results.push({ ...result, outcome })
  return sent
}

/** Assigns assets and returns their results in order. */
async function assignTargets(
  context: Context,
  caller: Caller,
  { hierarchyId, targets }: { hierarchyId: string; targets: readonly Target[] },
): Promise<ItemResult[]> {
  const results = new Map<string, ItemResult>()
  for (let attempt = 1, open = targets; open.length > 0; attempt++) {
    const assets = await planAssets(context, caller, { hierarchyId, targets: open })
    const staleIds = new Set<string>()
    for (let start = 0; start < assets.length; start += portion) {
      const sent = await sendAssets(context, caller, { assets: assets.slice(start, start + portion) })
      for (const result of sent.results) results.set(result.assetId, result)
      for (const id of sent.staleIds) staleIds.add(id)
    }
    open = open.filter(({ assetId }) => staleIds.has(assetId))
    if (attempt < staleAttempts) continue
    for (const { assetId } of open) results.set(assetId, staleResult(assetId))
    open = []
  }
  return targets.flatMap(({ assetId }) => results.get(assetId) ?? [])
}

function staleResult(assetId: string): ItemResult {
  const { status, code, message } = new Problem(
    'conflict',
    'Other requests changed the node of this asset at the same time. Assign the asset again',
  )
  return { assetId, outcome: 'failed', status, code, detail: message }
}

type StoredResults = store.AssignmentProgress & { targets: readonly Pick<Target, 'assetId' | 'nodeId'>[] }

async function storeResults(tx: Transaction, { targets, ...progress }: StoredResults): Promise<void> {
  const nodeOf = new Map(targets.map(({ assetId, nodeId }) => [assetId, nodeId]))
  const changed = progress.results.filter(({ outcome }) => outcome !== 'unchanged')
  await store.insertItems(
    tx,
    progress.id,
    changed.map(({ assetId, outcome, previousNodeId, code, detail }) => ({
      assetId,
      outcome,
      nodeId: nodeOf.get(assetId) ?? null,
      previousNodeId: previousNodeId ?? null,
      code: code ?? null,
      detail: detail ?? null,
    })),
  )
  await store.addResults(tx, progress, now())
}

function isRunning({ state }: Pick<AssignmentRow, 'state'>): boolean {
  return state === 'queued' || state === 'running'
}

type AssignmentRun = {
  tenantId: string
  assignmentId: string
  signal: AbortSignal
  attempt: number
  /** The time after which the run ends. */
  runMs: number
}

/** Runs an assignment portion by portion, until its end or until the end of the run. */
async function runAssignment(context: Context, run: AssignmentRun): Promise<void> {
  const { tenantId, assignmentId: id, signal, attempt, runMs } = run
  const endsAt = performance.now() + runMs
  try {
    if (attempt > maxAttempts) throw new Error('The worker stopped during the last attempt')
    while ((await runPortion(context, { tenantId, id })) && performance.now() < endsAt) signal.throwIfAborted()
  } catch (error) {
    const isRefusal = error instanceof Problem && error.status < 500 && error.code !== 'request_in_progress'
    // An outage does not count as an attempt. An accepted assignment waits until the outage ends.
    if (!isRefusal && (attempt < maxAttempts || signal.aborted || isTransient(error))) throw error
    const problem = isRefusal
      ? { code: error.code, detail: error.message }
      : {
          code: 'unavailable',
          detail:
            'The assignment stopped after repeated errors. Start a new assignment for the assets without a result',
        }
    if (!isRefusal) context.log.warn({ error, assignment: id }, 'An assignment stopped after repeated errors')
    await context.database.transaction({ tenantId }, (tx) => store.failAssignment(tx, { id, problem }, now()))
  }
}

/** Runs the next portion of an assignment. Returns whether there are more. */
async function runPortion(context: Context, { tenantId, id }: { tenantId: string; id: string }): Promise<boolean> {
  const { database } = context
  const row = await database.read({ tenantId }, (handle) => store.findAssignment(handle, id))
  if (row === undefined || (!isRunning(row) && row.portion === null)) return false
  const { hierarchyId } = row
  const caller = await callerOf(context, tenantId, row)
  requirePermission(caller, 'glb_hierarchy_write')
  const planned = row.portion ?? (await nextPortion(context, caller, row))
  if (planned === undefined) return false
  const { key, attempt, assets, next } = planned
  const { results, staleIds } = await sendAssets(context, caller, { assets, key })
  const stale = assets.filter(({ assetId }) => staleIds.has(assetId))
  const isRetried = stale.length > 0 && attempt < staleAttempts
  const retried = isRetried
    ? {
        key: keyOf(id),
        attempt: attempt + 1,
        assets: await planAssets(context, caller, { hierarchyId, targets: stale }),
        next,
      }
    : undefined
  const settled = isRetried ? results : [...results, ...stale.map(({ assetId }) => staleResult(assetId))]
  return database.transaction(caller, async (tx) => {
    const current = await lockedAssignment(tx, id)
    // Another worker that took over the task may have stored the results of the portion.
    if (current.portion?.key !== key) return true
    const progress = { id, results: settled, targets: assets }
    if (!isRunning(current)) {
      // The assignment was canceled. The results of its last portion are stored, and it does not continue.
      await storeResults(tx, { ...progress, state: current.state })
      return false
    }
    const isEnd = next === null && retried === undefined
    const state = isEnd ? 'finished' : 'running'
    await storeResults(tx, { ...progress, state, next: retried ? null : next, portion: retried })
    if (isEnd) await reportAssignment(tx, caller, { id, action: 'finishAssignment' })
    return !isEnd
  })
}

function keyOf(assignmentId: string): string {
  return `${taskKind}.${assignmentId}.${newId()}`
}

/** Stores and returns the next portion of an assignment. Returns undefined if the assignment was canceled. */
async function nextPortion(
  context: Context,
  caller: Caller,
  row: store.RunningAssignment,
): Promise<store.Portion | undefined> {
  const { id, hierarchyId } = row
  const { targets, next } = await nextTargets(context, caller, row)
  const assets = targets.length === 0 ? [] : await planAssets(context, caller, { hierarchyId, targets })
  return context.database.transaction(caller, async (tx) => {
    const current = await lockedAssignment(tx, id)
    if (!isRunning(current)) return undefined
    if (current.portion !== null) return current.portion
    // Another worker may have finished a portion since the assignment was read.
    if (current.done !== row.done || current.cursor !== row.cursor || current.lastAssetId !== row.lastAssetId)
      throw new Problem('unavailable', 'Another worker runs this assignment')
    const planned = { key: keyOf(id), attempt: 1, assets, next: next ?? null }
    await store.setPortion(tx, id, planned, now())
    return planned
  })
}

/** Returns the next assets of an assignment. Without `next`, they are the last ones. */
async function nextTargets(
  context: Context,
  caller: Caller,
  row: AssignmentRow,
): Promise<{ targets: Target[]; next: store.NextPlace | undefined }> {
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
  const assetOf = new Map(assets.map((asset) => [asset.id, asset]))
  return done.flatMap(({ assetId, nodeId, previousNodeId }) => {
    const asset = assetOf.get(assetId)
    // The node of the assignment may have been deleted since then. Its relations remain, so it still counts.
    const isCurrent = (id: string) => inHierarchy.has(id) || id === nodeId
    const current = asset?.nodes.map((one) => one.nodeId).findLast(isCurrent) ?? null
    if (asset === undefined || current !== nodeId) return []
    // The previous node may have been deleted too. The asset is then only removed from its node.
    const previous = previousNodeId !== null && inHierarchy.has(previousNodeId) ? previousNodeId : null
    return [{ assetId, nodeId: previous, alsoFrom: nodeId }]
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

/** Returns the principal whose assignments the caller sees. Null means all: a caller that reads all assets. */
function visiblePrincipal(caller: Caller): string | null {
  return readsAllAssets(caller) ? null : caller.principal.id
}

function requireVisible<Row extends AssignmentRow>(caller: Caller, id: string, row: Row | undefined): Row {
  const principalId = visiblePrincipal(caller)
  if (row === undefined || (principalId !== null && row.principalId !== principalId)) throw missingAssignment(id)
  return row
}

async function lockedAssignment(tx: Transaction, id: string): Promise<store.RunningAssignment> {
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
