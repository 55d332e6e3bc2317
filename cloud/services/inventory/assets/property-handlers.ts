import type { CustomProperty, inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { record } from '../../../platform/audit/audit.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import * as store from './property-store.ts'

type Names = 'listCustomProperties' | 'createCustomProperty' | 'readCustomProperty' | 'updateCustomProperty'

export function propertyHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async listCustomProperties({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) => store.listProperties(handle, { limit, offset }))
      return { data: rows.map(shown), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async createCustomProperty({ body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await store.insertProperty(tx, { key: v7(), name: data.name, dataType: data.data_type ?? 'text' })
        const target = `custom-property/${row.key}`
        await record(tx, caller, { action: 'inventory.createCustomProperty', target, detail: { name: row.name } })
        await emit(tx, {
          type: 'inventory.custom-property.created',
          subject: target,
          data: { key: row.key, name: row.name },
        })
        return answer(
          201,
          { data: shown(row) },
          { location: `/inventory/v2/custom-properties/${row.key}`, etag: etagOf(row.version) },
        )
      })
    },

    async readCustomProperty({ params: { key } }, caller) {
      const row = (await database.read(caller, (handle) => store.findProperties(handle, [key]))).get(key)
      if (row === undefined) throw missing(key)
      return answer(200, { data: shown(row) }, { etag: etagOf(row.version) })
    },

    async updateCustomProperty({ params: { key }, body: { data }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const before = await store.lockProperty(tx, key)
        if (before === undefined) throw missing(key)
        requireMatch(headers['if-match'], before.version)
        const row = await store.renameProperty(tx, key, data.name)
        const target = `custom-property/${key}`
        await record(tx, caller, {
          action: 'inventory.updateCustomProperty',
          target,
          detail: { from: before.name, to: row.name },
        })
        await emit(tx, { type: 'inventory.custom-property.updated', subject: target, data: { key, name: row.name } })
        return answer(200, { data: shown(row) }, { etag: etagOf(row.version) })
      })
    },
  }
}

function missing(key: string): Problem {
  return new Problem('not_found', `Custom property ${key} does not exist`)
}

function shown({ version: _, ...property }: store.PropertyRow): CustomProperty {
  return property
}
