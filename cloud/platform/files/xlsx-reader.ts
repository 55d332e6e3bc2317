import { Problem } from '@millwright/api/problem.ts'
import { attributesIn, XmlError, type XmlHandler, XmlParser } from './xml.ts'
import { damagedZip, type ZipArchive } from './zip.ts'

/**
 * Reads the rows of the first sheet of a workbook (.xlsx), one after the other. A workbook is data here: macros, formulas
 * and links to other files are refused. Only the strings and styles of the workbook are kept in memory.
 */

export type SheetRow = { row: number; cells: string[] }

type SheetLimits = { rows: number; columns: number; cellCharacters: number }

export async function* readSheet(archive: ZipArchive, limits: SheetLimits): AsyncGenerator<SheetRow> {
  refuseActiveContent(archive)
  const workbook = await workbookOf(archive)
  const strings = await sharedStringsOf(archive, workbook.strings)
  const isDate = await dateStylesOf(archive, workbook.styles)
  const sheet = new SheetHandler({ strings, isDate, is1904: workbook.is1904, limits })
  const parser = new XmlParser(sheet)
  for await (const chunk of archive.text(workbook.sheet)) {
    parse(() => parser.write(chunk))
    yield* sheet.take()
  }
  parse(() => parser.end())
}

function parse(work: () => void): void {
  try {
    work()
  } catch (error) {
    throw error instanceof XmlError ? damagedZip(error) : error
  }
}

function refuseActiveContent(archive: ZipArchive): void {
  const { names } = archive
  if (names.some((name) => /vbaProject|\/macrosheets\//i.test(name)))
    throw new Problem('file_with_macros', 'The workbook contains macros. Save it as .xlsx without macros')
  if (names.some((name) => /\/externalLinks\//i.test(name)))
    throw new Problem(
      'file_with_external_links',
      'The workbook refers to other files. Replace these links by their values, and save the workbook',
    )
}

async function* tagsOf(archive: ZipArchive, name: string): AsyncGenerator<{ tag: string; attributes: string }> {
  let tags: { tag: string; attributes: string }[] = []
  const handler = { open: (tag: string, attributes: string) => tags.push({ tag, attributes }), close() {}, text() {} }
  const parser = new XmlParser(handler)
  for await (const chunk of archive.text(name)) {
    parse(() => parser.write(chunk))
    yield* tags
    tags = []
  }
  parse(() => parser.end())
}

type Relation = { type: string; target: string }

/** Returns the relations of a part by their ids. */
async function relationsOf(archive: ZipArchive, part: string): Promise<Map<string, Relation>> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const name = `${folder}_rels/${part.slice(folder.length)}.rels`
  const relations = new Map<string, Relation>()
  if (!archive.has(name)) return relations
  for await (const { tag, attributes } of tagsOf(archive, name)) {
    if (tag !== 'Relationship') continue
    const found = attributesIn(attributes)
    const target = found.get('Target') ?? ''
    const type = (found.get('Type') ?? '').split('/').at(-1) ?? ''
    relations.set(found.get('Id') ?? '', { type, target: resolved(folder, target) })
  }
  return relations
}

/** Returns the name of the part that a relation refers to. */
function resolved(folder: string, target: string): string {
  try {
    return decodeURIComponent(new URL(target, `file:///${folder}`).pathname.slice(1))
  } catch (cause) {
    throw damagedZip(new Error(`the part ${target.slice(0, 100)} has an invalid name`, { cause }))
  }
}

type Workbook = { sheet: string; is1904: boolean; strings: string | undefined; styles: string | undefined }

async function workbookOf(archive: ZipArchive): Promise<Workbook> {
  const main = [...(await relationsOf(archive, '')).values()].find(({ type }) => type === 'officeDocument')
  if (main === undefined || !/\.xml$/i.test(main.target) || !archive.has(main.target))
    throw new Problem('unsupported_file', 'The file is not an .xlsx workbook. Save the table as .xlsx or .csv')
  const relations = await relationsOf(archive, main.target)
  let sheetId: string | undefined
  let is1904 = false
  let isWorkbook = false
  for await (const { tag, attributes } of tagsOf(archive, main.target)) {
    if (tag === 'workbook') isWorkbook = true
    if (tag === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributesIn(attributes).get('date1904') ?? '')
    if (tag === 'sheet') sheetId ??= attributesIn(attributes).get('id')
  }
  if (!isWorkbook)
    throw new Problem('unsupported_file', 'The file is not an .xlsx workbook. Save the table as .xlsx or .csv')
  const sheet = relations.get(sheetId ?? '')?.target
  if (sheet === undefined) throw damagedZip(new Error('the workbook has no sheet'))
  const ofType = (name: string) => [...relations.values()].find(({ type }) => type === name)?.target
  return { sheet, is1904, strings: ofType('sharedStrings'), styles: ofType('styles') }
}

/** Reads the texts that cells refer to by their numbers. */
async function sharedStringsOf(archive: ZipArchive, name: string | undefined): Promise<string[]> {
  const strings: string[] = []
  if (name === undefined || !archive.has(name)) return strings
  let parts: string[] = []
  let isText = false
  let phonetic = 0
  const parser = new XmlParser({
    open(tag) {
      if (tag === 'si') parts = []
      else if (tag === 'rPh') phonetic += 1
      else if (tag === 't') isText = phonetic === 0
    },
    text(text) {
      if (isText) parts.push(text)
    },
    close(tag) {
      if (tag === 't') isText = false
      else if (tag === 'rPh') phonetic -= 1
      else if (tag === 'si') strings.push(unescaped(parts.join('')))
    },
  })
  for await (const chunk of archive.text(name)) parse(() => parser.write(chunk))
  parse(() => parser.end())
  return strings
}

/** Decodes characters that XML cannot contain. Workbooks write them as `_x000D_`. */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text
  return text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** The numbers of built-in formats of dates and times. */
const dateFormats = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46, 47])

/** Returns a function that decides whether a style shows a number as a date. */
async function dateStylesOf(archive: ZipArchive, name: string | undefined): Promise<(style: number) => boolean> {
  if (name === undefined || !archive.has(name)) return () => false
  const own = new Set<number>()
  const styles: number[] = []
  let isCellStyle = false
  for await (const { tag, attributes } of tagsOf(archive, name)) {
    if (tag === 'numFmt') {
      const format = attributesIn(attributes)
      const code = (format.get('formatCode') ?? '').replaceAll(/"[^"]*"|\[[^\]]*\]|\\./g, '')
      if (/[dmyhs]/i.test(code)) own.add(Number(format.get('numFmtId')))
    } else if (tag === 'cellXfs') isCellStyle = true
    else if (tag === 'cellStyles' || tag === 'dxfs') isCellStyle = false
    else if (tag === 'xf' && isCellStyle) styles.push(Number(attributesIn(attributes).get('numFmtId') ?? 0))
  }
  return (style) => {
    const format = styles[style] ?? 0
    return own.has(format) || dateFormats.has(format)
  }
}

type SheetOptions = {
  strings: readonly string[]
  isDate: (style: number) => boolean
  is1904: boolean
  limits: SheetLimits
}

/** Collects the rows of a sheet. */
class SheetHandler implements XmlHandler {
  readonly #options: SheetOptions
  #rows: SheetRow[] = []
  #count = 0
  #row = 0
  #cells: string[] = []
  #column = -1
  #type = ''
  #style = 0
  #text = ''
  #isText = false
  #phonetic = 0

  constructor(options: SheetOptions) {
    this.#options = options
  }

  /** Returns the rows that were read since the last call. */
  take(): SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  open(tag: string, attributes: string): void {
    if (tag === 'c') this.#openCell(attributes)
    else if (tag === 'row') {
      this.#row = this.#numberOf(attributesIn(attributes).get('r'))
      this.#cells = []
      this.#column = -1
    } else if (tag === 'v' || tag === 't') this.#isText = this.#phonetic === 0
    else if (tag === 'rPh') this.#phonetic += 1
    else if (tag === 'f')
      throw new Problem(
        'file_with_formulas',
        `Cell ${columnName(this.#column)}${this.#row} contains a formula. Replace formulas by their values (copy, then paste values), and save the workbook`,
      )
  }

  text(text: string): void {
    if (this.#isText) this.#text += text
  }

  close(tag: string): void {
    if (tag === 'v' || tag === 't') this.#isText = false
    else if (tag === 'rPh') this.#phonetic -= 1
    else if (tag === 'c') this.#closeCell()
    else if (tag === 'row') this.#closeRow()
  }

  /** Returns the number of a row. Errors, reports and later runs refer to rows by their numbers, so no two can be equal. */
  #numberOf(text: string | undefined): number {
    if (text === undefined) return this.#row + 1
    const number = Number(text)
    if (!/^\d{1,9}$/.test(text) || number > lastRow)
      throw damagedSheet(`a row after row ${this.#row} has the number ${text.slice(0, 20)}`)
    if (number <= this.#row) throw damagedSheet(`row ${number} follows row ${this.#row}`)
    return number
  }

  #openCell(attributes: string): void {
    const found = attributesIn(attributes)
    const reference = found.get('r')
    const column = reference === undefined ? this.#column + 1 : columnOf(reference)
    if (column <= this.#column)
      throw damagedSheet(`a cell of row ${this.#row} has the reference ${reference?.slice(0, 20)}`)
    this.#column = column
    this.#type = found.get('t') ?? 'n'
    this.#style = Number(found.get('s') ?? 0)
    this.#text = ''
  }

  #closeCell(): void {
    const value = this.#value()
    if (value === '') return
    const { columns, cellCharacters } = this.#options.limits
    const place = `${columnName(this.#column)}${this.#row}`
    if (this.#column >= columns)
      throw tooLarge(`Cell ${place} is in column ${this.#column + 1}. A table can have ${columns} columns`)
    if (value.length > cellCharacters)
      throw tooLarge(`Cell ${place} has ${value.length} characters. A cell can have ${cellCharacters}`)
    while (this.#cells.length < this.#column) this.#cells.push('')
    this.#cells[this.#column] = value
  }

  #closeRow(): void {
    if (this.#cells.length === 0) return
    this.#count += 1
    const { rows } = this.#options.limits
    if (this.#count > rows + 1) throw tooLarge(`The table has more than ${rows} rows`)
    this.#rows.push({ row: this.#row, cells: this.#cells })
    this.#cells = []
  }

  #sharedString(number: string): string {
    const text = this.#options.strings[Number(number)]
    if (text !== undefined) return text
    throw damagedSheet(
      `cell ${columnName(this.#column)}${this.#row} refers to the text ${number.slice(0, 20)}, which does not exist`,
    )
  }

  #value(): string {
    const text = this.#text
    if (text === '') return ''
    switch (this.#type) {
      case 's':
        return this.#sharedString(text)
      case 'b':
        return text === '1' ? 'true' : 'false'
      case 'n': {
        const number = Number(text)
        if (!Number.isFinite(number)) return text
        if (this.#options.isDate(this.#style)) return dateText(number, this.#options.is1904)
        // Spreadsheet programs keep 15 digits. The scientific notation shows that the further digits are lost.
        return Math.abs(number) >= 1e15 ? number.toExponential().toUpperCase() : String(number)
      }
      default:
        return unescaped(text)
    }
  }
}

/** The last row that a sheet can have. */
const lastRow = 1_048_576

function damagedSheet(reason: string): Problem {
  return damagedZip(new Error(reason))
}

function tooLarge(detail: string): Problem {
  return new Problem(
    'file_too_large',
    `${detail}. Split the table into several files, or remove empty rows and columns`,
  )
}

/** Returns the number of the column of a cell reference such as `AB12`, from 0. */
function columnOf(reference: string): number {
  let column = 0
  for (const letter of reference) {
    const value = letter.charCodeAt(0) - 64
    if (value < 1 || value > 26) break
    column = column * 26 + value
  }
  return column - 1
}

function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26))
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter
}

const dayMs = 86_400_000

/** Converts a serial number of days to a date, or to a time if it has a fraction. */
function dateText(days: number, is1904: boolean): string {
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)
  const time = new Date(start + Math.round(days * dayMs))
  if (Number.isNaN(time.getTime())) return String(days)
  const text = time.toISOString()
  return Number.isInteger(days) ? text.slice(0, 10) : text.replace('.000Z', 'Z')
}
