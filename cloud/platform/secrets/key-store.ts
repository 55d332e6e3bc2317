import { Problem } from '@millwright/api/problem.ts'
import { type Handle, type ReferenceHandle, type Transaction, violatedConstraint } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { MasterKeyRow } from './master-keys.ts'

export type PlatformKeyRow = { version: number; masterKeyId: string; wrapped: Buffer; activeFrom: string }

export type DataKeyRow = { id: string; version: number; masterKeyId: string; wrapped: Buffer }

const masterKeys = statement<MasterKeyRow>('select id, transit_text as "transitText" from master_keys')
const currentMasterKey = statement<{ id: string }>('select id from master_keys order by current_since desc, id limit 1')
const platformKeys = statement<PlatformKeyRow>(
  `select version, master_key_id as "masterKeyId", wrapped, active_from as "activeFrom"
   from platform_keys order by version`,
)

export function listMasterKeys(handle: ReferenceHandle): Promise<MasterKeyRow[]> {
  return handle.rows(masterKeys)
}

/**
 * Returns the current master key, which wraps new keys. It is not locked: on a cluster, the lock of a reference table
 * would need another server. If the key is retired at the same time, `insertDataKey` fails.
 */
export async function findCurrentMasterKey(tx: Transaction): Promise<string> {
  const row = await tx.reference.row(currentMasterKey)
  if (row === undefined) throw new Error('The database has no master key')
  return row.id
}

export function listPlatformKeys(handle: ReferenceHandle): Promise<PlatformKeyRow[]> {
  return handle.rows(platformKeys)
}

const dataKeyColumns = 'id, version, master_key_id as "masterKeyId", wrapped'

const holdNewest = statement<DataKeyRow>(
  `select ${dataKeyColumns} from data_keys where tenant_id = $1 and retired_at is null
   order by version desc limit 1 for key share`,
)
const byId = statement<DataKeyRow>(`select ${dataKeyColumns} from data_keys where tenant_id = $1 and id = $2`)
const nextVersion = statement<{ version: number }>(
  'select coalesce(max(version), 0) + 1 as version from data_keys where tenant_id = $1',
)
const insert = statement(
  `insert into data_keys (tenant_id, id, version, master_key_id, wrapped) values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, version) do nothing`,
)
const forgetRetired = statement(
  `delete from data_keys where tenant_id = $1 and retired_at < now() - make_interval(secs => $2)`,
)

/**
 * Returns the data key that seals new values. The key cannot be retired before the transaction ends, so no value is
 * sealed with a retired key.
 */
export function holdNewestDataKey(tx: Transaction): Promise<DataKeyRow | undefined> {
  return tx.row(holdNewest)
}

export function findDataKey(handle: Handle, id: string): Promise<DataKeyRow | undefined> {
  return handle.row(byId, id)
}

export async function nextDataKeyVersion(tx: Transaction): Promise<number> {
  return (await tx.row(nextVersion))?.version ?? 1
}

/**
 * Inserts a data key. If another process creates the same version, it waits for the commit of that process and then
 * does nothing.
 */
export async function insertDataKey(tx: Transaction, key: DataKeyRow): Promise<void> {
  try {
    await tx.run(insert, key.id, key.version, key.masterKeyId, key.wrapped)
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error
    throw new Problem('overloaded', 'The master key was retired during the request. Retry the request', {
      retryAfter: 1,
      cause: error,
    })
  }
}

export function forgetRetiredDataKeys(tx: Transaction, afterSeconds: number): Promise<number> {
  return tx.run(forgetRetired, afterSeconds)
}
