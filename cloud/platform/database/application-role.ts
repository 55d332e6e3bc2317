import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { StartError } from '../start-error.ts'

const roleLock = 0x726f6c65

/**
 * Creates the role that the pool connects as. The role owns no tables, is not a superuser and cannot bypass row-level
 * security, so that a bug in a statement cannot reach another tenant. Each database has its own role, so two
 * installations on one server do not share a role.
 */
export async function ensureApplicationRole(owner: Client, role: string): Promise<void> {
  await changeRole(owner, role, async () => {
    const { rows } = await owner.query('select from pg_roles where rolname = $1', [role])
    // An existing role is checked when the pool connects. Its attributes are not set again, because only a superuser
    // can set them.
    if (rows.length > 0) return
    const attributes = 'login nosuperuser nobypassrls nocreatedb nocreaterole noinherit'
    await owner.query(`create role ${owner.escapeIdentifier(role)} with ${attributes}`)
  })
}

export async function setPassword(owner: Client, role: { name: string; password: string }): Promise<void> {
  const password = owner.escapeLiteral(role.password)
  await changeRole(owner, role.name, async () => {
    await owner.query(`alter role ${owner.escapeIdentifier(role.name)} with password ${password}`)
  })
}

async function changeRole(owner: Client, role: string, change: () => Promise<void>): Promise<void> {
  await owner.query('begin')
  try {
    // Roles belong to the whole server, and the server refuses two concurrent changes of one role.
    await owner.query('select pg_advisory_xact_lock($1)', [roleLock])
    await change()
    await owner.query('commit')
  } catch (error) {
    await owner.query('rollback')
    throw new StartError(
      `The database user of DATABASE_URL cannot create or change the role ${role} (${(error as Error).message}): ` +
        'create a login role and set MILLWRIGHT_DATABASE_APP_URL to its URL.',
    )
  }
}

/**
 * Throws if row-level security does not limit the database user of the pool to the rows of one tenant. The platform
 * then does not start.
 */
export async function requireRestrictedRole(app: Client): Promise<void> {
  const { rows } = await app.query<{ name: string; superuser: boolean; bypass: boolean; owned: string | null }>(
    `select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass,
            (select c.relname from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p') limit 1) as owned
     from pg_roles r where r.rolname = current_user`,
  )
  const user = rows[0]
  const violation = user?.superuser
    ? 'is a superuser'
    : user?.bypass
      ? 'can bypass row-level security'
      : user?.owned
        ? `owns the table ${user.owned}`
        : undefined
  if (violation === undefined) return
  throw new StartError(
    `The database user ${user?.name} ${violation}, so row-level security would not separate tenants: set MILLWRIGHT_DATABASE_APP_URL to a URL with another user.`,
  )
}

/** The longest wait for sessions whose connection was closed. The server needs some time to end them. */
const sessionEndMs = 5_000

/** Throws if sessions of the application's role use the database. */
export async function requireNoSessions(owner: Client, role: string): Promise<void> {
  const end = performance.now() + sessionEndMs
  for (;;) {
    const { rows } = await owner.query<{ count: number }>(
      'select count(*)::int as count from pg_stat_activity where datname = current_database() and usename = $1',
      [role],
    )
    const count = rows[0]?.count ?? 0
    if (count === 0) return
    if (performance.now() > end) {
      throw new StartError(
        `The platform is running: the role ${role} has ${count} sessions. Stop all platform processes and connection poolers of this database, then repeat the command.`,
      )
    }
    await setTimeout(100)
  }
}

/**
 * Returns the user of a connection. If the operator sets MILLWRIGHT_DATABASE_APP_URL, the user of this URL gets the
 * same grants as a role that `ensureApplicationRole` creates.
 */
export async function currentUser(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_user as name')
  return rows[0]?.name ?? ''
}
