import type { openClient } from '../database/connection.ts'
import { inForeignKeyOrder } from '../database/foreign-key-order.ts'
import type { Application, Tenant } from './store.ts'

/** A connection of the owner of the tables. The application's role can only read tenants. */
export type Owner = Awaited<ReturnType<typeof openClient>>

export type ListedTenant = Tenant & { createdTimestamp: string }

/** The id of the first key of the advisory locks for tenants. The second key is the hash of the name. */
const tenantLock = 0x6d696c6d

/** Runs work while no other command creates a tenant with this name. */
export async function withNameLock<Result>(owner: Owner, name: string, work: () => Promise<Result>): Promise<Result> {
  await owner.query('select pg_advisory_lock($1, hashtext($2))', [tenantLock, name])
  try {
    return await work()
  } finally {
    // After a lost connection, the server has released the lock.
    await owner.query('select pg_advisory_unlock($1, hashtext($2))', [tenantLock, name]).catch(() => {})
  }
}

/** Inserts a suspended tenant. Returns false if the name is in use. */
export async function insertTenant(owner: Owner, tenant: { id: string; name: string }): Promise<boolean> {
  const { rows } = await owner.query(
    `insert into tenants (id, name, state) values ($1, $2, 'suspended') on conflict (name) do nothing returning id`,
    [tenant.id, tenant.name],
  )
  return rows.length === 1
}

/**
 * Inserts the first rows of a tenant's access. The owner must do this, because the application's role cannot insert
 * rows into `access_versions`.
 */
export async function insertAccess(owner: Owner, access: { tenantId: string; groupId: string; groupName: string }) {
  await owner.query('insert into access_versions (tenant_id) values ($1)', [access.tenantId])
  await owner.query('insert into access_groups (tenant_id, id, name) values ($1, $2, $3)', [
    access.tenantId,
    access.groupId,
    access.groupName,
  ])
}

export async function selectTenants(owner: Owner): Promise<ListedTenant[]> {
  const { rows } = await owner.query<ListedTenant>(
    `select id, name, state, applications,
            to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdTimestamp"
     from tenants order by name`,
  )
  return rows
}

export async function selectTenant(owner: Owner, name: string): Promise<Tenant | undefined> {
  const { rows } = await owner.query<Tenant>('select id, name, state, applications from tenants where name = $1', [
    name,
  ])
  return rows[0]
}

/** With `no key update`, other commands for the tenant and changes of its access wait. With `update`, every insert waits too. */
export type Strength = 'update' | 'no key update'

/**
 * Locks the row of a tenant in `access_versions` until the end of the transaction. On a cluster, this row is on the server
 * with the data of the tenant, and the foreign keys of all its tables reference it. Returns false if the row does not
 * exist.
 */
export async function lockAccess(owner: Owner, id: string, strength: Strength): Promise<boolean> {
  const { rows } = await owner.query(`select from access_versions where tenant_id = $1 for ${strength}`, [id])
  return rows.length === 1
}

/** Locks the row of a tenant in `tenants` until the end of the transaction. On one server, foreign keys reference it. */
export async function lockTenant(owner: Owner, id: string, strength: Strength): Promise<Tenant | undefined> {
  const { rows } = await owner.query<Tenant>(
    `select id, name, state, applications from tenants where id = $1 for ${strength}`,
    [id],
  )
  return rows[0]
}

export async function updateState(owner: Owner, id: string, state: Tenant['state']): Promise<void> {
  await owner.query('update tenants set state = $2 where id = $1', [id, state])
}

export async function updateApplications(owner: Owner, id: string, applications: Application[]): Promise<void> {
  await owner.query('update tenants set applications = $2 where id = $1', [id, applications])
}

export async function deleteRowsOf(owner: Owner, tenantId: string): Promise<void> {
  const { rows: tables } = await owner.query<{ name: string; needs: string[] }>(
    `select c.relname as name,
            array(select r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
                  where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
     order by c.relname`,
  )
  for (const { name } of inForeignKeyOrder(tables).toReversed()) {
    await owner.query(`delete from ${owner.escapeIdentifier(name)} where tenant_id = $1`, [tenantId])
  }
  await owner.query('delete from tenants where id = $1', [tenantId])
}

/** Notifies every process of a changed tenant. Without the notification, a process sees the change at its next poll. */
export async function announce(owner: Owner, tenantId: string): Promise<void> {
  await owner.query(`select pg_notify('access', $1)`, [tenantId])
}
