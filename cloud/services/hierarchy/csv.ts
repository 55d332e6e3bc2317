/** Reading and writing of CSV (RFC 4180). */

/** A row with the number of its first line in the file. */
export type CsvRow = { line: number; cells: string[] }

type CsvOptions = {
  /** Creates the error for a line. */
  invalid: (line: number, detail: string) => Error
  /** Is called between two rows, so that a large file does not block the event loop. */
  yieldTurn: () => Promise<void> | undefined
  /** The maximum number of rows after the first row, of cells in a row and of characters in a cell. */
  limits: { rows: number; cells: number; characters: number }
}

/**
 * Parses CSV with commas or semicolons. The separator is the one that the first line contains more often. Empty lines are
 * left out.
 */
export async function parseCsv(text: string, { invalid, yieldTurn, limits }: CsvOptions): Promise<CsvRow[]> {
  const content = text.startsWith('\ufeff') ? text.slice(1) : text
  const separator = separatorOf(content)
  const cellEnd = separator === ';' ? /[;\n]/g : /[,\n]/g
  const rows: CsvRow[] = []
  let at = 0
  let line = 1
  while (at < content.length) {
    const row: CsvRow = { line, cells: [] }
    for (let isLast = false; !isLast; ) {
      const quoted = content[at] === '"' ? quotedCell(content, at) : undefined
      if (quoted !== undefined && quoted.end < 0) throw invalid(line, 'a quotation mark is not closed')
      cellEnd.lastIndex = quoted?.end ?? at
      const end = cellEnd.exec(content)?.index ?? content.length
      const rest = withoutReturn(content, quoted?.end ?? at, end)
      if (quoted !== undefined && rest !== '') throw invalid(line, 'text follows the closing quotation mark of a cell')
      if (row.cells.length === limits.cells) throw invalid(line, `the row has more than ${limits.cells} cells`)
      const cell = unprotected(quoted?.cell ?? rest)
      if (cell.length > limits.characters) throw invalid(line, `a cell has more than ${limits.characters} characters`)
      row.cells.push(cell)
      line += quoted?.lines ?? 0
      isLast = content[end] !== separator
      at = end + 1
    }
    line += 1
    if (row.cells.some((cell) => cell !== '')) rows.push(row)
    if (rows.length > limits.rows + 1) throw invalid(row.line, `the file has more than ${limits.rows} rows`)
    await yieldTurn()
  }
  return rows
}

/** The number of characters in which the separator is searched. */
const headerCharacters = 65_536

/** Returns the separator that the first line contains more often, outside quotation marks. */
function separatorOf(content: string): ',' | ';' {
  let difference = 0
  let isQuoted = false
  for (const character of content.slice(0, headerCharacters)) {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted) continue
    if (character === '\n') break
    if (character === ';') difference += 1
    if (character === ',') difference -= 1
  }
  return difference > 0 ? ';' : ','
}

/** Reads a cell in quotation marks. `end` is the place after the closing mark, or -1 if there is none. */
function quotedCell(content: string, start: number): { cell: string; lines: number; end: number } {
  const parts: string[] = []
  for (let at = start; ; ) {
    const close = content.indexOf('"', at + 1)
    if (close < 0) return { cell: '', lines: 0, end: -1 }
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

/** Prints one line. A cell that a spreadsheet would run as a formula starts with an apostrophe. */
export function printCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(/^[=+\-@\t\r']/.test(cell) ? `'${cell}` : cell)).join(',')}\r\n`
}

function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** Removes the apostrophe that `printCsvRow` added. */
function unprotected(cell: string): string {
  return /^'[=+\-@\t\r']/.test(cell) ? cell.slice(1) : cell
}
