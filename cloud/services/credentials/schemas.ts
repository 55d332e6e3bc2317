import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import type { credentials } from '@millwright/api/credentials.ts'
import type { CredentialSchema, ListedCredentialSchema } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { isObject } from '../../platform/plain-object.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { refused } from '../../platform/uploaded-schemas/check.ts'
import { requireReadable } from './asset.ts'
import { requireUsableSchema } from './schema-checks.ts'
import * as store from './schema-store.ts'

type Names = 'createSchema' | 'createSchemaFromLink' | 'listSchemas' | 'getSchema' | 'updateSchema' | 'deleteSchema'

export function schemaHandlers(context: Context): Pick<Handlers<typeof credentials>, Names> {
  const { database } = context
  return {
    async createSchema({ query, body: { data } }, caller) {
      return put(context, caller, { ...query, ...data, action: 'createSchema' })
    },

    async createSchemaFromLink({ body: { data } }, caller) {
      await requireReadable(context, caller, data.assetId)
      const { data: link } = await context
        .peers(discovery, systemCaller(caller))
        .readLinkSchemas({ params: { assetId: data.assetId } })
      const brought = link.schemas.find(({ uri }) => data.uri === undefined || uri === data.uri)
      if (brought === undefined || link.identifier === undefined || link.version === undefined)
        throw new Problem('link_without_schema', whyNot(link, data.uri))
      return put(context, caller, {
        resourceIdentifier: link.identifier,
        resourceVersion: link.version,
        uri: brought.uri,
        schema: parsed(brought.schema),
        action: 'createSchemaFromLink',
      })
    },

    async listSchemas({ query: { limit = 50, offset = 0, resourceIdentifier, resourceVersion } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listSchemas(handle, { resourceIdentifier, resourceVersion }, { limit, offset }),
      )
      return { data: rows.map(showListed), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async getSchema({ params: { schemaId } }, caller) {
      const row = await database.read(caller, (handle) => store.findSchema(handle, schemaId))
      if (row === undefined) throw missing(schemaId)
      return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
    },

    async updateSchema({ params: { schemaId }, headers, body: { data } }, caller) {
      if (data.schema !== undefined) await requireUsableSchema(caller.tenantId, data.schema)
      return database.transaction(caller, async (tx) => {
        const before = await lockUnused(tx, schemaId, headers['if-match'])
        const { uri, schema } = { ...before, ...data }
        const row = await store.updateSchema(tx, { id: schemaId, uri, schema, title: titleOf(schema) })
        if (row === undefined) throw missing(schemaId)
        await tell(tx, caller, { action: 'updateSchema', what: 'updated', row })
        return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
      })
    },

    async deleteSchema({ params: { schemaId }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lockUnused(tx, schemaId, headers['if-match'])
        await store.deleteSchema(tx, schemaId)
        await tell(tx, caller, { action: 'deleteSchema', what: 'deleted', row })
        return answer(204)
      })
    },
  }
}

type Uploaded = {
  resourceIdentifier: string
  resourceVersion: string
  uri: string
  schema: JsonSchema
  action: string
}

/** One schema for each version of a product: the first one stays. */
async function put({ database }: Context, caller: Caller, { action, ...given }: Uploaded) {
  await requireUsableSchema(caller.tenantId, given.schema)
  const product = { identifier: given.resourceIdentifier, version: given.resourceVersion }
  return database.transaction(caller, async (tx) => {
    const title = titleOf(given.schema)
    const row = await store.insertSchema(tx, { ...given, id: newId(), title, createdBy: caller.principal.name })
    const found = row ?? (await store.findSchemaOfProduct(tx, product))
    if (found === undefined) throw new Problem('conflict', 'The schema of this product was just deleted: try again')
    if (row !== undefined) await tell(tx, caller, { action, what: 'created', row })
    const headers = { location: `/credentials/v2/schemas/${found.id}`, etag: etagOf(found.version) }
    return answer(row === undefined ? 200 : 201, { data: show(found) }, headers)
  })
}

/** What its instances keep secret is said by the schema: it changes only while there are none. */
async function lockUnused(tx: Transaction, id: string, ifMatch: string | undefined): Promise<store.SchemaRow> {
  const row = await store.lockSchema(tx, id)
  if (row === undefined) throw missing(id)
  requireMatch(ifMatch, row.version)
  if (await store.hasInstances(tx, id))
    throw new Problem('schema_in_use', 'Instances were made from this schema: delete them first, or add a new version')
  return row
}

function whyNot(
  { schemas, identifier, version }: { schemas: unknown[]; identifier?: string; version?: string },
  uri?: string,
) {
  if (identifier === undefined || version === undefined)
    return 'The link does not say which product and version it is: upload its schema with POST /schemas'
  if (schemas.length === 0) return 'The link brings no credential schema: upload one with POST /schemas'
  return `The link brings no credential schema ${uri}`
}

function parsed(text: string): JsonSchema {
  try {
    const schema: unknown = JSON.parse(text)
    if (isObject(schema)) return { ...schema }
  } catch {
    // Told below: what a link sends may be anything.
  }
  throw refused('', 'is not JSON, as the link brings it')
}

function titleOf({ title }: JsonSchema): string | null {
  return typeof title === 'string' ? title.slice(0, 256) : null
}

function showListed(row: store.ListedSchemaRow): ListedCredentialSchema {
  return {
    id: row.id,
    resourceIdentifier: row.resourceIdentifier,
    resourceVersion: row.resourceVersion,
    uri: row.uri,
    ...(row.title === null ? {} : { title: row.title }),
    version: row.version,
    createdBy: row.createdBy,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

function show(row: store.SchemaRow): CredentialSchema {
  return { ...showListed(row), schema: row.schema }
}

type Told = { action: string; what: 'created' | 'updated' | 'deleted'; row: store.SchemaRow }

async function tell(tx: Transaction, caller: Caller, { action, what, row }: Told): Promise<void> {
  const target = `credential-schema/${row.id}`
  const { resourceIdentifier, resourceVersion, uri } = row
  const detail = { resourceIdentifier, resourceVersion, uri }
  await record(tx, caller, { action: `credentials.${action}`, target, detail })
  await emit(tx, { type: `credentials.schema.${what}`, subject: target, data: detail })
}

function missing(id: string): Problem {
  return new Problem('not_found', `There is no credential schema ${id}`)
}
