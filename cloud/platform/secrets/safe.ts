import type { KeyObject } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import { v7 } from 'uuid'
import type { Database, Handle, Scope, Transaction } from '../database/database.ts'
import { bytesOfId, idBytes, idOfBytes } from '../database/id.ts'
import { StartError } from '../start-error.ts'
import { decrypt, encrypt, newKey, wipe } from './cipher.ts'
import * as store from './key-store.ts'
import type { MasterKeyRow, MasterKeys } from './master-keys.ts'

const format = 3
const cachedKeys = 10_000

type Parts = { database: Database; masterKeys: MasterKeys }

/**
 * `Safe` seals the secrets of services with AES-256-GCM and a data key of the tenant. The database stores the data key
 * wrapped by the master key. A sealed value is bound to its tenant and its owner, so that it cannot be moved to another
 * row. It contains the id of its key, so that keys can be rotated during operation.
 */
export class Safe {
  readonly #database: Database
  readonly #masterKeys: MasterKeys
  /**
   * The unwrapped keys by id. An id is never reused, so a cached key is correct even if the transaction that created it
   * rolled back.
   */
  readonly #keys = new LruMap<KeyObject>(cachedKeys)

  constructor({ database, masterKeys }: Parts) {
    this.#database = database
    this.#masterKeys = masterKeys
  }

  /** Seals a value in the transaction that stores it. The key cannot be retired before this transaction ends. */
  async seal(tx: Transaction, plain: Uint8Array | string, belongsTo: string): Promise<Buffer> {
    const row = (await store.holdNewestDataKey(tx)) ?? (await this.#make(tx, 1))
    const header = headerOf(row.id)
    return Buffer.concat([header, encrypt(await this.#unwrapped(tx, row), plain, associated(header, tx, belongsTo))])
  }

  /**
   * Returns the plain value. The caller must overwrite it after use. Inside a transaction, `where` must be that
   * transaction.
   */
  async open(where: Scope | Handle, sealed: Uint8Array, belongsTo: string): Promise<Buffer> {
    const keyId = keyIdOf(sealed)
    if (keyId === undefined) throw new Error('Not a value that was sealed for a tenant')
    const header = sealed.subarray(0, 1 + idBytes)
    const key = this.#keys.get(keyId) ?? (await this.#look(where, keyId))
    return decrypt(key, sealed.subarray(1 + idBytes), associated(header, where, belongsTo))
  }

  /** Seals a value again with the newest key. Returns undefined if the value is already sealed with the newest key. */
  async sealAgain(tx: Transaction, sealed: Uint8Array, belongsTo: string): Promise<Buffer | undefined> {
    const newest = await store.holdNewestDataKey(tx)
    if (newest === undefined || newest.id === keyIdOf(sealed)) return undefined
    const plain = await this.open(tx, sealed, belongsTo)
    try {
      return await this.seal(tx, plain, belongsTo)
    } finally {
      wipe(plain)
    }
  }

  /** Creates a new data key. New values are sealed with it from now on. */
  async renew(tx: Transaction): Promise<store.DataKeyRow> {
    return this.#make(tx, await store.nextDataKeyVersion(tx))
  }

  /**
   * Creates a version of the data key. If two processes create the same version at the same time, one succeeds and both
   * use its key.
   */
  async #make(tx: Transaction, version: number): Promise<store.DataKeyRow> {
    const masterKeyId = await store.findCurrentMasterKey(tx)
    await this.#masterKeys.find(masterKeyId, () => store.listMasterKeys(tx.reference))
    const id = v7()
    const wrapped = this.#masterKeys.wrap(masterKeyId, newKey(), wrappedFor(tx.tenantId, id))
    await store.insertDataKey(tx, { id, version, masterKeyId, wrapped })
    const newest = await store.holdNewestDataKey(tx)
    if (newest === undefined) throw new Error('A data key that was created does not exist')
    return newest
  }

  async #look(where: Scope | Handle, keyId: string): Promise<KeyObject> {
    const find = (handle: Handle) => store.findDataKey(handle, keyId)
    const row = await ('row' in where ? find(where) : this.#database.read(where, find))
    if (row === undefined) throw new Error('The data key of a sealed value does not exist')
    return this.#unwrapped(where, row)
  }

  async #unwrapped(where: Scope | Handle, row: store.DataKeyRow): Promise<KeyObject> {
    const cached = this.#keys.get(row.id)
    if (cached !== undefined) return cached
    await this.#masterKeys.find(row.masterKeyId, () => this.#masterKeyRows(where)).catch(notNow)
    const key = this.#masterKeys.unwrap(row.masterKeyId, row.wrapped, wrappedFor(where.tenantId, row.id))
    this.#keys.set(row.id, key)
    return key
  }

  #masterKeyRows(where: Scope | Handle): Promise<MasterKeyRow[]> {
    const { reference } = ('row' in where ? where : (where.transaction ?? {})) as Partial<Transaction>
    return reference === undefined ? this.#database.reference(store.listMasterKeys) : store.listMasterKeys(reference)
  }
}

/** Returns the associated data that binds a wrapped data key to its tenant and its id. */
export function wrappedFor(tenantId: string, keyId: string): string {
  return `data key ${tenantId} ${keyId}`
}

/** Returns the id of the data key that sealed a value, or undefined if the value is not sealed with a data key. */
export function keyIdOf(sealed: Uint8Array): string | undefined {
  if (sealed[0] !== format || sealed.length < 1 + idBytes) return undefined
  return idOfBytes(Buffer.from(sealed.subarray(1, 1 + idBytes)))
}

/** Returns the first bytes of every value that this key sealed. */
export function headerOf(keyId: string): Buffer {
  return Buffer.concat([Buffer.of(format), bytesOfId(keyId)])
}

function associated(header: Uint8Array, { tenantId }: { tenantId: string }, belongsTo: string): Buffer {
  return Buffer.concat([header, Buffer.from(`${tenantId} ${belongsTo}`)])
}

function notNow(error: unknown): never {
  if (!(error instanceof StartError)) throw error
  throw new Problem('unavailable', 'The keys of this tenant cannot be unwrapped at the moment', {
    retryAfter: 5,
    cause: error,
  })
}
