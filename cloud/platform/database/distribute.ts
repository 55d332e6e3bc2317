import type { Client } from 'pg'
import { StartError } from '../start-error.ts'

export type Distribution = { distributed: string[]; reference: string[] }

type Table = { name: string; tenant: boolean; place: string | null; needs: string[] }

/**
 * Spreads the tables over the workers of a Citus cluster: what a tenant writes by its `tenant_id`, side by side;
 * what all tenants share as reference tables. Does only what is not done yet, so it also follows later migrations.
 */
export async function distribute(owner: Client, { referenceTables }: { referenceTables: readonly string[] }) {
  const { rows: extension } = await owner.query(`select from pg_extension where extname = 'citus'`)
  if (extension.length === 0) {
    throw new StartError(
      'This server is not a Citus coordinator: create the extension citus and add its workers first.',
    )
  }
  const tables = await listTables(owner)
  const done: Distribution = { distributed: [], reference: [] }
  for (const table of inOrderOfNeed(tables)) {
    if (table.place !== null) continue
    if (table.tenant && !referenceTables.includes(table.name)) {
      const beside = tables.find((other) => other.place === 'distributed')?.name ?? done.distributed[0]
      await owner.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', [
        table.name,
        'tenant_id',
        beside ?? 'default',
      ])
      done.distributed.push(table.name)
    } else if (referenceTables.includes(table.name)) {
      await owner.query('select create_reference_table($1::regclass)', [table.name])
      done.reference.push(table.name)
    }
  }
  return done
}

/** True when `distribute` was run here before, so that tables of later migrations follow by themselves. */
export async function isDistributed(owner: Client): Promise<boolean> {
  const { rows } = await owner.query(`select from pg_extension where extname = 'citus'`)
  if (rows.length === 0) return false
  const tables = await owner.query('select from citus_tables limit 1')
  return tables.rows.length > 0
}

async function listTables(owner: Client): Promise<Table[]> {
  const { rows } = await owner.query<Table>(
    `select c.relname as name,
            exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as tenant,
            (select citus_table_type from citus_tables t where t.table_name = c.oid::regclass) as place,
            array(select r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
                  where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
     from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
     order by c.relname`,
  )
  return rows
}

/** A table comes after those its foreign keys point at. */
export function inOrderOfNeed<T extends { name: string; needs: string[] }>(tables: T[]): T[] {
  const ordered = new Set<T>()
  const visit = (table: T, path: Set<T>) => {
    if (ordered.has(table) || path.has(table)) return
    path.add(table)
    for (const need of table.needs) {
      const needed = tables.find((other) => other.name === need)
      if (needed !== undefined) visit(needed, path)
    }
    ordered.add(table)
  }
  for (const table of tables) visit(table, new Set())
  return [...ordered]
}
