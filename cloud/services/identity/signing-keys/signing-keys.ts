import { tokenAlgorithm } from '@millwright/api/token.ts'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Database } from '../../../platform/database/database.ts'
import type { SealedColumn } from '../../../platform/secrets/sealed-column.ts'
import type { Secrets } from '../../../platform/secrets/secrets.ts'
import type { Owner } from '../../../platform/tenants/tenants.ts'
import * as store from './signing-key-store.ts'

/** The interval at which a process reads the keys again. */
const ringAgeMs = 5_000
/**
 * The time between the publication of a new key and its first signature. All processes and clients read the keys more often
 * than that.
 */
const publishedBeforeSigningSeconds = 30
/** The time for which an old key stays published after its last token has expired, because clocks differ. */
const clockToleranceSeconds = 60

/**
 * Creates a signing key if none exists, and deletes expired keys. It runs as the database owner when the server starts.
 */
export async function ensureSigningKey(owner: Owner, secrets: Secrets): Promise<void> {
  const key = await createKey(secrets)
  await store.locked(owner, async () => {
    await store.pruneKeys(owner)
    if (!(await store.hasKey(owner))) await store.insertKey(owner, { ...key, activeInSeconds: 0 })
  })
}

/**
 * Creates a new signing key as the database owner and returns its id. The key is published immediately, and signs
 * tokens only after `activeInSeconds`. Tokens that were signed with previous keys stay valid until they expire.
 */
export async function rotateSigningKey(
  owner: Owner,
  secrets: Secrets,
  { tokenLifetimeSeconds, activeInSeconds = publishedBeforeSigningSeconds }: Rotation,
): Promise<string> {
  const key = await createKey(secrets)
  await store.locked(owner, async () => {
    await store.pruneKeys(owner)
    await store.retireKeys(owner, activeInSeconds + tokenLifetimeSeconds + clockToleranceSeconds)
    await store.insertKey(owner, { ...key, activeInSeconds })
  })
  return key.kid
}

export type Rotation = { tokenLifetimeSeconds: number; activeInSeconds?: number }

async function createKey(secrets: Secrets): Promise<{ kid: string; publicJwk: JWK; sealedPrivateJwk: Buffer }> {
  const pair = await generateKeyPair(tokenAlgorithm, { extractable: true })
  const bare = await exportJWK(pair.publicKey)
  const kid = await calculateJwkThumbprint(bare)
  const publicJwk = { ...bare, kid, alg: tokenAlgorithm, use: 'sig' }
  const privateJwk = JSON.stringify(await exportJWK(pair.privateKey))
  return { kid, publicJwk, sealedPrivateJwk: secrets.seal(privateJwk, sealedFor(kid)) }
}

function sealedFor(kid: string): string {
  return `signing-key/${kid}`
}

export const sealedSigningKeys: SealedColumn = {
  of: 'platform',
  table: 'signing_keys',
  column: 'sealed_private_jwk',
  key: ['kid'],
  belongsTo: ({ kid = '' }) => sealedFor(kid),
}

export type SigningKey = { kid: string; privateKey: CryptoKey }

type Ring = { loadedAt: number; keys: store.StoredKey[] }

/** `KeyRing` caches the signing keys in a process. */
export class KeyRing {
  readonly #database: Database
  readonly #secrets: Secrets
  readonly #now: () => number
  readonly #privateKeys = new Map<string, CryptoKey>()
  #ring: Ring = { loadedAt: Number.NEGATIVE_INFINITY, keys: [] }
  #loading: Promise<Ring> | undefined

  constructor({ database, secrets }: { database: Database; secrets: Secrets }, now = () => performance.now()) {
    this.#database = database
    this.#secrets = secrets
    this.#now = now
  }

  /**
   * Returns the key that signs now: the newest key whose `activeFrom` time has passed by the clock of this process. If
   * no such key exists because the clock is slow, returns the oldest key.
   */
  async signing(): Promise<SigningKey> {
    const { keys } = await this.#fresh()
    const now = new Date().toISOString()
    const current = keys.filter((key) => key.activeFrom <= now).at(-1) ?? keys[0]
    if (current === undefined) throw new Error('No signing key exists')
    return { kid: current.kid, privateKey: await this.#privateKey(current) }
  }

  async published(): Promise<JWK[]> {
    const { keys } = await this.#fresh()
    return keys.map((key) => key.publicJwk)
  }

  async #fresh(): Promise<Ring> {
    if (this.#now() - this.#ring.loadedAt < ringAgeMs) return this.#ring
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #load(): Promise<Ring> {
    const loadedAt = this.#now()
    const keys = await this.#database.reference((handle) => store.listKeys(handle))
    for (const kid of this.#privateKeys.keys()) {
      if (!keys.some((key) => key.kid === kid)) this.#privateKeys.delete(kid)
    }
    this.#ring = { loadedAt, keys }
    return this.#ring
  }

  async #privateKey({ kid, sealedPrivateJwk }: store.StoredKey): Promise<CryptoKey> {
    const cached = this.#privateKeys.get(kid)
    if (cached !== undefined) return cached
    const bytes = await this.#secrets.open(sealedPrivateJwk, sealedFor(kid))
    const jwk = JSON.parse(bytes.toString()) as JWK
    bytes.fill(0)
    const key = (await importJWK(jwk, tokenAlgorithm)) as CryptoKey
    this.#privateKeys.set(kid, key)
    return key
  }
}
