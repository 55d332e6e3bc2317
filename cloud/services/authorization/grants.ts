import type { authorization, Grant } from '@millwright/api/authorization.ts'
import { Problem } from '@millwright/api/problem.ts'
import { requireAdministrator, requireCovers } from '../../platform/access/escalation.ts'
import * as store from '../../platform/access/store.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { page, pagingOf } from './paging.ts'
import { findPermissions } from './roles.ts'

type Operations = 'listGrants' | 'createGrant' | 'readGrant' | 'deleteGrant'

export function grantHandlers({ database }: Context): Pick<Handlers<typeof authorization>, Operations> {
  return {
    async listGrants({ query }, caller) {
      const paging = pagingOf(query)
      const listed = await database.read(caller, (handle) => store.listGrants(handle, { ...query, ...paging }))
      return page(listed, paging, showGrant)
    },

    async createGrant({ body: { data } }, caller) {
      const { principal, role, accessGroup = null } = data
      return database.transaction(caller, async (tx) => {
        await store.changeAccess(tx)
        await requireGrantable(tx, principal)
        const permissions = await findPermissions(tx, role)
        if (permissions === undefined) throw unknown('role_not_found', 'role', `Role ${role} does not exist`)
        if (accessGroup !== null && (await store.findAccessGroup(tx, accessGroup)) === undefined) {
          throw unknown('access_group_not_found', 'accessGroup', `Access group ${accessGroup} does not exist`)
        }
        requireCovers(caller, permissions, accessGroup)
        const { grant, created } = await store.insertGrant(tx, {
          principalId: principal,
          role,
          accessGroupId: accessGroup,
        })
        if (!created) return answer(200, { data: showGrant(grant) }, { etag: etagOf(grant.version) })
        await record(tx, caller, {
          action: 'authorization.createGrant',
          target: `grant/${grant.id}`,
          detail: { principal, role, accessGroup },
        })
        await emit(tx, {
          type: 'authorization.grant.created',
          subject: `grant/${grant.id}`,
          data: { grant: showGrant(grant) },
        })
        const location = `/authorization/v1/grants/${grant.id}`
        return answer(201, { data: showGrant(grant) }, { etag: etagOf(grant.version), location })
      })
    },

    async readGrant({ params: { id } }, caller) {
      const grant = await database.lookup(caller, (handle) => getGrant(handle, id))
      return answer(200, { data: showGrant(grant) }, { etag: etagOf(grant.version) })
    },

    async deleteGrant({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        await store.changeAccess(tx)
        const grant = await getGrant(tx, id)
        requireCovers(caller, (await findPermissions(tx, grant.role)) ?? [], grant.accessGroupId)
        await requireRevocable(tx, grant)
        await store.deleteGrant(tx, id)
        if (grant.role === 'administrator') await requireAdministrator(tx)
        await record(tx, caller, {
          action: 'authorization.deleteGrant',
          target: `grant/${id}`,
          detail: { principal: grant.principalId, role: grant.role, accessGroup: grant.accessGroupId },
        })
        await emit(tx, {
          type: 'authorization.grant.deleted',
          subject: `grant/${id}`,
          data: { grant: showGrant(grant) },
        })
        return answer(204)
      })
    },
  }
}

function showGrant(row: store.GrantRow): Grant {
  return {
    id: row.id,
    principal: row.principalId,
    principalName: row.principalName,
    role: row.role,
    accessGroup: row.accessGroupId,
    createdTimestamp: row.createdAt,
  }
}

async function getGrant(handle: Handle, id: string): Promise<store.GrantRow> {
  const grant = await store.findGrant(handle, id)
  if (grant === undefined) throw new Problem('not_found', `Grant ${id} does not exist`)
  return grant
}

/**
 * Requires that a principal can get grants. Users of an external issuer cannot get grants, because their tokens contain
 * their roles. An enrolled gateway can get grants: they decide in which access groups the discovery service may write
 * assets for the gateway.
 */
async function requireGrantable(handle: Handle, principalId: string): Promise<void> {
  const principal = await store.findPrincipal(handle, principalId)
  if (principal !== undefined && principal.kind !== 'external') return
  const detail = `No user, service account or enrolled gateway has the id ${principalId}`
  throw unknown('principal_not_found', 'principal', detail)
}

/**
 * Requires that a grant can be revoked. The `gateway` role of an active gateway cannot be revoked, because without the
 * role the gateway is online but gets no jobs. The role of a revoked gateway can be revoked.
 */
async function requireRevocable(handle: Handle, { principalId, role }: store.GrantRow): Promise<void> {
  const principal = role === 'gateway' ? await store.findPrincipal(handle, principalId) : undefined
  if (principal?.kind !== 'gateway' || principal.disabled) return
  throw new Problem(
    'conflict',
    'This grant cannot be revoked, because a gateway needs the role gateway to get its jobs. To refuse all requests of the gateway, revoke the gateway.',
  )
}

type Reference = 'principal_not_found' | 'role_not_found' | 'access_group_not_found'

function unknown(code: Reference, field: string, detail: string): Problem {
  return new Problem(code, detail, { errors: [{ pointer: `/data/${field}`, code, detail }] })
}
