import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import type { MigrationSource } from '../database/migrations.ts'
import { inTransaction } from '../database/owner-transaction.ts'
import type { ListedTenant, Owner } from './owner-store.ts'
import * as store from './owner-store.ts'
import { newTenantId } from './placement.ts'
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
  return store.withNameLock(owner, name, async () => {
    const { id, distributed } = await newTenantId(owner)
    if (distributed) {
      await inTransaction(owner, () => reserveName(owner, { id, name }))
      await inTransaction(owner, () => fillTenant(owner, id))
    } else {
      await inTransaction(owner, async () => {
        await reserveName(owner, { id, name })
        await fillTenant(owner, id)
      })
    }
    return { id, name }
  })
}

/**
 * Inserts the name of a new tenant, which is suspended. On a cluster this is a separate transaction: a commit on the
 * worker and on the coordinator is not atomic, and rows on a worker without a tenant could not be found again. An
 * interruption leaves a tenant without rows, which the next command deletes.
 */
async function reserveName(owner: Owner, { id, name }: { id: string; name: string }): Promise<void> {
  const found = await store.selectTenant(owner, name)
  if (found?.state === 'suspended' && !(await store.lockAccess(owner, found.id, 'update'))) {
    await store.lockTenant(owner, found.id, 'update')
    await store.deleteRowsOf(owner, found.id)
  }
  if (await store.insertTenant(owner, { id, name })) return
  const remedy = found?.state === 'suspended' ? '. It is suspended: resume it, or delete it' : ''
  throw new Problem('already_exists', `A tenant named ${name} already exists${remedy}`)
}

/** Inserts the first rows of a new tenant, and activates it. */
async function fillTenant(owner: Owner, id: string): Promise<void> {
  const tenant = await store.lockTenant(owner, id, 'update')
  if (tenant === undefined) throw new Problem('conflict', 'Another command deleted the tenant. Run the command again')
  await store.insertAccess(owner, { tenantId: id, groupId: v7(), groupName: defaultAccessGroup })
  await store.updateState(owner, id, 'active')
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
  return change(owner, name, erase, { strength: 'update', acceptIncomplete: true })
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

type ChangeOptions = {
  strength: store.Strength
  /** Set if the command can change a tenant whose creation or deletion was interrupted. */
  acceptIncomplete: boolean
}

async function change<Result>(
  owner: Owner,
  name: string,
  work: (tenant: Tenant) => Promise<Result>,
  { strength, acceptIncomplete }: ChangeOptions = { strength: 'no key update', acceptIncomplete: false },
): Promise<Result> {
  return inTransaction(owner, async () => {
    const found = await store.selectTenant(owner, name)
    const isComplete = found !== undefined && (await store.lockAccess(owner, found.id, strength))
    // Another command can delete the tenant before this one has its lock.
    const tenant = found === undefined ? undefined : await store.lockTenant(owner, found.id, strength)
    if (tenant === undefined) throw new Problem('not_found', `Tenant ${name} does not exist`)
    if (!isComplete && !acceptIncomplete) throw incomplete(name)
    const result = await work(tenant)
    await store.announce(owner, tenant.id)
    return result
  })
}

function incomplete(name: string): Problem {
  return new Problem(
    'conflict',
    `The creation or deletion of the tenant ${name} was interrupted. Run that command again, or delete the tenant`,
  )
}
