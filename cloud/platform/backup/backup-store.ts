import { setTimeout } from 'node:timers/promises'
import { copyIn, copyOut } from '../database/copy.ts'
import { inForeignKeyOrder } from '../database/foreign-key-order.ts'
import { StartError } from '../start-error.ts'
import { readClusterState } from '../tenants/placement-store.ts'
import type { Owner } from '../tenants/tenants.ts'

/**
 * A table of a backup. The list of tables is read from the catalogue of the database, so that no table can be
 * forgotten.
 */
export type BackupTable = { name: string; columns: string[] }

export type AppliedMigration = { module: string; name: string; checksum: string }

/**
 * The table of applied migrations. It is not in the backup, because a restore fills it when it runs the migrations.
 */
const migrationsTable = 'migrations'

/** How often a snapshot of a cluster is started again if tenants are created or deleted at the same time. */
const snapshotAttempts = 10
const snapshotPauseMs = 500

/**
 * Starts a snapshot. All later reads see the data of this point in time, while other processes continue to write. In a
 * cluster, each node has its own snapshot. They start within milliseconds, and contain the same tenants.
 */
export async function beginSnapshot(owner: Owner): Promise<void> {
  const isCluster = (await readClusterState(owner)).distributed
  for (let attempt = 1; ; attempt++) {
    await owner.query('begin transaction isolation level repeatable read, read only')
    const differing = isCluster ? await snapshotNodes(owner) : []
    if (differing.length === 0) return
    await owner.query('rollback')
    if (attempt === snapshotAttempts)
      throw new StartError(
        `Tenants are being created or deleted, or such a command was interrupted (${differing.join(', ')}): repeat that command, then the backup.`,
      )
    await setTimeout(snapshotPauseMs)
  }
}

/**
 * Starts the snapshots of all nodes. Each node gets one connection, because each connection has its own snapshot. Returns
 * the tenants that are in the shared table but have no rows on their worker, or the other way round.
 */
async function snapshotNodes(owner: Owner): Promise<string[]> {
  await owner.query('set local citus.max_adaptive_executor_pool_size = 1')
  const { rows: tenants } = await owner.query<{ id: string; name: string }>('select id, name from tenants')
  const { rows: placed } = await owner.query<{ id: string }>('select tenant_id as id from access_versions')
  const names = new Map(tenants.map(({ id, name }) => [id, name]))
  const differing = new Set(names.keys()).symmetricDifference(new Set(placed.map(({ id }) => id)))
  return [...differing].map((id) => names.get(id) ?? id)
}

export async function endSnapshot(owner: Owner): Promise<void> {
  await owner.query('rollback').catch(() => {})
}

/**
 * Returns all tables with their stored columns. Each table comes after the tables that its foreign keys reference. The
 * tables of tenants come after `tenants`, because a cluster has no foreign key to a table of the coordinator.
 */
export async function listTables(owner: Owner): Promise<BackupTable[]> {
  const { rows } = await owner.query<BackupTable & { needs: string[] }>(
    `select c.relname as name,
            array(select a.attname::text from pg_attribute a
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
                  order by a.attnum) as columns,
            array(select r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
                  where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
     from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
       and c.relname <> $1
     order by c.relname`,
    [migrationsTable],
  )
  const tables = rows.map((table) =>
    table.columns.includes('tenant_id') ? { ...table, needs: [...table.needs, 'tenants'] } : table,
  )
  return inForeignKeyOrder(tables).map(({ name, columns }) => ({ name, columns }))
}

export async function listApplied(owner: Owner): Promise<AppliedMigration[]> {
  const { rows: found } = await owner.query<{ there: boolean }>(`select to_regclass('migrations') is not null as there`)
  if (found[0]?.there !== true) return []
  const { rows } = await owner.query<AppliedMigration>(
    'select module, name, checksum from migrations order by module, name',
  )
  return rows
}

export async function versionOf(owner: Owner): Promise<string> {
  const { rows } = await owner.query<{ version: string }>(`select current_setting('server_version') as version`)
  return rows[0]?.version ?? ''
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function columnsOf({ columns }: BackupTable): string {
  return columns.map(quoted).join(', ')
}

export function readRows(owner: Owner, table: BackupTable): AsyncGenerator<Buffer[]> {
  return copyOut(owner, `copy (select ${columnsOf(table)} from ${quoted(table.name)}) to stdout`)
}

export function writeRows(owner: Owner, table: BackupTable, rows: AsyncIterable<Buffer>): Promise<void> {
  return copyIn(owner, `copy ${quoted(table.name)} (${columnsOf(table)}) from stdin`, rows)
}

/** Returns the first table that has rows. */
export async function findFilled(owner: Owner): Promise<string | undefined> {
  for (const { name } of await listTables(owner)) {
    const { rows } = await owner.query(`select from ${quoted(name)} limit 1`)
    if (rows.length > 0) return name
  }
  return undefined
}

export async function emptyTables(owner: Owner): Promise<void> {
  const tables = await listTables(owner)
  if (tables.length > 0) await owner.query(`truncate ${tables.map(({ name }) => quoted(name)).join(', ')}`)
}

/** Empties all tables and runs the work, both in one transaction, so that a damaged file leaves no rows behind. */
export async function inOneTransaction(owner: Owner, work: () => Promise<void>): Promise<void> {
  await owner.query('begin')
  try {
    await emptyTables(owner)
    await work()
    await owner.query('commit')
  } catch (error) {
    await owner.query('rollback')
    throw error
  }
  await owner.query('analyze')
}
