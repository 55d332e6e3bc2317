import { importMediaTypes } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { writeCsv } from '../../platform/files/csv.ts'
import { writeXlsx } from '../../platform/files/xlsx-writer.ts'
import { answer, type Context } from '../../platform/service.ts'
import type { ImportRow } from './import-store.ts'
import { nextOfAllRows, type StoredRow } from './row-store.ts'

/** The report of an import: the uploaded table with the result of each row and its reason. */

const resultHeading = 'Result'
const reasonHeading = 'Reason'
const rowsPerPage = 1_000
const pageCharacters = 1024 * 1024

export function writeReport(context: Context, caller: Caller, row: ImportRow) {
  const { format, fileName } = row
  if (format === null) throw withoutRows(row)
  const pages = readPages(context, caller, row)
  const base = fileName.replace(/\.[^.]*$/, '')
  const headers = (extension: string, type: string) => ({
    'content-type': type,
    'content-disposition': attachment(`${base}-report.${extension}`),
  })
  if (format === 'csv') return answer(200, csvReport(row, pages), headers('csv', 'text/csv; charset=utf-8'))
  if (format !== 'xlsx') return answer(200, documentReport(row, pages), headers('ndjson', importMediaTypes.ndjson))
  const headings = [...row.columns.map(({ from }) => from), resultHeading, reasonHeading]
  const table = { name: 'Report', headings, pages: cellPages(row, pages) }
  return answer(200, writeXlsx(table), headers('xlsx', importMediaTypes.xlsx))
}

function withoutRows({ state }: ImportRow): Problem {
  const detail =
    state === 'failed'
      ? 'The file of this import could not be read, so it has no rows. See its problem'
      : state === 'canceled'
        ? 'The import was canceled before its file was read, so it has no rows'
        : 'The file of this import has not been read yet. Read the report when the import has ended'
  return new Problem('conflict', detail)
}

async function* readPages({ database }: Context, caller: Caller, { id }: ImportRow): AsyncGenerator<StoredRow[]> {
  for (let after = 0; ; ) {
    const page = { after, limit: rowsPerPage, characters: pageCharacters }
    const rows = await database.read(caller, (handle) => nextOfAllRows(handle, id, page))
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.row
  }
}

async function* cellPages(
  { columns }: ImportRow,
  pages: AsyncIterable<readonly StoredRow[]>,
): AsyncGenerator<string[][]> {
  for await (const rows of pages)
    yield rows.map((row) => [...columns.map((_, index) => cellOf(row, index)), resultOf(row), reasonOf(row)])
}

function cellOf({ content }: StoredRow, index: number): string {
  return Array.isArray(content) ? (content[index] ?? '') : ''
}

function resultOf({ outcome }: StoredRow): string {
  return outcome ?? ''
}

function reasonOf({ errors }: StoredRow): string {
  return (errors ?? []).map(({ detail }) => detail).join('; ')
}

function csvReport(row: ImportRow, pages: AsyncIterable<readonly StoredRow[]>): AsyncIterable<string> {
  const headings = [...row.columns.map(({ from }) => from), resultHeading, reasonHeading]
  return writeCsv({ headings, pages: cellPages(row, pages) })
}

/** Documents get the members `result` and `reason`. Cells are members with the names of their headings. */
async function* documentReport(
  { columns }: ImportRow,
  pages: AsyncIterable<readonly StoredRow[]>,
): AsyncGenerator<string> {
  const contentOf = (row: StoredRow) =>
    Array.isArray(row.content)
      ? Object.fromEntries(columns.map(({ from }, index) => [from, cellOf(row, index)]))
      : row.content
  for await (const rows of pages)
    yield rows
      .map((row) => `${JSON.stringify({ ...contentOf(row), result: resultOf(row), reason: reasonOf(row) })}\n`)
      .join('')
}
