import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { requireAdministrator, requireOutranks } from '../../../platform/access/escalation.ts'
import { changeAccess, deletePrincipal, updatePrincipal } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { endRemoteSessions } from '../sign-in/session-end.ts'
import * as store from '../store.ts'
import { addUser } from './accounts.ts'
import { requireStrongPassword } from './password.ts'
import { hashPassword } from './password-hash.ts'
import { userOf } from './user.ts'

type Operations = 'listUsers' | 'createUser' | 'readUser' | 'updateUser' | 'deleteUser'

export function userHandlers({ context }: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { database } = context
  return {
    async listUsers({ query }, caller) {
      const { name, limit = 50, offset = 0 } = query
      const { rows, total } = await database.read(caller, (handle) => store.listUsers(handle, { name, limit, offset }))
      return { data: rows.map(userOf), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async createUser({ body }, caller) {
      const { name, displayName, password } = body.data
      requireStrongPassword(password, name)
      const hash = await hashPassword(password)
      const user = await database.transaction(caller, async (tx) => {
        const id = await addUser(tx, { name, displayName, hash })
        await record(tx, caller, { action: 'identity.createUser', target: `user/${id}`, detail: { name } })
        return getUser(tx, id)
      })
      const headers = { location: `/iam/v1/users/${user.id}`, etag: etagOf(user.version) }
      return answer(201, { data: userOf(user) }, headers)
    },

    async readUser({ params }, caller) {
      const user = await database.lookup(caller, (handle) => getUser(handle, params.id))
      return answer(200, { data: userOf(user) }, { etag: etagOf(user.version) })
    },

    async updateUser({ params: { id }, body, headers }, caller) {
      const { displayName, disabled, password } = body.data
      if (password !== undefined && id === caller.principal.id) {
        throw new Problem(
          'conflict',
          'Change your own password with POST /iam/v1/password, which requires the current password',
        )
      }
      const { name, provider } = await database.read(caller, (handle) => getUser(handle, id))
      if (password !== undefined && provider !== null) {
        throw new Problem(
          'conflict',
          `${name} signs in with ${provider} and has no password here. Change the password at the identity provider.`,
        )
      }
      if (password !== undefined) requireStrongPassword(password, name)
      const hash = password === undefined ? undefined : await hashPassword(password)

      const user = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const before = await getUser(tx, id)
        requireMatch(headers['if-match'], before.version)
        await requireOutranks(tx, caller, id)
        await updatePrincipal(tx, id, { displayName, disabled })
        if (hash !== undefined) await store.putPassword(tx, id, hash)
        if (hash !== undefined || disabled === true) {
          const ids = await store.endSessionsOf(tx, id)
          await revokeTokens(tx, { principalId: id, ids })
        }
        if (disabled === true) await requireAdministrator(tx)
        const changed = Object.keys(body.data)
        const detail = { changed, ...(disabled === undefined ? {} : { disabled }) }
        await record(tx, caller, { action: 'identity.updateUser', target: `user/${id}`, detail })
        await emit(tx, { type: 'identity.user.updated', subject: `user/${id}`, data: { name, changed } })
        return getUser(tx, id)
      })
      if (hash !== undefined) await endRemoteSessions(context, caller, id)
      return answer(200, { data: userOf(user) }, { etag: etagOf(user.version) })
    },

    async deleteUser({ params: { id }, headers }, caller) {
      await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const { name, version } = await getUser(tx, id)
        requireMatch(headers['if-match'], version)
        await requireOutranks(tx, caller, id)
        await deletePrincipal(tx, id)
        await requireAdministrator(tx)
        await record(tx, caller, { action: 'identity.deleteUser', target: `user/${id}`, detail: { name } })
        await emit(tx, { type: 'identity.user.deleted', subject: `user/${id}`, data: { name } })
      })
      return answer(204)
    },
  }
}

async function getUser(handle: Handle, id: string): Promise<store.UserRow> {
  const user = await store.findUser(handle, id)
  if (user === undefined) throw new Problem('not_found', `User ${id} does not exist`)
  return user
}
