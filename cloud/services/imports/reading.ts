import {
  assetHeadings,
  cellText,
  identifiersOfCells,
  identifiesAssets,
  idTarget,
  normalMac,
} from '@millwright/api/asset-columns.ts'
import { assetLimits } from '@millwright/api/asset-schema.ts'
import type { MappedColumn } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { FileRow } from '../../platform/files/table.ts'
import { TableReader } from '../../platform/files/table-reader.ts'
import type { Context } from '../../platform/service.ts'
import { importedProperties, mapColumns } from './columns.ts'
import { readFile } from './file-store.ts'
import { CanceledImport, progressed, type RunningImport } from './import-progress.ts'
import * as store from './import-store.ts'
import * as rows from './row-store.ts'

/** The first phase of an import: reads the file, and stores its rows. */

/** The number of rows that are stored in one transaction. */
const batch = 250
/** How often the reader checks whether the import was canceled. */
const cancelPollMs = 250

export async function readRows(context: Context, running: RunningImport): Promise<void> {
  const { row, caller, signal } = running
  const { database } = context
  const { id } = row
  // The rows of a workbook can be much larger than its file.
  store.requireStorage(await database.read(caller, store.countImports), { imports: 0, bytes: 0 })
  await using cancellation = watchCancellation(context, running)
  const stop = AbortSignal.any([signal, cancellation.signal])
  await using reader = await TableReader.open(readFile(database, caller, id), {
    tenantId: caller.tenantId,
    signal: stop,
  })
  const properties = reader.headings.length === 0 ? [] : await importedProperties(context, caller)
  const columns = mapColumns(reader.headings, row.mapping, properties)
  await progressed(context, running, (tx) => store.setColumns(tx, id, { format: reader.format, columns }))
  requireIdentifierColumns(reader, columns)
  const hasDocuments = reader.format === 'ndjson' || reader.format === 'aasx'
  const hasParents = hasDocuments || columns.some(({ to }) => to === 'parent')
  // After a crash, the file is read again. The rows that are already stored are left out.
  const stored = await database.read(caller, (handle) => rows.lastRow(handle, id))
  for (let isLast = false; !isLast; ) {
    const next = await reader.next(batch)
    isLast = next.isLast
    const fresh = next.rows.filter(({ row: number }) => number > stored).filter(hasContent)
    if (fresh.length === 0) continue
    const described = fresh.map((one) => describeRow(one, columns))
    await progressed(context, running, async (tx) => {
      const added = await rows.insertRows(tx, id, described)
      if (hasParents)
        await rows.insertNames(
          tx,
          id,
          described.flatMap(({ names, row: number }) => names.map((name) => ({ name, row: number }))),
        )
      await store.addReadRows(tx, id, added)
    })
  }
  await progressed(context, running, async (tx, current) => {
    if (current.rows === 0) throw withoutRows()
    const repeated = await rows.failDuplicates(tx, id)
    await store.addResults(tx, id, { created: 0, updated: 0, unchanged: 0, failed: repeated }, 0)
    await store.setPhase(tx, id, 'writing')
  })
}

function withoutRows(): Problem {
  return new Problem('file_without_rows', 'The table has headings, but no rows. Add one row for each asset')
}

function hasContent(row: FileRow): boolean {
  return 'document' in row || row.cells.some((cell) => cell.trim() !== '')
}

/** Requires columns by which assets can be identified, so that the mistake is reported once and not for each row. */
function requireIdentifierColumns({ headings }: TableReader, columns: readonly MappedColumn[]): void {
  if (headings.length === 0 || identifiesAssets(columns.map(({ to }) => to))) return
  const { mac_address: mac, serial_number: serial, manufacturer } = assetHeadings
  const found = headings.slice(0, 10).join(', ')
  throw new Problem(
    'unsupported_file',
    `The table has no column that identifies assets. It needs "${mac}", or "${serial}" and "${manufacturer}". Its first headings are: ${found}. Use the template, or map the columns`,
  )
}

type DescribedRow = rows.NewRow & { names: string[] }

/** Returns a row with the keys by which it is compared with other rows, and the names by which other rows refer to it. */
function describeRow(row: FileRow, columns: readonly MappedColumn[]): DescribedRow {
  const content = 'cells' in row ? row.cells.map(cellText) : row.document
  const { id, identifiers, name } = Array.isArray(content) ? ofCells(content, columns) : ofDocument(content)
  const keys = id === '' ? identifiers.map(keyOf) : [id]
  const values = identifiers.flatMap((identifier) => [identifier.mac_address, identifier.serial_number])
  const names = [name, id, ...values].filter(isName)
  return { row: row.row, content, keys, names: [...new Set(names)] }
}

/** Returns whether a row can be named by a text. The row fails if the text is too long. */
function isName(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.length <= assetLimits.nameCharacters
}

function ofCells(cells: readonly string[], columns: readonly MappedColumn[]) {
  const byTarget = cellsByTarget(cells, columns)
  const { [idTarget]: id = '', name = '' } = byTarget
  return { id: id.toLowerCase(), identifiers: identifiersOfCells(byTarget), name }
}

function ofDocument({ id, asset_identifiers: sent, name }: Record<string, unknown>) {
  const objects = (Array.isArray(sent) ? sent : []).filter((entry) => typeof entry === 'object' && entry !== null)
  const identifiers = objects.map((identifier: Record<string, unknown>) =>
    typeof identifier.mac_address === 'string'
      ? { ...identifier, mac_address: normalMac(identifier.mac_address) }
      : identifier,
  )
  return { id: typeof id === 'string' ? id.toLowerCase() : '', identifiers, name: typeof name === 'string' ? name : '' }
}

/** Returns the cells of a row by field. */
export function cellsByTarget(cells: readonly string[], columns: readonly MappedColumn[]): Record<string, string> {
  const byTarget: Record<string, string> = {}
  for (const [index, { to }] of columns.entries()) {
    const cell = cells[index]
    if (to !== null && cell !== undefined && cell !== '') byTarget[to] = cell
  }
  return byTarget
}

/** Returns the key of an identifier. Rows with the same key describe the same asset. */
function keyOf(identifier: { readonly [name: string]: unknown }): string {
  const entries = Object.entries(identifier).filter(([name]) => !name.startsWith('identifier_'))
  return JSON.stringify(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Returns a signal that is aborted when the import is canceled, so that reading a large file stops at once. */
function watchCancellation({ database }: Context, { row, caller }: RunningImport) {
  const controller = new AbortController()
  const timer = setInterval(async () => {
    const current = await database
      .read(caller, (handle) => store.findImport(handle, row.id))
      .catch(() => ({ state: 'running' }))
    if (current?.state !== 'running') controller.abort(new CanceledImport())
  }, cancelPollMs)
  return {
    signal: controller.signal,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
    },
  }
}
