import { Problem } from '@millwright/api/problem.ts'
import { canonicalName } from './expression.ts'

/**
 * The filterable properties of a service and their columns. All SQL here is written by the service; `$1` is the tenant.
 * It contains no text of a caller, except values that a resolver has checked (see `uuidOf`).
 */

export type ScalarKind = 'text' | 'number' | 'boolean' | 'time' | 'uuid'

/** Rows that belong to the filtered row, such as `asset_identifiers i` where `i.asset_id = a.id`. */
export type Rows = { readonly from: string; readonly where?: string }

export type Scalar = {
  readonly kind: ScalarKind
  /** A plain column stays plain in the compiled filter, so that its index is used. Any other expression works too. */
  readonly column: string
  /** `false` if it cannot be null. This gives simpler SQL. */
  readonly nullable?: boolean
  /**
   * Normalizes a literal like the stored value. Used for `eq`, `ne` and `in`, because a part of a text has no normal
   * form.
   */
  readonly normalise?: (literal: string) => string
  readonly sortable?: boolean
  /** The column to sort by, if it is not `column`. */
  readonly sortColumn?: string
  /** The column is not in the filtered row but in the one row here, if it exists. */
  readonly row?: Rows
  /**
   * For an element of an array without an index: a condition on the filtered row that is true whenever an element has
   * this text, and that uses an index. `like` normalizes a literal like the stored text.
   */
  readonly narrowing?: { readonly like: (literal: string) => string; readonly where: (parameter: string) => string }
}

export type ArrayProperty = {
  readonly kind: 'array'
  readonly elements: Rows & {
    readonly properties: PropertyTable
    /** For arrays of plain values: `tags/any(t: t eq 'x')`. */
    readonly itself?: Scalar
  }
}

export type Property = Scalar | ArrayProperty

export type PropertyTable = {
  /** By its name with `/`. */
  find(name: string): Property | undefined
  /** Whether the property is an array or inside one. */
  isInArray(name: string): boolean
  readonly filterable: readonly string[]
  readonly sortable: readonly string[]
}

/** Properties whose names are not fixed, such as `custom_properties/<key>`. */
export type Resolver = {
  /** The pattern of the names, for messages. */
  readonly shown: string
  readonly sortable?: boolean
  find(name: string): Property | undefined
}

/** Creates a table from names with `.` or `/`, as they are documented. Some arrays have only a name. */
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

export function unknownProperty(name: string, { to, known }: { to: string; known: readonly string[] }): Problem {
  return new Problem('unknown_property', `Unknown property "${name}". Properties to ${to} by: ${known.join(', ')}`)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns a UUID in its canonical spelling, which is safe within SQL, or undefined for any other text. */
export function uuidOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? lower : undefined
}

const time =
  /^\d{4}-\d\d-(?<day>\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.(?<fraction>\d{1,9}))?)?(?:Z|[+-]\d\d:\d\d))?$/i
const millisecondDigits = 3

/** Returns an RFC 3339 time, or a day (its start in UTC), in UTC, or undefined for any other text. */
export function timeOf(text: string): string | undefined {
  const { day, fraction = '' } = time.exec(text)?.groups ?? {}
  if (day === undefined) return undefined
  // JavaScript parses the 30th of February as the 2nd of March.
  const onItsDay = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  const moment = new Date(text.toUpperCase())
  if (Number.isNaN(moment.getTime()) || onItsDay.getUTCDate() !== Number(day)) return undefined
  const printed = moment.toISOString()
  // The database has no year 0, and prints years beyond 9999 in another form.
  if (!/^\d{4}-/.test(printed) || printed.startsWith('0000')) return undefined
  return `${printed.slice(0, -1)}${fraction.slice(millisecondDigits)}Z`
}
