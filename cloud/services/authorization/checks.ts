import type { authorization } from '@millwright/api/authorization.ts'
import { offeredPermissions } from '@millwright/api/contracts.ts'
import { permissions } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { groupsWith, isVisibleGroup, may } from '../../platform/access/rights.ts'
import * as store from '../../platform/access/store.ts'
import type { Handle } from '../../platform/database/database.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { evaluate } from './check.ts'
import { page, pagingOf } from './paging.ts'
import { builtInRolesWith } from './role.ts'

type Operations = 'listPermissions' | 'listHolders' | 'check' | 'readOwnRights'

export function checkHandlers({ database }: Context): Pick<Handlers<typeof authorization>, Operations> {
  return {
    async listPermissions() {
      return {
        data: offeredPermissions.map((name) => ({
          name,
          scope: permissions[name].scope,
          title: permissions[name].title,
        })),
      }
    },

    async listHolders({ params: { permission }, query: { accessGroup, ...query } }, caller) {
      const paging = pagingOf(query)
      const listed = await database.read(caller, async (handle) => {
        const roles = [...builtInRolesWith(permission), ...(await store.listRolesWith(handle, permission))]
        const everyGroup = accessGroup === undefined ? ('anywhere' as const) : { group: accessGroup }
        const reach = permissions[permission].scope === 'global' ? 'tenant' : everyGroup
        return store.listHolders(handle, { roles, reach, ...paging })
      })
      return page(listed, paging, ({ principalId, principalName, grants }) => ({
        principal: principalId,
        principalName,
        because: grants,
      }))
    },

    async check({ query }, caller) {
      const { permission, principal: principalId = caller.principal.id, accessGroup = null } = query
      if (principalId !== caller.principal.id) requirePermission(caller, 'glb_access_manage')
      return database.read(caller, async (handle) => {
        if (accessGroup !== null) await requireGroup(handle, caller, accessGroup)
        const { principal, held } = await getAccess(handle, principalId)
        const query = { ...principal, held, permission, accessGroup }
        const verdict = evaluate(query, {
          accessGroups: await groupNames(handle, [accessGroup, ...held.map((role) => role.accessGroupId)]),
          rolesWith: [
            ...builtInRolesWith(permission),
            ...(may(caller, 'glb_access_manage') ? await store.listRolesWith(handle, permission) : []),
          ],
        })
        return { data: { ...verdict, principal: principalId, permission, accessGroup } }
      })
    },

    async readOwnRights(_, caller) {
      const held = offeredPermissions
        .map((permission) => ({ permission, accessGroups: groupsWith(caller, permission) }))
        .filter(({ accessGroups }) => accessGroups.length > 0)
      return {
        data: {
          principal: caller.principal.id,
          name: caller.principal.name,
          tenant: caller.tenantName,
          roles: [...caller.roles],
          permissions: held,
        },
      }
    },
  }
}

/**
 * Requires that the access group exists and that the caller can see it. Hidden and missing groups return the same
 * error.
 */
async function requireGroup(handle: Handle, caller: Caller, id: string): Promise<void> {
  const group = await store.findAccessGroup(handle, id)
  if (group !== undefined && isVisibleGroup(caller.rights, id)) return
  throw new Problem('access_group_not_found', `Access group ${id} does not exist`)
}

async function getAccess(handle: Handle, principalId: string): Promise<store.PrincipalAccess> {
  const access = await store.findAccess(handle, principalId)
  if (access === undefined) throw new Problem('principal_not_found', `Principal ${principalId} does not exist`)
  return access
}

async function groupNames(handle: Handle, ids: (string | null)[]): Promise<Map<string, string>> {
  const groupIds = new Set(ids.filter((id) => id !== null))
  if (groupIds.size === 0) return new Map()
  return new Map((await store.listAccessGroupsAmong(handle, [...groupIds])).map(({ id, name }) => [id, name]))
}
