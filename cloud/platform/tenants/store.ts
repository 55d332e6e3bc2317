import type { Handle, ReferenceHandle } from '../database/database.ts'
import { statement } from '../database/statement.ts'

export const applications = ['api', 'ui'] as const
export type Application = (typeof applications)[number]

export type Tenant = {
  id: string
  name: string
  state: 'active' | 'suspended'
  applications: Application[]
}

/**
 * The kinds of keys that identify a principal before its tenant is known. The keys are a client id, a sign-in name
 * (`name@tenant`) or a gateway id. The kinds `issuer` (hash of the issuer and audience of API tokens) and `provider` (id)
 * identify an identity provider.
 */
export type DirectoryKind = 'client' | 'sign-in' | 'gateway' | 'issuer' | 'provider'

export type DirectoryEntry = { tenantId: string; principalId: string }

const tenantById = statement<Tenant>('select id, name, state, applications from tenants where id = $1')
const tenantByName = statement<Tenant>('select id, name, state, applications from tenants where name = $1')
const tenantsById = statement<Tenant>('select id, name, state, applications from tenants where id = any($1::uuid[])')

const severalTenants = statement<{ several: boolean }>('select exists (select from tenants offset 1) as several')

const entryByKey = statement<DirectoryEntry>(
  'select tenant_id as "tenantId", principal_id as "principalId" from directory where kind = $1 and key = $2',
)
const insertEntry = statement<{ key: string }>(
  `insert into directory (tenant_id, kind, key, principal_id) values ($1, $2, $3, $4)
   on conflict (kind, key) do nothing returning key`,
)
const deleteEntry = statement('delete from directory where tenant_id = $1 and kind = $2 and key = $3')
const deleteEntries = statement('delete from directory where tenant_id = $1 and principal_id = $2')

export async function findTenantById(handle: ReferenceHandle, id: string): Promise<Tenant | undefined> {
  return handle.row(tenantById, id)
}

export async function findTenantByName(handle: ReferenceHandle, name: string): Promise<Tenant | undefined> {
  return handle.row(tenantByName, name)
}

export async function listTenantsById(handle: ReferenceHandle, ids: string[]): Promise<Tenant[]> {
  return handle.rows(tenantsById, ids)
}

/** Returns whether the installation has more than one tenant. */
export async function hasSeveralTenants(handle: ReferenceHandle): Promise<boolean> {
  return (await handle.row(severalTenants))?.several === true
}

export async function findDirectoryEntry(
  handle: ReferenceHandle,
  { kind, key }: { kind: DirectoryKind; key: string },
): Promise<DirectoryEntry | undefined> {
  return handle.row(entryByKey, kind, key)
}

/**
 * Inserts a key of a principal: a client id, a sign-in name or a gateway id. Returns false if a principal of any
 * tenant already has this key.
 */
export async function putDirectoryEntry(
  tx: Handle,
  entry: { kind: DirectoryKind; key: string; principalId: string },
): Promise<boolean> {
  return (await tx.row(insertEntry, entry.kind, entry.key, entry.principalId)) !== undefined
}

export async function removeDirectoryEntry(tx: Handle, entry: { kind: DirectoryKind; key: string }): Promise<void> {
  await tx.run(deleteEntry, entry.kind, entry.key)
}

/** Removes all keys of a principal that is deleted. */
export async function removeDirectoryEntries(tx: Handle, principalId: string): Promise<void> {
  await tx.run(deleteEntries, principalId)
}
