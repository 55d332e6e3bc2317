import { Problem } from '@millwright/api/problem.ts'
import { changeAccess, findPrincipalByName, insertGrant, insertPrincipal } from '../../../platform/access/store.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Scope, Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import type { Context } from '../../../platform/service.ts'
import { putDirectoryEntry } from '../../../platform/tenants/store.ts'
import { hashOf } from '../oauth/opaque-token.ts'
import * as store from '../store.ts'
import { requireStrongPassword } from './password.ts'
import { hashPassword } from './password-hash.ts'
import { createClientId, createClientSecret } from './server-user.ts'

export type NewUser = { name: string; password: string; displayName?: string | undefined }

/**
 * Adds a user with a password and without permissions. The caller must hash the password before the transaction, because
 * hashing takes longer than a transaction should.
 */
export async function addUser(tx: Transaction, user: { name: string; hash: string; displayName?: string | undefined }) {
  const { name, hash, displayName = '' } = user
  const { id } = await insertPrincipal(tx, { kind: 'user', name, displayName })
  await store.putPassword(tx, id, hash)
  await emit(tx, { type: 'identity.user.created', subject: `user/${id}`, data: { name } })
  return id
}

export type ServerUserSecret = { clientId: string; clientSecret: string }

/**
 * Creates a client id and a secret before the server user exists. The caller can therefore store them before they become
 * valid.
 */
export function newServerUserSecret(): ServerUserSecret {
  return { clientId: createClientId(), clientSecret: createClientSecret() }
}

export type NewServerUser = { name: string; secret?: ServerUserSecret }

/** Adds a server user without permissions. The secret is returned only here and cannot be read later. */
export async function addServerUser(tx: Transaction, { name, secret = newServerUserSecret() }: NewServerUser) {
  const { clientId, clientSecret } = secret
  const { id } = await insertPrincipal(tx, { kind: 'server_user', name })
  await store.insertSecret(tx, { principalId: id, clientId, hash: hashOf(clientSecret) })
  if (!(await putDirectoryEntry(tx, { kind: 'client', key: clientId, principalId: id }))) {
    throw new Problem('already_exists', 'A service account with this client id already exists')
  }
  await emit(tx, { type: 'identity.server_user.created', subject: `server-user/${id}`, data: { name, clientId } })
  return { id, clientId, clientSecret }
}

type DatabaseContext = Pick<Context, 'database'>
type Role = { role?: string }

/** Creates a user with a role in the whole tenant, for the first start and the command line. */
export async function createUser(
  { database }: DatabaseContext,
  tenant: Scope,
  user: NewUser & Role,
): Promise<{ id: string }> {
  requireStrongPassword(user.password, user.name)
  const hash = await hashPassword(user.password)
  return database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const id = await addUser(tx, { ...user, hash })
    await grant(tx, { id, role: user.role, action: 'identity.createUser', target: `user/${id}` })
    return { id }
  })
}

/** Creates a server user with a role in the whole tenant. */
export async function createServerUser({ database }: DatabaseContext, tenant: Scope, user: NewServerUser & Role) {
  return database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const created = await addServerUser(tx, user)
    const target = `server-user/${created.id}`
    await grant(tx, { id: created.id, role: user.role, action: 'identity.createServerUser', target })
    return created
  })
}

type RoleGrant = { id: string; role: string | undefined; action: string; target: string }

async function grant(tx: Transaction, { id, role, action, target }: RoleGrant): Promise<void> {
  if (role !== undefined) await insertGrant(tx, { principalId: id, role })
  const actor = systemCaller({ tenantId: tx.tenantId, tenantName: '' })
  await record(tx, actor, { action, target, detail: role === undefined ? {} : { role } })
}

/**
 * Sets a new password and ends all sessions of the user. The command line uses this function when the last
 * administrator has lost the password.
 */
export async function resetPassword(
  { database }: DatabaseContext,
  tenant: Scope,
  user: { name: string; password: string },
) {
  requireStrongPassword(user.password, user.name)
  const hash = await hashPassword(user.password)
  await database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const principal = await findPrincipalByName(tx, { kind: 'user', name: user.name })
    if (principal === undefined) throw new Problem('not_found', `User ${user.name} does not exist`)
    await store.putPassword(tx, principal.id, hash)
    const ids = await store.endSessionsOf(tx, principal.id)
    await revokeTokens(tx, { principalId: principal.id, ids })
    const actor = systemCaller({ tenantId: tx.tenantId, tenantName: '' })
    const detail = { changed: ['password'] }
    await record(tx, actor, { action: 'identity.updateUser', target: `user/${principal.id}`, detail })
  })
}
