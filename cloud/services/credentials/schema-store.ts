import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'

export type ListedSchemaRow = {
  id: string
  resourceIdentifier: string
  resourceVersion: string
  uri: string
  title: string | null
  version: number
  createdBy: string
  createdAt: string
  modifiedAt: string
}
export type SchemaRow = ListedSchemaRow & { schema: JsonSchema }

const listed = `id, resource_identifier as "resourceIdentifier", resource_version as "resourceVersion", uri, title, version,
  created_by as "createdBy", created_at as "createdAt", modified_at as "modifiedAt"`
const columns = `${listed}, schema`

const insertStatement = statement<SchemaRow>(
  `insert into credential_schemas (tenant_id, id, resource_identifier, resource_version, uri, title, schema, created_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning ${columns}`,
)

type NewRow = Pick<
  SchemaRow,
  'id' | 'resourceIdentifier' | 'resourceVersion' | 'uri' | 'title' | 'schema' | 'createdBy'
>

/** Inserts a schema. Returns `undefined` when this version of the product already has a schema with this URI. */
export function insertSchema(tx: Transaction, row: NewRow): Promise<SchemaRow | undefined> {
  const { id, resourceIdentifier, resourceVersion, uri, title, schema, createdBy } = row
  return tx.row(insertStatement, id, resourceIdentifier, resourceVersion, uri, title, jsonText(schema), createdBy)
}

const byProductStatement = statement<SchemaRow>(
  `select ${columns} from credential_schemas
   where tenant_id = $1 and resource_identifier = $2 and resource_version = $3 and uri = coalesce($4, uri)
   order by id limit 1`,
)
const idsOfProductStatement = statement<{ id: string }>(
  `select id from credential_schemas where tenant_id = $1 and resource_identifier = $2 and resource_version = $3`,
)
const findStatement = statement<SchemaRow>(`select ${columns} from credential_schemas where tenant_id = $1 and id = $2`)
const lockStatement = statement<SchemaRow>(
  `select ${columns} from credential_schemas where tenant_id = $1 and id = $2 for update`,
)
const holdStatement = statement<SchemaRow>(
  `select ${columns} from credential_schemas where tenant_id = $1 and id = $2 for share`,
)

type Product = { identifier: string; version: string }

/** Returns the schema of a product with this URI, or the first schema of the product if no URI is given. */
export function findSchemaOfProduct(
  handle: Handle,
  { identifier, version }: Product,
  uri?: string,
): Promise<SchemaRow | undefined> {
  return handle.row(byProductStatement, identifier, version, uri ?? null)
}

/** Returns the ids of a product's schemas. It does not return the schemas themselves, which may be large. */
export async function findSchemaIdsOfProduct(handle: Handle, { identifier, version }: Product): Promise<string[]> {
  return (await handle.rows(idsOfProductStatement, identifier, version)).map(({ id }) => id)
}

export function findSchema(handle: Handle, id: string): Promise<SchemaRow | undefined> {
  return handle.row(findStatement, id)
}

export function lockSchema(tx: Transaction, id: string): Promise<SchemaRow | undefined> {
  return tx.row(lockStatement, id)
}

/** Returns the schema and prevents changes to it until the end of the transaction. */
export function holdSchema(tx: Transaction, id: string): Promise<SchemaRow | undefined> {
  return tx.row(holdStatement, id)
}

type SchemaFilter = { resourceIdentifier: string | undefined; resourceVersion: string | undefined }

export async function listSchemas(
  handle: Handle,
  { resourceIdentifier, resourceVersion }: SchemaFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ListedSchemaRow[]; total: number }> {
  const values = [resourceIdentifier, resourceVersion].filter((value) => value !== undefined)
  const conditions = [
    'tenant_id = $1',
    ...(resourceIdentifier === undefined ? [] : ['resource_identifier = $2']),
    ...(resourceVersion === undefined ? [] : [`resource_version = $${values.length + 1}`]),
  ].join(' and ')
  const rows = await handle.rows(
    dynamicStatement<ListedSchemaRow>(
      `select ${listed} from credential_schemas where ${conditions}
       order by id desc limit $${values.length + 2} offset $${values.length + 3}`,
    ),
    ...values,
    limit,
    offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from credential_schemas where ${conditions}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const updateStatement = statement<SchemaRow>(
  `update credential_schemas set uri = $3, title = $4, schema = $5, version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2 returning ${columns}`,
)

export function updateSchema(
  tx: Transaction,
  { id, uri, title, schema }: Pick<SchemaRow, 'id' | 'uri' | 'title' | 'schema'>,
): Promise<SchemaRow | undefined> {
  return tx.row(updateStatement, id, uri, title, jsonText(schema))
}

const usedStatement = statement<{ id: string }>(
  `select id from credential_instances where tenant_id = $1 and schema_id = $2 limit 1`,
)

export async function hasInstances(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.row(usedStatement, id)) !== undefined
}

const deleteStatement = statement(`delete from credential_schemas where tenant_id = $1 and id = $2`)

export async function deleteSchema(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}
