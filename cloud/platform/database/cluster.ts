import type { Client } from 'pg'
import { inForeignKeyOrder } from './foreign-key-order.ts'

/**
 * Where the rows of a table are. A plain table is not known to Citus. A `local` table is known to Citus, but its rows are
 * on the coordinator.
 */
export type Place = 'plain' | 'local' | 'distributed' | 'reference'

export type Table = {
  name: string
  /** True if the rows belong to tenants. */
  tenant: boolean
  place: Place
  /** The column by which the rows are distributed. */
  column: string | null
  /** The group of tables whose shards are on the same nodes. */
  colocation: number | null
  /** True if the coordinator still stores rows that were copied to the shards. No statement reads these rows. */
  leftover: boolean
  /** The tables that foreign keys of this table reference. */
  needs: string[]
}

/** The tables whose place does not follow from the column `tenant_id`. */
export type PlaceRules = {
  /** Tables that are copied to every node. */
  referenceTables: readonly string[]
  /** Tables that stay on the coordinator, although their rows belong to tenants. */
  coordinatorTables: readonly string[]
  /** The distributed table with one row per tenant. The foreign keys to `tenants` reference it instead. */
  tenantRows: string
}

export type Target = { table: string; how: 'distributed'; colocateWith: string } | { table: string; how: 'reference' }

export async function isCitus(owner: Client): Promise<boolean> {
  const { rows } = await owner.query(`select from pg_extension where extname = 'citus'`)
  return rows.length > 0
}

/** Returns true if `distribute` has run on this database, completely or in part. */
export async function isDistributed(owner: Client): Promise<boolean> {
  if (!(await isCitus(owner))) return false
  const tables = await owner.query(
    `select from pg_dist_partition d join pg_class c on c.oid = d.logicalrelid
     where c.relnamespace = current_schema()::regnamespace limit 1`,
  )
  return tables.rows.length > 0
}

/**
 * Runs work in a transaction that may change the definition of distributed tables. The shards are changed one after the
 * other, because Citus refuses to change a table in parallel after a change of a reference table. New tables stay plain
 * until they are placed. Otherwise Citus converts each table with a foreign key to a reference table to a local table,
 * which cannot be distributed. A server without Citus ignores both settings.
 */
export async function schemaTransaction(owner: Client, work: () => Promise<void>): Promise<void> {
  await owner.query('begin')
  try {
    await owner.query(`set local citus.multi_shard_modify_mode = 'sequential'`)
    await owner.query('set local citus.enable_local_reference_table_foreign_keys = off')
    await work()
    await owner.query('commit')
  } catch (error) {
    await owner.query('rollback')
    throw error
  }
}

export async function listTables(owner: Client): Promise<Table[]> {
  const { rows } = await owner.query<Table>(
    `select c.relname as name,
            exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as tenant,
            case when d.logicalrelid is null then 'plain'
                 when d.partmethod <> 'n' then 'distributed'
                 when d.repmodel = 't' then 'reference'
                 else 'local' end as place,
            case when d.partmethod <> 'n' then column_to_column_name(d.logicalrelid, d.partkey) end as column,
            case when d.partmethod <> 'n' then d.colocationid end as colocation,
            d.logicalrelid is not null and pg_relation_size(c.oid) > 0 as leftover,
            array(select r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
                  where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
     from pg_class c left join pg_dist_partition d on d.logicalrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
       and not exists (select from pg_depend x where x.objid = c.oid and x.deptype = 'e')
     order by c.relname`,
  )
  return rows
}

/** Returns what a table must become. A table without a tenant stays plain, unless it is a reference table. */
export function targetPlace({ name, tenant }: Table, rules: PlaceRules): Place {
  if (rules.referenceTables.includes(name)) return 'reference'
  return tenant && !rules.coordinatorTables.includes(name) ? 'distributed' : 'plain'
}

/** Returns the co-location group of most tables, which all tables of tenants must have. */
export function mainColocation(tables: readonly Table[]): number | undefined {
  const sizes = new Map<number, number>()
  for (const { column, colocation } of tables) {
    if (column === 'tenant_id' && colocation !== null) sizes.set(colocation, (sizes.get(colocation) ?? 0) + 1)
  }
  return [...sizes].sort(([, a], [, b]) => b - a)[0]?.[0]
}

/**
 * Returns how to place the plain tables, in the order of the foreign keys. All tables of tenants are co-located with the
 * first one.
 */
export function placementTargets(tables: readonly Table[], rules: PlaceRules): Target[] {
  const main = mainColocation(tables)
  let first = tables.find(({ colocation }) => colocation !== null && colocation === main)?.name
  const needing = tables.map((table) => ({ ...table, needs: table.needs.map((need) => tenantTableOf(need, rules)) }))
  return inForeignKeyOrder(needing).flatMap((table): Target[] => {
    const how = targetPlace(table, rules)
    if (table.place !== 'plain' || how === 'plain') return []
    if (how === 'reference') return [{ table: table.name, how }]
    const colocateWith = first ?? 'default'
    first ??= table.name
    return [{ table: table.name, how: 'distributed', colocateWith }]
  })
}

function tenantTableOf(name: string, { tenantRows }: PlaceRules): string {
  return name === 'tenants' ? tenantRows : name
}

/** Places a plain table, in a transaction of `schemaTransaction`. Its rows are copied to the shards. */
export async function placeTable(owner: Client, target: Target, rules: PlaceRules): Promise<void> {
  if (target.how === 'reference') await owner.query('select create_reference_table($1::regclass)', [target.table])
  else {
    const values = [target.table, 'tenant_id', target.colocateWith]
    // A plain table cannot get a foreign key to a distributed table, so its keys are created after it is distributed.
    const keys = await dropTenantKeys(owner, target.table, rules)
    await owner.query('select create_distributed_table($1::regclass, $2, colocate_with => $3)', values)
    for (const key of keys) await owner.query(key)
  }
  await repeatColumnGrants(owner, target.table)
}

/**
 * Drops the foreign keys of a table to `tenants`. Returns the commands that create them again with the row of the tenant
 * that is distributed. An insert then depends only on the worker of its tenant.
 */
export async function dropTenantKeys(owner: Client, table: string, { tenantRows }: PlaceRules): Promise<string[]> {
  const { rows } = await owner.query<{ drop: string; add: string }>(
    `select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as drop,
            format('alter table %s add constraint %I foreign key (tenant_id) references %I (tenant_id)',
                   k.conrelid::regclass, k.conname, $2::text) as add
     from pg_constraint k
     where k.contype = 'f' and k.conrelid = $1::regclass and k.confrelid = to_regclass('tenants')`,
    [table, tenantRows],
  )
  for (const { drop } of rows) await owner.query(drop)
  return table === tenantRows ? [] : rows.map(({ add }) => add)
}

/** Repeats the grants on columns of a table. Citus copies only the grants on tables to new shards. */
export async function repeatColumnGrants(owner: Client, table: string): Promise<void> {
  const { rows } = await owner.query<{ text: string }>(
    `select format('grant %s (%s) on %I to %s', x.privilege_type, string_agg(quote_ident(a.attname), ', '), c.relname,
                   case when x.grantee = 0 then 'public' else x.grantee::regrole::text end) as text
     from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped, aclexplode(a.attacl) x
     where c.oid = $1::regclass group by c.relname, x.privilege_type, x.grantee`,
    [table],
  )
  for (const { text } of rows) await owner.query(text)
}
