import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { type AppliedMigration, compatibleWith, requireCompatible } from './compatibility.ts'
import { markLeakproof } from './leakproof.ts'

/** `MigrationSource` is a module with tables. `folder` contains its SQL files, which only migrate forward. */
export type MigrationSource = { module: string; folder: URL }

export type Migration = { module: string; name: string; text: string; checksum: string }

/** The id of the advisory lock for migrations. All processes use it for every database of this product. */
const migrationLock = 0x6d696c6c

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
  /** Applies only these migrations, named `module/name`. The result is the schema of an older version. */
  only?: ReadonlySet<string>
  /** Accepts tables that a newer version has migrated, if this version can run on them. By default, they are refused. */
  acceptNewer?: boolean
}

/** `applied` lists the migrations of this run. If `hasNewer` is set, a newer version has migrated the tables. */
export type MigrationResult = { applied: string[]; hasNewer: boolean }

/**
 * Applies pending migrations. One process migrates at a time. The other processes wait, and then find no pending
 * migrations.
 */
export async function migrate(owner: Client, options: MigrateOptions): Promise<MigrationResult> {
  const migrations = await readMigrations(options.sources)
  await owner.query('select pg_advisory_lock($1)', [migrationLock])
  try {
    await owner.query(
      `create table if not exists migrations (
         module text not null, name text not null, checksum text not null,
         applied_at timestamptz(3) not null default now(), primary key (module, name))`,
    )
    await owner.query('alter table migrations add column if not exists compatible_with text')
    const applied = await readApplied(owner)
    const known = checksumsOf(migrations)
    // A process of an older version changes nothing, because its definitions of tables and grants are outdated.
    const { hasNewer } = requireCompatible({ known, applied }, { acceptNewer: options.acceptNewer === true })
    if (hasNewer) return { applied: [], hasNewer }
    const isSelected = (id: string) => !applied.has(id) && (options.only?.has(id) ?? true)
    const pending = migrations.filter(({ module, name }) => isSelected(`${module}/${name}`))
    await markLeakproof(owner)
    for (const migration of pending) await apply(owner, migration, options.appRole)
    if (options.only === undefined) await grantAgain(owner, migrations, options.appRole)
    return { applied: pending.map((migration) => `${migration.module}/${migration.name}`), hasNewer }
  } finally {
    await owner.query('select pg_advisory_unlock($1)', [migrationLock])
  }
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

export async function grantAll(owner: Client, migrations: readonly Migration[], appRole: string): Promise<void> {
  for (const grant of migrations.flatMap(({ text }) => text.match(/^grant [^;]+/gm) ?? [])) {
    await owner.query(forRole(owner, grant, appRole))
  }
}

/** Replaces `:app_role` in a migration with the application's role. */
function forRole(owner: Client, text: string, appRole: string): string {
  return text.replaceAll(':app_role', owner.escapeIdentifier(appRole))
}

async function apply(owner: Client, migration: Migration, appRole: string): Promise<void> {
  try {
    await owner.query(`begin; ${forRole(owner, migration.text, appRole)}; ${protectTenantTables}`)
    await owner.query('insert into migrations (module, name, checksum, compatible_with) values ($1, $2, $3, $4)', [
      migration.module,
      migration.name,
      migration.checksum,
      compatibleWith(migration.text),
    ])
    await owner.query('commit')
  } catch (error) {
    await owner.query('rollback')
    throw new Error(`Migration ${migration.module}/${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/**
 * Adds the tenant policy to every table with a tenant, so that no table can be forgotten. If no tenant is set, a
 * statement returns no rows and no error. Tables with their own policy keep it.
 */
const protectTenantTables = `
  do $$
  declare name text;
  begin
    for name in
      select c.oid::regclass::text
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
      where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and not c.relrowsecurity
    loop
      execute format('alter table %s enable row level security', name);
      execute format(
        'create policy tenant on %s using (tenant_id = nullif(current_setting(''app.tenant'', true), '''')::uuid)
         with check (tenant_id = nullif(current_setting(''app.tenant'', true), '''')::uuid)', name);
    end loop;
  end $$`
