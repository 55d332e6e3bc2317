import type { Client } from 'pg'
import { StartError } from '../start-error.ts'
import { grantAll, type Migration } from './migrations.ts'

export type Distribution = { distributed: string[]; reference: string[] }

export type Table = { name: string; tenant: boolean; place: string | null; needs: string[] }

type Options = {
  referenceTables: readonly string[]
  migrations: readonly Migration[]
  appRole: string
}

export type Step = { table: string; how: 'distributed'; beside: string } | { table: string; how: 'reference' }

/**
 * Spreads the tables over the workers of a Citus cluster: what a tenant writes by its `tenant_id`, side by side;
 * what all tenants share as reference tables. Does only what is not done yet, so it also follows later migrations.
 */
export async function distribute(
  owner: Client,
  { referenceTables, migrations, appRole }: Options,
): Promise<Distribution> {
  if (!(await isCitus(owner))) {
    throw new StartError(
      'This server is not a Citus coordinator: create the extension citus and add its workers first.',
    )
  }
  const steps = distributionSteps(await listTables(owner), referenceTables)
  for (const step of steps) {
    if (step.how === 'reference') await owner.query('select create_reference_table($1::regclass)', [step.table])
    else {
      const values = [step.table, 'tenant_id', step.beside]
      await owner.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', values)
    }
  }
  // What was granted on single columns before a table was distributed is not carried to its shards: say it again.
  if (steps.length > 0) await grantAll(owner, migrations, appRole)
  const made = (how: Step['how']) => steps.filter((step) => step.how === how).map(({ table }) => table)
  return { distributed: made('distributed'), reference: made('reference') }
}

/** What is left to do, in the order in which tables refer to each other. Tables that are neither stay where they are. */
export function distributionSteps(tables: readonly Table[], referenceTables: readonly string[]): Step[] {
  let first = tables.find(({ place }) => place === 'distributed')?.name
  return inOrderOfNeed(tables).flatMap(({ name, tenant, place }): Step[] => {
    if (place !== null) return []
    if (referenceTables.includes(name)) return [{ table: name, how: 'reference' }]
    if (!tenant) return []
    const beside = first ?? 'default'
    first ??= name
    return [{ table: name, how: 'distributed', beside }]
  })
}

/** True when `distribute` was run here before, so that tables of later migrations follow by themselves. */
export async function isDistributed(owner: Client): Promise<boolean> {
  if (!(await isCitus(owner))) return false
  const tables = await owner.query('select from citus_tables limit 1')
  return tables.rows.length > 0
}

async function isCitus(owner: Client): Promise<boolean> {
  const { rows } = await owner.query(`select from pg_extension where extname = 'citus'`)
  return rows.length > 0
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
export function inOrderOfNeed<T extends { name: string; needs: readonly string[] }>(tables: readonly T[]): T[] {
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
