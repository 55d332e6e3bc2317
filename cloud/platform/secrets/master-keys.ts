import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { decrypt, derive, encrypt, keyBytes, keyOf, wipe } from './cipher.ts'
import { createKeyFile, decodedKey, readKeyFile, replaceKeyFile } from './master-key-file.ts'
import type { Transit } from './transit.ts'

export type Place = 'Vault' | 'environment' | 'file'

export type MasterKeyPlaces = {
  /** A file with keys, made when no other place is given. */
  file: string
  /** From the environment, the newest first. */
  given: readonly string[]
  transit: Transit | undefined
}

/** What the database knows of a master key: its id, and with Vault what its transit key made of it. */
export type MasterKeyRow = { id: string; transitText: string | null }

type Held = { key: KeyObject; wrapping: KeyObject; place: Place }

/**
 * The master keys that this process holds. All they do is wrap other keys, so that another one can take over without
 * touching what was sealed. A key is known by an id that follows from it and says nothing about it.
 */
export class MasterKeys {
  readonly place: Place
  readonly #places: MasterKeyPlaces
  readonly #held = new Map<string, Held>()
  /** Of the place that is used, as far as it says so itself. */
  #newest: string | undefined

  private constructor(places: MasterKeyPlaces) {
    this.#places = places
    this.place = places.transit !== undefined ? 'Vault' : places.given.length > 0 ? 'environment' : 'file'
  }

  /** Reads what there is; makes nothing. */
  static async open(places: MasterKeyPlaces): Promise<MasterKeys> {
    const keys = new MasterKeys(places)
    await keys.#read()
    return keys
  }

  get ids(): readonly string[] {
    return [...this.#held.keys()]
  }

  /** The newest of the file or the environment; of Vault's, the database knows which it is. */
  get newest(): string | undefined {
    return this.#newest
  }

  placeOf(id: string): Place | undefined {
    return this.#held.get(id)?.place
  }

  /** Sees to it that a key is here: it may have come to the file or to Vault after this process started. */
  async find(id: string, known: () => Promise<readonly MasterKeyRow[]>): Promise<void> {
    if (this.#held.has(id)) return
    await this.#read()
    if (this.#held.has(id)) return
    const row = (await known()).find((other) => other.id === id)
    if (row?.transitText != null && this.#places.transit !== undefined) {
      this.#hold(await this.#places.transit.decrypt(row.transitText), 'Vault')
    }
    if (!this.#held.has(id)) throw new StartError(notHere(id, row?.transitText != null))
  }

  /** The key to begin with; the first one is made, unless the operator gives it. */
  async first(): Promise<MasterKeyRow> {
    if (this.place === 'Vault') return this.#newRoot()
    if (this.#newest === undefined) {
      await createKeyFile(this.#places.file)
      await this.#read()
    }
    return { id: this.#newest ?? '', transitText: null }
  }

  /** Another key than the present one. In the file it comes before all others; from the environment it must be given. */
  async next(present: string | undefined): Promise<MasterKeyRow> {
    if (this.place === 'Vault') return this.#newRoot()
    if (this.#newest === undefined || this.#newest === present) {
      if (this.place === 'environment') {
        throw new StartError(
          'Give the new key as MILLWRIGHT_MASTER_KEY and the present one as MILLWRIGHT_MASTER_KEY_PREVIOUS, to every process; then say this again.',
        )
      }
      const keys = [randomBytes(keyBytes), ...(await readKeyFile(this.#places.file))]
      await replaceKeyFile(this.#places.file, keys)
      keys.forEach(wipe)
      await this.#read()
    }
    return { id: this.#newest ?? '', transitText: null }
  }

  /** Takes keys out of the file for good; answers which. */
  async forget(unwanted: (id: string) => boolean): Promise<string[]> {
    const keys = await readKeyFile(this.#places.file)
    const [kept, gone] = [keys.filter((key) => !unwanted(idOf(key))), keys.filter((key) => unwanted(idOf(key)))]
    const ids = gone.map(idOf)
    if (gone.length > 0 && kept.length > 0) await replaceKeyFile(this.#places.file, kept)
    keys.forEach(wipe)
    if (kept.length === 0) return []
    for (const id of ids) this.#held.delete(id)
    return ids
  }

  /** What a transit key made of one of these keys, made anew with its newest version. */
  async rewrap(transitText: string, { rotate }: { rotate: boolean }): Promise<string> {
    const { transit } = this.#places
    if (transit === undefined) throw new StartError('There is no transit key: set MILLWRIGHT_VAULT_ADDRESS.')
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

  /** The key itself: what installations had before there were keys to wrap. */
  bare(id: string): KeyObject {
    return this.#get(id).key
  }

  async #read(): Promise<void> {
    const inFile = (await readKeyFile(this.#places.file)).map((bytes) => this.#hold(bytes, 'file'))
    const given = this.#places.given.map((text) => this.#hold(decodedKey(text, 'MILLWRIGHT_MASTER_KEY'), 'environment'))
    this.#newest = this.place === 'Vault' ? undefined : (given[0] ?? inFile[0])
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

  #get(id: string): Held {
    const held = this.#held.get(id)
    if (held === undefined) throw new StartError(notHere(id, false))
    return held
  }
}

function idOf(key: Uint8Array): string {
  return createHmac('sha256', key).update('id of a master key').digest('hex').slice(0, 16)
}

function notHere(id: string, inVault: boolean): string {
  const fault = `The master key is not the one that this database was used with (${id})`
  if (inVault)
    return `${fault}: it is wrapped by a transit key, so set MILLWRIGHT_VAULT_ADDRESS and what belongs to it.`
  return `${fault}: put master.key back into the home, or set MILLWRIGHT_MASTER_KEY to it.`
}
