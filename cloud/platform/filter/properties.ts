import { Problem } from '@millwright/api/problem.ts'
import { canonicalName } from './expression.ts'

/**
 * What can be filtered by, and where it is found in the database. All SQL here is the service's own; `$1` is the tenant.
 * Nothing that a caller wrote goes into it, but for what a resolver has checked (see `uuidOf`).
 */

export type ScalarKind = 'text' | 'number' | 'boolean' | 'time' | 'uuid'

/** Rows that belong to the row that is filtered, such as `asset_identifiers i` where `i.asset_id = a.id`. */
export type Rows = { readonly from: string; readonly where?: string }

export type Scalar = {
  readonly kind: ScalarKind
  /** A column stays plain in what is compiled, so that its index is used; any other expression works too. */
  readonly column: string
  /** `false` when it cannot be null; saves the detour around nulls. */
  readonly nullable?: boolean
  /** Makes what is looked for look like what is stored; for `eq`, `ne` and `in`, since part of a text has no such form. */
  readonly normalise?: (literal: string) => string
  readonly sortable?: boolean
  /** The column to sort by, where the order is not that of the column itself. */
  readonly sortColumn?: string
  /** The column is not of the filtered row but of the one row here, if there is one. */
  readonly row?: Rows
  /**
   * Of an element of an array that no index knows: what is true of the filtered row whenever an element has this text, and
   * found by an index. `like` makes a literal look like what is kept there.
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
  /** Whether it is an array, or in one. */
  isInArray(name: string): boolean
  readonly filterable: readonly string[]
  readonly sortable: readonly string[]
}

/** Properties whose names are not known beforehand, such as `custom_properties/<key>`. */
export type Resolver = {
  /** How their names look, for people. */
  readonly shown: string
  readonly sortable?: boolean
  find(name: string): Property | undefined
}

/** A table by names with `.` or `/`, as people are told them. Of some arrays nothing but their names is known. */
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
  return new Problem('unknown_property', `There is no property "${name}" to ${to} by. There are: ${known.join(', ')}`)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A UUID in its one spelling, which is safe within SQL; nothing for any other text. */
export function uuidOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? lower : undefined
}

const time =
  /^\d{4}-\d\d-(?<day>\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.(?<fraction>\d{1,9}))?)?(?:Z|[+-]\d\d:\d\d))?$/i
const millisecondDigits = 3

/** A time of RFC 3339, or a day (its start in UTC), in UTC; nothing for any other text. */
export function timeOf(text: string): string | undefined {
  const { day, fraction = '' } = time.exec(text)?.groups ?? {}
  if (day === undefined) return undefined
  // JavaScript takes the 30th of February for the 2nd of March.
  const onItsDay = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  const moment = new Date(text.toUpperCase())
  if (Number.isNaN(moment.getTime()) || onItsDay.getUTCDate() !== Number(day)) return undefined
  const printed = moment.toISOString()
  // There is no year 0 in the database, and years beyond 9999 have another form.
  if (!/^\d{4}-/.test(printed) || printed.startsWith('0000')) return undefined
  return `${printed.slice(0, -1)}${fraction.slice(millisecondDigits)}Z`
}
