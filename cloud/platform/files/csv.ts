/** Reading and writing of CSV (RFC 4180). */

/** Spreadsheets read a file without this mark in the character set of the operating system. */
const byteOrderMark = '\ufeff'

/** A row with the number of its first line in the file. */
export type CsvRow = { line: number; cells: string[] }

type CsvOptions = {
  /** Creates the error for a line. */
  invalid: (line: number, detail: string) => Error
  /** Is called between two rows, so that a large file does not block the event loop. */
  yieldTurn: () => Promise<void> | undefined
  /** The maximum number of rows after the first row, including empty lines, of cells in a row and of characters in a cell. */
  limits: { rows: number; cells: number; characters: number }
}

/**
 * Parses CSV with commas, semicolons or tabs, one row after the other. The separator is the one that the first line
 * contains most often, or the one that a first line such as `sep=;` names, as Excel reads and writes it. Empty lines are left out.
 */
export async function* parseCsv(text: string, { invalid, yieldTurn, limits }: CsvOptions): AsyncGenerator<CsvRow> {
  const content = text.startsWith(byteOrderMark) ? text.slice(1) : text
  const [, named] = (separatorLine.exec(content) ?? []) as (Separator | undefined)[]
  const separator = named ?? separatorOf(content)
  const cellEnd = cellEnds[separator]
  let at = named === undefined ? 0 : content.indexOf('\n') + 1
  let line = named === undefined ? 1 : 2
  let read = 0
  const tooLong = `a cell has more than ${limits.characters} characters`
  while (at < content.length) {
    const row: CsvRow = { line, cells: [] }
    let isEmpty = true
    for (let isLast = false; !isLast; ) {
      // Files of many columns have many empty cells.
      if (content[at] === separator && row.cells.length < limits.cells) {
        row.cells.push('')
        at += 1
        continue
      }
      const quoted = content[at] === '"' ? quotedCell(content, at, limits.characters + 1) : undefined
      if (quoted === 'too long') throw invalid(line, tooLong)
      if (quoted === 'not closed') throw invalid(line, 'a quotation mark is not closed')
      cellEnd.lastIndex = quoted?.end ?? at
      const end = cellEnd.exec(content)?.index ?? content.length
      const rest = withoutReturn(content, quoted?.end ?? at, end)
      if (quoted !== undefined && rest !== '') throw invalid(line, 'text follows the closing quotation mark of a cell')
      if (row.cells.length === limits.cells) throw invalid(line, `the row has more than ${limits.cells} cells`)
      const cell = unprotected(quoted?.cell ?? rest)
      if (cell.length > limits.characters) throw invalid(line, tooLong)
      row.cells.push(cell)
      isEmpty &&= cell === ''
      line += quoted?.lines ?? 0
      isLast = content[end] !== separator
      at = end + 1
    }
    line += 1
    read += 1
    if (read > limits.rows + 1) throw invalid(row.line, `the file has more than ${limits.rows} rows`)
    if (!isEmpty) yield row
    await yieldTurn()
  }
}

/** The ends of cells. The expressions keep their place only within one row, which is read without interruption. */
const cellEnds = { ',': /[,\n]/g, ';': /[;\n]/g, '\t': /[\t\n]/g } as const

/** A first line for Excel that only names the separator. */
const separatorLine = /^sep=([,;\t])\r?\n/i

/** The number of characters in which the separator is searched. */
const headerCharacters = 65_536

type Separator = ',' | ';' | '\t'

/** Returns the separator that the first line contains most often, outside quotation marks. */
function separatorOf(content: string): Separator {
  const counts: Record<Separator, number> = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (const character of content.slice(0, headerCharacters)) {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted) continue
    if (character === '\n') break
    if (Object.hasOwn(counts, character)) counts[character as Separator] += 1
  }
  const most = Math.max(...Object.values(counts))
  return counts[','] === most ? ',' : counts[';'] === most ? ';' : '\t'
}

type QuotedCell = { cell: string; lines: number; end: number }

/** Reads a cell in quotation marks, up to a number of characters. `end` is the place after the closing mark. */
function quotedCell(content: string, start: number, characters: number): QuotedCell | 'not closed' | 'too long' {
  const parts: string[] = []
  // Two quotation marks within a cell are one character.
  for (let at = start, length = 0; ; length += 1) {
    const close = content.indexOf('"', at + 1)
    if (close < 0) return 'not closed'
    length += close - at - 1
    if (length > characters) return 'too long'
    parts.push(content.slice(at + 1, close))
    if (content[close + 1] === '"') at = close + 1
    else {
      const cell = parts.join('"')
      return { cell, lines: cell.split('\n').length - 1, end: close + 1 }
    }
  }
}

/** Returns the text of a part, without the carriage return of a line end. */
function withoutReturn(content: string, start: number, end: number): string {
  const isLineEnd = content[end] === '\n' || end === content.length
  return content.slice(start, isLineEnd && end > start && content[end - 1] === '\r' ? end - 1 : end)
}

/**
 * The starts of cells that are printed with an apostrophe: formulas, also in full-width characters and after invisible
 * characters that spreadsheets ignore, line breaks, tabs, and apostrophes.
 */
const protectedStart = /^(?:[\t\r\n']|[\s\u200b-\u200f\u2060]*[=+\-@＝＋－＠])/

type CsvTable = {
  headings: readonly string[]
  /** The rows, some at a time. */
  pages: AsyncIterable<readonly (readonly string[])[]> | Iterable<readonly (readonly string[])[]>
}

/** Writes a table as CSV for spreadsheets. */
export async function* writeCsv({ headings, pages }: CsvTable): AsyncGenerator<string> {
  yield byteOrderMark + printCsvRow(headings)
  for await (const rows of pages) yield rows.map(printCsvRow).join('')
}

/** Prints one line. A cell that a spreadsheet could run as a formula starts with an apostrophe. */
export function printCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(protectedStart.test(cell) ? `'${cell}` : cell)).join(',')}\r\n`
}

function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** The formula with which other programs write text that Excel must not convert to a number: `="00123"`. */
const textFormula = /^="([^"]*)"$/

/** Removes the apostrophe that `printCsvRow` added, and returns the text of a formula that only contains a text. */
function unprotected(cell: string): string {
  const [, text] = textFormula.exec(cell) ?? []
  if (text !== undefined) return text
  return cell.startsWith("'") && protectedStart.test(cell.slice(1)) ? cell.slice(1) : cell
}
