import { namePattern, textPattern } from '@millwright/api/envelope.ts'
import { hierarchyLimits, nodeTypePattern, propertyNamePattern } from '@millwright/api/hierarchy.ts'
import { joinPath, splitPath } from '@millwright/api/hierarchy-path.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { createYield } from '../../platform/event-loop.ts'
import { type CsvRow, parseCsv, printCsvRow } from './csv.ts'
import { type ImportedNode, invalidImport } from './import-plan.ts'

/** The CSV format of nodes: the columns `Path`, `Occurrences`, `Type`, and one column for each property. */

const propertyPrefix = 'Property: '
/** Separates the numbers in a cell of the column `Occurrences`. Spreadsheets do not read such a cell as a date. */
const occurrenceSeparator = '|'
/** The maximum number of characters of a cell. A path with the maximum number of names has little more than half of them. */
const cellCharacters = 16_384

type CsvColumn = 'Path' | 'Occurrences' | 'Type' | { property: string }
const ownColumns = ['Path', 'Occurrences', 'Type'] as const

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

/** The maximum number of invalid rows in a problem. */
const maxErrors = 10

/** Reads the nodes of a CSV file. Throws with the lines of the first invalid rows. */
export async function nodesInCsv(text: string, tenantId: string): Promise<ImportedNode[]> {
  const yieldTurn = createYield(tenantId)
  const [header, ...lines] = await parseCsv(text, {
    invalid: (line, detail) => invalid(`Line ${line}: ${detail}`),
    yieldTurn,
    limits: {
      rows: hierarchyLimits.nodesImported,
      cells: hierarchyLimits.csvProperties + ownColumns.length,
      characters: cellCharacters,
    },
  })
  const columns = columnsIn(header?.cells ?? [])
  const nodes: ImportedNode[] = []
  const errors: FieldError[] = []
  for (const line of lines) {
    try {
      nodes.push(nodeOf(line, columns))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      errors.push(...(error.errors ?? []))
      if (errors.length === maxErrors) break
    }
    await yieldTurn()
  }
  const [first] = errors
  if (first !== undefined) throw new Problem('invalid_body', first.detail, { errors })
  return nodes
}

const [validName, validType, validProperty, validText] = [
  namePattern,
  nodeTypePattern,
  propertyNamePattern,
  textPattern,
].map((pattern) => new RegExp(pattern, 'u')) as [RegExp, RegExp, RegExp, RegExp]

function columnsIn(header: readonly string[]): CsvColumn[] {
  if (!header.some((cell) => cell.trim() === 'Path')) throw invalid('The first line must contain the column Path')
  const columns = header.map((cell): CsvColumn => {
    const own = ownColumns.find((name) => name === cell.trim())
    if (own !== undefined) return own
    const property = cell.startsWith(propertyPrefix) ? cell.slice(propertyPrefix.length) : ''
    if (validProperty.test(property) && property !== '__proto__') return { property }
    throw invalid(
      `Unknown column "${cell}". Use the columns ${ownColumns.join(', ')} and "${propertyPrefix}<name>". The name of a property has 1 to 64 characters and no control characters`,
    )
  })
  const keys = columns.map((column) => (typeof column === 'string' ? column : propertyPrefix + column.property))
  const first = new Set<string>()
  const twice = keys.find((key) => first.size === first.add(key).size)
  if (twice !== undefined) throw invalid(`The column ${twice} occurs twice`)
  return columns
}

function charactersOf(text: string): number {
  return [...text].length
}

function nodeOf({ line, cells }: CsvRow, columns: readonly CsvColumn[]): ImportedNode {
  const refuse = (detail: string) => invalid(`Line ${line}: ${detail}`)
  if (cells.length !== columns.length)
    throw refuse(`the row has ${cells.length} cells, but the first line has ${columns.length} columns`)
  const path = splitPath(cells[columns.indexOf('Path')] ?? '')
  if (path.some((name) => !validName.test(name) || charactersOf(name) > 128))
    throw refuse(
      'a name in the path is empty, starts or ends with a space, contains a control character, or has more than 128 characters',
    )
  if (path.length > hierarchyLimits.levels)
    throw refuse(`the path has ${path.length} levels. The limit is ${hierarchyLimits.levels}`)
  const occurrences = occurrencesIn(cells[columns.indexOf('Occurrences')] ?? '')
  if (occurrences !== undefined && (occurrences.length !== path.length || occurrences.some((number) => !(number >= 1))))
    throw refuse(
      `the cell Occurrences must have one number for each name of the path, separated by ${occurrenceSeparator}, or be empty`,
    )
  const typeColumn = columns.indexOf('Type')
  const type = cells[typeColumn] ?? ''
  if (charactersOf(type) > 64 || !validType.test(type))
    throw refuse('the type contains a control character or has more than 64 characters')
  const values = columns.flatMap((column, index): [string, string][] => {
    if (typeof column === 'string') return []
    const value = cells[index] ?? ''
    if (charactersOf(value) > 512 || !validText.test(value))
      throw refuse(`the property ${column.property} contains an invalid character or has more than 512 characters`)
    return [[column.property, value]]
  })
  return {
    path,
    occurrences,
    type: typeColumn === -1 ? undefined : type === '' ? null : type,
    propertiesAfter(before) {
      const properties = new Map(Object.entries(before))
      for (const [name, value] of values) {
        if (value === '') properties.delete(name)
        else properties.set(name, value)
      }
      if (properties.size > hierarchyLimits.properties)
        throw refuse(`the node has ${properties.size} properties. The limit is ${hierarchyLimits.properties}`)
      return Object.fromEntries(properties)
    },
    pointerTo: () => '/data/csv',
    line,
  }
}

function occurrencesIn(cell: string): number[] | undefined {
  if (cell.trim() === '') return undefined
  return cell.split(occurrenceSeparator).map((number) => (/^\s*\d{1,6}\s*$/.test(number) ? Number(number) : 0))
}
