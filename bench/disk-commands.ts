import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import type { DatabaseTarget } from './reference-process.ts'

/** `TableSize` contains the bytes of a table on disk by part, and its rows. */
export type TableSize = {
  table: string
  /** The number of rows that exist. */
  rows: number
  /** Rows that were replaced or deleted and that vacuum has not removed, with the overflow rows (TOAST) of the table. */
  deadRows: number
  heap: number
  /** The bytes of large values, which PostgreSQL stores in overflow rows (TOAST). */
  overflow: number
  indexes: { name: string; bytes: number }[]
}

const sizes = `
  select c.relname as "table",
    (coalesce(s.n_dead_tup, 0) + coalesce(o.n_dead_tup, 0))::float8 as "deadRows",
    (pg_table_size(c.oid) - t.bytes)::float8 as heap, t.bytes::float8 as overflow,
    coalesce((select json_agg(json_build_object('name', i.indexrelid::regclass::text, 'bytes', pg_relation_size(i.indexrelid)))
              from pg_index i where i.indrelid = c.oid), '[]') as indexes
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  cross join lateral (select case when c.reltoastrelid = 0 then 0 else pg_total_relation_size(c.reltoastrelid) end as bytes) t
  left join pg_stat_all_tables s on s.relid = c.oid
  left join pg_stat_all_tables o on o.relid = c.reltoastrelid
  where c.relkind = 'r'`

/** Returns the sizes of all tables of the platform. */
export async function tableSizes(owner: DatabaseTarget['owner']): Promise<TableSize[]> {
  const client = await openClient(owner)
  try {
    const { rows: found } = await client.query<Omit<TableSize, 'rows'>>(sizes)
    const tables: TableSize[] = []
    for (const size of found) {
      const { rows } = await client.query<{ count: string }>(
        `select count(*) from ${client.escapeIdentifier(size.table)}`,
      )
      tables.push({ ...size, rows: Number(rows[0]?.count) })
    }
    return tables
  } finally {
    await client.end()
  }
}

/** Writes a table again without dead rows and free space. */
export async function compactTable(owner: DatabaseTarget['owner'], table: string): Promise<void> {
  const client = await openClient(owner)
  try {
    await client.query(`vacuum full ${client.escapeIdentifier(table)}`)
  } finally {
    await client.end()
  }
}
