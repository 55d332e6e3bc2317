import type { Assignment, ItemResult } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { may, noRights } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lowestId, newId } from '../../platform/database/id.ts'
import { isContention, isStatementTimeout, isTransient } from '../../platform/database/transient.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import type { AssignmentRow, Portion, ReturningAsset, RunningAssignment } from './assignment-store.ts'
import * as store from './assignment-store.ts'
import * as nodes from './node-store.ts'

/**
 * Runs assignments. The inventory stores an assignment as a relation and checks the permissions of the caller for each
 * asset.
 *
 * An assignment by ids or by rules runs within its request, in one portion. An assignment by filter, and an undo, run in
 * the background in portions of up to 500 assets in the order of their ids. A tenant has one task for all its background
 * assignments. They run one after the other in the order of their creation, and an assignment whose attempts exceed a time
 * limit comes after the others. An undo sees all results of the assignment that it undoes, and other tenants do not wait
 * for a tenant with many assignments.
 *
 * Each portion is stored with a key before the inventory gets it, and its results are stored in one transaction with the
 * next place. If the process dies in between, the same request is sent again. The inventory then returns the stored results
 * of the key, so the counts are exact and nothing happens twice. If the caller has lost its permissions since then, the
 * request is sent without permissions: the inventory returns stored results, but changes nothing.
 *
 * A node can be deleted while the inventory assigns assets to it. The transaction that stores the results locks the
 * hierarchy. If the node exists, the transaction counts the assignment on the node, so that a deletion that has already
 * counted its relations counts them again. If the node was deleted, the assets are first returned to their previous nodes,
 * even if these were deleted too: the relations then remain where the deletion counted them. The results are then stored as
 * failed, and those of an undo as unchanged.
 */

/** The maximum number of assets of an undo in one portion. */
const undonePerPortion = 500
/** The number of assets on one page of the inventory. */
const pageSize = 100
export const assignmentTask = {
  kind: 'hierarchy.assign',
  /** The key of the task. It is always the same, because a tenant runs one assignment at a time. */
  key: '',
} as const
/** After this many attempts without progress, the assignment fails. */
const maxAttempts = 10
/**
 * After this many attempts in succession that exceed the time limit of the database, the assignment fails. A canceled
 * assignment ends earlier, because its undo waits for it.
 */
const maxTimeouts = { running: 5, canceled: 2 } as const
/** A request that was refused because of an overload counts less, because the assignment is not the cause. */
const overloadsPerTimeout = 10
/** After this time, a run ends and the assignment continues in the next run, so that other tasks get their turn. */
const longestRunMs = 1_000
/** After this time without a renewal, another process continues the assignment. */
const leaseMs = 5_000
/** How often assets are read again if other requests change their nodes at the same time. */
const staleAttempts = 5
/** The interval at which the platform searches for assignments whose process ended during the request. */
const recoverMs = 30_000

export function assignmentTasks(context: Context, { runMs = longestRunMs }: { runMs?: number } = {}): TaskKinds {
  const { database } = context
  return {
    [assignmentTask.kind]: {
      // The task never fails, because other assignments of the tenant wait for it. The assignment fails instead.
      maxAttempts: Number.POSITIVE_INFINITY,
      leaseMs,
      async run({ tenantId, signal, attempt }) {
        const assignmentId = await database.read({ tenantId }, store.nextAssignment)
        if (assignmentId === undefined) return undefined
        await runAssignment(context, { tenantId, assignmentId, signal, attempt, runMs })
        return { runAgainAt: new Date() }
      },
    },
    'hierarchy.recover': {
      periodic: { everyMs: recoverMs, pending: store.anyAbandoned },
      async run({ tenantId, signal }) {
        const next = () => database.read({ tenantId }, store.nextAbandoned)
        for (let id = await next(); id !== undefined && !signal.aborted; id = await next()) {
          const open = { tenantId, id }
          await recoverAssignment(context, open).catch((error: unknown) => endAfterTimeouts(context, open, error))
        }
      },
    },
  }
}

function now(): string {
  return new Date().toISOString()
}

/**
 * An asset and its new node. Null removes the asset from the hierarchy, or only from the node `onlyFrom`. `alsoFrom` is the
 * node from which an undo returns the asset. The relation to it ends too, even if that node was deleted. If the
 * request names its assets, `ordinal` is the place of the asset in the request, from 1.
 */
export type Target = {
  assetId: string
  nodeId: string | null
  onlyFrom?: string
  alsoFrom?: string | null
  ordinal?: number
}

type Immediate = {
  hierarchyId: string
  nodeId?: string
  kind: 'ids' | 'rules'
  /** The requested assets. The results are in their order. */
  assetIds: readonly string[]
  targets: readonly Target[]
  /** The results of requested assets that are refused before the inventory is called. */
  refused?: readonly ItemResult[]
}

/** Assigns assets within the request, and stores the assignment with its results. */
export async function assignNow(
  context: Context,
  // The portion must be stored before the inventory gets it. So it is not part of the transaction of a request with an
  // Idempotency-Key, which ends after the response.
  { transaction: _, ...caller }: Caller,
  { hierarchyId, nodeId, kind, assetIds, targets, refused = [] }: Immediate,
) {
  const { database } = context
  const id = newId()
  const ordinals = new Map(assetIds.map((assetId, index) => [assetId, index + 1]))
  const ordinalOf = ({ assetId }: { assetId: string }) => ordinals.get(assetId) ?? 0
  const ordered = targets.map((target) => ({ ...target, ordinal: ordinalOf(target) }))
  const assets = await planAssets(context, caller, { hierarchyId, targets: ordered })
  const known = refused.map((result) => ({ ...result, ordinal: ordinalOf(result) }))
  const portion: Portion = { key: keyOf(id), attempt: 1, assets, next: null, known }
  const total = targets.length + refused.length
  await database.transaction(caller, async (tx) => {
    await store.insertAssignment(
      tx,
      caller,
      { id, kind, state: 'running', hierarchyId, total, nodeId: nodeId ?? null },
      now(),
    )
    await store.setPortion(tx, id, portion, now())
  })
  const results: ItemResult[] = []
  for (let open: Portion | null = portion; open !== null; ) {
    const settled = await settleNow(context, caller, { id, hierarchyId, portion: open })
    results.push(...settled.results)
    open = settled.rest
  }
  // The assets of a repeated part, and those that were returned to their previous nodes, have their results last.
  results.sort((one, other) => ordinalOf(one) - ordinalOf(other))
  return { assignmentId: id, ...store.countOutcomes(results), results }
}

/** Settles a portion of an assignment that runs within its request. */
async function settleNow(context: Context, caller: Caller, open: OpenPortion): Promise<SettledPortion> {
  try {
    const settled = await settlePortion(context, caller, open)
    if (settled !== undefined) return settled
  } catch (error) {
    // The inventory has refused the portion, so it has assigned nothing.
    if (isRefusal(error))
      await fail(context, caller, { id: open.id, problem: { code: error.code, detail: error.message } })
    throw error
  }
  const { id } = open
  throw new Problem(
    'unavailable',
    `Another process continues assignment ${id}. Read GET /hierarchy/v1/assignments/${id}`,
  )
}

export async function assignedAssets({ peers }: Context, caller: Caller, assetIds: readonly string[]) {
  if (assetIds.length === 0) return []
  const body = { data: { assetIds: [...assetIds] } }
  const system = systemCaller({ tenantId: caller.tenantId, tenantName: caller.tenantName })
  return (await peers(inventory, system).describeAssignedAssets({ body })).data
}

export type AssignedAsset = Awaited<ReturnType<typeof assignedAssets>>[number]

/** Returns the current state of assets, and which of their nodes and of the other nodes are in the hierarchy. */
export async function currentNodes(
  context: Context,
  caller: Caller,
  { hierarchyId, assetIds, nodeIds = [] }: { hierarchyId: string; assetIds: readonly string[]; nodeIds?: string[] },
): Promise<{ assetOf: Map<string, AssignedAsset>; inHierarchy: Set<string> }> {
  const assets = await assignedAssets(context, caller, assetIds)
  const assignedIds = assets.flatMap((asset) => asset.nodes.map(({ nodeId }) => nodeId))
  const named = await context.database.read(caller, (handle) =>
    nodes.describeNodes(handle, [...assignedIds, ...nodeIds]),
  )
  return {
    assetOf: new Map(assets.map((asset) => [asset.id, asset])),
    inHierarchy: new Set(named.filter((node) => node.hierarchyId === hierarchyId).map(({ id }) => id)),
  }
}

/** Returns assets with the nodes that they have now. Relations to other nodes of the hierarchy will end. */
async function planAssets(
  context: Context,
  caller: Caller,
  { hierarchyId, targets }: { hierarchyId: string; targets: readonly Target[] },
): Promise<store.PlannedAsset[]> {
  const assetIds = targets.map(({ assetId }) => assetId)
  const { assetOf, inHierarchy } = await currentNodes(context, caller, { hierarchyId, assetIds })
  return targets.map((target) => {
    const { assetId, nodeId, onlyFrom, alsoFrom } = target
    const knownNodeIds = assetOf.get(assetId)?.nodes.map((node) => node.nodeId) ?? []
    const own = knownNodeIds.filter((id) => inHierarchy.has(id) || id === alsoFrom)
    const otherNodeIds = own.filter((id) => id !== nodeId && (onlyFrom === undefined || id === onlyFrom))
    return { ...target, otherNodeIds, knownNodeIds }
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
  const data = assets.map(({ assetId, nodeId, otherNodeIds, knownNodeIds }) => ({
    assetId,
    nodeId,
    otherNodeIds,
    knownNodeIds,
  }))
  const answer = await peers(inventory, caller).assignNodes({ ...headers, body: { data: { assets: data } } })
  for (const { outcome, ...result } of answer.data)
    if (outcome === 'stale') sent.staleIds.add(result.assetId)
    else sent.results.push({ ...result, outcome })
  return sent
}

function failedResult(assetId: string, { status, code, message }: Problem): ItemResult {
  return { assetId, outcome: 'failed', status, code, detail: message }
}

function staleResult(assetId: string): ItemResult {
  const detail = 'Other requests changed the node of this asset at the same time. Assign the asset again'
  return failedResult(assetId, new Problem('conflict', detail))
}

export function isRunning({ state }: Pick<AssignmentRow, 'state'>): boolean {
  return state === 'queued' || state === 'running'
}

/** Returns the state that clients see. A canceled assignment ends when the results of its last portion are stored. */
export function shownState({ state, isOpen }: Pick<AssignmentRow, 'state' | 'isOpen'>): Assignment['state'] {
  return state === 'canceled' && isOpen ? 'canceling' : state
}

/** Returns whether an assignment runs in the background. Otherwise it runs within its request. */
export function isBackground({ kind }: Pick<AssignmentRow, 'kind'>): boolean {
  return kind === 'filter' || kind === 'undo'
}

/** Returns whether an error means that a request was refused and had no effect. */
function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.status < 500 && error.code !== 'request_in_progress'
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
    if (isTimeout(error) && !signal.aborted) return endAfterTimeouts(context, { tenantId, id }, error)
    const isRefused = isRefusal(error)
    // An outage does not count as an attempt. An accepted assignment waits until the outage ends.
    if (!isRefused && (attempt < maxAttempts || signal.aborted || isTransient(error))) throw error
    const problem = isRefused ? { code: error.code, detail: error.message } : stopped('after repeated errors')
    if (!isRefused) context.log.warn({ error, assignment: id }, 'An assignment stopped after repeated errors')
    await fail(context, { tenantId }, { id, problem })
  }
}

/** Returns whether the database works, but the attempt exceeded a time limit or lost against other work. */
function isTimeout(error: unknown): boolean {
  return error instanceof Problem ? error.code === 'overloaded' : isContention(error)
}

/** Ends an assignment whose attempts repeatedly exceed a time limit. Throws the error if another attempt follows. */
async function endAfterTimeouts(
  context: Context,
  { tenantId, id }: { tenantId: string; id: string },
  error: unknown,
): Promise<void> {
  if (!isTimeout(error)) throw error
  const counted = await context.database.transaction({ tenantId }, (tx) => store.countTimeout(tx, id))
  const factor = isStatementTimeout(error) ? 1 : overloadsPerTimeout
  if (counted !== undefined && counted.timeouts < factor * maxTimeouts[isRunning(counted) ? 'running' : 'canceled'])
    throw error
  context.log.warn({ error, assignment: id }, 'An assignment stopped after repeated timeouts')
  await fail(context, { tenantId }, { id, problem: stopped('because its requests took too long') })
}

function stopped(reason: string) {
  const detail = `The assignment stopped ${reason}. Start a new assignment for the assets without a result`
  return { code: 'unavailable', detail }
}

async function fail(
  { database }: Context,
  scope: Pick<Caller, 'tenantId'>,
  { id, problem }: { id: string; problem: NonNullable<AssignmentRow['problem']> },
): Promise<void> {
  await database.transaction(scope, (tx) => store.failAssignment(tx, { id, problem }, now()))
}

/** Runs the next portion of an assignment. Returns whether there are more. */
async function runPortion(context: Context, { tenantId, id }: { tenantId: string; id: string }): Promise<boolean> {
  const row = await context.database.read({ tenantId }, (handle) => store.findAssignment(handle, id))
  if (row === undefined || (!isRunning(row) && row.portion === null)) return false
  const caller = await currentCaller(context, tenantId, row)
  const isAllowed = may(caller, 'glb_hierarchy_write')
  if (row.portion === null) requirePermission(caller, 'glb_hierarchy_write')
  const portion = row.portion ?? (await nextPortion(context, caller, row))
  if (portion === undefined) return false
  const sender = isAllowed ? caller : { ...caller, rights: noRights }
  const settled = await settlePortion(context, sender, { ...row, portion }).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'forbidden') requirePermission(caller, 'glb_hierarchy_write')
    throw error
  })
  // Another worker that took over the task may have stored the results of the portion.
  return settled === undefined || settled.isRunning || settled.rest !== null
}

/**
 * Ends an assignment whose request died. If the inventory has applied its portion, the results are stored. Otherwise
 * nothing is assigned, because the client got no response and may have sent the request again.
 */
async function recoverAssignment(context: Context, { tenantId, id }: { tenantId: string; id: string }): Promise<void> {
  const { database } = context
  const row = await database.read({ tenantId }, (handle) => store.findAssignment(handle, id))
  if (row === undefined) return
  const caller = { ...(await currentCaller(context, tenantId, row)), rights: noRights }
  try {
    for (let portion = row.portion; portion !== null; ) {
      const settled = await settlePortion(context, caller, { ...row, portion })
      if (settled === undefined) return
      portion = settled.rest
    }
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  await database.transaction({ tenantId }, async (tx) => {
    if (isRunning(await lockedAssignment(tx, id)))
      await store.failAssignment(tx, { id, problem: stopped('because its process ended') }, now())
  })
}

type OpenPortion = Pick<AssignmentRow, 'id' | 'hierarchyId'> & { portion: Portion }
type SettledPortion = {
  results: ItemResult[]
  /** The part of the portion that is not settled yet. */
  rest: Portion | null
  isRunning: boolean
}

/** Sends a stored portion and stores its results. Returns undefined if another process has stored them. */
async function settlePortion(
  context: Context,
  caller: Caller,
  { id, hierarchyId, portion }: OpenPortion,
): Promise<SettledPortion | undefined> {
  const { key, attempt, assets, next, known = [], returning } = portion
  if (returning !== undefined) return returnAssets(context, caller, { id, hierarchyId, portion, returning })
  const { results, staleIds } = await sendAssets(context, caller, { assets, key })
  const stale = assets.filter(({ assetId }) => staleIds.has(assetId))
  const isRetried = stale.length > 0 && attempt < staleAttempts
  const retried = isRetried ? await replan(context, caller, { hierarchyId, assets: stale }) : undefined
  const settled = [
    ...known.map(({ ordinal: _, ...result }) => result),
    ...results,
    ...(retried?.left ?? []),
    ...(isRetried ? [] : stale.map(({ assetId }) => staleResult(assetId))),
  ]
  const assetOf = new Map(assets.map((asset) => [asset.assetId, asset]))
  const nodeOf = (assetId: string) => assetOf.get(assetId)?.nodeId ?? ''
  return context.database.transaction(caller, async (tx) => {
    const current = await lockedAssignment(tx, id)
    if (current.portion?.key !== key) return undefined
    const isNew = ({ outcome }: ItemResult) => outcome === 'assigned' || outcome === 'moved'
    const newNodes = settled.filter(isNew).map(({ assetId }) => nodeOf(assetId))
    const existing = await store.noteAssignments(tx, hierarchyId, newNodes)
    const isLost = (result: ItemResult) => isNew(result) && !existing.has(nodeOf(result.assetId))
    const lost = settled.filter(isLost).map(({ assetId, previousNodeId }): ReturningAsset => {
      const { ordinal } = assetOf.get(assetId) ?? {}
      const asset = { assetId, nodeId: nodeOf(assetId), previousNodeId: previousNodeId ?? null }
      return ordinal === undefined ? asset : { ...asset, ordinal }
    })
    const left = retried?.assets ?? []
    const rest =
      left.length + lost.length === 0
        ? null
        : { key: keyOf(id), attempt: attempt + 1, assets: left, next, ...(lost.length > 0 && { returning: lost }) }
    const kept = settled.filter((result) => !isLost(result))
    return storeResults(tx, caller, { current, placed: [...assets, ...known], results: kept, next, rest })
  })
}

/** Plans assets again whose nodes were changed meanwhile. An undo leaves assets alone that have another node now. */
async function replan(
  context: Context,
  caller: Caller,
  { hierarchyId, assets }: { hierarchyId: string; assets: readonly store.PlannedAsset[] },
): Promise<{ assets: store.PlannedAsset[]; left: ItemResult[] }> {
  const items = assets.flatMap(({ assetId, nodeId, alsoFrom }) =>
    alsoFrom === undefined ? [] : [{ assetId, nodeId: alsoFrom, previousNodeId: nodeId }],
  )
  const undo = await undoTargets(context, caller, { hierarchyId, items })
  const targets = [
    ...assets
      .filter(({ alsoFrom }) => alsoFrom === undefined)
      .map(({ otherNodeIds: _, knownNodeIds: __, ...target }) => target),
    ...undo.targets,
  ]
  return { assets: await planAssets(context, caller, { hierarchyId, targets }), left: undo.left }
}

type Returning = OpenPortion & { returning: readonly ReturningAsset[] }

/**
 * Returns assets to their previous nodes, because their new node was deleted during the assignment. The platform does this
 * in its own name, because the caller may have lost its permissions. A repeated call changes nothing more.
 */
async function returnAssets(
  context: Context,
  caller: Caller,
  { id, hierarchyId, portion, returning }: Returning,
): Promise<SettledPortion | undefined> {
  const system = systemCaller({ tenantId: caller.tenantId, tenantName: caller.tenantName })
  const returned: ReturnedAsset[] = []
  for (let open = returning; open.length > 0; ) {
    const planned = await planReturns(context, caller, { hierarchyId, returning: open })
    const { staleIds } = await sendAssets(context, system, { assets: planned.assets })
    returned.push(...planned.returned.filter(({ assetId }) => !staleIds.has(assetId)))
    open = open.filter(({ assetId }) => staleIds.has(assetId))
  }
  return context.database.transaction(caller, async (tx) => {
    const current = await lockedAssignment(tx, id)
    if (current.portion?.key !== portion.key) return undefined
    const previousNodes = returned.flatMap(({ currentNodeId }) => currentNodeId ?? [])
    const existing = await store.noteAssignments(tx, hierarchyId, previousNodes)
    const resultOf = current.kind === 'undo' ? undoneReturn : (asset: ReturnedAsset) => failedReturn(asset, existing)
    const { returning: _, known: __, ...open } = portion
    const rest = open.assets.length > 0 ? { ...open, key: keyOf(id) } : null
    const results = returned.map(resultOf)
    const placed = returning.map(({ assetId, ordinal }) => ({ assetId, ordinal }))
    return storeResults(tx, caller, { current, placed, results, next: open.next, rest })
  })
}

/** An asset after its return. `currentNodeId` is its previous node, or null if the asset was not returned to it. */
type ReturnedAsset = { assetId: string; deletedNodeId: string; currentNodeId: string | null; hasOther: boolean }

/** Plans the return of assets. An asset that has another node of the hierarchy meanwhile stays there. */
async function planReturns(
  context: Context,
  caller: Caller,
  { hierarchyId, returning }: { hierarchyId: string; returning: readonly ReturningAsset[] },
) {
  const assetIds = returning.map(({ assetId }) => assetId)
  const { assetOf, inHierarchy } = await currentNodes(context, caller, { hierarchyId, assetIds })
  const assets: store.PlannedAsset[] = []
  const returned = returning.map(({ assetId, nodeId, previousNodeId }): ReturnedAsset => {
    const knownNodeIds = assetOf.get(assetId)?.nodes.map((node) => node.nodeId) ?? []
    const isThere = knownNodeIds.includes(nodeId)
    const hasOther = knownNodeIds.some((id) => id !== nodeId && id !== previousNodeId && inHierarchy.has(id))
    const target = hasOther ? null : previousNodeId
    if (isThere) assets.push({ assetId, nodeId: target, otherNodeIds: [nodeId], knownNodeIds })
    const isReturned = target !== null && (isThere || knownNodeIds.includes(target))
    return { assetId, deletedNodeId: nodeId, currentNodeId: isReturned ? target : null, hasOther }
  })
  return { assets, returned }
}

/** Returns the result of an asset whose new node was deleted during the assignment. `existing` contains existing nodes. */
function failedReturn(
  { assetId, deletedNodeId, currentNodeId, hasOther }: ReturnedAsset,
  existing: ReadonlySet<string>,
): ItemResult {
  const place = hasOther
    ? 'The asset has another node since then, where it stays'
    : currentNodeId === null
      ? 'The asset was removed from it'
      : existing.has(currentNodeId)
        ? 'The asset was returned to its previous node'
        : `Its previous node ${currentNodeId} was deleted too. The relation to the previous node remains`
  const detail = `The node ${deletedNodeId} was deleted during the assignment. ${place}`
  return failedResult(assetId, new Problem('node_not_found', detail))
}

/** Returns the result of an asset whose previous node was deleted during the undo. */
function undoneReturn({ assetId, deletedNodeId, hasOther }: ReturnedAsset): ItemResult {
  return hasOther ? leftElsewhere(assetId) : leftWithoutPrevious(assetId, deletedNodeId)
}

type PortionResults = {
  current: RunningAssignment
  /** The assets with their new nodes and their places in the list of results. */
  placed: readonly { assetId: string; nodeId?: string | null; ordinal?: number | undefined }[]
  results: ItemResult[]
  next: store.NextPlace | null
  rest: Portion | null
}

/** Stores the results of a portion, and the part of it that remains. A canceled assignment does not continue. */
async function storeResults(
  tx: Transaction,
  caller: Caller,
  { current, placed, results, next, rest }: PortionResults,
): Promise<SettledPortion> {
  const { id, done } = current
  const isCanceled = !isRunning(current)
  const returning = rest?.returning
  const left = !isCanceled || rest === null ? rest : returning === undefined ? null : { ...rest, assets: [] }
  const isEnd = left === null && next === null && !isCanceled
  const state = isCanceled ? current.state : isEnd ? 'finished' : 'running'
  const placedOf = new Map(placed.map((asset) => [asset.assetId, asset]))
  const items = results.map(({ assetId, outcome, previousNodeId, code, detail }, index) => {
    const { nodeId = null, ordinal = done + index + 1 } = placedOf.get(assetId) ?? {}
    const previous = previousNodeId ?? null
    return { assetId, outcome, nodeId, previousNodeId: previous, code: code ?? null, detail: detail ?? null, ordinal }
  })
  // The result of an asset that does not exist is only counted. No caller could list it.
  await store.insertItems(
    tx,
    id,
    items.filter(({ outcome, code }) => outcome !== 'failed' || code !== 'asset_not_found'),
  )
  await store.addResults(tx, { id, state, results, next: left === null ? next : null, portion: left }, now())
  const action = isBackground(current) ? 'finishAssignment' : 'assignAssets'
  // A canceled assignment ends when the results of its last portion are stored.
  if (isEnd || (isCanceled && left === null)) await reportAssignment(tx, caller, { id, action })
  return { results, rest: left, isRunning: state === 'running' }
}

function keyOf(assignmentId: string): string {
  return `${assignmentTask.kind}.${assignmentId}.${newId()}`
}

/** Stores and returns the next portion of an assignment. Returns undefined if the assignment was canceled. */
async function nextPortion(context: Context, caller: Caller, row: RunningAssignment): Promise<Portion | undefined> {
  const { id, hierarchyId } = row
  const { targets, next, left = [] } = await nextTargets(context, caller, row)
  const assets = await planAssets(context, caller, { hierarchyId, targets })
  return context.database.transaction(caller, async (tx) => {
    const current = await lockedAssignment(tx, id)
    if (!isRunning(current)) return undefined
    if (current.portion !== null) return current.portion
    // Another worker may have finished a portion since the assignment was read.
    if (current.done !== row.done || current.cursor !== row.cursor || current.lastAssetId !== row.lastAssetId)
      throw new Problem('unavailable', 'Another worker runs this assignment')
    const planned: Portion = { key: keyOf(id), attempt: 1, assets, next: next ?? null, known: left }
    await store.setPortion(tx, id, planned, now())
    return planned
  })
}

/** The next assets of an assignment. Without `next`, they are the last ones. An undo does not change the assets in `left`. */
type NextTargets = { targets: Target[]; next: store.NextPlace | undefined; left?: ItemResult[] }

async function nextTargets(context: Context, caller: Caller, row: AssignmentRow): Promise<NextTargets> {
  if (row.kind === 'undo') {
    const page = { after: row.lastAssetId ?? lowestId, limit: undonePerPortion }
    const items = await context.database.read(caller, (handle) => store.listChanges(handle, row.undoes ?? '', page))
    const lastAssetId = items.length < undonePerPortion ? undefined : items.at(-1)?.assetId
    const undo = await undoTargets(context, caller, { hierarchyId: row.hierarchyId, items })
    return { ...undo, next: lastAssetId === undefined ? undefined : { lastAssetId } }
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

type ChangedItem = Pick<store.ItemRow, 'assetId' | 'nodeId' | 'previousNodeId'>

/**
 * Returns the targets of an undo: the assets that still have the node of the assignment, and whose previous node exists. The
 * others are in `left`.
 */
async function undoTargets(
  context: Context,
  caller: Caller,
  { hierarchyId, items }: { hierarchyId: string; items: readonly ChangedItem[] },
): Promise<{ targets: Target[]; left: ItemResult[] }> {
  const { assetOf, inHierarchy } = await currentNodes(context, caller, {
    hierarchyId,
    assetIds: items.map(({ assetId }) => assetId),
    nodeIds: items.flatMap(({ previousNodeId }) => previousNodeId ?? []),
  })
  const targets: Target[] = []
  const left: ItemResult[] = []
  for (const { assetId, nodeId, previousNodeId } of items) {
    const asset = assetOf.get(assetId)
    // The node of the assignment may have been deleted since then. Its relations remain, so it still counts.
    const isCurrent = (id: string) => inHierarchy.has(id) || id === nodeId
    const current = asset?.nodes.map((one) => one.nodeId).findLast(isCurrent) ?? null
    if (asset === undefined) left.push(leftDeleted(assetId))
    else if (current === previousNodeId) left.push(leftReturned(assetId))
    else if (current !== nodeId) left.push(current === null ? leftRemoved(assetId) : leftElsewhere(assetId))
    else if (previousNodeId !== null && !inHierarchy.has(previousNodeId))
      left.push(leftWithoutPrevious(assetId, previousNodeId))
    else targets.push({ assetId, nodeId: previousNodeId, alsoFrom: nodeId })
  }
  return { targets, left }
}

/** Returns the result of an asset that an undo leaves alone. Without `code`, the undo had nothing to do. */
function leftResult(assetId: string, detail: string, code?: ProblemCode): ItemResult {
  return { assetId, outcome: 'unchanged', ...(code === undefined ? {} : { code }), detail }
}

const leftDeleted = (assetId: string) =>
  leftResult(assetId, `Asset ${assetId} was deleted after the assignment`, 'asset_not_found')
const leftReturned = (assetId: string) => leftResult(assetId, 'The asset is already where it was before the assignment')
const leftRemoved = (assetId: string) =>
  leftResult(assetId, 'The asset was removed from its node after the assignment. It stays without a node', 'conflict')
const leftElsewhere = (assetId: string) =>
  leftResult(assetId, 'The asset was assigned to another node after the assignment. It stays there', 'conflict')
const leftWithoutPrevious = (assetId: string, nodeId: string) =>
  leftResult(assetId, `The previous node ${nodeId} was deleted. The asset stays where it is`, 'node_not_found')

async function lockedAssignment(tx: Transaction, id: string): Promise<RunningAssignment> {
  const row = await store.lockAssignment(tx, id)
  if (row === undefined) throw missingAssignment(id)
  return row
}

export function missingAssignment(id: string): Problem {
  return new Problem('not_found', `Assignment ${id} does not exist`)
}

/** Writes the audit entry and the event of an assignment. Returns its current row. */
export async function reportAssignment(
  tx: Transaction,
  caller: Caller,
  { id, action }: { id: string; action: string },
): Promise<AssignmentRow> {
  const row = await lockedAssignment(tx, id)
  const { kind, hierarchyId, nodeId, assigned, moved, unchanged, removed, failed } = row
  const data = { kind, state: shownState(row), hierarchyId, nodeId, assigned, moved, unchanged, removed, failed }
  const subject = `assignment/${id}`
  await record(tx, caller, { action: `hierarchy.${action}`, target: subject, detail: data })
  await emit(tx, { type: 'hierarchy.assignment.changed', subject, data })
  return row
}
