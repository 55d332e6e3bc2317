import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the host keys of devices. */

export type HostKeyRow = {
  id: string
  assetId: string
  port: number
  algorithm: string
  fingerprint: string
  firstSeenAt: string
  lastSeenAt: string
}

const columns = `k.id, k.asset_id as "assetId", k.port, k.algorithm, k.fingerprint, k.first_seen_at as "firstSeenAt",
  k.last_seen_at as "lastSeenAt"`

const insertStatement = statement<{ id: string }>(
  `insert into remote_host_keys (tenant_id, id, asset_id, port, algorithm, fingerprint, first_seen_at, last_seen_at)
   values ($1, $2, $3, $4, $5, $6, $7, $7) on conflict (tenant_id, asset_id, port) do nothing returning id`,
)
const lockStatement = statement<HostKeyRow>(
  `select ${columns} from remote_host_keys k where k.tenant_id = $1 and k.asset_id = $2 and k.port = $3 for update`,
)
const seenStatement = statement(`update remote_host_keys k set last_seen_at = $3 where k.tenant_id = $1 and k.id = $2`)

export type SeenHostKey = Pick<HostKeyRow, 'assetId' | 'port' | 'algorithm' | 'fingerprint'>

/**
 * Stores the key of a device if the device has none. Returns the key that is stored now, and whether it is new. The time of
 * the last use is updated if the keys are equal.
 */
export async function noteHostKey(
  tx: Transaction,
  key: SeenHostKey,
  now: string,
): Promise<{ stored: SeenHostKey; isNew: boolean }> {
  const { assetId, port, algorithm, fingerprint } = key
  const inserted = await tx.row(insertStatement, newId(), assetId, port, algorithm, fingerprint, now)
  if (inserted !== undefined) return { stored: key, isNew: true }
  const stored = await tx.row(lockStatement, assetId, port)
  // Another transaction has deleted the key. The next attempt of the user stores the new one.
  if (stored === undefined) return { stored: { ...key, fingerprint: '' }, isNew: false }
  if (stored.algorithm === algorithm && stored.fingerprint === fingerprint) await tx.run(seenStatement, stored.id, now)
  return { stored, isNew: false }
}

const listStatement = statement<HostKeyRow>(
  `select ${columns} from remote_host_keys k where k.tenant_id = $1 and k.asset_id = $2
   order by k.port limit $3 offset $4`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from remote_host_keys k where k.tenant_id = $1 and k.asset_id = $2`,
)

export async function listHostKeys(
  handle: Handle,
  assetId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: HostKeyRow[]; total: number }> {
  const rows = await handle.rows(listStatement, assetId, limit, offset)
  return { rows, total: (await handle.row(countStatement, assetId))?.total ?? 0 }
}

const findStatement = statement<HostKeyRow>(
  `select ${columns} from remote_host_keys k where k.tenant_id = $1 and k.id = $2`,
)

export function findHostKey(handle: Handle, id: string): Promise<HostKeyRow | undefined> {
  return handle.row(findStatement, id)
}

const deleteStatement = statement(`delete from remote_host_keys k where k.tenant_id = $1 and k.id = $2`)

export async function deleteHostKey(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.run(deleteStatement, id)) > 0
}
