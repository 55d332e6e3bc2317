import { createHmac, type KeyObject } from 'node:crypto'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { decrypt, decryptWithoutSalt, derive, encrypt, keyOf, sameBytes } from './cipher.ts'
import { listMasterKeys, listPlatformKeys, type PlatformKeyRow } from './key-store.ts'
import type { MasterKeys } from './master-keys.ts'

export { sameBytes } from './cipher.ts'

const firstFormat = 1
const format = 2
const headerBytes = 5
const pollMs = 5_000
/** The minimum length of a message authentication code, in bytes. A shorter code would be too easy to guess. */
const shortestMac = 16

type Version = { version: number; activeFromMs: number; key: KeyObject; purposes: Map<string, KeyObject> }

/**
 * `Secrets` holds the keys of the platform itself, which belong to no tenant. They encrypt signing
 * keys. They also authenticate the head of the audit chain, and calls between processes. The keys have versions. All
 * processes receive a new version some time before the first process uses it. Every process accepts older versions.
 */
export class Secrets {
  readonly #masterKeys: MasterKeys | undefined
  #database: Database | undefined
  /** The versions of the platform key, oldest first. */
  #versions: Version[]

  constructor(versions: readonly { version: number; activeFrom: Date; key: KeyObject }[], masterKeys?: MasterKeys) {
    this.#versions = versions.map(({ version, activeFrom, key }) => versionOf({ version, activeFrom, key }))
    this.#masterKeys = masterKeys
  }

  /**
   * Seals a value with the newest key. A process without this key reads it from the database when it opens the value.
   */
  seal(plain: Uint8Array | string, belongsTo: string): Buffer {
    const { version, purposes, key } = this.#newest()
    const header = headerOf(version)
    return Buffer.concat([header, encrypt(keyFor({ purposes, key }, 'seal'), plain, associated(header, belongsTo))])
  }

  async open(sealed: Uint8Array, belongsTo: string): Promise<Buffer> {
    const bytes = Buffer.from(sealed)
    if (bytes[0] === firstFormat) {
      return decryptWithoutSalt(keyFor(await this.#find(1), 'seal'), bytes.subarray(1), Buffer.from(belongsTo))
    }
    const version = versionOfSealed(bytes)
    if (version === undefined) throw new Error('Not a sealed value')
    const key = keyFor(await this.#find(version), 'seal')
    return decrypt(key, bytes.subarray(headerBytes), associated(bytes.subarray(0, headerBytes), belongsTo))
  }

  /** Computes a message authentication code with the key of a purpose. */
  mac(purpose: string, message: Uint8Array | string): Buffer {
    return macOf(this.#current(), purpose, message)
  }

  /** Returns true if a process of this installation created the code with a valid key. The code may be truncated. */
  isMac(purpose: string, message: Uint8Array | string, mac: Uint8Array): boolean {
    if (mac.length < shortestMac) return false
    return this.#versions.some((version) => {
      return sameBytes(macOf(version, purpose, message).subarray(0, mac.length), mac)
    })
  }

  /** Returns the current key of a purpose, with its version. */
  keyFor(purpose: string): { version: number; key: KeyObject } {
    const current = this.#current()
    return { version: current.version, key: keyFor(current, purpose) }
  }

  /**
   * Returns the key of a purpose in one version. It uses only cached versions, so that a forged version number does not
   * cause a read.
   */
  keyOfVersion(purpose: string, version: number): KeyObject {
    const platformKey = this.#versions.find((other) => other.version === version)
    if (platformKey === undefined) throw new Error('The platform key does not exist')
    return keyFor(platformKey, purpose)
  }

  /**
   * Polls the database for new keys until `stop` is called. The calls of `refresh` during a read share the next read, because
   * every user of the database can send the notification that calls it.
   */
  follow({ database, log }: { database: Database; log: Log }): { stop(): void; refresh(): void } {
    this.#database = database
    const poll = () => this.refresh().catch((error: unknown) => log.warn({ error }, 'The poll for new keys failed'))
    let isDue = false
    let isReading = false
    const refresh = async () => {
      isDue = true
      if (isReading) return
      isReading = true
      while (isDue) {
        isDue = false
        await poll()
      }
      isReading = false
    }
    const timer = setInterval(poll, pollMs).unref()
    return { refresh: () => void refresh(), stop: () => clearInterval(timer) }
  }

  async refresh(): Promise<void> {
    const rows = await this.#database?.reference(listPlatformKeys)
    if (rows === undefined || rows.length === 0) return
    const versionsByNumber = new Map(this.#versions.map((version) => [version.version, version]))
    const versions: Version[] = []
    for (const row of rows) versions.push(versionsByNumber.get(row.version) ?? (await this.#unwrapped(row)))
    this.#versions = versions
  }

  async #unwrapped({ version, masterKeyId, wrapped, activeFrom }: PlatformKeyRow): Promise<Version> {
    if (this.#masterKeys === undefined) throw new Error('There is no master key to unwrap with')
    await this.#masterKeys.find(masterKeyId, async () => (await this.#database?.reference(listMasterKeys)) ?? [])
    const key = this.#masterKeys.unwrap(masterKeyId, wrapped, wrappedFor(version))
    return versionOf({ version, activeFrom: new Date(activeFrom), key })
  }

  async #find(version: number): Promise<Version> {
    const isIt = (candidate: Version) => candidate.version === version
    const cached = this.#versions.find(isIt)
    if (cached !== undefined) return cached
    await this.refresh()
    const loaded = this.#versions.find(isIt)
    if (loaded === undefined) throw new Error(`Platform key ${version} does not exist`)
    return loaded
  }

  /**
   * Returns the newest version that is active by the local clock. If the clock is slow and no version is active, it
   * returns the oldest one.
   */
  #current(): Version {
    const now = Date.now()
    return this.#versions.findLast(({ activeFromMs }) => activeFromMs <= now) ?? this.#newest(0)
  }

  #newest(index = -1): Version {
    const version = this.#versions.at(index)
    if (version === undefined) throw new Error('The database has no platform key')
    return version
  }
}

/** Creates secrets with one key that never changes. */
export function createSecrets(key: Buffer): Secrets {
  return new Secrets([{ version: 1, activeFrom: new Date(0), key: keyOf(Buffer.from(key)) }])
}

/** Returns the associated data that binds a wrapped platform key to its version. */
export function wrappedFor(version: number): string {
  return `platform key ${version}`
}

/** Returns the version of the platform key that sealed a value. */
export function versionOfSealed(sealed: Uint8Array): number | undefined {
  if (sealed[0] === firstFormat) return 1
  if (sealed[0] !== format || sealed.length < headerBytes) return undefined
  return Buffer.from(sealed.subarray(1, headerBytes)).readUInt32BE()
}

function headerOf(version: number): Buffer {
  const header = Buffer.alloc(headerBytes)
  header[0] = format
  header.writeUInt32BE(version, 1)
  return header
}

function associated(header: Uint8Array, belongsTo: string): Buffer {
  return Buffer.concat([header, Buffer.from(belongsTo)])
}

function versionOf({ version, activeFrom, key }: { version: number; activeFrom: Date; key: KeyObject }): Version {
  return { version, activeFromMs: activeFrom.getTime(), key, purposes: new Map() }
}

function macOf(version: Version, purpose: string, message: Uint8Array | string): Buffer {
  return createHmac('sha256', keyFor(version, purpose)).update(message).digest()
}

function keyFor({ key, purposes }: Pick<Version, 'key' | 'purposes'>, purpose: string): KeyObject {
  const cached = purposes.get(purpose)
  if (cached !== undefined) return cached
  const made = keyOf(derive(key, purpose))
  purposes.set(purpose, made)
  return made
}
