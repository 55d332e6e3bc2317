import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { storableText } from '../../../platform/database/json.ts'
import { type SortKey as SortedBy, timeOf, uuidOf } from '../../../platform/filter/filter.ts'

/** What a list is sorted by. */
export type SortKey = {
  column: string
  descending: boolean
  nullable: boolean
  /** How a parameter is read. */
  cast: string
}

export type Fragment = { sql: string; values: unknown[] }

/** Assets that are found elsewhere than in their own rows. Both forms mean the same assets. */
export type AssetSet = {
  /** Selects their ids as `id`, as quickly as possible. */
  ids: string
  /** Selects each of them once. */
  once: string
  /** A condition on `a`. */
  has: string
}

const casts = { text: 'text', number: 'numeric', boolean: 'boolean', time: 'timestamptz', uuid: 'uuid' } as const

/** What a caller wants a list to be sorted by, as a key of it. */
export function sortKey({ column, descending, nullable, kind }: SortedBy): SortKey {
  return { column, descending, nullable, cast: casts[kind] }
}

/**
 * With the id as the last key, so that no two are alike. It follows the direction of the key before it, so that one index
 * serves both directions.
 */
export function totalOrder(keys: readonly SortKey[], id = 'a.id'): SortKey[] {
  const descending = keys.at(-1)?.descending === true
  return [...keys, { column: id, descending, nullable: false, cast: 'uuid' }]
}

export function orderBy(order: readonly SortKey[]): string {
  return order.map(({ column, descending }) => `${column}${descending ? ' desc' : ''}`).join(', ')
}

/** A key as text, as a cursor holds it. */
export function keyText({ column, cast }: Pick<SortKey, 'column' | 'cast'>): string {
  return cast === 'timestamptz' ? `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `${column}::text`
}

/** Conditions of which each is one stretch of an index, in the order of the list; their parameters are numbered on. */
export type Ranges = { conditions: string[]; values: unknown[] }

export const everything: Ranges = { conditions: ['true'], values: [] }

type PageQuery = { cursor: string | undefined; query: string; order: readonly SortKey[] }

/** What is left of a list when its cursor was given, else all of it. */
export function rangesOf({ cursor, query, order }: PageQuery, firstParameter: number): Ranges {
  return cursor === undefined ? everything : after(order, readCursor(cursor, query, order), firstParameter)
}

/**
 * Everything after a row, in a whole order: first what is equal but for the last key, then what is equal but for
 * the last two, and so on. As one condition with `or` it would be true of the same rows, and no index could find them.
 */
export function after(order: readonly SortKey[], last: readonly (string | null)[], firstParameter: number): Ranges {
  const values: unknown[] = []
  const parameter = (value: string, cast: string) => `$${firstParameter + values.push(value) - 1}::${cast}`
  const conditions = order.flatMap((key, index) => {
    const further = beyond(key, last[index] ?? null, parameter)
    // A parameter that no condition uses has no type, and is refused.
    if (further.length === 0) return []
    const same = order.slice(0, index).map((before, place) => equal(before, last[place] ?? null, parameter))
    return further.map((next) => [...same, next].join(' and '))
  })
  return { conditions, values }
}

type Parameter = (value: string, cast: string) => string

function equal({ column, cast }: SortKey, value: string | null, parameter: Parameter): string {
  return value === null ? `${column} is null` : `${column} = ${parameter(value, cast)}`
}

/** PostgreSQL puts nulls last, and first when descending: a null is larger than every value. */
function beyond({ column, descending, nullable, cast }: SortKey, value: string | null, parameter: Parameter): string[] {
  if (value === null) return descending ? [`${column} is not null`] : []
  if (descending) return [`${column} < ${parameter(value, cast)}`]
  return [`${column} > ${parameter(value, cast)}`, ...(nullable ? [`${column} is null`] : [])]
}

/** The total when the last of all is on the page: who sees the end need not count. */
export function totalFromPage(rows: readonly unknown[], { limit, offset }: { limit: number; offset: number }) {
  const isLast = rows.length < limit && (rows.length > 0 || offset === 0)
  return isLast ? offset + rows.length : undefined
}

type PageMetaInput = { total: number | undefined; elements: number; offset: number; nextCursor: string | undefined }

/** What is told of a page: the total when it was asked for, and the cursor while there may be more. */
export function pageMeta({ total, elements, offset, nextCursor }: PageMetaInput) {
  return {
    ...(total === undefined ? {} : { totalElements: total }),
    elements,
    offset,
    ...(nextCursor === undefined ? {} : { nextCursor }),
  }
}

/** A cursor is of one query only: with another filter or order it would skip and repeat. */
export function writeCursor(query: string, last: readonly (string | null)[]): string {
  return Buffer.from(JSON.stringify([fingerprint(query), ...last])).toString('base64url')
}

/** Whoever makes up a cursor may write anything into it: what the database would stumble over is none of ours. */
function readCursor(cursor: string, query: string, order: readonly SortKey[]): (string | null)[] {
  const [of, ...last] = parsed(cursor)
  const isWhole = last.length === order.length && order.every((key, index) => isValueOf(key, last[index]))
  if (of === fingerprint(query) && isWhole) return last as (string | null)[]
  throw new Problem('invalid_cursor', 'Take the cursor from meta.nextCursor of the page before, with the same query')
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
