import { Problem } from '@millwright/api/problem.ts'
import { changeAccess, findPrincipalByName, insertGrant, insertPrincipal } from '../../../platform/access/store.ts'
import { systemCaller } from '../../../platform/access/system.ts'
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

/** A user with a password, without any rights. The hash is made beforehand: it takes longer than a transaction should. */
export async function addUser(tx: Transaction, user: { name: string; hash: string; displayName?: string | undefined }) {
  const { name, hash, displayName = '' } = user
  const { id } = await insertPrincipal(tx, { kind: 'user', name, displayName })
  await store.putPassword(tx, id, hash)
  await emit(tx, { type: 'identity.user.created', subject: `user/${id}`, data: { name } })
  return id
}

export type ServerUserSecret = { clientId: string; clientSecret: string }

/** Made before the server user, for who has to write it down before it is valid. */
export function newServerUserSecret(): ServerUserSecret {
  return { clientId: createClientId(), clientSecret: createClientSecret() }
}

export type NewServerUser = { name: string; secret?: ServerUserSecret }

/** A server user, without any rights. The secret exists in the answer only. */
export async function addServerUser(tx: Transaction, { name, secret = newServerUserSecret() }: NewServerUser) {
  const { clientId, clientSecret } = secret
  const { id } = await insertPrincipal(tx, { kind: 'server_user', name })
  await store.insertSecret(tx, { principalId: id, clientId, hash: hashOf(clientSecret) })
  if (!(await putDirectoryEntry(tx, { kind: 'client', key: clientId, principalId: id }))) {
    throw new Problem('already_exists', 'The client id is taken')
  }
  await emit(tx, { type: 'identity.server_user.created', subject: `server-user/${id}`, data: { name, clientId } })
  return { id, clientId, clientSecret }
}

type Place = Pick<Context, 'database'>
type Role = { role?: string }

/** For the first start and the command line: a user who holds a role in the whole tenant. */
export async function createUser({ database }: Place, tenant: Scope, user: NewUser & Role): Promise<{ id: string }> {
  requireStrongPassword(user.password, user.name)
  const hash = await hashPassword(user.password)
  return database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const id = await addUser(tx, { ...user, hash })
    await grant(tx, { id, role: user.role, action: 'identity.createUser', target: `user/${id}` })
    return { id }
  })
}

/** The same for a program. */
export async function createServerUser({ database }: Place, tenant: Scope, user: NewServerUser & Role) {
  return database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const made = await addServerUser(tx, user)
    const target = `server-user/${made.id}`
    await grant(tx, { id: made.id, role: user.role, action: 'identity.createServerUser', target })
    return made
  })
}

type Granting = { id: string; role: string | undefined; action: string; target: string }

async function grant(tx: Transaction, { id, role, action, target }: Granting): Promise<void> {
  if (role !== undefined) await insertGrant(tx, { principalId: id, role })
  const who = systemCaller({ tenantId: tx.tenantId, tenantName: '' })
  await record(tx, who, { action, target, detail: role === undefined ? {} : { role } })
}

/** For the command line, when the last administrator has forgotten theirs: signs them out everywhere. */
export async function resetPassword({ database }: Place, tenant: Scope, user: { name: string; password: string }) {
  requireStrongPassword(user.password, user.name)
  const hash = await hashPassword(user.password)
  await database.transaction(tenant, async (tx) => {
    const principal = await findPrincipalByName(tx, { kind: 'user', name: user.name })
    if (principal === undefined) throw new Problem('not_found', `There is no user named ${user.name}`)
    await store.putPassword(tx, principal.id, hash)
    await store.endSessionsOf(tx, principal.id)
    const who = systemCaller({ tenantId: tx.tenantId, tenantName: '' })
    const detail = { changed: ['password'] }
    await record(tx, who, { action: 'identity.updateUser', target: `user/${principal.id}`, detail })
  })
}
