import { propertyTarget } from '@millwright/api/asset-columns.ts'
import type { MappedColumn, RowError } from '@millwright/api/imports.ts'
import type { ImportedRow, RowDecision } from '@millwright/api/inventory/import-rows.ts'
import { inventory, type OperationStatus } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { headingOf } from './columns.ts'
import { CanceledImport, progressed, type RunningImport } from './import-progress.ts'
import * as store from './import-store.ts'
import { checkPlacements } from './placing.ts'
import { cellsByTarget } from './reading.ts'
import * as rows from './row-store.ts'

/** The second phase of an import: the inventory writes the assets of the rows, a portion at a time. */

/** Larger portions are hardly faster, but their objects live long enough to fill the memory. */
const rowsPerPortion = 200
/** The maximum number of characters of the rows of a portion, so that one request stays small. */
const portionCharacters = 2 * 1024 * 1024
/** How long one request waits for the results of a write. */
const waitSeconds = 10

/** Writes or decides the next portion of rows. After the last one, the next phase begins. */
export async function writeRows(context: Context, running: RunningImport): Promise<void> {
  const { id, dryRun } = running.row
  const hadRows = dryRun ? await previewPortion(context, running) : await writePortion(context, running)
  if (!hadRows) await progressed(context, running, (tx) => store.setPhase(tx, id, 'placing'))
}

type PlannedRows = { sent: rows.StoredRow[]; failed: rows.RowResult[]; lastRow: number }

/** Returns the next rows without a result. Rows whose parent or node cannot be found fail before they are sent. */
async function planRows(context: Context, running: RunningImport): Promise<PlannedRows | undefined> {
  const { row, caller } = running
  const page = { after: row.nextRow, limit: rowsPerPortion, characters: portionCharacters }
  const next = await context.database.read(caller, (handle) => rows.nextRows(handle, row.id, page))
  const last = next.at(-1)
  if (last === undefined) return undefined
  const failed = await checkPlacements(context, running, next)
  const failedRows = new Set(failed.map((result) => result.row))
  return { sent: next.filter((one) => !failedRows.has(one.row)), failed, lastRow: last.row }
}

/** Decides the next rows of a dry run. Returns whether there were any. */
async function previewPortion(context: Context, running: RunningImport): Promise<boolean> {
  const { row, caller } = running
  const planned = await planRows(context, running)
  if (planned === undefined) return false
  const { sent, failed, lastRow } = planned
  const body = { data: { rows: sent.map(({ content }) => importedRow(content, row.columns)) } }
  const decisions = sent.length === 0 ? [] : (await context.peers(inventory, caller).previewRows({ body })).data
  const results = sent.map((one, index) => resultOf(one.row, decisions[index], row.columns))
  await storeResults(context, running, { results: [...failed, ...results], lastRow })
  return true
}

/** Writes the next rows, or continues with the portion that is being written. Returns whether there were any. */
async function writePortion(context: Context, running: RunningImport): Promise<boolean> {
  const { row } = running
  const open =
    row.portion === null ? await nextPortion(context, running) : await openPortion(context, running, row.portion)
  if (open === undefined) return false
  const { portion, found } = open
  const decisions = found.length === 0 ? [] : await writtenRows(context, running, open)
  const results = found.map((one, index) => resultOf(one.row, decisions[index], row.columns))
  await storeResults(context, running, { results, lastRow: portion.lastRow })
  return true
}

/** Stores the next portion before it is sent. Rows that cannot be sent get their results in the same transaction. */
async function nextPortion(context: Context, running: RunningImport): Promise<OpenPortion | undefined> {
  const { id } = running.row
  const planned = await planRows(context, running)
  if (planned === undefined) return undefined
  const { sent, failed, lastRow } = planned
  const portion = { writeId: newId(), rows: sent.map((one) => one.row), lastRow }
  await progressed(context, running, async (tx, current) => {
    if (current.portion !== null) throw new CanceledImport()
    await rows.setResults(tx, id, failed)
    await store.addResults(tx, id, countOutcomes(failed), current.nextRow)
    await store.setPortion(tx, id, portion)
  })
  return { portion, found: sent }
}

/** Reads the rows of a portion that another process has stored. */
async function openPortion(
  { database }: Context,
  { row, caller }: RunningImport,
  portion: store.Portion,
): Promise<OpenPortion> {
  return { portion, found: await database.read(caller, (handle) => rows.findRows(handle, row.id, portion.rows)) }
}

type OpenPortion = { portion: store.Portion; found: readonly rows.StoredRow[] }

/** Sends a portion if the inventory does not have it yet, and returns its results. */
async function writtenRows(
  context: Context,
  { row, caller, signal }: RunningImport,
  { portion, found }: OpenPortion,
): Promise<RowDecision[]> {
  const client = context.peers(inventory, caller)
  const { writeId } = portion
  const sent = found.map(({ content }) => importedRow(content, row.columns))
  const body = { data: { writeId, rows: sent, import: { id: row.id, name: row.fileName } } }
  await client.importRows({ body })
  for (;;) {
    signal.throwIfAborted()
    const { data } = await client.readStatus({ params: { id: writeId }, query: { wait: waitSeconds } })
    if (data.state !== 'queued') return decisionsIn(data)
  }
}

function decisionsIn({ detail }: OperationStatus): RowDecision[] {
  if (Array.isArray(detail.result)) return detail.result as RowDecision[]
  const { code, detail: reason } = (detail.result ?? {}) as { code?: string; detail?: string }
  // The result of a write never changes, so another attempt would be useless.
  throw new Problem('conflict', `The rows could not be written: ${reason ?? code ?? 'unknown reason'}`)
}

async function storeResults(
  context: Context,
  running: RunningImport,
  { results, lastRow }: { results: readonly rows.RowResult[]; lastRow: number },
): Promise<void> {
  const { id, dryRun } = running.row
  await progressed(
    context,
    running,
    async (tx) => {
      await rows.setResults(tx, id, results)
      await store.addResults(tx, id, countOutcomes(results), lastRow)
    },
    { isSettling: !dryRun },
  )
}

export function countOutcomes(results: readonly rows.RowResult[]): store.OutcomeCounts {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 }
  for (const { outcome } of results) counts[outcome] += 1
  return counts
}

function importedRow(content: rows.RowContent, columns: readonly MappedColumn[]): ImportedRow {
  return Array.isArray(content) ? { cells: cellsByTarget(content, columns) } : { document: content }
}

function resultOf(row: number, decision: RowDecision | undefined, columns: readonly MappedColumn[]): rows.RowResult {
  if (decision?.outcome !== undefined) {
    const { outcome, assetId, matchedBy } = decision
    return { row, outcome, assetId, matchedBy }
  }
  const { code = 'internal', detail = 'The row was not written', errors = [] } = decision ?? {}
  const shown = errors.map((fault): RowError => {
    const column = columnOf(fault.pointer, columns)
    return { column, code: fault.code, detail: sentenceOf(fault.detail, column) }
  })
  return { row, outcome: 'failed', errors: shown.length === 0 ? [{ column: null, code, detail }] : shown }
}

/** Returns a detail that can be shown alone. The inventory describes many faults without their subject: `must be a number`. */
function sentenceOf(detail: string, column: string | null): string {
  return column !== null && /^[a-z]/.test(detail) ? `${column} ${detail}` : detail
}

/** Returns the heading of the column that a pointer of the inventory refers to. */
function columnOf(pointer: string, columns: readonly MappedColumn[]): string | null {
  const [, target = '', key] = pointer.split('/')
  if (target === '') return null
  if (columns.length === 0) return pointer
  return headingOf(columns, key !== undefined && target === 'custom_properties' ? propertyTarget(key) : target)
}
