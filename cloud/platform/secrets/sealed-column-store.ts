import type { ReferenceHandle } from '../database/database.ts'
import { dynamicStatement } from '../database/statement.ts'
import type { SealedColumn } from './sealed-column.ts'

export type SealedRow = { key: Record<string, string>; sealed: Buffer }

/**
 * Checks the names of a table and its columns, and returns parts of SQL statements for the column. The names come from
 * code, never from requests.
 */
function named({ of, table, column, key, boundTo = [] }: SealedColumn) {
  for (const name of [table, column, ...key, ...boundTo])
    if (!/^[a-z_]+$/.test(name)) throw new TypeError(`${name} is not a valid name`)
  const first = of === 'tenant' ? 2 : 1
  const own = of === 'tenant' ? 'tenant_id = $1 and ' : ''
  return { own, first, keys: key.join(', '), places: key.map((_, index) => `$${first + index}`).join(', ') }
}

/**
 * Returns the next rows with a sealed value, in the order of their key. For a column of tenants, `handle` must be the
 * handle of one tenant.
 */
export async function pageOfSealed(
  handle: ReferenceHandle,
  column: SealedColumn,
  { after, limit }: { after: Record<string, string> | undefined; limit: number },
): Promise<SealedRow[]> {
  const { own, first, keys, places } = named(column)
  const columns = [...column.key, ...(column.boundTo ?? [])].map((name) => `'${name}', ${name}::text`).join(', ')
  const later = after === undefined ? '' : `(${keys}) > (${places}) and `
  const size = `$${first + (after === undefined ? 0 : column.key.length)}`
  const text = `select json_build_object(${columns}) as key, ${column.column} as sealed from ${column.table}
    where ${own}${later}${column.column} is not null order by ${keys} limit ${size}::integer`
  const values = after === undefined ? [] : column.key.map((name) => after[name])
  return handle.rows(dynamicStatement<SealedRow>(text), ...values, limit)
}

/**
 * Replaces a sealed value. Does nothing if the value was changed since it was read, because the change used the newest
 * key.
 */
export async function replaceSealed(
  handle: ReferenceHandle,
  column: SealedColumn,
  { row, sealed }: { row: SealedRow; sealed: Buffer },
): Promise<void> {
  const { own, first } = named(column)
  const where = column.key.map((name, index) => `${name} = $${first + 2 + index}`).join(' and ')
  const text = `update ${column.table} set ${column.column} = $${first}
    where ${own}${column.column} = $${first + 1} and ${where}`
  await handle.run(dynamicStatement(text), sealed, row.sealed, ...column.key.map((name) => row.key[name]))
}

/** Counts the values that start with these bytes. Each sealed value starts with the id of its key. */
export async function countSealed(handle: ReferenceHandle, column: SealedColumn, beginning: Buffer): Promise<number> {
  const { own, first } = named(column)
  const text = `select count(*)::integer as total from ${column.table}
    where ${own}substring(${column.column} from 1 for ${beginning.length}) = $${first}`
  return (await handle.row(dynamicStatement<{ total: number }>(text), beginning))?.total ?? 0
}
