import { hierarchy } from '@millwright/api/hierarchy.ts'
import type { MappedColumn, RowError } from '@millwright/api/imports.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { permissionDenied } from '../../platform/access/permission-denied.ts'
import { may } from '../../platform/access/rights.ts'
import type { Context } from '../../platform/service.ts'
import { headingOf } from './columns.ts'
import { progressed, type RunningImport } from './import-progress.ts'
import * as store from './import-store.ts'
import type { NodePlace, ParentPlace } from './known-places.ts'
import { findNodes, findParents } from './places.ts'
import { cellsByTarget } from './reading.ts'
import * as rows from './row-store.ts'

/** The third phase of an import: places the written assets below their parents and nodes. */

const relationPermission = 'glb_inventory_write_relation_data'
const rowsPerPortion = 500
/** The maximum number of characters of the rows of a portion. */
const portionCharacters = 2 * 1024 * 1024
const placementsPerRequest = 1_000

type RowPlaces = { parent: string | undefined; paths: string[] }

/** Returns the parent and the paths that a row names. */
function placesOf(content: rows.RowContent, columns: readonly MappedColumn[]): RowPlaces {
  const { parent, hierarchy_path: path } = Array.isArray(content) ? cellsByTarget(content, columns) : content
  const lines = typeof path === 'string' ? path.split('\n').map((line) => line.trim()) : []
  return {
    parent: typeof parent === 'string' && parent.trim() !== '' ? parent.trim() : undefined,
    paths: lines.filter((line) => line !== ''),
  }
}

/** Returns whether rows of the file can name parents or nodes. */
function hasPlaces({ columns, format }: store.ImportRow): boolean {
  const isTable = format === 'xlsx' || format === 'csv'
  return !isTable || columns.some(({ to }) => to === 'parent' || to === 'hierarchy_path')
}

function errorAt(
  columns: readonly MappedColumn[],
  target: string,
  { code, detail }: { code: string; detail: string },
): RowError {
  return { column: headingOf(columns, target) ?? target, code, detail }
}

function faultOf(place: object | undefined): { code: string; detail: string } | undefined {
  return place instanceof Problem ? { code: place.code, detail: place.message } : undefined
}

const { code, message: detail } = permissionDenied({ permission: relationPermission })
const permissionFault = { code, detail }

const ownParent = {
  code: 'conflict',
  detail: 'An asset cannot be its own parent. Enter another asset as the parent',
}

/** Returns the results of rows whose parent or node does not exist. Such rows are not written. */
export async function checkPlacements(
  context: Context,
  running: RunningImport,
  next: readonly rows.StoredRow[],
): Promise<rows.RowResult[]> {
  const { columns } = running.row
  if (!hasPlaces(running.row)) return []
  const named = next.map(({ row, content }) => ({ row, ...placesOf(content, columns) }))
  const { parents, nodes } = await resolvePlaces(context, running, named)
  return named.flatMap(({ row, parent, paths }) => {
    const place = parent === undefined ? undefined : parents.get(parent)
    const ofParent = place !== undefined && 'row' in place && place.row === row ? ownParent : faultOf(place)
    const ofPaths = paths.flatMap((path) => faultOf(nodes.get(path)) ?? [])
    const errors = [
      ...(ofParent === undefined ? [] : [errorAt(columns, 'parent', ofParent)]),
      ...ofPaths.map((fault) => errorAt(columns, 'hierarchy_path', fault)),
    ]
    return errors.length === 0 ? [] : [{ row, outcome: 'failed' as const, errors }]
  })
}

async function resolvePlaces(context: Context, running: RunningImport, named: readonly RowPlaces[]) {
  const texts = named.flatMap(({ parent }) => parent ?? [])
  const paths = named.flatMap((row) => row.paths)
  return {
    parents: texts.length === 0 ? running.places.parents : await findParents(context, running, texts),
    nodes: paths.length === 0 ? running.places.nodes : await findNodes(context, running, paths),
  }
}

/** Places the next portion of rows. After the last one, the import ends. */
export async function placeRows(context: Context, running: RunningImport): Promise<void> {
  const { row, caller } = running
  const page = { after: row.nextRow, limit: rowsPerPortion, characters: portionCharacters }
  const next = hasPlaces(row)
    ? await context.database.read(caller, (handle) => rows.nextWrittenRows(handle, row.id, page))
    : []
  const last = next.at(-1)
  const results = last === undefined ? [] : await placedRows(context, running, next)
  await progressed(context, running, async (tx) => {
    if (last === undefined) return store.endImport(tx, { id: row.id, state: 'finished' }, new Date().toISOString())
    await rows.setResults(tx, row.id, results)
    await store.addResults(tx, row.id, countChanges(next, results), last.row)
  })
}

/** Returns how the counts change if rows get other outcomes. */
function countChanges(before: readonly rows.StoredRow[], after: readonly rows.RowResult[]): store.OutcomeCounts {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 }
  const outcomes = new Map(before.map(({ row, outcome }) => [row, outcome]))
  for (const { row, outcome } of after) {
    const previous = outcomes.get(row)
    if (previous !== undefined && previous !== null) counts[previous] -= 1
    counts[outcome] += 1
  }
  return counts
}

type Placed = { row: rows.StoredRow; errors: RowError[]; isChanged: boolean }

/** Places the assets of rows. Returns the results of the rows whose outcome changes. */
async function placedRows(
  context: Context,
  running: RunningImport,
  next: readonly rows.StoredRow[],
): Promise<rows.RowResult[]> {
  const { columns } = running.row
  const named = next.map((row) => ({ row, ...placesOf(row.content, columns) }))
  const { parents, nodes } = await resolvePlaces(context, running, named)
  const placed = new Map(next.map((row) => [row.row, { row, errors: [], isChanged: false } as Placed]))
  const ofParents = named.flatMap(({ row, parent }) => {
    const place = parent === undefined ? undefined : parents.get(parent)
    return place === undefined ? [] : [{ row, place }]
  })
  await placeBelowParents(context, running, { targets: ofParents, placed })
  const ofNodes = named.flatMap(({ row, paths }) =>
    paths.flatMap((path) => {
      const place = nodes.get(path)
      return place === undefined ? [] : [{ row, place }]
    }),
  )
  await placeInNodes(context, running, { targets: ofNodes, placed })
  return [...placed.values()].flatMap(({ row, errors, isChanged }): rows.RowResult[] => {
    const { row: number, outcome } = row
    const rest = { row: number, assetId: row.assetId ?? undefined, matchedBy: row.matchedBy ?? undefined }
    if (errors.length > 0) return [{ ...rest, outcome: 'failed', errors }]
    return isChanged && outcome === 'unchanged' ? [{ ...rest, outcome: 'updated' }] : []
  })
}

type ParentTargets = {
  targets: readonly { row: rows.StoredRow; place: ParentPlace }[]
  placed: Map<number, Placed>
}

async function placeBelowParents(
  context: Context,
  running: RunningImport,
  { targets, placed }: ParentTargets,
): Promise<void> {
  if (targets.length === 0) return
  const { columns, dryRun, id } = running.row
  const inFile = targets.flatMap(({ place }) => ('row' in place ? [place.row] : []))
  const parentRows = await context.database.read(running.caller, (handle) => rows.findRows(handle, id, inFile))
  const rowOf = new Map(parentRows.map((row) => [row.row, row]))
  const fail = (row: rows.StoredRow, fault: { code: string; detail: string }) => {
    const detail = dryRun ? fault.detail : `The asset was written, but its parent was not set. ${fault.detail}`
    placed.get(row.row)?.errors.push(errorAt(columns, 'parent', { code: fault.code, detail }))
  }
  const placements: { row: rows.StoredRow; assetId: string; parentId: string }[] = []
  for (const { row, place } of targets) {
    if (place instanceof Problem) {
      fail(row, { code: place.code, detail: place.message })
      continue
    }
    const parentRow = 'row' in place ? rowOf.get(place.row) : undefined
    const parentId = 'row' in place ? parentRow?.assetId : place.assetId
    if (parentRow?.outcome === 'failed')
      fail(row, { code: 'asset_not_found', detail: `Row ${parentRow.row}, which is its parent, failed` })
    else if (row.assetId !== null && parentId !== null && parentId !== undefined)
      placements.push({ row, assetId: row.assetId, parentId })
    // In a dry run, an asset that does not exist yet has no id. It gets its parent when the import runs.
    else if (dryRun && may(running.caller, relationPermission)) markChanged(placed, row)
    else if (dryRun) fail(row, permissionFault)
  }
  if (placements.length === 0) return
  const body = { data: { placements: placements.map(({ assetId, parentId }) => ({ assetId, parentId })), dryRun } }
  const { data } = await context.peers(inventory, running.caller).placeBelowParents({ body })
  for (const [index, { row }] of placements.entries()) {
    const result = data[index]
    if (result?.outcome === 'updated') markChanged(placed, row)
    else if (result?.outcome === 'failed') fail(row, { code: result.code ?? 'internal', detail: result.detail ?? '' })
  }
}

function markChanged(placed: Map<number, Placed>, row: rows.StoredRow): void {
  const entry = placed.get(row.row)
  if (entry !== undefined) entry.isChanged = true
}

type NodeTargets = { targets: readonly { row: rows.StoredRow; place: NodePlace }[]; placed: Map<number, Placed> }

async function placeInNodes(context: Context, running: RunningImport, { targets, placed }: NodeTargets): Promise<void> {
  const { columns, dryRun } = running.row
  const fail = (row: rows.StoredRow, fault: { code: string; detail: string }) => {
    const detail = dryRun ? fault.detail : `The asset was written, but it was not assigned to its node. ${fault.detail}`
    placed.get(row.row)?.errors.push(errorAt(columns, 'hierarchy_path', { code: fault.code, detail }))
  }
  const placements: { row: rows.StoredRow; assetId: string; hierarchyId: string; nodeId: string }[] = []
  for (const { row, place } of targets) {
    if (place instanceof Problem) fail(row, { code: place.code, detail: place.message })
    else if (row.assetId === null) markChanged(placed, row)
    else placements.push({ row, assetId: row.assetId, ...place })
  }
  if (placements.length === 0) return
  for (let start = 0; start < placements.length; start += placementsPerRequest) {
    const part = placements.slice(start, start + placementsPerRequest)
    const sent = part.map(({ assetId, hierarchyId, nodeId }) => ({ assetId, hierarchyId, nodeId }))
    const body = { data: { placements: sent, dryRun } }
    const { data } = await context.peers(hierarchy, running.caller).placeAssets({ body })
    for (const [index, { row }] of part.entries()) {
      const result = data[index]
      if (result?.outcome === 'failed') fail(row, { code: result.code ?? 'internal', detail: result.detail ?? '' })
      else if (result !== undefined && result.outcome !== 'unchanged') markChanged(placed, row)
    }
  }
}
