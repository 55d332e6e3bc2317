import type { credentials } from '@millwright/api/credentials.ts'
import type { InstancesTemplate } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { withoutHiddenAssets } from './asset.ts'
import { locationOf, showInstance } from './instance.ts'
import { changeInstance, reportChange } from './instance-writes.ts'
import { lock } from './instances.ts'
import * as store from './template-store.ts'

type Operations =
  | 'createInstancesTemplate'
  | 'listInstancesTemplates'
  | 'getInstancesTemplate'
  | 'updateInstancesTemplate'
  | 'deleteInstancesTemplate'
  | 'listTemplateInstances'
  | 'mapInstance'
  | 'unmapInstance'

export function templateHandlers(context: Context): Pick<Handlers<typeof credentials>, Operations> {
  const { database } = context
  return {
    async createInstancesTemplate({ body: { data } }, caller) {
      const id = newId()
      return database.transaction(caller, async (tx) => {
        const { name: createdBy } = caller.principal
        await store.insertTemplate(tx, { id, name: data.name, description: data.description ?? null, createdBy })
        const row = await get(tx, id)
        await reportTemplate(tx, caller, { action: 'createInstancesTemplate', event: 'created', row })
        const headers = { location: `/credentials/v2/instances-templates/${id}`, etag: etagOf(row.version) }
        return answer(201, { data: show(row) }, headers)
      })
    },

    async listInstancesTemplates({ query: { limit = 50, offset = 0, name } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listTemplates(handle, name, { limit, offset }),
      )
      return { data: rows.map(show), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async getInstancesTemplate({ params: { instancesTemplateId } }, caller) {
      const row = await database.read(caller, (handle) => get(handle, instancesTemplateId))
      return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
    },

    async updateInstancesTemplate({ params: { instancesTemplateId: id }, headers, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const before = await lockTemplate(tx, id)
        requireMatch(headers['if-match'], before.version)
        const description = data.description === undefined ? before.description : data.description
        await store.updateTemplate(tx, { id, name: data.name ?? before.name, description })
        const row = await get(tx, id)
        await reportTemplate(tx, caller, { action: 'updateInstancesTemplate', event: 'updated', row })
        return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
      })
    },

    async deleteInstancesTemplate({ params: { instancesTemplateId: id }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lockTemplate(tx, id)
        requireMatch(headers['if-match'], row.version)
        await store.deleteTemplate(tx, id)
        await reportTemplate(tx, caller, { action: 'deleteInstancesTemplate', event: 'deleted', row })
        return answer(204)
      })
    },

    async listTemplateInstances({ params: { instancesTemplateId: id }, query: { limit = 50, offset = 0 } }, caller) {
      const { instances, rows } = await database.read(caller, async (handle) => ({
        ...(await get(handle, id)),
        rows: await store.listTemplateInstances(handle, id, { limit, offset }),
      }))
      const data = (await withoutHiddenAssets(context, caller, rows)).map(showInstance)
      return { data, meta: { totalElements: instances, elements: data.length, offset } }
    },

    /**
     * Maps an instance to a template. If the purpose of the instance is discovery, the purpose is removed, so that the
     * instance can also be used for monitoring.
     */
    async mapInstance({ params: { instancesTemplateId, instanceId } }, caller) {
      const { status, row } = await database.transaction(caller, async (tx) => {
        if ((await store.holdTemplate(tx, instancesTemplateId)) === undefined) throw missing(instancesTemplateId)
        const before = await lock(tx, instanceId)
        const isNew = await store.mapInstance(tx, instancesTemplateId, instanceId)
        if (!isNew) return { status: 200, row: before }
        const widened = before.purpose === 'discovery'
        const mapped = widened
          ? await changeInstance(tx, caller, {
              after: { ...before, purpose: null },
              fields: ['metadata/purpose'],
              change: 'mapped',
            })
          : before
        const detail = { instancesTemplateId }
        await reportChange(tx, caller, { action: 'mapInstance', event: 'mapped', row: mapped, detail })
        return { status: 201, row: mapped }
      })
      const [shown = row] = await withoutHiddenAssets(context, caller, [row])
      const headers = { location: locationOf(instanceId), etag: etagOf(row.version) }
      return answer(status, { data: showInstance(shown) }, headers)
    },

    async unmapInstance({ params: { instancesTemplateId, instanceId } }, caller) {
      return database.transaction(caller, async (tx) => {
        await get(tx, instancesTemplateId)
        const row = await lock(tx, instanceId)
        if (!(await store.unmapInstance(tx, instancesTemplateId, instanceId)))
          throw new Problem(
            'not_found',
            `Credential instance ${instanceId} is not mapped to instances template ${instancesTemplateId}`,
          )
        const detail = { instancesTemplateId }
        await reportChange(tx, caller, { action: 'unmapInstance', event: 'unmapped', row, detail })
        return answer(204)
      })
    },
  }
}

async function get(handle: Handle, id: string): Promise<store.TemplateRow> {
  const row = await store.findTemplate(handle, id)
  if (row === undefined) throw missing(id)
  return row
}

async function lockTemplate(tx: Transaction, id: string): Promise<store.TemplateRow> {
  const row = await store.lockTemplate(tx, id)
  if (row === undefined) throw missing(id)
  return row
}

function show(row: store.TemplateRow): InstancesTemplate {
  return {
    id: row.id,
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    instances: row.instances,
    version: row.version,
    createdBy: row.createdBy,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

type TemplateEvent = { action: string; event: 'created' | 'updated' | 'deleted'; row: store.TemplateRow }

async function reportTemplate(tx: Transaction, caller: Caller, { action, event, row }: TemplateEvent): Promise<void> {
  const target = `instances-template/${row.id}`
  const detail = { name: row.name }
  await record(tx, caller, { action: `credentials.${action}`, target, detail })
  await emit(tx, { type: `credentials.template.${event}`, subject: target, data: detail })
}

function missing(id: string): Problem {
  return new Problem('not_found', `Instances template ${id} does not exist`)
}
