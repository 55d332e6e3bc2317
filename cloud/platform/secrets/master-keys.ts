import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { decrypt, derive, encrypt, keyBytes, keyOf, wipe } from './cipher.ts'
import { createKeyFile, decodedKey, readKeyFile, replaceKeyFile } from './master-key-file.ts'
import type { Transit } from './transit.ts'

export type Place = 'Vault' | 'environment' | 'file'

export type MasterKeyPlaces = {
  /** The path of the key file. The file is created if the keys come neither from the environment nor from Vault. */
  file: string
  /** The keys from the environment, newest first. */
  environmentKeys: readonly string[]
  transit: Transit | undefined
}

/** The row of a master key: its id and, with Vault, the key encrypted with the transit key. */
export type MasterKeyRow = { id: string; transitText: string | null }

type HeldKey = { key: KeyObject; wrapping: KeyObject; place: Place }

/**
 * `MasterKeys` holds the master keys of this process. Master keys only wrap other keys, so a rotation does not change
 * sealed values. The id of a key is derived from the key and does not reveal it.
 */
export class MasterKeys {
  readonly place: Place
  readonly #places: MasterKeyPlaces
  readonly #held = new Map<string, HeldKey>()
  /** The id of the newest key in the file or the environment. Undefined with Vault. */
  #newest: string | undefined

  private constructor(places: MasterKeyPlaces) {
    this.#places = places
    this.place = places.transit !== undefined ? 'Vault' : places.environmentKeys.length > 0 ? 'environment' : 'file'
  }

  /** Reads the existing keys and creates none. */
  static async open(places: MasterKeyPlaces): Promise<MasterKeys> {
    const keys = new MasterKeys(places)
    await keys.#read()
    return keys
  }

  get ids(): readonly string[] {
    return [...this.#held.keys()]
  }

  /**
   * The id of the newest key in the file or the environment. With Vault, the database stores which key is the newest.
   */
  get newest(): string | undefined {
    return this.#newest
  }

  placeOf(id: string): Place | undefined {
    return this.#held.get(id)?.place
  }

  /** Loads a key that was added to the file or to Vault after this process started. */
  async find(id: string, known: () => Promise<readonly MasterKeyRow[]>): Promise<void> {
    if (this.#held.has(id)) return
    await this.#read()
    if (this.#held.has(id)) return
    const row = (await known()).find((other) => other.id === id)
    if (row?.transitText != null && this.#places.transit !== undefined) {
      this.#hold(await this.#places.transit.decrypt(row.transitText), 'Vault')
    }
    if (!this.#held.has(id)) throw new StartError(missingKeyMessage(id, row?.transitText != null))
  }

  /** Returns the key for the first start. The key is created, unless the operator has set one. */
  async first(): Promise<MasterKeyRow> {
    if (this.place === 'Vault') return this.#newRoot()
    if (this.#newest === undefined) {
      await createKeyFile(this.#places.file)
      await this.#read()
    }
    return { id: this.#newest ?? '', transitText: null }
  }

  /**
   * Returns a master key other than `present`. If the file has no newer key, a new key is added at the beginning of
   * the file. In the environment, the operator must set the new key. With Vault, a new key is created.
   */
  async next(present: string | undefined): Promise<MasterKeyRow> {
    if (this.place === 'Vault') return this.#newRoot()
    if (this.#newest === undefined || this.#newest === present) {
      if (this.place === 'environment') {
        throw new StartError(
          'Set MILLWRIGHT_MASTER_KEY to the new key and MILLWRIGHT_MASTER_KEY_PREVIOUS to the current one for every process, then run this command again.',
        )
      }
      const keys = [randomBytes(keyBytes), ...(await readKeyFile(this.#places.file))]
      await replaceKeyFile(this.#places.file, keys)
      keys.forEach(wipe)
      await this.#read()
    }
    return { id: this.#newest ?? '', transitText: null }
  }

  /**
   * Removes keys from the file permanently. Returns the ids of the removed keys. Removes nothing if no key would be
   * left.
   */
  async forget(isUnwanted: (id: string) => boolean): Promise<string[]> {
    const keys = await readKeyFile(this.#places.file)
    const [kept, gone] = [keys.filter((key) => !isUnwanted(idOf(key))), keys.filter((key) => isUnwanted(idOf(key)))]
    const ids = gone.map(idOf)
    if (gone.length > 0 && kept.length > 0) await replaceKeyFile(this.#places.file, kept)
    keys.forEach(wipe)
    if (kept.length === 0) return []
    for (const id of ids) this.#held.delete(id)
    return ids
  }

  /** Wraps a key again with the newest version of the transit key. With `rotate`, a new version is created first. */
  async rewrap(transitText: string, { rotate }: { rotate: boolean }): Promise<string> {
    const { transit } = this.#places
    if (transit === undefined) throw new StartError('No transit key is configured: set MILLWRIGHT_VAULT_ADDRESS.')
    if (rotate) await transit.rotate()
    return transit.rewrap(transitText)
  }

  wrap(id: string, key: KeyObject, belongsTo: string): Buffer {
    const bytes = key.export()
    try {
      return encrypt(this.#get(id).wrapping, bytes, Buffer.from(`${id} ${belongsTo}`))
    } finally {
      wipe(bytes)
    }
  }

  unwrap(id: string, wrapped: Uint8Array, belongsTo: string): KeyObject {
    return keyOf(decrypt(this.#get(id).wrapping, wrapped, Buffer.from(`${id} ${belongsTo}`)))
  }

  /** Returns the unwrapped master key. Older installations used it directly, before there were wrapped keys. */
  bare(id: string): KeyObject {
    return this.#get(id).key
  }

  async #read(): Promise<void> {
    const inFile = (await readKeyFile(this.#places.file)).map((bytes) => this.#hold(bytes, 'file'))
    const inEnvironment = this.#places.environmentKeys.map((text) =>
      this.#hold(decodedKey(text, 'MILLWRIGHT_MASTER_KEY'), 'environment'),
    )
    this.#newest = this.place === 'Vault' ? undefined : (inEnvironment[0] ?? inFile[0])
  }

  async #newRoot(): Promise<MasterKeyRow> {
    const bytes = randomBytes(keyBytes)
    const transitText = (await this.#places.transit?.encrypt(bytes)) ?? null
    return { id: this.#hold(bytes, 'Vault'), transitText }
  }

  #hold(bytes: Buffer, place: Place): string {
    const id = idOf(bytes)
    const key = keyOf(bytes)
    if (!this.#held.has(id)) this.#held.set(id, { key, wrapping: keyOf(derive(key, 'wrap')), place })
    return id
  }

  #get(id: string): HeldKey {
    const held = this.#held.get(id)
    if (held === undefined) throw new StartError(missingKeyMessage(id, false))
    return held
  }
}

function idOf(key: Uint8Array): string {
  return createHmac('sha256', key).update('id of a master key').digest('hex').slice(0, 16)
}

function missingKeyMessage(id: string, inVault: boolean): string {
  const fault = `The master key does not match this database, which uses key ${id}`
  if (inVault)
    return `${fault}: it is wrapped by a transit key, so set MILLWRIGHT_VAULT_ADDRESS and the other MILLWRIGHT_VAULT settings.`
  return `${fault}: put master.key back into the home, or set MILLWRIGHT_MASTER_KEY to this key.`
}
