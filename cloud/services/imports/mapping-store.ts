import type { ImportMapping, MappedColumn } from '@millwright/api/imports.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on saved mappings of columns. */

const columns = `id, name, columns, created_at as "createdTimestamp", modified_at as "lastModifiedTimestamp"`

const findStatement = statement<ImportMapping>(
  `select ${columns} from import_mappings where tenant_id = $1 and id = $2`,
)

export function findMapping(handle: Handle, id: string): Promise<ImportMapping | undefined> {
  return handle.row(findStatement, id)
}

const listStatement = statement<ImportMapping>(
  `select ${columns} from import_mappings where tenant_id = $1 order by name, id limit $2 offset $3`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from import_mappings where tenant_id = $1`,
)

export async function listMappings(handle: Handle, { limit, offset }: { limit: number; offset: number }) {
  const rows = await handle.rows(listStatement, limit, offset)
  return { rows, total: (await handle.row(countStatement))?.total ?? 0 }
}

const lockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7252))`)

/** Returns the number of mappings. Other transactions that count them wait until the end of this one. */
export async function lockMappingCount(tx: Transaction): Promise<number> {
  await tx.run(lockStatement)
  return (await tx.row(countStatement))?.total ?? 0
}

type MappingFields = { id: string; name: string; columns: readonly MappedColumn[] }

const insertStatement = statement<ImportMapping>(
  `insert into import_mappings (tenant_id, id, name, columns, created_at, modified_at)
   values ($1, $2, $3, $4::json, $5, $5) returning ${columns}`,
)

export async function insertMapping(tx: Transaction, mapping: MappingFields, now: string): Promise<ImportMapping> {
  const { id, name, columns: mapped } = mapping
  return (await tx.row(insertStatement, id, name, jsonText(mapped), now)) as ImportMapping
}

const updateStatement = statement<ImportMapping>(
  `update import_mappings set name = $3, columns = $4::json, modified_at = $5
   where tenant_id = $1 and id = $2 returning ${columns}`,
)

export function updateMapping(
  tx: Transaction,
  mapping: MappingFields,
  now: string,
): Promise<ImportMapping | undefined> {
  const { id, name, columns: mapped } = mapping
  return tx.row(updateStatement, id, name, jsonText(mapped), now)
}

const deleteStatement = statement(`delete from import_mappings where tenant_id = $1 and id = $2`)

/** Deletes a mapping. Returns whether it existed. */
export async function deleteMapping(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.run(deleteStatement, id)) > 0
}
