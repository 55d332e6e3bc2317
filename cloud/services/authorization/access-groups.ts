import type { authorization } from '@millwright/api/authorization.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import { isVisibleGroup, type Rights, visibleGroups } from '../../platform/access/rights.ts'
import * as store from '../../platform/access/store.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { showAccessGroup } from './access-group.ts'
import { page, pagingOf } from './paging.ts'

type Operations =
  | 'listAccessGroups'
  | 'createAccessGroup'
  | 'readAccessGroup'
  | 'updateAccessGroup'
  | 'deleteAccessGroup'

export function accessGroupHandlers({ database }: Context): Pick<Handlers<typeof authorization>, Operations> {
  return {
    async listAccessGroups({ query: { name, ...query } }, caller) {
      const paging = pagingOf(query)
      const listed = await database.read(caller, (handle) => listVisible(handle, caller.rights, { name, ...paging }))
      return page(listed, paging, showAccessGroup)
    },

    async createAccessGroup({ body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const group = await store.insertAccessGroup(tx, data.name)
        if (group === undefined) {
          throw new Problem('already_exists', `An access group named ${data.name} already exists`)
        }
        await record(tx, caller, {
          action: 'authorization.createAccessGroup',
          target: `access-group/${group.id}`,
          detail: { name: group.name },
        })
        await emitChange(tx, 'created', group)
        const location = `/authorization/v1/access-groups/${group.id}`
        return answer(201, { data: showAccessGroup(group) }, { etag: etagOf(group.version), location })
      })
    },

    async readAccessGroup({ params: { id } }, caller) {
      const group = await database.lookup(caller, (handle) => store.findAccessGroup(handle, id))
      if (group === undefined || !isVisibleGroup(caller.rights, id)) throw missing(id)
      return answer(200, { data: showAccessGroup(group) }, { etag: etagOf(group.version) })
    },

    async updateAccessGroup({ params: { id }, headers, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const before = await lock(tx, id)
        requireMatch(headers['if-match'], before.version)
        const group = (await store.renameAccessGroup(tx, id, data.name)) ?? before
        await record(tx, caller, {
          action: 'authorization.updateAccessGroup',
          target: `access-group/${id}`,
          detail: { before: { name: before.name }, after: { name: group.name } },
        })
        await emitChange(tx, 'updated', group)
        return answer(200, { data: showAccessGroup(group) }, { etag: etagOf(group.version) })
      })
    },

    async deleteAccessGroup({ params: { id }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const group = await lock(tx, id)
        requireMatch(headers['if-match'], group.version)
        await store.deleteAccessGroup(tx, group)
        await record(tx, caller, {
          action: 'authorization.deleteAccessGroup',
          target: `access-group/${id}`,
          detail: { name: group.name },
        })
        await emitChange(tx, 'deleted', group)
        return answer(204)
      })
    },
  }
}

type Query = store.Paging & { name: string | undefined }

async function listVisible(handle: Handle, rights: Rights, { name, ...paging }: Query) {
  const visible = visibleGroups(rights)
  if (name !== undefined) {
    const group = await store.findAccessGroupByName(handle, name)
    return store.pageOf(group !== undefined && isVisibleGroup(rights, group.id) ? [group] : [], paging)
  }
  if (visible === 'all') return store.listAccessGroups(handle, paging)
  return store.pageOf(await store.listAccessGroupsAmong(handle, [...visible]), paging)
}

async function lock(tx: Transaction, id: string): Promise<store.AccessGroupRow> {
  const group = await store.lockAccessGroup(tx, id)
  if (group === undefined) throw missing(id)
  if (group.name === defaultAccessGroup) {
    throw new Problem('built_in', `The access group ${group.name} is built in and cannot be renamed or deleted`)
  }
  return group
}

async function emitChange(tx: Transaction, event: 'created' | 'updated' | 'deleted', group: store.AccessGroupRow) {
  await emit(tx, {
    type: `authorization.access-group.${event}`,
    subject: `access-group/${group.id}`,
    data: { accessGroup: showAccessGroup(group) },
  })
}

function missing(id: string): Problem {
  return new Problem('not_found', `Access group ${id} does not exist`)
}
