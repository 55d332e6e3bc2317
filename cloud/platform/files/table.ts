import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { importLimits } from '@millwright/api/import-limits.ts'
import type { ImportFormat } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import { isNestedDeeper } from '../http/json-depth.ts'
import { limits } from '../limits.ts'
import { aasxHeadings, isAasx, isEnvironment, readAasx, readEnvironment } from './aasx.ts'
import { parseCsv } from './csv.ts'
import { readSheet } from './xlsx-reader.ts'
import { encrypted, ZipArchive } from './zip.ts'

/**
 * Reads an uploaded file as rows. The content determines the format, not the name of the file. Each fault of a file is one
 * problem with the place and the remedy. This code runs in its own process, because a file can exhaust the memory.
 */

/**
 * A row of a table, or a document of an NDJSON file or an AASX package. The number of a row is its line or row in the file.
 */
export type FileRow = { row: number; cells: string[] } | { row: number; document: Record<string, unknown> }

export type FileContent = {
  format: ImportFormat
  /** The headings of a table. Empty for documents. */
  headings: string[]
  rows: AsyncIterable<FileRow>
}

const { rows: mostRows, columns: mostColumns, headingCharacters, cellCharacters, lineCharacters } = importLimits
const { zipEntries, unpackedBytes } = importLimits

export async function openFile(path: string): Promise<FileContent> {
  const start = await firstBytes(path)
  if (start.length === 0) throw withoutRows('The file is empty')
  if (start.subarray(0, 4).equals(Buffer.from([0x50, 0x4b, 3, 4]))) return openZip(path)
  if (start.subarray(0, 4).equals(Buffer.from([0xd0, 0xcf, 0x11, 0xe0]))) throw await oldOffice(path)
  const text = start.toString('utf8').replace(/^\ufeff/, '')
  if (isEnvironment(text)) return shellContent(readEnvironment(createReadStream(path, 'utf8')))
  refuseBinary(start)
  if (/^\s*\{/.test(text)) return { format: 'ndjson', headings: [], rows: readDocuments(path) }
  return openTable('csv', readCsv(path))
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function openZip(path: string): Promise<FileContent> {
  const archive = await ZipArchive.open(path, { entries: zipEntries, unpackedBytes })
  if (await isAasx(archive)) return shellContent(readAasx(archive))
  const limits = { rows: mostRows, columns: mostColumns, cellCharacters }
  return openTable('xlsx', readSheet(archive, limits))
}

/** Returns the content of Asset Administration Shells. A row is a document, or the cells of the headings. */
function shellContent(rows: AsyncIterable<FileRow>): FileContent {
  return { format: 'aasx', headings: [...aasxHeadings], rows }
}

/** Returns the problem of a file in the format of old Office documents, which is also that of encrypted workbooks. */
async function oldOffice(path: string): Promise<Problem> {
  const isEncrypted = (await readFile(path)).includes(Buffer.from('EncryptedPackage', 'utf16le'))
  if (isEncrypted) return encrypted()
  return new Problem('unsupported_file', 'The file has the old Excel format (.xls). Save the workbook as .xlsx')
}

const knownTypes: readonly [string, string][] = [
  ['%PDF', 'a PDF document'],
  ['\x89PNG', 'an image'],
  ['\xff\xd8\xff', 'an image'],
  ['\x1f\x8b', 'a gzip archive'],
  ['\xff\xfe', 'text in UTF-16'],
  ['\xfe\xff', 'text in UTF-16'],
  ['<', 'an XML or HTML document'],
]

function refuseBinary(start: Buffer): void {
  const latin = start.toString('latin1').trimStart()
  const [, found] = knownTypes.find(([prefix]) => latin.startsWith(prefix)) ?? []
  const what = found ?? (start.includes(0) ? 'a binary file' : undefined)
  if (what === undefined) return
  const advice = what.includes('UTF-16') ? 'Save it in UTF-8' : 'Save the table as .xlsx, or as .csv in UTF-8'
  throw new Problem('unsupported_file', `The file is ${what}, not a table. ${advice}`)
}

/** Returns the content of a table. The first row contains the headings. */
async function openTable(
  format: ImportFormat,
  rows: AsyncGenerator<{ row: number; cells: string[] }>,
): Promise<FileContent> {
  const first = await rows.next()
  if (first.done === true) throw withoutRows('The table is empty')
  const headings = first.value.cells.map((heading) => heading.trim())
  if (headings.length > mostColumns)
    throw tooLarge(`The table has ${headings.length} columns. The limit is ${mostColumns}`)
  while (headings.at(-1) === '') headings.pop()
  const long = headings.findIndex((heading) => heading.length > headingCharacters)
  if (long >= 0)
    throw new Problem(
      'file_too_large',
      `The heading of column ${long + 1} has ${headings[long]?.length} characters. A heading can have ${headingCharacters}. The first row must contain the headings`,
    )
  return { format, headings, rows }
}

function withoutRows(reason: string): Problem {
  const detail = `${reason}. The first row must contain the headings, and each further row an asset`
  return new Problem('file_without_rows', detail)
}

function tooLarge(detail: string): Problem {
  return new Problem('file_too_large', `${detail}. Split the table into several files`)
}

async function* readCsv(path: string): AsyncGenerator<{ row: number; cells: string[] }> {
  const bytes = await readFile(path)
  const content = decoded(bytes)
  // Old spreadsheet programs end lines with a carriage return only.
  const text = content.includes('\n') ? content : content.replaceAll('\r', '\n')
  const parsed = parseCsv(text, {
    invalid: (line, detail) =>
      new Problem(
        /more than/.test(detail) ? 'file_too_large' : 'damaged_file',
        `Line ${line}: ${detail}. Correct the file`,
      ),
    yieldTurn: () => undefined,
    limits: { rows: mostRows, cells: mostColumns, characters: cellCharacters },
  })
  for await (const { line, cells } of parsed) yield { row: line, cells }
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Problem(
      'unsupported_file',
      'The file is not text in UTF-8. Save the table as CSV in UTF-8, or as .xlsx',
      {
        cause,
      },
    )
  }
}

async function* readDocuments(path: string): AsyncGenerator<FileRow> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  let row = 0
  let documents = 0
  for await (const text of lines) {
    row += 1
    const line = row === 1 ? text.replace(/^\ufeff/, '') : text
    if (line.trim() === '') continue
    if (line.length > lineCharacters) throw tooLarge(`Line ${row} has more than ${lineCharacters} characters`)
    documents += 1
    if (documents > mostRows) throw tooLarge(`The file has more than ${mostRows} lines`)
    yield { row, document: documentIn(line, row) }
  }
}

function documentIn(line: string, row: number): Record<string, unknown> {
  if (isNestedDeeper(Buffer.from(line), limits.bodyLevels))
    throw new Problem('damaged_file', `Line ${row} is nested deeper than ${limits.bodyLevels} levels. Correct the file`)
  try {
    const document: unknown = JSON.parse(line)
    if (typeof document === 'object' && document !== null && !Array.isArray(document))
      return document as Record<string, unknown>
  } catch {
    // The problem is the same for text that is not JSON.
  }
  throw new Problem('damaged_file', `Line ${row} is not a JSON object. Each line must contain one asset`)
}
