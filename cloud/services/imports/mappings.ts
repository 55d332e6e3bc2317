import { propertyKeyOf } from '@millwright/api/asset-columns.ts'
import { importLimits, type imports, type MappedColumn } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import { violatedConstraint } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { TableReader } from '../../platform/files/table-reader.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { suggestColumns } from './column-suggestion.ts'
import { importedProperties } from './columns.ts'
import * as store from './mapping-store.ts'

/** The operations on saved mappings of columns. */

type Names = 'listMappings' | 'createMapping' | 'suggestMapping' | 'updateMapping' | 'deleteMapping'

export function mappingHandlers(context: Context): Pick<Handlers<typeof imports>, Names> {
  const { database } = context
  return {
    async listMappings({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) => store.listMappings(handle, { limit, offset }))
      return { data: rows, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async createMapping({ body: { data } }, caller) {
      await requireProperties(context, caller, data.columns)
      return database.transaction(caller, async (tx) => {
        if ((await store.lockMappingCount(tx)) >= importLimits.mappings)
          throw new Problem(
            'conflict',
            `The tenant has ${importLimits.mappings} mappings, which is the limit. Delete a mapping first`,
          )
        const mapping = { id: newId(), ...data }
        const row = await store.insertMapping(tx, mapping, now()).catch(refuseSameName(data.name))
        await report(tx, caller, { action: 'createMapping', event: 'created', id: row.id, name: row.name })
        return answer(201, { data: row })
      })
    },

    async updateMapping({ params: { mappingId }, body: { data } }, caller) {
      await requireProperties(context, caller, data.columns)
      return database.transaction(caller, async (tx) => {
        const mapping = { id: mappingId, ...data }
        const row = await store.updateMapping(tx, mapping, now()).catch(refuseSameName(data.name))
        if (row === undefined) throw missing(mappingId)
        await report(tx, caller, { action: 'updateMapping', event: 'updated', id: row.id, name: row.name })
        return { data: row }
      })
    },

    async deleteMapping({ params: { mappingId } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await store.findMapping(tx, mappingId)
        if (row === undefined || !(await store.deleteMapping(tx, mappingId))) throw missing(mappingId)
        await report(tx, caller, { action: 'deleteMapping', event: 'deleted', id: row.id, name: row.name })
        return answer(204)
      })
    },

    async suggestMapping({ body }, caller) {
      const { content } = await body.open()
      await using reader = await TableReader.open(content, { tenantId: caller.tenantId, signal: context.stopping })
      const { rows } = await reader.next(importLimits.suggestionRows)
      const { rows: mappings } = await database.read(caller, (handle) =>
        store.listMappings(handle, { limit: importLimits.mappings, offset: 0 }),
      )
      const cells = rows.flatMap((row) => ('cells' in row ? [row.cells] : []))
      const properties = await importedProperties(context, caller)
      const { format, headings } = reader
      return { data: { format, ...suggestColumns({ headings, rows: cells, mappings, properties }) } }
    },
  }
}

function now(): string {
  return new Date().toISOString()
}

function missing(id: string): Problem {
  return new Problem('not_found', `Mapping ${id} does not exist`)
}

/** Requires that each column of a custom property names a custom property of the tenant. */
async function requireProperties(context: Context, caller: Caller, columns: readonly MappedColumn[]): Promise<void> {
  const known = new Set((await importedProperties(context, caller)).map(({ key }) => key))
  for (const [index, { to }] of columns.entries()) {
    const key = to === null ? undefined : propertyKeyOf(to)
    if (key === undefined || known.has(key.toLowerCase())) continue
    const detail = `Custom property ${key} does not exist`
    const errors = [{ pointer: `/data/columns/${index}/to`, code: 'property_not_found', detail }]
    throw new Problem('property_not_found', detail, { errors })
  }
}

function refuseSameName(name: string) {
  return (error: unknown): never => {
    if (violatedConstraint(error) !== 'import_mappings_name') throw error
    const detail = `A mapping with the name "${name}" already exists. Use another name`
    throw new Problem('already_exists', detail, {
      errors: [{ pointer: '/data/name', code: 'already_exists', detail }],
      cause: error,
    })
  }
}

type Reported = { action: string; event: string; id: string; name: string }

async function report(
  tx: Parameters<typeof record>[0],
  caller: Caller,
  { action, event, id, name }: Reported,
): Promise<void> {
  const target = `import-mapping/${id}`
  await record(tx, caller, { action: `imports.${action}`, target, detail: { name } })
  await emit(tx, { type: `imports.mapping.${event}`, subject: target, data: { id, name } })
}
