import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { sameBytes } from '../../../platform/secrets/secrets.ts'

type Cost = { memory: number; passes: number; parallelism: number }

/** The cost of a hash: OWASP's first recommendation for argon2id, with 19 MiB of memory and two passes. */
const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 }
const saltBytes = 16
const hashBytes = 32

const derive = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

/**
 * Limits concurrent hashing in the whole process, because hashing uses much memory and processor time. All tenants
 * share the limit, because the tenant of an unknown user name is not known.
 */
const hashing = new Semaphore({ capacity: 2, waitingPerKey: 64, refusal: 'Too many concurrent sign-ins. Retry later' })
const everyTenant = ''

/**
 * The hash with which the password of an unknown user is compared. The response time therefore does not reveal which users
 * exist.
 */
const unknownUserHash = phc(cost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

/**
 * Hashes a password and returns a PHC string. The string contains the cost parameters, so existing hashes stay valid when
 * the cost increases.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  return phc(cost, salt, await run(password, { cost, salt, bytes: hashBytes }))
}

/**
 * Returns whether a password matches a hash. If the hash is `undefined` (an unknown user), it returns false after the same
 * time.
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const { cost: storedCost, salt, hash } = parsed(stored ?? unknownUserHash)
  const computed = await run(password, { cost: storedCost, salt, bytes: hash.length })
  return sameBytes(computed, hash) && stored !== undefined
}

type Run = { cost: Cost; salt: Buffer; bytes: number }

function run(password: string, { cost, salt, bytes }: Run): Promise<Buffer> {
  // The text is normalised, because different devices encode the same character in different ways.
  const message = Buffer.from(password.normalize('NFC'))
  return hashing.run(everyTenant, () => derive('argon2id', { message, nonce: salt, tagLength: bytes, ...cost }))
}

function phc({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function parsed(text: string): { cost: Cost; salt: Buffer; hash: Buffer } {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(text)
  if (match === null) throw new Error('A stored password hash cannot be read')
  const [, memory, passes, parallelism, salt = '', hash = ''] = match
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}
