import type { Client } from 'pg'
import { StartError } from '../start-error.ts'

const roleLock = 0x726f6c65

/**
 * The role the pool connects as. It owns nothing, is no superuser and cannot bypass row-level security, so that a
 * mistake in our code still cannot reach another tenant. It is made per database: two installations on one server
 * do not share it.
 */
export async function ensureApplicationRole(owner: Client, role: string): Promise<void> {
  await changeRole(owner, role, async () => {
    const { rows } = await owner.query('select from pg_roles where rolname = $1', [role])
    // A role that is there is looked at when it is used: only a superuser could say the rest again.
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
    // Roles belong to the whole server, which refuses two changes of one at the same time.
    await owner.query('select pg_advisory_xact_lock($1)', [roleLock])
    await change()
    await owner.query('commit')
  } catch (error) {
    await owner.query('rollback')
    throw new StartError(
      `The database user of DATABASE_URL may not make or change the role ${role} (${(error as Error).message}): ` +
        'create a login role yourself and give its URL as MILLWRIGHT_DATABASE_APP_URL.',
    )
  }
}

/** Ends the start when the pool's user could see more than its tenant. */
export async function requireHarmless(app: Client): Promise<void> {
  const { rows } = await app.query<{ name: string; superuser: boolean; bypass: boolean; owned: string | null }>(
    `select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass,
            (select c.relname from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p') limit 1) as owned
     from pg_roles r where r.rolname = current_user`,
  )
  const user = rows[0]
  const fault = user?.superuser
    ? 'is a superuser'
    : user?.bypass
      ? 'may bypass row-level security'
      : user?.owned
        ? `owns the table ${user.owned}`
        : undefined
  if (fault === undefined) return
  throw new StartError(
    `The database user ${user?.name} ${fault}, so tenants would not be separated: give the pool another user with MILLWRIGHT_DATABASE_APP_URL.`,
  )
}

/** A role that somebody else made (MILLWRIGHT_DATABASE_APP_URL) gets the same rights as ours would. */
export async function currentUser(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_user as name')
  return rows[0]?.name ?? ''
}
