import { Problem } from '@millwright/api/problem.ts'
import { canonicalName, filterLimits } from './expression.ts'
import { isSortable, type PropertyTable, type Scalar, type ScalarKind, unknownProperty } from './properties.ts'

export type SortKey = {
  /** The name of the property, with `/` as separator. */
  readonly property: string
  /** The SQL expression to sort by. */
  readonly column: string
  readonly kind: ScalarKind
  readonly nullable: boolean
  readonly descending: boolean
}

/** Parses a text such as `name,-last_modified_timestamp`. The keys keep their order, and a minus means descending. */
export function parseSort(text: string, table: PropertyTable): SortKey[] {
  const parts = text.split(',', filterLimits.sortKeys + 1)
  if (parts.length > filterLimits.sortKeys)
    throw new Problem('invalid_query', `sort contains more than ${filterLimits.sortKeys} properties`)
  const keys = parts.map((part) => sortKey(part.trim(), table))
  const twice = keys.find(({ property }, index) => keys.findIndex((key) => key.property === property) < index)
  if (twice !== undefined) throw new Problem('invalid_query', `sort contains "${twice.property}" twice`)
  return keys
}

function sortKey(text: string, table: PropertyTable): SortKey {
  const descending = text.startsWith('-')
  const name = canonicalName(descending ? text.slice(1) : text)
  if (name === '')
    throw new Problem('invalid_query', 'sort must be a list of properties, such as name,-created_timestamp')
  if (table.isInArray(name))
    throw new Problem('sort_on_array', `Cannot sort by "${name}", because it is an array or inside an array`)
  const property = table.find(name)
  if (property === undefined || !isSortable(property))
    throw unknownProperty(name, { to: 'sort', available: table.sortable })
  const nullable = property.row !== undefined || property.nullable !== false
  return { property: name, column: columnOf(property), kind: property.kind, nullable, descending }
}

function columnOf({ column, sortColumn = column, row }: Scalar): string {
  if (row === undefined) return sortColumn
  return `(select ${column} from ${row.from}${row.where === undefined ? '' : ` where ${row.where}`})`
}
