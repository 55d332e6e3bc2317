import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import type { MigrationSource } from '../database/migrations.ts'
import { inTransaction } from '../database/owner-transaction.ts'
import type { ListedTenant, Owner } from './owner-store.ts'
import * as store from './owner-store.ts'
import type { Application, Tenant } from './store.ts'

export { TenantDirectory } from './directory.ts'
export type { ListedTenant, Owner } from './owner-store.ts'

export const tenantsMigrations: MigrationSource = {
  module: 'tenants',
  folder: new URL('./migrations/', import.meta.url),
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,62}$/

export async function createTenant(owner: Owner, { name }: { name: string }): Promise<{ id: string; name: string }> {
  if (!namePattern.test(name)) {
    throw new Problem(
      'invalid_body',
      `"${name}" is not a valid tenant name. Use 1 to 63 lower-case letters, digits and dashes, and no dash at the start`,
    )
  }
  const tenant = { id: v7(), name }
  return inTransaction(owner, async () => {
    if (!(await store.insertTenant(owner, tenant))) {
      throw new Problem('already_exists', `A tenant named ${name} already exists`)
    }
    await store.insertAccess(owner, { tenantId: tenant.id, groupId: v7(), groupName: defaultAccessGroup })
    return tenant
  })
}

export async function listTenants(owner: Owner): Promise<ListedTenant[]> {
  return store.selectTenants(owner)
}

export async function findTenant(owner: Owner, name: string): Promise<Tenant | undefined> {
  return store.selectTenant(owner, name)
}

/** Suspends a tenant. The platform then refuses every request of the tenant, and its data is kept. */
export async function suspendTenant(owner: Owner, name: string): Promise<void> {
  await change(owner, name, ({ id }) => store.updateState(owner, id, 'suspended'))
}

export async function resumeTenant(owner: Owner, name: string): Promise<void> {
  await change(owner, name, ({ id }) => store.updateState(owner, id, 'active'))
}

/**
 * Deletes a tenant and all its data in the database. The tenant must be suspended first, to prevent mistakes. Returns the
 * id of the tenant.
 */
export async function deleteTenant(owner: Owner, name: string): Promise<string> {
  const erase = async ({ id, state }: Tenant) => {
    if (state !== 'suspended') {
      throw new Problem('conflict', `The tenant ${name} is active: suspend it first, then delete it`)
    }
    await store.deleteRowsOf(owner, id)
    return id
  }
  return change(owner, name, erase, 'update')
}

/**
 * Provisions an application for a tenant. Without `api`, the token endpoint refuses the tenant's service accounts and
 * gateways. Without `ui`, it refuses the tenant's users.
 */
export async function provisionApplication(owner: Owner, name: string, application: Application): Promise<void> {
  await change(owner, name, ({ id, applications }) =>
    store.updateApplications(owner, id, [...new Set([...applications, application])].toSorted()),
  )
}

export async function withdrawApplication(owner: Owner, name: string, application: Application): Promise<void> {
  await change(owner, name, ({ id, applications }) =>
    store.updateApplications(
      owner,
      id,
      applications.filter((other) => other !== application),
    ),
  )
}

async function change<Result>(
  owner: Owner,
  name: string,
  work: (tenant: Tenant) => Promise<Result>,
  strength: 'update' | 'no key update' = 'no key update',
): Promise<Result> {
  return inTransaction(owner, async () => {
    const found = await store.selectTenant(owner, name)
    // Another command can delete the tenant before this one has its lock.
    const tenant = found === undefined ? undefined : await store.lockTenant(owner, found.id, strength)
    if (tenant === undefined) throw new Problem('not_found', `Tenant ${name} does not exist`)
    const result = await work(tenant)
    await store.announce(owner, tenant.id)
    return result
  })
}
