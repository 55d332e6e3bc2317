import { periodicKey } from '@millwright/cloud/platform/tasks/claim.ts'
import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'

/**
 * This file contains the read-only queries of `millwright doctor`. They run as the owner of the database and read the
 * data of all tenants.
 */

export type Server = { version: number; versionName: string; clock: string; database: string }

export async function readServer(owner: Owner): Promise<Server> {
  const { rows } = await owner.query<Server>(
    `select current_setting('server_version_num')::integer / 10000 as version,
            current_setting('server_version') as "versionName",
            to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as clock,
            current_database() as database`,
  )
  return rows[0] ?? { version: 0, versionName: '', clock: '', database: '' }
}

/** Returns the tables that have a tenant column but no row-level security policy. */
export async function listUnprotected(owner: Owner): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select c.relname as name from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace
       and not (c.relrowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))`,
  )
  return rows.map(({ name }) => name)
}

export type Role = { name: string; superuser: boolean; bypass: boolean; owned: number }

/** Reads the rights of a database role, and the number of tables that it owns. */
export async function findRole(owner: Owner, name: string): Promise<Role | undefined> {
  const { rows } = await owner.query<Role>(
    `select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass,
            (select count(*)::integer from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p')) as owned
     from pg_roles r where r.rolname = $1`,
    [name],
  )
  return rows[0]
}

export type Backlog = {
  waitingJobs: number
  oldestMinutes: number
  failedJobs: number
  queuedWrites: number
  unsealed: number
}

/**
 * Returns the amount of pending work. Periodic jobs are left out, because a periodic job is due even if there is no
 * work for it. The work of periodic jobs is counted separately, as queued writes and unsealed audit entries. Audit
 * entries of suspended tenants are left out, because suspended tenants have no background work.
 */
export async function readBacklog(owner: Owner): Promise<Backlog> {
  const { rows } = await owner.query<Backlog>(
    `select (select count(*)::integer from jobs where state = 'waiting' and key <> $1 and run_at < now()) as "waitingJobs",
            (select coalesce(extract(epoch from now() - min(w.since)) / 60, 0)::integer from (
               select run_at from jobs where state = 'waiting' and key <> $1 and run_at < now()
               union all select accepted_at from operations where state = 'queued') as w (since)) as "oldestMinutes",
            (select count(*)::integer from jobs where state = 'failed') as "failedJobs",
            (select count(*)::integer from operations where state = 'queued') as "queuedWrites",
            (select count(*)::integer from audit_entries e join tenants t on t.id = e.tenant_id
             where t.state = 'active' and e.sequence is null and e.time < now() - interval '5 minutes') as unsealed`,
    [periodicKey],
  )
  return rows[0] ?? { waitingJobs: 0, oldestMinutes: 0, failedJobs: 0, queuedWrites: 0, unsealed: 0 }
}

export async function listHeads(owner: Owner): Promise<{ tenant: string; sequence: string; hash: string }[]> {
  const { rows } = await owner.query<{ tenant: string; sequence: string; hash: string }>(
    `select t.name as tenant, h.sequence::text as sequence, encode(h.hash, 'hex') as hash
     from audit_heads h join tenants t on t.id = h.tenant_id order by t.name limit 20`,
  )
  return rows
}

/**
 * Returns true when platform keys exist. The doctor must not change the database. It therefore opens the secrets only
 * if keys exist, because opening the secrets would create a missing key.
 */
export async function hasPlatformKeys(owner: Owner): Promise<boolean> {
  const { rows: tables } = await owner.query<{ name: string | null }>(
    `select to_regclass('platform_keys')::text as name`,
  )
  if (tables[0]?.name == null) return false
  const { rows } = await owner.query('select from platform_keys limit 1')
  return rows.length > 0
}
