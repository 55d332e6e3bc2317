import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { record } from '../../../platform/audit/audit.ts'
import { storableText } from '../../../platform/database/json.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf } from '../../../platform/http/etag.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { InventoryContext } from '../context.ts'
import { builtInSchemas, checkSchema, isBuiltInUrl } from './schema.ts'
import * as store from './schema-store.ts'

type Names = 'listSchemas' | 'readSchema' | 'createSchema'

export function schemaHandlers({ database }: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  return {
    async listSchemas({ query: { limit = 50, offset = 0 } }, caller) {
      const own = builtInSchemas.slice(offset, offset + limit)
      const place = { limit: limit - own.length, offset: Math.max(0, offset - builtInSchemas.length) }
      const { rows, total } = await database.read(caller, (handle) => store.listSchemas(handle, place))
      const data = [
        ...own.map(({ url, title }) => ({ url, title, builtIn: true })),
        ...rows.map((schema) => ({ ...schema, builtIn: false })),
      ]
      return { data, meta: { totalElements: builtInSchemas.length + total, elements: data.length, offset } }
    },

    async readSchema({ query: { url } }, caller) {
      const etag = etagOf('schema')
      const builtIn = isBuiltInUrl(url) ? builtInSchemas[0] : undefined
      if (builtIn !== undefined) return answer(200, { data: { ...builtIn, builtIn: true } }, { etag })
      const own = await database.read(caller, (handle) => store.findSchema(handle, url))
      if (own === undefined) throw new Problem('not_found', `Schema ${url} does not exist`)
      return answer(200, { data: { ...own, builtIn: false } }, { etag })
    },

    async createSchema({ body: { data } }, caller) {
      if (isBuiltInUrl(data.url))
        throw new Problem('built_in', `${data.url} is the URL of the built-in base schema. Use another URL`)
      await checkSchema(caller.tenantId, data.schema)
      const title = typeof data.schema.title === 'string' ? storableText(data.schema.title.slice(0, 256)) : data.url
      return database.transaction(caller, async (tx) => {
        if (!(await store.insertSchema(tx, { url: data.url, title, schema: data.schema }))) {
          throw new Problem(
            'already_exists',
            `A schema with the URL ${data.url} already exists. Schemas cannot be changed: use a new URL for a changed schema`,
          )
        }
        const target = `schema/${data.url}`
        await record(tx, caller, { action: 'inventory.createSchema', target })
        await emit(tx, { type: 'inventory.schema.created', subject: target, data: { url: data.url, title } })
        return answer(201, { data: { url: data.url, title, builtIn: false } })
      })
    },
  }
}
