import { createHash } from 'node:crypto'
import { LruMap } from 'toad-cache'

/** A statement of a store. It is prepared once per connection. `Row` is the type of the rows that it returns. */
export type Statement<Row = unknown> = { readonly name: string; readonly text: string; readonly row?: Row }

/**
 * Defines a statement. The transaction passes the tenant as `$1`. The text must contain `tenant_id = $1` for each table,
 * so that the statement uses the index and is routed to one shard. If the condition is missing, row-level security still
 * protects other tenants. A text contains one command. An `insert … select` needs `returning` or `on conflict`. Otherwise a distributed database inserts the
 * rows with `copy`, which row-level security does not allow. For the current time, `do update` uses the column of
 * `excluded`, because a distributed database refuses `now()` there.
 */
export function statement<Row = Record<string, never>>(text: string): Statement<Row> {
  const created: Statement<Row> = { name: nameOf(text), text }
  registered.set(created.name, created)
  return created
}

const registered = new Map<string, Statement>()

/** Returns the statements of the stores that are loaded. Tests check them. */
export function registeredStatements(): Statement[] {
  return [...registered.values()]
}

/**
 * Creates a statement whose text depends on the request, such as a filter. Frequent texts are prepared like the
 * statements of a store, because parsing and planning take longer than running them. Other texts are not prepared.
 */
export function dynamicStatement<Row = Record<string, never>>(text: string): Statement<Row> {
  return { name: frequent.nameOf(text), text }
}

/**
 * Returns SQL for a time, such as `now()`, plus an interval that depends on a column. A distributed database refuses
 * stable operators on columns in an update, and `timestamptz + interval` is one. The operators on `timestamp` are
 * immutable.
 */
export function timePlus(time: string, interval: string): string {
  return `((${time} at time zone 'UTC') + ${interval}) at time zone 'UTC'`
}

/**
 * Returns SQL for the time in a column, or for the current time if the column is null. The column contains only times in
 * the past. A distributed database refuses `coalesce` with `now()` in an update. `least` ignores null.
 */
export function firstTime(column: string): string {
  return `least(${column}, now())`
}

const limits = { uses: 8, prepared: 64, watched: 500 } as const

/**
 * `FrequentTexts` finds the texts to prepare. Their number is limited, because each prepared text uses memory in every
 * connection.
 */
class FrequentTexts {
  readonly #names = new Map<string, string>()
  readonly #uses = new LruMap<number>(limits.watched)

  nameOf(text: string): string {
    const cached = this.#names.get(text)
    if (cached !== undefined) return cached
    const uses = (this.#uses.get(text) ?? 0) + 1
    if (uses < limits.uses || this.#names.size >= limits.prepared) {
      this.#uses.set(text, uses)
      return ''
    }
    this.#uses.delete(text)
    this.#names.set(text, nameOf(text))
    return nameOf(text)
  }
}

const frequent = new FrequentTexts()

/** Returns a name that depends only on the text of a statement. */
export function nameOf(text: string): string {
  return `m${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`
}
