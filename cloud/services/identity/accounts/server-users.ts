import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { requireOutranks } from '../../../platform/access/escalation.ts'
import { changeAccess, deletePrincipal, updatePrincipal } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import { removeDirectoryEntries } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { hashOf } from '../oauth/opaque-token.ts'
import * as store from '../store.ts'
import { addServerUser } from './accounts.ts'
import { createClientSecret } from './server-user.ts'
import { serverUserOf } from './user.ts'

type Operations =
  | 'listServerUsers'
  | 'createServerUser'
  | 'readServerUser'
  | 'updateServerUser'
  | 'rotateServerUserSecret'
  | 'deleteServerUser'

export function serverUserHandlers({ context }: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { database, settings } = context
  const withSecret = (row: store.ServerUserRow, clientSecret: string) => ({
    data: { ...serverUserOf(row), clientSecret, tokenUrl: `${settings.baseUrl}/oauth/token` },
  })
  return {
    async listServerUsers({ query }, caller) {
      const { name, limit = 50, offset = 0 } = query
      const { rows, total } = await database.read(caller, (handle) =>
        store.listServerUsers(handle, { name, limit, offset }),
      )
      return { data: rows.map(serverUserOf), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async createServerUser({ body: { data } }, caller) {
      const { created, row } = await database.transaction(caller, async (tx) => {
        const created = await addServerUser(tx, data)
        const detail = { name: data.name, clientId: created.clientId }
        await record(tx, caller, { action: 'identity.createServerUser', target: `server-user/${created.id}`, detail })
        return { created, row: await getServerUser(tx, created.id) }
      })
      const headers = { ...unstored, location: `/iam/v1/server-users/${created.id}`, etag: etagOf(row.version) }
      return answer(201, withSecret(row, created.clientSecret), headers)
    },

    async readServerUser({ params }, caller) {
      const row = await database.lookup(caller, (handle) => getServerUser(handle, params.id))
      return answer(200, { data: serverUserOf(row) }, { etag: etagOf(row.version) })
    },

    async updateServerUser({ params: { id }, body, headers }, caller) {
      const { name, disabled } = body.data
      const row = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const before = await getServerUser(tx, id)
        requireMatch(headers['if-match'], before.version)
        await requireOutranks(tx, caller, id)
        await updatePrincipal(tx, id, { name, disabled })
        const detail = { changed: Object.keys(body.data), ...(disabled === undefined ? {} : { disabled }) }
        await record(tx, caller, { action: 'identity.updateServerUser', target: `server-user/${id}`, detail })
        const after = await getServerUser(tx, id)
        const data = { name: after.name, clientId: after.clientId, changed: detail.changed }
        await emit(tx, { type: 'identity.server_user.updated', subject: `server-user/${id}`, data })
        return after
      })
      return answer(200, { data: serverUserOf(row) }, { etag: etagOf(row.version) })
    },

    async rotateServerUserSecret({ params: { id }, body }, caller) {
      const revoke = body?.data.revokeTokens === true
      const secret = createClientSecret()
      const row = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const { name, clientId } = await getServerUser(tx, id)
        await requireOutranks(tx, caller, id)
        await store.replaceSecret(tx, id, hashOf(secret))
        if (revoke) {
          const ids = await store.beginTokenFamily(tx, id, v7())
          await revokeTokens(tx, { principalId: id, ids })
        }
        // This update only increments the version. Responses contain the creation time of the secret, so the ETag must
        // change.
        await updatePrincipal(tx, id, {})
        const detail = { clientId, revokedTokens: revoke }
        await record(tx, caller, { action: 'identity.rotateServerUserSecret', target: `server-user/${id}`, detail })
        const data = { name, clientId, changed: ['secret'] }
        await emit(tx, { type: 'identity.server_user.updated', subject: `server-user/${id}`, data })
        return getServerUser(tx, id)
      })
      return answer(200, withSecret(row, secret), { ...unstored, etag: etagOf(row.version) })
    },

    async deleteServerUser({ params: { id }, headers }, caller) {
      await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const { name, clientId, version } = await getServerUser(tx, id)
        requireMatch(headers['if-match'], version)
        await requireOutranks(tx, caller, id)
        await removeDirectoryEntries(tx, id)
        await deletePrincipal(tx, id)
        const detail = { name, clientId }
        await record(tx, caller, { action: 'identity.deleteServerUser', target: `server-user/${id}`, detail })
        await emit(tx, { type: 'identity.server_user.deleted', subject: `server-user/${id}`, data: detail })
      })
      return answer(204)
    },
  }
}

/** The headers of a response that contains a secret. Caches must not store such a response. */
const unstored = { 'cache-control': 'no-store' }

async function getServerUser(handle: Handle, id: string): Promise<store.ServerUserRow> {
  const row = await store.findServerUser(handle, id)
  if (row === undefined) throw new Problem('not_found', `Service account ${id} does not exist`)
  return row
}
