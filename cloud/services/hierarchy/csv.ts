/** Reading and writing of CSV (RFC 4180). */

/**
 * Parses CSV with commas or semicolons. The separator is the one that the first line contains. Empty lines are left out.
 * `invalid` creates the error for a line.
 */
export function parseCsv(text: string, invalid: (line: number, detail: string) => Error): string[][] {
  const content = text.startsWith('\ufeff') ? text.slice(1) : text
  const firstLine = content.slice(0, content.search(/\r?\n|$/))
  const separator = firstLine.split(';').length > firstLine.split(',').length ? ';' : ','
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let line = 1
  let isQuoted = false
  let wasQuoted = false
  const endCell = () => {
    row.push(unprotected(cell))
    cell = ''
    wasQuoted = false
  }
  const endRow = () => {
    endCell()
    if (row.some((value) => value !== '')) rows.push(row)
    row = []
  }
  for (let at = 0; at < content.length; at++) {
    const character = content[at] ?? ''
    if (character === '\n') line += 1
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (content[at + 1] === '"') {
        cell += '"'
        at += 1
      } else {
        isQuoted = false
        wasQuoted = true
      }
    } else if (character === separator) endCell()
    else if (character === '\n') endRow()
    else if (character === '\r' && content[at + 1] === '\n') continue
    else if (character === '"' && cell === '' && !wasQuoted) isQuoted = true
    else if (wasQuoted) throw invalid(line, 'text follows the closing quotation mark of a cell')
    else cell += character
  }
  if (isQuoted) throw invalid(line, 'a quotation mark is not closed')
  if (cell !== '' || row.length > 0) endRow()
  return rows
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
