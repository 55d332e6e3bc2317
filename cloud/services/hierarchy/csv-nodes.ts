import { namePattern, textPattern } from '@millwright/api/envelope.ts'
import { hierarchyLimits, nodeTypePattern, propertyNamePattern } from '@millwright/api/hierarchy.ts'
import { joinPath, splitPath } from '@millwright/api/hierarchy-path.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { createYield } from '../../platform/event-loop.ts'
import { parseCsv, printCsvRow } from '../../platform/files/csv.ts'
import { type ImportedNode, invalidImport } from './import-plan.ts'
import type { NodeRow } from './node-store.ts'
import { RowErrors } from './row-errors.ts'

/** The CSV format of nodes: the columns `Path`, `Occurrences`, `Type`, and one column for each property. */

const propertyPrefix = 'Property: '
/** Separates the numbers in a cell of the column `Occurrences`. Spreadsheets do not read such a cell as a date. */
const occurrenceSeparator = '|'
/** The maximum number of characters of a cell. A path with the maximum number of names has little more than half of them. */
const cellCharacters = 16_384

const ownColumns = ['Path', 'Occurrences', 'Type'] as const

/** The columns of a file. The places of own columns are -1 if the file does not have them. */
type CsvColumns = {
  count: number
  path: number
  occurrences: number
  type: number
  /** The names of the properties by the places of their columns. */
  properties: ReadonlyMap<number, string>
  propertyNames: ReadonlySet<string>
}

/** A node in an export. `occurrences` is only present if the path is not unique. */
export type ExportedNode = {
  path: string[]
  occurrences?: number[]
  type?: string
  properties?: Record<string, string>
}

/** The columns of an export. `Occurrences` is only present if siblings have the same name. */
type CsvHeader = { hasOccurrences: boolean; properties: readonly string[] }

export function printHeader({ hasOccurrences, properties }: CsvHeader): string {
  const columns = ownColumns.filter((column) => column !== 'Occurrences' || hasOccurrences)
  return printCsvRow([...columns, ...properties.map((name) => propertyPrefix + name)])
}

export function printNode(
  { path, occurrences = [], type = '', properties = {} }: ExportedNode,
  { hasOccurrences, properties: names }: CsvHeader,
): string {
  return printCsvRow([
    joinPath(path),
    ...(hasOccurrences ? [occurrences.join(occurrenceSeparator)] : []),
    type,
    ...names.map((name) => (Object.hasOwn(properties, name) ? (properties[name] ?? '') : '')),
  ])
}

function invalid(detail: string): Problem {
  return invalidImport('/data/csv', detail)
}

/** Reads the nodes of a CSV file. Throws with the lines of the first invalid rows. */
export async function nodesInCsv(text: string, tenantId: string): Promise<ImportedNode[]> {
  const rows = parseCsv(text, {
    invalid: (line, detail) => invalid(`Line ${line}: ${detail}`),
    yieldTurn: createYield(tenantId),
    limits: {
      rows: hierarchyLimits.nodesImported,
      cells: hierarchyLimits.csvProperties + ownColumns.length,
      characters: cellCharacters,
    },
  })
  const header = await rows.next()
  const columns = columnsIn(header.done === true ? [] : header.value.cells)
  const nodes: ImportedNode[] = []
  const errors = new RowErrors()
  for await (const row of rows) {
    const content = contentOf(row.cells, columns)
    if (typeof content === 'string') errors.add(row.line, invalid(`Line ${row.line}: ${content}`))
    else nodes.push(new CsvNode(content, columns, row.line))
    if (errors.isFull) break
  }
  errors.throwFirst()
  return nodes
}

const [validName, validType, validProperty, validText] = [
  namePattern,
  nodeTypePattern,
  propertyNamePattern,
  textPattern,
].map((pattern) => new RegExp(pattern, 'u')) as [RegExp, RegExp, RegExp, RegExp]

function columnsIn(header: readonly string[]): CsvColumns {
  if (!header.some((cell) => cell.trim() === 'Path')) throw invalid('The first line must contain the column Path')
  const properties = new Map<number, string>()
  const names = new Set<string>()
  for (const [place, cell] of header.entries()) {
    const own = ownColumns.find((name) => name === cell.trim())
    const property = cell.startsWith(propertyPrefix) ? cell.slice(propertyPrefix.length) : ''
    if (property === '__proto__') throw invalid('The property name __proto__ is reserved. Rename the column')
    if (own === undefined && !validProperty.test(property))
      throw invalid(
        `Unknown column "${cell}". Use the columns ${ownColumns.join(', ')} and "${propertyPrefix}<name>". The name of a property has 1 to 64 characters and no control characters`,
      )
    const name = own ?? cell
    if (names.has(name)) throw invalid(`The column ${name} occurs twice`)
    names.add(name)
    if (own === undefined) properties.set(place, property)
  }
  if (properties.size > hierarchyLimits.csvProperties)
    throw invalid(`The file has ${properties.size} properties. The limit is ${hierarchyLimits.csvProperties}`)
  const placeOf = (own: string) => header.findIndex((cell) => cell.trim() === own)
  return {
    count: header.length,
    path: placeOf('Path'),
    occurrences: placeOf('Occurrences'),
    type: placeOf('Type'),
    properties,
    propertyNames: new Set(properties.values()),
  }
}

function isLonger(text: string, characters: number): boolean {
  return text.length > characters && [...text].length > characters
}

type CsvContent = {
  path: readonly string[]
  occurrences: readonly number[] | undefined
  type: string
  /** The properties whose cells are not empty, and the places of their columns. */
  places: readonly number[]
  values: readonly string[]
}

/** Returns the content of the cells of a row, or the first error. */
function contentOf(cells: readonly string[], columns: CsvColumns): CsvContent | string {
  if (cells.length !== columns.count)
    return `the row has ${cells.length} cells, but the first line has ${columns.count} columns`
  const path = splitPath(cells[columns.path] ?? '')
  if (path.some((name) => !validName.test(name) || isLonger(name, 128)))
    return 'a name in the path is empty, starts or ends with a space, contains a control character, or has more than 128 characters'
  if (path.length > hierarchyLimits.levels)
    return `the path has ${path.length} levels. The limit is ${hierarchyLimits.levels}`
  const occurrences = occurrencesIn(cells[columns.occurrences] ?? '')
  if (occurrences !== undefined && (occurrences.length !== path.length || occurrences.some((number) => !(number >= 1))))
    return `the cell Occurrences must have one number for each name of the path, separated by ${occurrenceSeparator}, or be empty`
  const type = cells[columns.type] ?? ''
  if (isLonger(type, 64) || !validType.test(type))
    return 'the type contains a control character or has more than 64 characters'
  const places: number[] = []
  const values: string[] = []
  // A plain loop is several times as fast, and most cells of a large file are empty.
  for (let place = 0; place < cells.length; place++) {
    const value = cells[place] ?? ''
    const name = value === '' ? undefined : columns.properties.get(place)
    if (name === undefined) continue
    if (isLonger(value, 512) || !validText.test(value))
      return `the property ${name} contains an invalid character or has more than 512 characters`
    places.push(place)
    values.push(value)
  }
  if (places.length > hierarchyLimits.properties) return tooManyProperties(places.length)
  return { path, occurrences, type, places, values }
}

function tooManyProperties(count: number): string {
  return `the node has ${count} properties. The limit is ${hierarchyLimits.properties}`
}

/** A node of a CSV file. It stores no empty cells, because a file can have millions of them. */
class CsvNode implements ImportedNode {
  readonly path: readonly string[]
  readonly occurrences: readonly number[] | undefined
  readonly type: string | null | undefined
  readonly line: number
  readonly #columns: CsvColumns
  readonly #places: readonly number[]
  readonly #values: readonly string[]

  constructor({ path, occurrences, type, places, values }: CsvContent, columns: CsvColumns, line: number) {
    this.path = path
    this.occurrences = occurrences
    this.type = columns.type === -1 ? undefined : type || null
    this.line = line
    this.#columns = columns
    this.#places = places
    this.#values = values
  }

  propertiesAfter(before: NodeRow['properties']): NodeRow['properties'] {
    const { properties, propertyNames } = this.#columns
    const after = Object.entries(before).filter(([name]) => !propertyNames.has(name))
    for (const [index, place] of this.#places.entries())
      after.push([properties.get(place) ?? '', this.#values[index] ?? ''])
    if (after.length > hierarchyLimits.properties)
      throw invalid(`Line ${this.line}: ${tooManyProperties(after.length)}`)
    return Object.fromEntries(after)
  }

  get order(): number {
    return this.line
  }

  pointerTo(): string {
    return '/data/csv'
  }
}

function occurrencesIn(cell: string): number[] | undefined {
  if (cell.trim() === '') return undefined
  return cell.split(occurrenceSeparator).map((number) => (/^\s*\d{1,6}\s*$/.test(number) ? Number(number) : 0))
}
