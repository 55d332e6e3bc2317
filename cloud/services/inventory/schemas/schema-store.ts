import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'

export type SchemaRow = { url: string; title: string; schema: Record<string, unknown> }

const byUrl = statement<SchemaRow>('select url, title, schema from asset_schemas where tenant_id = $1 and url = $2')

export function findSchema(handle: Handle, url: string): Promise<SchemaRow | undefined> {
  return handle.row(byUrl, url)
}

const pageStatement = statement<Omit<SchemaRow, 'schema'>>(
  'select url, title from asset_schemas where tenant_id = $1 order by url limit $2 offset $3',
)
const countStatement = statement<{ total: number }>('select count(*) as total from asset_schemas where tenant_id = $1')

export async function listSchemas(handle: Handle, { limit, offset }: { limit: number; offset: number }) {
  const rows = limit === 0 ? [] : await handle.rows(pageStatement, limit, offset)
  return { rows, total: (await handle.row(countStatement))?.total ?? 0 }
}

const insertStatement = statement<{ url: string }>(
  `insert into asset_schemas (tenant_id, url, title, schema) values ($1, $2, $3, $4::jsonb) on conflict do nothing returning url`,
)

/** Inserts a schema. Returns false if the tenant already has a schema with this URL. */
export async function insertSchema(tx: Transaction, { url, title, schema }: SchemaRow): Promise<boolean> {
  return (await tx.row(insertStatement, url, title, jsonText(schema))) !== undefined
}
