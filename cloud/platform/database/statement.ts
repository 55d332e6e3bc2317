import { createHash } from 'node:crypto'

/** A statement of a store: written once, prepared once per connection. The row type is what it yields. */
export type Statement<Row = unknown> = { readonly name: string; readonly text: string; readonly row?: Row }

/**
 * `$1` of every statement is the tenant: the transaction fills it in, and the statement says `tenant_id = $1` itself,
 * so that it uses the index and is routed to one shard. Row-level security stands behind it as the backstop.
 */
export function statement<Row = Record<string, never>>(text: string): Statement<Row> {
  return { name: `m${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`, text }
}

/** A statement that is put together for one request (a filter): sent without a name, so that nothing remembers it. */
export function dynamicStatement<Row = Record<string, never>>(text: string): Statement<Row> {
  return { name: '', text }
}
