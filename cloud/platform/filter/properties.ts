import { Problem } from '@millwright/api/problem.ts'
import { isId } from '../database/id.ts'
import { canonicalName } from './expression.ts'

/**
 * The filterable properties of a service and their columns. The service writes all SQL of its properties, and `$1` is
 * the tenant. This SQL contains no text of a caller, except values that a resolver has checked (see `uuidOf`).
 */

export type ScalarKind = 'text' | 'number' | 'boolean' | 'time' | 'uuid'

/** Rows that belong to the filtered row, such as `asset_identifiers i` where `i.asset_id = a.id`. */
export type Rows = { readonly from: string; readonly where?: string }

export type Scalar = {
  readonly kind: ScalarKind
  /**
   * The SQL of the property. A plain column stays unchanged in the compiled filter, so that its index is used. Any
   * other SQL expression is allowed too.
   */
  readonly column: string
  /** `false` if the property cannot be null. The compiled SQL is then simpler. */
  readonly nullable?: boolean
  /**
   * Normalizes a literal in the same way as the stored value. Only `eq`, `ne` and `in` use it, because a part of a text
   * has no normal form.
   */
  readonly normalise?: (literal: string) => string
  readonly sortable?: boolean
  /** The column to sort by, if it is not `column`. */
  readonly sortColumn?: string
  /** Set if the column is not in the filtered row but in a related row. At most one related row exists. */
  readonly row?: Rows
  /**
   * Helps to find an element of an array that has no index. `where` is a condition on the filtered row that uses an
   * index. It is true whenever an element has the searched text. `like` normalizes a literal in the same way as the
   * stored text.
   */
  readonly narrowing?: { readonly like: (literal: string) => string; readonly where: (parameter: string) => string }
}

export type ArrayProperty = {
  readonly kind: 'array'
  readonly elements: Rows & {
    readonly properties: PropertyTable
    /** The element of an array of plain values, as in `tags/any(t: t eq 'x')`. */
    readonly itself?: Scalar
  }
}

export type Property = Scalar | ArrayProperty

export type PropertyTable = {
  /** Returns the property with this name. The parts of the name are separated by `/`. */
  find(name: string): Property | undefined
  /** Returns true if the property is an array or is inside an array. */
  isInArray(name: string): boolean
  readonly filterable: readonly string[]
  readonly sortable: readonly string[]
}

/** `Resolver` finds properties whose names are not fixed, such as `custom_properties/<key>`. */
export type Resolver = {
  /** The pattern of the names, for error messages. */
  readonly shown: string
  readonly sortable?: boolean
  find(name: string): Property | undefined
}

/**
 * Creates a property table. The names use `.` or `/` as separator. `arrays` contains the names of arrays that have no
 * entry in `properties`. They are needed to refuse sorting by an array.
 */
export function propertyTable(
  properties: Readonly<Record<string, Property>>,
  resolver?: Resolver,
  arrays: readonly string[] = [],
): PropertyTable {
  const byName = new Map(Object.entries(properties).map(([name, property]) => [canonicalName(name), property]))
  const isArray = (name: string) => byName.get(name)?.kind === 'array' || arrays.includes(name)
  const sortable = Object.entries(properties).filter(([, property]) => isSortable(property))
  return {
    find: (name) => byName.get(name) ?? resolver?.find(name),
    isInArray: (name) => isArray(name) || isArray(name.slice(0, name.indexOf('/'))),
    filterable: [
      ...Object.entries(properties).map(([name, { kind }]) => (kind === 'array' ? `${name}/any(…)` : name)),
      ...(resolver === undefined ? [] : [resolver.shown]),
    ],
    sortable: [
      ...sortable.map(([name]) => name),
      ...(resolver === undefined || resolver.sortable === false ? [] : [resolver.shown]),
    ],
  }
}

export function isSortable(property: Property): property is Scalar {
  return property.kind !== 'array' && property.sortable !== false
}

export function unknownProperty(
  name: string,
  { to, available }: { to: string; available: readonly string[] },
): Problem {
  return new Problem('unknown_property', `Unknown property "${name}". Properties to ${to} by: ${available.join(', ')}`)
}

/** Returns a UUID in its canonical spelling, which is safe within SQL, or undefined for any other text. */
export function uuidOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  return isId(lower) ? lower : undefined
}

const time =
  /^\d{4}-\d\d-(?<day>\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.(?<fraction>\d{1,9}))?)?(?:Z|[+-]\d\d:\d\d))?$/i
const millisecondDigits = 3

/**
 * Converts an RFC 3339 time or a day to a time in UTC. A day becomes its start in UTC. Returns undefined for any other
 * text.
 */
export function timeOf(text: string): string | undefined {
  const { day, fraction = '' } = time.exec(text)?.groups ?? {}
  if (day === undefined) return undefined
  // JavaScript parses 30 February as 2 March, so the day is compared with the parsed day.
  const onItsDay = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  const moment = new Date(text.toUpperCase())
  if (Number.isNaN(moment.getTime()) || onItsDay.getUTCDate() !== Number(day)) return undefined
  const printed = moment.toISOString()
  // The database has no year 0, and prints years after 9999 in another format.
  if (!/^\d{4}-/.test(printed) || printed.startsWith('0000')) return undefined
  return `${printed.slice(0, -1)}${fraction.slice(millisecondDigits)}Z`
}
