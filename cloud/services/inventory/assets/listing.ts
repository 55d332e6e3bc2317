import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { storableText } from '../../../platform/database/json.ts'
import { type SortKey as SortedBy, timeOf, uuidOf } from '../../../platform/filter/filter.ts'

/** A column by which a list is sorted. */
export type SortKey = {
  column: string
  descending: boolean
  nullable: boolean
  /** The SQL type that a parameter is cast to. */
  cast: string
}

export type Fragment = { sql: string; values: unknown[] }

/** A set of assets that is defined by tables other than `assets`, in three equivalent SQL forms. */
export type AssetSet = {
  /** A query that selects the ids as `id`. It is the fastest form and may return an id more than once. */
  ids: string
  /** A query that selects each id once. */
  once: string
  /** A condition on the asset `a`, which is true if the asset is in the set. */
  has: string
  /** The form for sets with a large parameter: the assets of a page are checked without sending the parameter. */
  check?: {
    /** The number of the parameter that need not be sent. */
    parameter: string
    /**
     * Returns a query that selects `id` and `key` for each key of assets. `ids` is the SQL array of the assets. An asset is in
     * the set if the set has one of its keys.
     */
    keysOf(ids: string): string
    hasKey(key: string): boolean
  }
}

const casts = { text: 'text', number: 'numeric', boolean: 'boolean', time: 'timestamptz', uuid: 'uuid' } as const

/** Returns the sort key of a property by which a request sorts. */
export function sortKey({ column, descending, nullable, kind }: SortedBy): SortKey {
  return { column, descending, nullable, cast: casts[kind] }
}

/**
 * Returns a total order: the keys, followed by the id. The id has the direction of the key before it, so that one index can
 * be read in both directions.
 */
export function totalOrder(keys: readonly SortKey[], id = 'a.id'): SortKey[] {
  const descending = keys.at(-1)?.descending === true
  return [...keys, { column: id, descending, nullable: false, cast: 'uuid' }]
}

export function orderBy(order: readonly SortKey[]): string {
  return order.map(({ column, descending }) => `${column}${descending ? ' desc' : ''}`).join(', ')
}

/** Returns the SQL for the value of a sort key as text, in the form that a cursor contains. */
export function keyText({ column, cast }: Pick<SortKey, 'column' | 'cast'>): string {
  return cast === 'timestamptz' ? `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `${column}::text`
}

/** Conditions that each select one range of an index, in the order of the list, with the values of their parameters. */
export type Ranges = { conditions: string[]; values: unknown[] }

export const everything: Ranges = { conditions: ['true'], values: [] }

type PageQuery = { cursor: string | undefined; query: string; order: readonly SortKey[] }

/** Returns the conditions for the part of a list after its cursor. Without a cursor, they select the whole list. */
export function rangesOf({ cursor, query, order }: PageQuery, firstParameter: number): Ranges {
  return cursor === undefined ? everything : after(order, readCursor(cursor, query, order), firstParameter)
}

/**
 * Returns conditions for all rows after a given row in a total order. The first condition selects the rows that differ only
 * in the last key, the second one the rows that differ in the last two keys, and so on. One condition with `or` would
 * select the same rows, but could not use an index.
 */
export function after(order: readonly SortKey[], last: readonly (string | null)[], firstParameter: number): Ranges {
  const values: unknown[] = []
  const parameter = (value: string, cast: string) => `$${firstParameter + values.push(value) - 1}::${cast}`
  const conditions = [...order.entries()].toReversed().flatMap(([index, key]) => {
    const further = beyond(key, last[index] ?? null, parameter)
    // `equal` must not add parameters here: PostgreSQL refuses a parameter that no condition uses, because it cannot
    // infer the type of the parameter.
    if (further.length === 0) return []
    const same = order.slice(0, index).map((before, position) => equal(before, last[position] ?? null, parameter))
    return further.map((next) => [...same, next].join(' and '))
  })
  return { conditions, values }
}

type Parameter = (value: string, cast: string) => string

function equal({ column, cast }: SortKey, value: string | null, parameter: Parameter): string {
  return value === null ? `${column} is null` : `${column} = ${parameter(value, cast)}`
}

/** Returns the condition that a row comes after `value` in one column. PostgreSQL sorts null after every value. */
function beyond({ column, descending, nullable, cast }: SortKey, value: string | null, parameter: Parameter): string[] {
  if (value === null) return descending ? [`${column} is not null`] : []
  if (descending) return [`${column} < ${parameter(value, cast)}`]
  return [`${column} > ${parameter(value, cast)}`, ...(nullable ? [`${column} is null`] : [])]
}

/** Returns the total if the page contains the last element of the list. Counting is then not needed. */
export function totalFromPage(rows: readonly unknown[], { limit, offset }: { limit: number; offset: number }) {
  const isLast = rows.length < limit && (rows.length > 0 || offset === 0)
  return isLast ? offset + rows.length : undefined
}

type PageMetaInput = { total: number | undefined; elements: number; offset: number; nextCursor: string | undefined }

/** Returns the `meta` member of a page: the total if it was requested, and the next cursor if there may be more pages. */
export function pageMeta({ total, elements, offset, nextCursor }: PageMetaInput) {
  return {
    ...(total === undefined ? {} : { totalElements: total }),
    elements,
    offset,
    ...(nextCursor === undefined ? {} : { nextCursor }),
  }
}

/**
 * Writes a cursor with a fingerprint of its query. With another filter or order, the cursor would skip or repeat elements.
 */
export function writeCursor(query: string, last: readonly (string | null)[]): string {
  return Buffer.from(JSON.stringify([fingerprint(query), ...last])).toString('base64url')
}

/**
 * Reads a cursor and validates each of its values. Clients can send any text, and an invalid value would fail in the
 * database.
 */
function readCursor(cursor: string, query: string, order: readonly SortKey[]): (string | null)[] {
  const [queryHash, ...last] = parsed(cursor)
  const isValid = last.length === order.length && order.every((key, index) => isValueOf(key, last[index]))
  if (queryHash === fingerprint(query) && isValid) return last as (string | null)[]
  throw new Problem('invalid_cursor', 'Use meta.nextCursor of the previous page with the same query parameters')
}

function isValueOf({ cast, nullable }: SortKey, value: unknown): boolean {
  if (value === null) return nullable
  if (typeof value !== 'string') return false
  if (cast === 'uuid') return uuidOf(value) !== undefined
  if (cast === 'timestamptz') return timeOf(value) !== undefined
  if (cast === 'boolean') return value === 'true' || value === 'false'
  if (cast === 'numeric') return /^-?\d{1,300}(?:\.\d{1,300})?$/.test(value)
  return storableText(value) === value
}

function parsed(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

function fingerprint(query: string): string {
  return hash('sha256', query, 'base64url').slice(0, 12)
}
