import { randomBytes } from 'node:crypto'
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cloud } from './cloud.ts'
import { changeAccess, listPrincipals } from './platform/access/store.ts'
import { type Address, openClient } from './platform/database/connection.ts'
import type { Database, Scope } from './platform/database/database.ts'
import { createTenant, findTenant } from './platform/tenants/tenants.ts'
import { createServerUser, createUser, newServerUserSecret } from './services/identity/accounts/accounts.ts'
import { findSecret } from './services/identity/store.ts'

/** The credentials of the first accounts, as they are written to `first-run.json`. */
export type Access = {
  baseUrl: string
  clientId: string
  clientSecret: string
  adminUser: string
  adminPassword: string
}

export type FirstRun = {
  file: string
  /** The content of the file. Undefined if the file does not exist. */
  access: Access | undefined
  isNew: boolean
}

type Options = { cloud: Cloud; owner: Address; home: string; baseUrl: string; isIdentityHere: boolean }

const tenantName = 'default'
const adminUser = 'admin'

/** Creates a tenant, an administrator and a service account, if the platform has no users. */
export async function firstRun({ cloud, owner, home, baseUrl, isIdentityHere }: Options): Promise<FirstRun> {
  const file = join(home, 'first-run.json')
  if (!isIdentityHere) return { file, access: await refreshAccess(file, baseUrl), isNew: false }
  const access = await ensureAdministrator(cloud.context.database, await ensureTenant(owner), { file, baseUrl })
  return { file, access: access ?? (await refreshAccess(file, baseUrl)), isNew: access !== undefined }
}

/**
 * Creates the first accounts. Returns undefined if the tenant already has users. The credentials are written to a draft
 * file before the commit, and the draft gets its final name after the commit. So the file never contains credentials
 * that do not work. After a crash between these steps, the next start finds the draft. If two processes start at the
 * same time, one of them creates the accounts.
 */
export async function ensureAdministrator(
  database: Database,
  { tenantId }: Scope,
  { file, baseUrl }: { file: string; baseUrl: string },
): Promise<Access | undefined> {
  if (await hasUsers(database, { tenantId })) {
    await recoverDraft(database, { tenantId }, file)
    return undefined
  }
  const created = await database.transaction({ tenantId }, async (tx) => {
    await changeAccess(tx)
    const scope = { tenantId, transaction: tx }
    if (await hasUsers(database, scope)) return undefined
    const secret = newServerUserSecret()
    const access: Access = { baseUrl, ...secret, adminUser, adminPassword: newPassword() }
    await writeDraft(file, access)
    await createServerUser({ database }, scope, { name: 'first-run', secret, role: 'administrator' })
    await createAdministrator(database, scope, access.adminPassword)
    return access
  })
  if (created !== undefined) await publish(file)
  return created
}

/**
 * Handles a draft that a crash left. If the accounts were committed, the draft gets the name of the final file. If the
 * transaction was rolled back, the draft is deleted.
 */
async function recoverDraft(database: Database, scope: Scope, file: string): Promise<void> {
  const draft = await readAccess(draftOf(file))
  if (draft === undefined) return
  const secret = await database.read(scope, (handle) => findSecret(handle, draft.clientId))
  if (secret !== undefined) await publish(file)
  else await rm(draftOf(file), { force: true })
}

async function hasUsers(database: Database, scope: Scope): Promise<boolean> {
  const users = await database.read(scope, (handle) => listPrincipals(handle, { kind: 'user', limit: 1, offset: 0 }))
  return users.total > 0
}

/** Creates the first user of a tenant, which is its administrator. */
export async function createAdministrator(database: Database, tenant: Scope, password = newPassword()) {
  const user = { name: adminUser, displayName: 'Administrator', password, role: 'administrator' }
  await createUser({ database }, tenant, user)
  return { name: adminUser, password }
}

export function newPassword(): string {
  return randomBytes(15).toString('base64url')
}

async function ensureTenant(address: Address): Promise<Scope> {
  const owner = await openClient(address)
  try {
    const tenant = await findTenant(owner, tenantName)
    if (tenant?.state === 'active') return { tenantId: tenant.id }
    // A suspended tenant can be the result of an interrupted start, which is then repeated. A concurrent start may have
    // created the tenant. The result is the same.
    const created = await createTenant(owner, { name: tenantName }).catch(async (error: unknown) => {
      const other = await findTenant(owner, tenantName)
      if (other === undefined) throw error
      return other
    })
    return { tenantId: created.id }
  } finally {
    await owner.end()
  }
}

/** Updates the URL in the file. Returns undefined if the operator has deleted the file. */
async function refreshAccess(file: string, baseUrl: string): Promise<Access | undefined> {
  const access = await readAccess(file)
  if (access === undefined) return undefined
  if (access.baseUrl !== baseUrl) {
    await writeDraft(file, { ...access, baseUrl })
    await publish(file)
  }
  return { ...access, baseUrl }
}

async function readAccess(file: string): Promise<Access | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** Renames the draft to the final file. Another process that uses the same home may have renamed it already. */
async function publish(file: string): Promise<void> {
  await rename(draftOf(file), file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

function draftOf(file: string): string {
  return `${file}.draft`
}

/** Writes the draft and flushes it to disk, so that it survives a crash. */
async function writeDraft(file: string, access: Access): Promise<void> {
  await rm(draftOf(file), { force: true })
  await writeFile(draftOf(file), `${JSON.stringify(access, undefined, 2)}\n`, { mode: 0o600, flush: true })
  await chmod(draftOf(file), 0o600)
}
