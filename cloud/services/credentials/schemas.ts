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
import { invalidSchema } from '../../platform/uploaded-schemas/check.ts'
import { requireReadable } from './asset.ts'
import { requireUsableSchema } from './schema-checks.ts'
import * as store from './schema-store.ts'

type Operations =
  | 'createSchema'
  | 'createSchemaFromLink'
  | 'listSchemas'
  | 'getSchema'
  | 'updateSchema'
  | 'deleteSchema'

export function schemaHandlers(context: Context): Pick<Handlers<typeof credentials>, Operations> {
  const { database } = context
  return {
    async createSchema({ query, body: { data } }, caller) {
      return put(context, caller, { ...query, ...data, action: 'createSchema', isOnlySchema: true })
    },

    async createSchemaFromLink({ body: { data } }, caller) {
      await requireReadable(context, caller, data.assetId)
      const { data: link } = await context
        .peers(discovery, systemCaller(caller))
        .readLinkSchemas({ params: { assetId: data.assetId } })
      const linkSchema = link.schemas.find(({ uri }) => data.uri === undefined || uri === data.uri)
      if (linkSchema === undefined || link.identifier === undefined || link.version === undefined)
        throw new Problem('link_without_schema', missingSchemaDetail(link, data.uri))
      return put(context, caller, {
        resourceIdentifier: link.identifier,
        resourceVersion: link.version,
        uri: linkSchema.uri,
        schema: parsed(linkSchema.schema),
        action: 'createSchemaFromLink',
        isOnlySchema: false,
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
        await requireUnusedUri(tx, before, uri)
        const row = await store.updateSchema(tx, { id: schemaId, uri, schema, title: titleOf(schema) })
        if (row === undefined) throw missing(schemaId)
        await reportChange(tx, caller, { action: 'updateSchema', event: 'updated', row })
        return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
      })
    },

    async deleteSchema({ params: { schemaId }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lockUnused(tx, schemaId, headers['if-match'])
        await store.deleteSchema(tx, schemaId)
        await reportChange(tx, caller, { action: 'deleteSchema', event: 'deleted', row })
        return answer(204)
      })
    },
  }
}

type SchemaUpload = {
  resourceIdentifier: string
  resourceVersion: string
  uri: string
  schema: JsonSchema
  action: string
  /** Whether the product has no other schemas: an existing schema stays and is returned, also if its URI differs. */
  isOnlySchema: boolean
}

/**
 * Inserts a schema. An existing schema with the same URI stays and is returned. A link can have several kinds of
 * credentials, so schemas that are imported from a link are stored next to each other.
 */
async function put({ database }: Context, caller: Caller, { action, isOnlySchema, ...upload }: SchemaUpload) {
  await requireUsableSchema(caller.tenantId, upload.schema)
  const product = { identifier: upload.resourceIdentifier, version: upload.resourceVersion }
  return database.transaction(caller, async (tx) => {
    const title = titleOf(upload.schema)
    const existing = isOnlySchema ? await store.findSchemaOfProduct(tx, product) : undefined
    const row =
      existing === undefined
        ? await store.insertSchema(tx, { ...upload, id: newId(), title, createdBy: caller.principal.name })
        : undefined
    const stored = existing ?? row ?? (await store.findSchemaOfProduct(tx, product, upload.uri))
    if (stored === undefined)
      throw new Problem(
        'conflict',
        'The credential schema of this product was deleted by another request. Retry the request.',
      )
    if (row !== undefined) await reportChange(tx, caller, { action, event: 'created', row })
    const headers = { location: `/credentials/v2/schemas/${stored.id}`, etag: etagOf(stored.version) }
    return answer(row === undefined ? 200 : 201, { data: show(stored) }, headers)
  })
}

/**
 * Locks a schema that has no instances. The schema defines which fields of its instances are secret, so it cannot change
 * while instances exist.
 */
async function lockUnused(tx: Transaction, id: string, ifMatch: string | undefined): Promise<store.SchemaRow> {
  const row = await store.lockSchema(tx, id)
  if (row === undefined) throw missing(id)
  requireMatch(ifMatch, row.version)
  if (await store.hasInstances(tx, id))
    throw new Problem(
      'schema_in_use',
      'Credential instances use this schema. Delete these instances first, or upload the changed schema for another version of the product.',
    )
  return row
}

async function requireUnusedUri(tx: Transaction, row: store.SchemaRow, uri: string): Promise<void> {
  const product = { identifier: row.resourceIdentifier, version: row.resourceVersion }
  const other = uri === row.uri ? undefined : await store.findSchemaOfProduct(tx, product, uri)
  if (other !== undefined)
    throw new Problem('conflict', `The product already has a credential schema with the URI ${uri}: ${other.id}`)
}

function missingSchemaDetail(
  { schemas, identifier, version }: { schemas: unknown[]; identifier?: string; version?: string },
  uri?: string,
) {
  if (identifier === undefined || version === undefined)
    return 'The asset link does not report its product and version. Upload its credential schema with POST /schemas.'
  if (schemas.length === 0) return 'The asset link has no credential schema. Upload one with POST /schemas.'
  return `The asset link has no credential schema with the URI ${uri}`
}

function parsed(text: string): JsonSchema {
  try {
    const schema: unknown = JSON.parse(text)
    if (isObject(schema)) return { ...schema }
  } catch {
    // A link can send any text. The error for invalid text is thrown after this block.
  }
  throw invalidSchema('', 'is not a JSON object in the description of the asset link')
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

type SchemaEvent = { action: string; event: 'created' | 'updated' | 'deleted'; row: store.SchemaRow }

async function reportChange(tx: Transaction, caller: Caller, { action, event, row }: SchemaEvent): Promise<void> {
  const target = `credential-schema/${row.id}`
  const { resourceIdentifier, resourceVersion, uri } = row
  const detail = { resourceIdentifier, resourceVersion, uri }
  await record(tx, caller, { action: `credentials.${action}`, target, detail })
  await emit(tx, { type: `credentials.schema.${event}`, subject: target, data: detail })
}

function missing(id: string): Problem {
  return new Problem('not_found', `Credential schema ${id} does not exist`)
}
