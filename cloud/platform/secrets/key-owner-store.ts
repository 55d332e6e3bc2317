import type { ReferenceHandle, Transaction } from '../database/database.ts'
import { inTransaction, type Owner } from '../database/owner-transaction.ts'
import { statement } from '../database/statement.ts'
import type { PlatformKeyRow } from './key-store.ts'
import type { MasterKeyRow } from './master-keys.ts'

// Only the owner of the database can run these statements. The application can read wrapped keys and create data keys.

/** The id of the advisory lock for changes of keys. All databases of this product use it. */
const keyLock = 0x6d6b6579

/**
 * Runs one change of keys at a time, in one transaction. A cluster reads all shards one after the other in it, because it
 * refuses to change a reference table after it read shards in parallel. A server without Citus ignores the setting.
 */
export async function changeKeys<Result>(owner: Owner, work: () => Promise<Result>): Promise<Result> {
  return inTransaction(owner, async () => {
    await owner.query(`set local citus.multi_shard_modify_mode = 'sequential'`)
    await owner.query('select pg_advisory_xact_lock($1)', [keyLock])
    return work()
  })
}

const rotationLock = 0x6d6b726f

/** Starts a rotation. Returns false if another rotation runs. The lock is released when the connection ends. */
export async function beginRotation(owner: Owner): Promise<boolean> {
  const { rows } = await owner.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [rotationLock])
  return rows[0]?.mine === true
}

export async function endRotation(owner: Owner): Promise<void> {
  await owner.query('select pg_advisory_unlock($1)', [rotationLock])
}

/** Notifies every process of changed keys. Without the notification, a process sees the change at its next poll. */
export async function announceKeys(owner: Owner): Promise<void> {
  await owner.query(`select pg_notify('keys', '')`)
}

export type KnownMasterKey = MasterKeyRow & { currentSince: string; isCurrent: boolean }

const masterKeys = statement<KnownMasterKey>(
  `select id, transit_text as "transitText", current_since as "currentSince",
          row_number() over (order by current_since desc, id) = 1 as "isCurrent"
   from master_keys order by current_since, id desc`,
)
const putMasterKey = statement(
  `insert into master_keys (id, transit_text, current_since) values ($1, $2, clock_timestamp())
   on conflict (id) do update set current_since = excluded.current_since`,
)
const newTransitText = statement('update master_keys set transit_text = $2 where id = $1')
const lessMasterKey = statement('delete from master_keys where id = $1')

/** Lists the known master keys. The last one is the current key, which wraps new keys. */
export function listKnownMasterKeys(handle: ReferenceHandle): Promise<KnownMasterKey[]> {
  return handle.rows(masterKeys)
}

/** Makes a master key the current key. It wraps new keys from now on. */
export async function makeCurrent(handle: ReferenceHandle, { id, transitText }: MasterKeyRow): Promise<void> {
  await handle.run(putMasterKey, id, transitText)
}

export async function replaceTransitText(handle: ReferenceHandle, { id, transitText }: MasterKeyRow): Promise<void> {
  await handle.run(newTransitText, id, transitText)
}

/** Deletes a master key. Fails while the key wraps another key. Waits for transactions that are about to use it. */
export async function deleteMasterKey(handle: ReferenceHandle, id: string): Promise<void> {
  await handle.run(lessMasterKey, id)
}

export type KnownPlatformKey = PlatformKeyRow & { createdAt: string; retiresAt: string | null; isOver: boolean }

const platformKeys = statement<KnownPlatformKey>(
  `select version, master_key_id as "masterKeyId", wrapped, active_from as "activeFrom", created_at as "createdAt",
          retires_at as "retiresAt", coalesce(retires_at <= now(), false) as "isOver"
   from platform_keys order by version`,
)
const newPlatformKey = statement(
  `insert into platform_keys (version, master_key_id, wrapped, active_from)
   values ($1, $2, $3, now() + make_interval(secs => $4))`,
)
const rewrapPlatformKey = statement(
  'update platform_keys set wrapped = $3, master_key_id = $4 where version = $1 and master_key_id = $2',
)
const endPlatformKeys = statement(
  'update platform_keys set retires_at = now() + make_interval(secs => $2) where version < $1 and retires_at is null',
)
const lessPlatformKey = statement('delete from platform_keys where version = $1')

export function listKnownPlatformKeys(handle: ReferenceHandle): Promise<KnownPlatformKey[]> {
  return handle.rows(platformKeys)
}

type NewPlatformKey = { version: number; masterKeyId: string; wrapped: Buffer; activeInSeconds: number }

export async function insertPlatformKey(handle: ReferenceHandle, key: NewPlatformKey): Promise<void> {
  await handle.run(newPlatformKey, key.version, key.masterKeyId, key.wrapped, key.activeInSeconds)
}

type Rewrapped = { from: string; to: string; wrapped: Buffer }

export async function rewrapPlatform(
  handle: ReferenceHandle,
  version: number,
  { from, to, wrapped }: Rewrapped,
): Promise<void> {
  await handle.run(rewrapPlatformKey, version, from, wrapped, to)
}

export async function retireBefore(handle: ReferenceHandle, version: number, inSeconds: number): Promise<void> {
  await handle.run(endPlatformKeys, version, inSeconds)
}

export async function deletePlatformKey(handle: ReferenceHandle, version: number): Promise<void> {
  await handle.run(lessPlatformKey, version)
}

const secret = statement<{ sealed: Buffer }>('select sealed from platform_secrets where name = $1')
const newSecret = statement('insert into platform_secrets (name, sealed) values ($1, $2) on conflict (name) do nothing')

export async function findPlatformSecret(handle: ReferenceHandle, name: string): Promise<Buffer | undefined> {
  return (await handle.row(secret, name))?.sealed
}

export async function insertPlatformSecret(handle: ReferenceHandle, name: string, sealed: Buffer): Promise<void> {
  await handle.run(newSecret, name, sealed)
}

export type KnownDataKey = {
  id: string
  version: number
  masterKeyId: string
  wrapped: Buffer
  createdAt: string
  retiredAt: string | null
}

const dataKeys = statement<KnownDataKey>(
  `select id, version, master_key_id as "masterKeyId", wrapped, created_at as "createdAt", retired_at as "retiredAt"
   from data_keys where tenant_id = $1 order by version`,
)
const rewrapDataKey = statement(
  'update data_keys set wrapped = $4, master_key_id = $5 where tenant_id = $1 and id = $2 and master_key_id = $3',
)
const holdForRetiring = statement('select id from data_keys where tenant_id = $1 and id = $2 for update')
const retire = statement('update data_keys set retired_at = now() where tenant_id = $1 and id = $2')

export function listDataKeys(tx: Transaction): Promise<KnownDataKey[]> {
  return tx.rows(dataKeys)
}

export async function rewrapData(tx: Transaction, id: string, { from, to, wrapped }: Rewrapped): Promise<void> {
  await tx.run(rewrapDataKey, id, from, wrapped, to)
}

/**
 * Waits until no transaction seals with the key. Until this transaction ends, no other transaction can start to seal
 * with the key.
 */
export async function holdToRetire(tx: Transaction, id: string): Promise<void> {
  await tx.row(holdForRetiring, id)
}

export async function retireDataKey(tx: Transaction, id: string): Promise<void> {
  await tx.run(retire, id)
}
