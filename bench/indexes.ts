import type { openClient } from '@millwright/cloud/platform/database/connection.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

/**
 * Drops the indexes of the loaded tables, runs `work`, and creates the indexes again. Indexes of primary keys and
 * constraints are not dropped. Loading a large plant without indexes is many times faster. Use this function only for a
 * home that is created for measurements: an interrupted run leaves the tables without indexes.
 */
export async function withoutIndexes(owner: Owner, work: () => Promise<void>): Promise<void> {
  const { rows } = await owner.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i join pg_class t on t.oid = i.indrelid
     where t.relname = any($1) and not i.indisprimary
       and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [loaded],
  )
  for (const { name } of rows) await owner.query(`drop index ${name}`)
  await owner.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB'`)
  await work()
  for (const { definition } of rows) await owner.query(definition)
}

const loaded = [
  'assets',
  'asset_identifiers',
  'asset_addresses',
  'asset_property_values',
  'asset_history',
  'asset_words',
  'relations',
]
