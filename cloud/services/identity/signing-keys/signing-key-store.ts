import type { JWK } from 'jose'
import type { ReferenceHandle } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/owner-transaction.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Owner } from '../../../platform/tenants/tenants.ts'

export type StoredKey = { kid: string; publicJwk: JWK; sealedPrivateJwk: Buffer; activeFrom: string }

const list = statement<StoredKey>(
  `select kid, public_jwk as "publicJwk", sealed_private_jwk as "sealedPrivateJwk", active_from as "activeFrom"
   from signing_keys where expires_at is null or expires_at > now() order by active_from, created_at, kid`,
)

/** Returns all published keys, in the order in which they are used to sign. */
export function listKeys(handle: ReferenceHandle): Promise<StoredKey[]> {
  return handle.rows(list)
}

/** The advisory lock for changes of the signing keys. */
const keyLock = 0x6d696b79

/**
 * Runs work under the lock of the signing keys. This function and the functions below need a connection of the database
 * owner, because the application may read keys but not write them.
 */
export async function locked(owner: Owner, work: () => Promise<void>): Promise<void> {
  await inTransaction(owner, async () => {
    await owner.query('select pg_advisory_xact_lock($1)', [keyLock])
    await work()
  })
}

/** Returns whether a key exists that has not been replaced. */
export async function hasKey(owner: Owner): Promise<boolean> {
  const { rows } = await owner.query('select from signing_keys where expires_at is null limit 1')
  return rows.length > 0
}

/**
 * Deletes expired keys. It writes nothing if there is none: on a cluster, a write of this table needs every server, and
 * each start of a process calls this function.
 */
export async function pruneKeys(owner: Owner): Promise<void> {
  const { rows } = await owner.query('select from signing_keys where expires_at <= now() limit 1')
  if (rows.length > 0) await owner.query('delete from signing_keys where expires_at <= now()')
}

export async function retireKeys(owner: Owner, afterSeconds: number): Promise<void> {
  await owner.query('update signing_keys set expires_at = now() + make_interval(secs => $1) where expires_at is null', [
    afterSeconds,
  ])
}

type NewKey = { kid: string; publicJwk: JWK; sealedPrivateJwk: Buffer; activeInSeconds: number }

export async function insertKey(owner: Owner, key: NewKey): Promise<void> {
  await owner.query(
    `insert into signing_keys (kid, public_jwk, sealed_private_jwk, active_from)
     values ($1, $2, $3, now() + make_interval(secs => $4))`,
    [key.kid, JSON.stringify(key.publicJwk), key.sealedPrivateJwk, key.activeInSeconds],
  )
}
