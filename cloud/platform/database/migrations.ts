import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { StartError } from '../start-error.ts'
import { requireNoSessions } from './application-role.ts'
import {
  isDistributed,
  listTables,
  type PlaceRules,
  placementTargets,
  placeTable,
  schemaTransaction,
} from './cluster.ts'
import { type AppliedMigration, compatibleWith, requireCompatible } from './compatibility.ts'
import { distribute, misplacedTables } from './distribute.ts'
import { markLeakproof } from './leakproof.ts'
import { withMigrationLock } from './migration-lock.ts'
import { splitCommands } from './sql-commands.ts'

/** `MigrationSource` is a module with tables. `folder` contains its SQL files, which only migrate forward. */
export type MigrationSource = { module: string; folder: URL }

export type Migration = { module: string; name: string; text: string; checksum: string }

/**
 * The limits of the wait for the locks of tables. While a migration waits, requests of other processes wait behind it. It
 * therefore gives up after a short time and tries again later, for example until the end of a backup.
 */
const lockLimits = { waitMs: 2_000, pauseMs: 1_000, totalMs: 600_000 }

export async function readMigrations(sources: readonly MigrationSource[]): Promise<Migration[]> {
  const folders = sources.map(async ({ module, folder }) => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
    return Promise.all(
      names.map(async (name) => {
        const text = await readFile(fileURLToPath(new URL(name, folder)), 'utf8')
        return { module, name: basename(name, '.sql'), text, checksum: createHash('sha256').update(text).digest('hex') }
      }),
    )
  })
  return (await Promise.all(folders)).flat()
}

type MigrateOptions = {
  sources: readonly MigrationSource[]
  appRole: string
  /** Where a distributed database stores new tables. */
  rules: PlaceRules
  /** Applies only these migrations, named `module/name`. The result is the schema of an older version. */
  only?: ReadonlySet<string>
  /** Accepts tables that a newer version has migrated, if this version can run on them. By default, they are refused. */
  acceptNewer?: boolean
  /** The time after which a migration that cannot lock its tables fails. */
  lockLimitMs?: number
  /** Receives a line per step if a distribution that was interrupted is completed. */
  onProgress?: ((line: string) => void) | undefined
}

/** `applied` lists the migrations of this run. If `hasNewer` is set, a newer version has migrated the tables. */
export type MigrationResult = { applied: string[]; hasNewer: boolean }

/**
 * Applies pending migrations. One process migrates at a time. The other processes wait, and then find no pending
 * migrations.
 */
export async function migrate(owner: Client, options: MigrateOptions): Promise<MigrationResult> {
  const migrations = await readMigrations(options.sources)
  return withMigrationLock(owner, async () => {
    await owner.query(
      `create table if not exists migrations (
         module text not null, name text not null, checksum text not null,
         applied_at timestamptz(3) not null default now(), primary key (module, name))`,
    )
    await addCompatibleWith(owner)
    const applied = await readApplied(owner)
    const known = checksumsOf(migrations)
    // A process of an older version changes nothing, because its definitions of tables and grants are outdated.
    const { hasNewer } = requireCompatible({ known, applied }, { acceptNewer: options.acceptNewer === true })
    if (hasNewer) return { applied: [], hasNewer }
    const isSelected = (id: string) => !applied.has(id) && (options.only?.has(id) ?? true)
    const pending = migrations.filter(({ module, name }) => isSelected(`${module}/${name}`))
    await markLeakproof(owner)
    const distributed = await isDistributed(owner)
    // Completes a distribution that was interrupted, because a migration uses several tables together.
    if (distributed) {
      const tables = await listTables(owner)
      // A move back to the coordinator locks and copies tables, with all tables that foreign keys connect with them.
      const isMoving =
        tables.some(({ place }) => place === 'local') || misplacedTables(tables, options.rules).length > 0
      if (isMoving) await requireNoSessions(owner, options.appRole)
      await distribute(owner, options)
    }
    for (const migration of pending) await applyWithLocks(owner, migration, { ...options, distributed })
    if (options.only === undefined) await grantAgain(owner, migrations, options.appRole)
    return { applied: pending.map((migration) => `${migration.module}/${migration.name}`), hasNewer }
  })
}

/**
 * Adds the column `compatible_with` to a table of an older version. `add column if not exists` would lock the table even if
 * the column exists, and a backup reads this table first: no process could start until the end of the backup.
 */
async function addCompatibleWith(owner: Client): Promise<void> {
  const { rows } = await owner.query(
    `select from pg_attribute
     where attrelid = to_regclass('migrations') and attname = 'compatible_with' and not attisdropped`,
  )
  if (rows.length === 0) await owner.query('alter table migrations add column if not exists compatible_with text')
}

/** Returns the applied migrations by `module/name`. Tables of older versions do not have the column `compatible_with`. */
export async function readApplied(owner: Client): Promise<Map<string, AppliedMigration>> {
  const { rows } = await owner.query<AppliedMigration & { id: string }>(
    `select module || '/' || name as id, checksum, to_jsonb(m) ->> 'compatible_with' as compatible from migrations m`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Returns the checksums of migrations by `module/name`. */
export function checksumsOf(migrations: readonly Migration[]): Map<string, string> {
  return new Map(migrations.map(({ module, name, checksum }) => [`${module}/${name}`, checksum]))
}

/**
 * Grants the application's role the rights that the migrations define, if the migrations were run for another
 * role.
 */
async function grantAgain(owner: Client, migrations: readonly Migration[], appRole: string): Promise<void> {
  const { rows } = await owner.query(
    `select from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace
       and not has_table_privilege($1, c.oid, 'select') limit 1`,
    [appRole],
  )
  if (rows.length > 0) await grantAll(owner, migrations, appRole)
}

async function grantAll(owner: Client, migrations: readonly Migration[], appRole: string): Promise<void> {
  const commands = migrations.flatMap(({ text }) => splitCommands(text))
  for (const grant of commands.filter((command) => /^grant\b/i.test(command))) {
    await owner.query(forRole(owner, grant, appRole))
  }
}

/** Replaces `:app_role` in a migration with the application's role. */
function forRole(owner: Client, text: string, appRole: string): string {
  return text.replaceAll(':app_role', owner.escapeIdentifier(appRole))
}

type ApplyOptions = Pick<MigrateOptions, 'appRole' | 'rules' | 'lockLimitMs'> & { distributed: boolean }

/** Applies a migration. Tries again while other transactions hold locks of its tables. */
async function applyWithLocks(owner: Client, migration: Migration, options: ApplyOptions): Promise<void> {
  const deadline = Date.now() + (options.lockLimitMs ?? lockLimits.totalMs)
  for (;;) {
    try {
      return await apply(owner, migration, options)
    } catch (error) {
      if (!isLockConflict((error as Error).cause)) throw error
      if (Date.now() > deadline) {
        throw new StartError(
          `Another transaction, for example of a backup, locks the tables of the migration ${migration.module}/${migration.name}: wait until it ends, and start the platform again.`,
          { cause: error },
        )
      }
    }
    await delay(lockLimits.pauseMs)
  }
}

/** Returns whether a lock was not available in time, or two transactions waited for the locks of each other. */
function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01'].includes((error as { code?: string } | undefined)?.code ?? '')
}

/**
 * Applies a migration in one transaction, with one command per message. In a distributed database, a new table is placed
 * before the next command runs, so that this command can use the table together with distributed tables.
 */
async function apply(owner: Client, migration: Migration, options: ApplyOptions): Promise<void> {
  try {
    await schemaTransaction(owner, async () => {
      await owner.query(`set local lock_timeout = ${lockLimits.waitMs}`)
      for (const command of splitCommands(forRole(owner, migration.text, options.appRole))) {
        await owner.query(command)
        if (options.distributed && /^create table\b/i.test(command)) await placeTables(owner, options.rules)
      }
      await protectTenantTables(owner)
      await owner.query('insert into migrations (module, name, checksum, compatible_with) values ($1, $2, $3, $4)', [
        migration.module,
        migration.name,
        migration.checksum,
        compatibleWith(migration.text),
      ])
    })
  } catch (error) {
    throw new Error(`Migration ${migration.module}/${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function placeTables(owner: Client, rules: PlaceRules): Promise<void> {
  for (const target of placementTargets(await listTables(owner), rules)) await placeTable(owner, target, rules)
}

/**
 * Adds the tenant policy to every table with a tenant, so that no table can be forgotten. If no tenant is set, a
 * statement returns no rows and no error. Tables with their own policy keep it.
 */
async function protectTenantTables(owner: Client): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and not c.relrowsecurity`,
  )
  for (const { name } of rows) {
    await owner.query(`alter table ${name} enable row level security`)
    await owner.query(`create policy tenant on ${name} using (${ownTenant}) with check (${ownTenant})`)
  }
}

const ownTenant = `tenant_id = nullif(current_setting('app.tenant', true), '')::uuid`
