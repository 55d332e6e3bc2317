import { type Assignment, type hierarchy, hierarchyLimits, type ItemResult } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDenied, requirePermission } from '../../platform/access/permission-denied.ts'
import { groupsWith, may } from '../../platform/access/rights.ts'
import {
  readableAssets,
  readsAllAssets,
  requireStorableFilter,
  withFilterPointer,
} from '../../platform/asset-visibility.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import {
  assignedAssets,
  assignmentTask,
  assignNow,
  isBackground,
  isRunning,
  missingAssignment,
  reportAssignment,
  shownState,
} from './assignment-run.ts'
import type { AssignmentRow } from './assignment-store.ts'
import * as store from './assignment-store.ts'
import * as nodes from './node-store.ts'
import { missingNode } from './nodes.ts'

/** The operations that start, list, cancel and undo assignments. `assignment-run.ts` describes how assignments run. */

type Names =
  | 'assignAssets'
  | 'unassignAssets'
  | 'listAssignments'
  | 'readAssignment'
  | 'listAssignmentResults'
  | 'cancelAssignment'
  | 'undoAssignment'

export function assignmentHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database } = context
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
          data: await assignNow(context, caller, {
            hierarchyId: node.hierarchyId,
            nodeId,
            kind: 'ids',
            assetIds,
            targets,
          }),
        }
      }
      // The first page checks the filter before the assignment is accepted, and gives the total.
      const { meta } = await firstPage(context, caller, filter ?? '').catch((error: unknown) => {
        throw withFilterPointer(error, '/data/filter')
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
        filter: filter ?? '',
        total,
      }
      return database.transaction(caller, (tx) => enqueue(context, caller, { tx, assignment, action: 'assignAssets' }))
    },

    async unassignAssets({ params: { id: nodeId }, body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const node = await database.read(caller, (handle) => nodes.findNode(handle, nodeId))
      if (node === undefined) throw missingNode(nodeId)
      const { assetIds, includeBelow = false } = data
      const below = includeBelow ? await nodesBelow(context, caller, { nodeId, assetIds }) : new Map<string, string>()
      const targets = assetIds.map((assetId) => ({ assetId, nodeId: null, onlyFrom: below.get(assetId) ?? nodeId }))
      return {
        data: await assignNow(context, caller, {
          hierarchyId: node.hierarchyId,
          nodeId,
          kind: 'ids',
          assetIds,
          targets,
        }),
      }
    },

    async listAssignments({ query: { limit = 50, offset = 0, hierarchyId } }, caller) {
      const { rows, total } = await database.read(caller, (handle) => {
        const filter = { hierarchyId: hierarchyId ?? null, principalId: visiblePrincipal(caller) }
        return store.listAssignments(handle, filter, { limit, offset })
      })
      const writable = await writableAssignments(context, caller, rows.filter(isUndoable), { read: readPerListed })
      const data = rows.map((row) => showAssignment(caller, row, writable))
      return { data, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readAssignment({ params: { id } }, caller) {
      const found = await database.read(caller, (handle) => store.findAssignment(handle, id))
      const row = requireVisible(caller, id, found)
      return { data: await describeAssignment(context, caller, row) }
    },

    async listAssignmentResults({ params: { id }, query: { limit = 50, outcome, cursor } }, caller) {
      const after = Number(cursor ?? 0)
      if (!/^\d{1,9}$/.test(cursor ?? '0'))
        throw new Problem('invalid_cursor', 'The cursor does not belong to this list. Start again without a cursor')
      const { found, total, before } = await database.read(caller, async (handle) => {
        requireVisible(caller, id, await store.findAssignment(handle, id))
        const counts = await store.countItems(handle, id, { after, outcome })
        return { found: await store.listItems(handle, id, { after, outcome, limit: limit + 1 }), ...counts }
      })
      const rows = found.slice(0, limit)
      const readable = await readableAssets(
        context,
        caller,
        rows.map(({ assetId }) => assetId),
      )
      const data = rows.filter(({ assetId }) => readable.has(assetId)).map(showItem)
      // The cursor is a place and not the id of an asset, because the caller may not be able to read the last asset.
      const last = found.length > limit ? rows.at(-1)?.ordinal : undefined
      const meta = { totalElements: total, elements: data.length, offset: before }
      return { data, meta: { ...meta, ...(last === undefined ? {} : { nextCursor: String(last) }) } }
    },

    async cancelAssignment({ params: { id } }, caller) {
      const canceled = await database.transaction(caller, async (tx) => {
        const row = requireVisible(caller, id, await store.lockAssignment(tx, id))
        if (!mayCancel(caller, row)) requirePermission(caller, 'glb_access_manage')
        if (!isBackground(row))
          throw new Problem('conflict', 'This assignment ends with its request, so it cannot be canceled')
        if (!isRunning(row))
          throw new Problem(
            'conflict',
            `The assignment has already ended with the state ${row.state}, so it cannot be canceled`,
          )
        await store.cancelAssignment(tx, id, new Date().toISOString())
        return reportAssignment(tx, caller, { id, action: 'cancelAssignment' })
      })
      return { data: await describeAssignment(context, caller, canceled) }
    },

    async undoAssignment({ params: { id } }, caller) {
      const found = await database.read(caller, (handle) => store.findAssignment(handle, id))
      await requireWritable(context, caller, requireVisible(caller, id, found))
      return database.transaction(caller, async (tx) => {
        const row = requireVisible(caller, id, await store.lockAssignment(tx, id))
        if (isRunning(row))
          throw new Problem('conflict', 'The assignment is still running. Cancel it or wait for its end, then undo it')
        if (row.undoneBy !== null)
          throw new Problem('conflict', `The assignment was already undone by assignment ${row.undoneBy}`)
        if (!mayHaveChanges(row))
          throw new Problem('conflict', 'The assignment has changed no assets, so there is nothing to undo')
        const undoId = newId()
        const total = countChanges(row)
        const undo = { id: undoId, kind: 'undo' as const, hierarchyId: row.hierarchyId, undoes: id, total }
        await store.setUndoneBy(tx, id, undoId)
        return enqueue(context, caller, { tx, assignment: undo, action: 'undoAssignment' })
      })
    },
  }
}

async function firstPage({ peers }: Context, caller: Caller, filter: string) {
  requireStorableFilter(filter)
  return peers(inventory, caller).listAssets({ query: { filter, limit: 1, fields: 'id' } })
}

/** Returns the nodes of assets that are below a node or are the node itself, by the id of the asset. */
async function nodesBelow(
  context: Context,
  caller: Caller,
  { nodeId, assetIds }: { nodeId: string; assetIds: readonly string[] },
): Promise<Map<string, string>> {
  const assets = await assignedAssets(context, caller, assetIds)
  const own = assets.flatMap(({ id, nodes: assigned }) => assigned.map((node) => [id, node.nodeId] as const))
  const paths = await context.database.read(caller, (handle) =>
    nodes.pathsTo(
      handle,
      own.map(([, id]) => id),
    ),
  )
  return new Map(own.filter(([, id]) => paths.get(id)?.some((node) => node.id === nodeId)))
}

const writeAssets = 'inventory_write_asset_data'
/** The number of assets in one request to the inventory that checks whether the caller can write them. */
const checkedAssets = 1_000
/** The number of changed assets that are read of each assignment in a list. */
const readPerListed = 1_000

/** Throws if the caller can write none of the assets that an assignment has changed. */
async function requireWritable(context: Context, caller: Caller, row: AssignmentRow): Promise<void> {
  requirePermission(caller, 'glb_inventory_write_relation_data')
  const writable = await writableAssignments(context, caller, [row])
  if (!writable.has(row.id)) throw permissionDenied({ permission: writeAssets })
}

/**
 * Returns the ids of the assignments of which the caller can write at least one changed asset. An assignment with too many
 * changed assets to decide is among them. `read` limits how many changed assets are read of each assignment.
 */
async function writableAssignments(
  context: Context,
  caller: Caller,
  rows: readonly AssignmentRow[],
  { read }: { read?: number } = {},
): Promise<Set<string>> {
  const groups = groupsWith(caller, writeAssets)
  if (!may(caller, 'glb_inventory_write_relation_data') || groups.length === 0) return new Set()
  const changed = rows.filter((row) => countChanges(row) > 0)
  if (groups === 'all' || changed.length === 0) return new Set(rows.map(({ id }) => id))
  const limit = Math.max(1, Math.floor(checkedAssets / changed.length))
  const undoable = await context.database.read(caller, (handle) =>
    store.listUndoable(handle, changed, { groups, read: read ?? null, limit }),
  )
  const assetsOf = Map.groupBy(undoable, ({ assignmentId }) => assignmentId)
  const unknown = [...assetsOf.values()].flatMap((assets) => (assets[0]?.isWritable ? [] : assets))
  const described = await assignedAssets(context, caller, [...new Set(unknown.map(({ assetId }) => assetId))])
  const writableAssets = new Set(
    described.filter(({ accessGroupId }) => groups.includes(accessGroupId)).map(({ id }) => id),
  )
  const isWritable = (row: AssignmentRow) => {
    const assets = assetsOf.get(row.id) ?? []
    if (countChanges(row) === 0 || assets.length === limit || countChanges(row) > (read ?? Number.POSITIVE_INFINITY))
      return true
    return assets.some((asset) => asset.isWritable || writableAssets.has(asset.assetId))
  }
  return new Set(rows.filter(isWritable).map(({ id }) => id))
}

function locationOf(id: string): string {
  return `/hierarchy/v1/assignments/${id}`
}

type QueuedAssignment = { tx: Transaction; assignment: Omit<store.NewAssignment, 'state'>; action: string }

/** Stores an assignment that runs in the background, and returns the response. */
async function enqueue({ tasks }: Context, caller: Caller, { tx, assignment, action }: QueuedAssignment) {
  const { id, kind } = assignment
  const { unfinishedAssignments, unfinishedAssignmentsOfUser } = hierarchyLimits
  const { ofTenant, ofUser } = await store.countUnfinished(tx, caller.principal.id)
  if (ofUser >= unfinishedAssignmentsOfUser)
    throw new Problem(
      'conflict',
      `You have ${ofUser} unfinished assignments. The limit is ${unfinishedAssignmentsOfUser}. Wait until an assignment ends, or cancel one`,
    )
  // The assignments of other users do not prevent an undo.
  if (kind !== 'undo' && ofTenant >= unfinishedAssignments)
    throw new Problem(
      'conflict',
      `The tenant has ${ofTenant} unfinished assignments. The limit is ${unfinishedAssignments}. Wait until an assignment ends, or cancel one`,
    )
  await store.insertAssignment(tx, caller, { ...assignment, state: 'queued' }, new Date().toISOString())
  await tasks.enqueue(tx, assignmentTask)
  const row = await reportAssignment(tx, caller, { id, action })
  return answer(202, { data: showAssignment(caller, row, new Set()) }, { location: locationOf(id) })
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

function mayCancel(caller: Caller, { principalId }: AssignmentRow): boolean {
  return principalId === caller.principal.id || may(caller, 'glb_access_manage')
}

/** Returns whether an assignment has changed assets. A portion that is not settled may change assets. */
function mayHaveChanges(row: AssignmentRow): boolean {
  return row.isOpen || countChanges(row) > 0
}

function countChanges({ assigned, moved, removed }: AssignmentRow): number {
  return assigned + moved + removed
}

function isUndoable(row: AssignmentRow): boolean {
  return !isRunning(row) && row.undoneBy === null && mayHaveChanges(row)
}

/** Returns the response for one assignment. */
async function describeAssignment(context: Context, caller: Caller, row: AssignmentRow): Promise<Assignment> {
  return showAssignment(caller, row, await writableAssignments(context, caller, [row].filter(isUndoable)))
}

/** `writable` contains the ids of the assignments of which the caller can write at least one changed asset. */
function showAssignment(caller: Caller, row: AssignmentRow, writable: ReadonlySet<string>): Assignment {
  const canWrite = may(caller, 'glb_hierarchy_write')
  const { id, kind, hierarchyId, nodeId, filter, undoes, undoneBy, total, done, problem } = row
  const { assigned, moved, unchanged, removed, failed, principalName, createdAt, modifiedAt } = row
  const state = shownState(row)
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
    canCancel: canWrite && isRunning(row) && isBackground(row) && mayCancel(caller, row),
    canUndo: canWrite && isUndoable(row) && writable.has(row.id),
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
