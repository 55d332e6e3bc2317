import { escapedXml } from './xml-text.ts'
import { zipParts } from './zip-writer.ts'

/**
 * Writes .xlsx files while their rows are read. A workbook has one sheet, and further ones if the rows exceed the limit of
 * a sheet. All cells are texts within the sheet, so memory does not grow with the number of different texts.
 */

/** Limits of Excel: the rows of one sheet, and the characters of a cell. */
const excelLimits = { rows: 1_048_576, characters: 32_767 } as const

export type XlsxTable = {
  /** The name of the sheet. Further sheets have a number after it. */
  name: string
  headings: readonly string[]
  /** The rows, some at a time. All cells are text, so a spreadsheet runs none of them as a formula. */
  pages: AsyncIterable<readonly (readonly string[])[]>
}

/**
 * Writes a table as an .xlsx file with a frozen heading. Each sheet has at most `sheetRows` rows with its heading. A text
 * above the limit of a cell is cut.
 */
export function writeXlsx(
  { name, headings, pages }: XlsxTable,
  { sheetRows = excelLimits.rows }: { sheetRows?: number } = {},
): AsyncGenerator<Buffer> {
  const columns = headings.map((_, index) => columnName(index))
  const reader = pages[Symbol.asyncIterator]()
  /** The rows that do not fit into the current sheet. */
  let rest: readonly (readonly string[])[] = []
  let isEnd = false

  async function* sheet(): AsyncGenerator<string> {
    yield `${declaration}${sheetStart}${rowText(headings, { number: 1, columns, style: headingStyle })}`
    for (let number = 2; ; ) {
      if (rest.length === 0) {
        const next = await reader.next()
        if (next.done === true) isEnd = true
        else rest = next.value
        if (isEnd) break
      }
      if (number > sheetRows) break
      const rows = rest.slice(0, sheetRows - number + 1)
      const first = number
      yield rows.map((row, index) => rowText(row, { number: first + index, columns })).join('')
      rest = rest.slice(rows.length)
      number += rows.length
    }
    yield sheetEnd
  }

  function* entries() {
    let sheets = 0
    do {
      sheets += 1
      yield { name: `xl/worksheets/sheet${sheets}.xml`, content: sheet() }
    } while (!isEnd)
    const names = Array.from({ length: sheets }, (_, index) => (index === 0 ? name : `${name} ${index + 1}`))
    yield { name: 'xl/workbook.xml', content: [workbook(names)] }
    yield { name: 'xl/_rels/workbook.xml.rels', content: [workbookRelationships(sheets)] }
    yield { name: 'xl/styles.xml', content: [styles] }
    yield { name: '_rels/.rels', content: [packageRelationships] }
    yield { name: '[Content_Types].xml', content: [contentTypes(sheets)] }
  }

  // The text of sheets repeats itself, so a higher level makes files only a little smaller.
  return zipParts(entries(), { level: 1 })
}

type RowOptions = { number: number; columns: readonly string[]; style?: string }

function rowText(cells: readonly string[], { number, columns, style = '' }: RowOptions): string {
  let text = `<row r="${number}">`
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index] as string
    // An empty cell is left out.
    if (cell === '') continue
    text += `<c r="${columns[index]}${number}" t="inlineStr"${style}><is>${textElement(cell)}</is></c>`
  }
  return `${text}</row>`
}

/** A text that XML contains unchanged: printable ASCII characters without markup, underscores and surrounding spaces. */
const plain = /^[!#-%'-;=?-^`-~](?:[ !#-%'-;=?-^`-~]*[!#-%'-;=?-^`-~])?$/
/** A text that looks like an escaped character, such as `_x000D_` for a carriage return. */
const escapedCharacter = /_x(?=[0-9A-Fa-f]{4}_)/g

function textElement(text: string): string {
  const cut = text.length > excelLimits.characters ? text.slice(0, excelLimits.characters) : text
  if (plain.test(cut)) return `<t>${cut}</t>`
  return `<t xml:space="preserve">${escapedXml(cut.replaceAll(escapedCharacter, '_x005F_x'))}</t>`
}

/** Returns the name of a column: A to Z, AA, AB, … */
function columnName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last
}

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const documentRelationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const spreadsheetType = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const sheetStart = `<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultColWidth="18" defaultRowHeight="15"/><sheetData>`
const sheetEnd = '</sheetData></worksheet>'
/** The format of cells in the heading: bold, as `styles` defines it. */
const headingStyle = ' s="1"'

const styles = `${declaration}<styleSheet xmlns="${main}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/></cellXfs></styleSheet>`

function workbook(names: readonly string[]): string {
  const sheets = names.map(
    (name, index) => `<sheet name="${escapedXml(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
  )
  return `${declaration}<workbook xmlns="${main}" xmlns:r="${documentRelationships}"><sheets>${sheets.join('')}</sheets></workbook>`
}

function workbookRelationships(sheets: number): string {
  const ofSheets = Array.from({ length: sheets }, (_, index) =>
    relationship(index + 1, 'worksheet', `worksheets/sheet${index + 1}.xml`),
  )
  return relationships([...ofSheets, relationship(sheets + 1, 'styles', 'styles.xml')])
}

const packageRelationships = relationships([relationship(1, 'officeDocument', 'xl/workbook.xml')])

function relationship(number: number, type: string, target: string): string {
  return `<Relationship Id="rId${number}" Type="${documentRelationships}/${type}" Target="${target}"/>`
}

function relationships(elements: readonly string[]): string {
  return `${declaration}<Relationships xmlns="${packages}/relationships">${elements.join('')}</Relationships>`
}

function contentTypes(sheets: number): string {
  const override = (part: string, type: string) =>
    `<Override PartName="${part}" ContentType="${spreadsheetType}.${type}+xml"/>`
  const parts = [
    override('/xl/workbook.xml', 'sheet.main'),
    override('/xl/styles.xml', 'styles'),
    ...Array.from({ length: sheets }, (_, index) => override(`/xl/worksheets/sheet${index + 1}.xml`, 'worksheet')),
  ]
  return `${declaration}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${parts.join('')}</Types>`
}
