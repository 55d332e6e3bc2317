import type { Client } from 'pg'
import { StartError } from '../start-error.ts'
import { grantAll, type Migration } from './migrations.ts'

export type Distribution = { distributed: string[]; reference: string[] }

export type Table = { name: string; tenant: boolean; place: string | null; needs: string[] }

type Options = {
  referenceTables: readonly string[]
  /** Tables that stay on the coordinator, although their rows belong to tenants. */
  coordinatorTables: readonly string[]
  migrations: readonly Migration[]
  appRole: string
}

export type Step = { table: string; how: 'distributed'; colocateWith: string } | { table: string; how: 'reference' }

/**
 * Distributes the tables over the workers of a Citus cluster. Tables of tenants are distributed by `tenant_id` and
 * co-located. Shared tables become reference tables. Tables that are already distributed are skipped, so this function
 * can run again after later migrations.
 */
export async function distribute(
  owner: Client,
  { referenceTables, coordinatorTables, migrations, appRole }: Options,
): Promise<Distribution> {
  if (!(await isCitus(owner))) {
    throw new StartError(
      'This server is not a Citus coordinator: create the extension citus and add its workers first.',
    )
  }
  const tables = (await listTables(owner)).filter(({ name }) => !coordinatorTables.includes(name))
  const steps = distributionSteps(tables, referenceTables)
  await owner.query(`set citus.multi_shard_modify_mode = 'sequential'`)
  // Otherwise Citus converts every table with a foreign key to a reference table, and then refuses to distribute it.
  await owner.query('set citus.enable_local_reference_table_foreign_keys = off')
  for (const step of steps) {
    if (step.how === 'reference') await owner.query('select create_reference_table($1::regclass)', [step.table])
    else {
      const values = [step.table, 'tenant_id', step.colocateWith]
      await owner.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', values)
    }
  }
  // Citus does not copy column grants to the shards, so all grants are repeated.
  if (steps.length > 0) await grantAll(owner, migrations, appRole)
  const tablesOf = (how: Step['how']) => steps.filter((step) => step.how === how).map(({ table }) => table)
  return { distributed: tablesOf('distributed'), reference: tablesOf('reference') }
}

/**
 * Returns the steps that are still needed, in the order of the foreign keys. A table without a tenant stays local,
 * unless it is a reference table.
 */
export function distributionSteps(tables: readonly Table[], referenceTables: readonly string[]): Step[] {
  let first = tables.find(({ place }) => place === 'distributed')?.name
  return inForeignKeyOrder(tables).flatMap(({ name, tenant, place }): Step[] => {
    if (place !== null) return []
    if (referenceTables.includes(name)) return [{ table: name, how: 'reference' }]
    if (!tenant) return []
    const colocateWith = first ?? 'default'
    first ??= name
    return [{ table: name, how: 'distributed', colocateWith }]
  })
}

/**
 * Returns true if `distribute` has run on this database. Tables of later migrations are then distributed automatically.
 */
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

/** Orders tables so that each table comes after the tables that its foreign keys reference. */
export function inForeignKeyOrder<T extends { name: string; needs: readonly string[] }>(tables: readonly T[]): T[] {
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
