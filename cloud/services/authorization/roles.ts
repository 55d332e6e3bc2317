import type { authorization, Role } from '@millwright/api/authorization.ts'
import { isBuiltInRole } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import { requireCovers } from '../../platform/access/escalation.ts'
import * as store from '../../platform/access/store.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { requireMappable, requireUnmapped } from './identity-providers.ts'
import { page, pagingOf } from './paging.ts'
import { added, builtInNames, showBuiltIn, showOwn, splitPage, versionOfBuiltIn } from './role.ts'

type Operations = 'listRoles' | 'createRole' | 'readRole' | 'updateRole' | 'deleteRole'

export function roleHandlers(context: Context): Pick<Handlers<typeof authorization>, Operations> {
  const { database } = context
  return {
    async listRoles({ query }, caller) {
      const paging = pagingOf(query)
      const { builtIn, own } = splitPage(paging)
      const { rows, total } = await database.read(caller, (handle) => store.listRoles(handle, own))
      const roles = [...builtIn.map(showBuiltIn), ...rows.map(showOwn)]
      return page({ rows: roles, total: builtInNames.length + total }, paging, (role) => role)
    },

    async createRole({ body: { data } }, caller) {
      const { name, title = '', permissions } = data
      if (isBuiltInRole(name)) throw new Problem('already_exists', `${name} is a built-in role. Choose another name.`)
      requireCovers(caller, permissions, null)
      return database.transaction(caller, async (tx) => {
        const row = await store.insertRole(tx, { name, title, permissions })
        if (row === undefined) throw new Problem('already_exists', `A role named ${name} already exists`)
        await record(tx, caller, {
          action: 'authorization.createRole',
          target: `role/${name}`,
          detail: { title, permissions },
        })
        await emit(tx, { type: 'authorization.role.created', subject: `role/${name}`, data: { role: showOwn(row) } })
        const location = `/authorization/v1/roles/${row.name}`
        return answer(201, { data: showOwn(row) }, { etag: etagOf(row.version), location })
      })
    },

    async readRole({ params: { name } }, caller) {
      if (isBuiltInRole(name)) {
        return answer(200, { data: showBuiltIn(name) }, { etag: etagOf(versionOfBuiltIn(name)) })
      }
      const row = await database.read(caller, (handle) => getRole(handle, name))
      return answer(200, { data: showOwn(row) }, { etag: etagOf(row.version) })
    },

    async updateRole({ params: { name }, headers, body: { data } }, caller) {
      refuseBuiltIn(name)
      if (data.permissions?.includes('glb_access_manage') === true) await requireMappable(context, caller, name)
      return database.transaction(caller, async (tx) => {
        await store.changeAccess(tx)
        const before = await getRole(tx, name)
        requireMatch(headers['if-match'], before.version)
        requireCovers(caller, added(before.permissions, data.permissions ?? []), null)
        const row = (await store.updateRole(tx, name, data)) ?? before
        await record(tx, caller, {
          action: 'authorization.updateRole',
          target: `role/${name}`,
          detail: { before: contents(before), after: contents(row) },
        })
        await emit(tx, { type: 'authorization.role.updated', subject: `role/${name}`, data: { role: showOwn(row) } })
        return answer(200, { data: showOwn(row) }, { etag: etagOf(row.version) })
      })
    },

    async deleteRole({ params: { name }, headers }, caller) {
      refuseBuiltIn(name)
      await requireUnmapped(context, caller, name)
      return database.transaction(caller, async (tx) => {
        await store.changeAccess(tx)
        const row = await getRole(tx, name)
        requireMatch(headers['if-match'], row.version)
        if (await store.isGranted(tx, name)) {
          throw new Problem('role_in_use', `The role ${name} is still granted. Revoke all grants of the role first.`)
        }
        await store.deleteRole(tx, name)
        await record(tx, caller, {
          action: 'authorization.deleteRole',
          target: `role/${name}`,
          detail: contents(row),
        })
        await emit(tx, { type: 'authorization.role.deleted', subject: `role/${name}`, data: { name } })
        return answer(204)
      })
    },
  }
}

async function getRole(handle: Handle, name: string): Promise<store.RoleRow> {
  const row = await store.findRole(handle, name)
  if (row === undefined) throw new Problem('not_found', `Role ${name} does not exist`)
  return row
}

function refuseBuiltIn(name: string): void {
  if (isBuiltInRole(name))
    throw new Problem('built_in', `${name} is a built-in role and cannot be changed. Create your own role instead.`)
}

function contents({ title, permissions }: Pick<Role, 'title'> & { permissions: string[] }) {
  return { title, permissions }
}
