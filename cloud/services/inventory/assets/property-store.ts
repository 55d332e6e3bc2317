import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

export type PropertyRow = {
  key: string
  name: string
  data_type: 'text' | 'number' | 'boolean' | 'date' | 'url'
  version: number
  createdTimestamp: string
  lastModifiedTimestamp: string
}

const columns = `key, name, data_type, version, created_at as "createdTimestamp", modified_at as "lastModifiedTimestamp"`

const byKeys = statement<PropertyRow>(`select ${columns} from custom_properties where tenant_id = $1 and key = any($2)`)

export async function findProperties(handle: Handle, keys: readonly string[]): Promise<Map<string, PropertyRow>> {
  return new Map((await handle.rows(byKeys, keys)).map((row) => [row.key, row]))
}

const pageStatement = statement<PropertyRow>(
  `select ${columns} from custom_properties where tenant_id = $1 order by name, key limit $2 offset $3`,
)
const countStatement = statement<{ total: number }>(
  'select count(*) as total from custom_properties where tenant_id = $1',
)

export async function listProperties(handle: Handle, { limit, offset }: { limit: number; offset: number }) {
  const rows = await handle.rows(pageStatement, limit, offset)
  return { rows, total: (await handle.row(countStatement))?.total ?? 0 }
}

const insertStatement = statement<PropertyRow>(
  `insert into custom_properties (tenant_id, key, name, data_type) values ($1, $2, $3, $4) returning ${columns}`,
)

export async function insertProperty(
  tx: Transaction,
  { key, name, dataType }: { key: string; name: string; dataType: string },
) {
  return (await tx.row(insertStatement, key, name, dataType)) as PropertyRow
}

const lockStatement = statement<PropertyRow>(
  `select ${columns} from custom_properties where tenant_id = $1 and key = $2 for update`,
)
const renameStatement = statement<PropertyRow>(
  `update custom_properties set name = $3, version = version + 1, modified_at = now()
   where tenant_id = $1 and key = $2 returning ${columns}`,
)

export function lockProperty(tx: Transaction, key: string): Promise<PropertyRow | undefined> {
  return tx.row(lockStatement, key)
}

export async function renameProperty(tx: Transaction, key: string, name: string): Promise<PropertyRow> {
  return (await tx.row(renameStatement, key, name)) as PropertyRow
}
