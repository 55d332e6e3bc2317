import type { authorization, Grant } from '@millwright/api/authorization.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requireAdministrator, requireCovers } from '../../platform/access/escalation.ts'
import { findPermissions } from '../../platform/access/role-permissions.ts'
import * as store from '../../platform/access/store.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { identityProvidersOf } from './identity-providers.ts'
import { page, pagingOf } from './paging.ts'

type Operations = 'listGrants' | 'createGrant' | 'readGrant' | 'deleteGrant'

export function grantHandlers(context: Context): Pick<Handlers<typeof authorization>, Operations> {
  const { database } = context
  return {
    async listGrants({ query }, caller) {
      const paging = pagingOf(query)
      const listed = await database.read(caller, (handle) => store.listGrants(handle, { ...query, ...paging }))
      const titles = await titlesFor(context, caller, listed.rows)
      return page(listed, paging, (grant) => showGrant(grant, titles))
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
      const titles = await titlesFor(context, caller, [grant])
      return answer(200, { data: showGrant(grant, titles) }, { etag: etagOf(grant.version) })
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

/** Returns the titles of the identity providers of the grants, by id. */
async function titlesFor(
  context: Context,
  caller: Caller,
  grants: readonly store.GrantRow[],
): Promise<ReadonlyMap<string, string>> {
  if (grants.every(({ providerId }) => providerId === null)) return new Map()
  return new Map((await identityProvidersOf(context, caller)).map(({ id, title }) => [id, title]))
}

function showGrant(row: store.GrantRow, titles: ReadonlyMap<string, string> = new Map()): Grant {
  return {
    id: row.id,
    principal: row.principalId,
    principalName: row.principalName,
    role: row.role,
    accessGroup: row.accessGroupId,
    provider: row.providerId === null ? null : (titles.get(row.providerId) ?? row.providerId),
    createdTimestamp: row.createdAt,
  }
}

async function getGrant(handle: Handle, id: string): Promise<store.GrantRow> {
  const grant = await store.findGrant(handle, id)
  if (grant === undefined) throw new Problem('not_found', `Grant ${id} does not exist`)
  return grant
}

/**
 * Requires that a principal can get grants. The grants of an enrolled gateway decide in which access groups the discovery
 * service may write assets for the gateway.
 */
async function requireGrantable(handle: Handle, principalId: string): Promise<void> {
  if ((await store.findPrincipal(handle, principalId)) !== undefined) return
  const detail = `No user, service account or enrolled gateway has the id ${principalId}`
  throw unknown('principal_not_found', 'principal', detail)
}

/**
 * Requires that a grant can be revoked. A grant from the claims of an identity provider cannot be revoked, because the
 * next sign-in would create it again. The `gateway` role of an active gateway cannot be revoked, because without the
 * role the gateway is online but gets no jobs. The role of a revoked gateway can be revoked.
 */
async function requireRevocable(handle: Handle, { principalId, role, providerId }: store.GrantRow): Promise<void> {
  if (providerId !== null) {
    throw new Problem(
      'conflict',
      'This grant comes from an identity provider. Remove the user from the group at the provider, or remove the mapping of the provider. To refuse all requests of the user now, disable the user.',
    )
  }
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
