import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { sameBytes } from '../../../platform/secrets/secrets.ts'

type Cost = { memory: number; passes: number; parallelism: number }

/** OWASP's first choice for argon2id: 19 MiB, two passes. */
const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 }
const saltBytes = 16
const hashBytes = 32

const derive = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

/**
 * One limit for the whole process and all tenants, because hashing uses much memory and processor time. The tenant of a
 * name that does not exist is unknown, so tenants have no share of their own.
 */
const hashing = new Semaphore({ capacity: 2, waitingPerKey: 64, refusal: 'Too many people sign in right now' })
const everyTenant = ''

/** What a user who does not exist is compared with, so that the time of the answer does not tell who exists. */
const nobodysHash = phc(cost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

/** The hash of a password as a PHC string, which carries its own parameters: raising the cost keeps old ones valid. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  return phc(cost, salt, await run(password, { cost, salt, bytes: hashBytes }))
}

/** `undefined` for somebody who does not exist: false, after the same time. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const { cost: storedCost, salt, hash } = parsed(stored ?? nobodysHash)
  const given = await run(password, { cost: storedCost, salt, bytes: hash.length })
  return sameBytes(given, hash) && stored !== undefined
}

type Run = { cost: Cost; salt: Buffer; bytes: number }

function run(password: string, { cost, salt, bytes }: Run): Promise<Buffer> {
  // The same characters typed on another keyboard may be composed differently.
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
  const found = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(text)
  if (found === null) throw new Error('A stored password hash cannot be read')
  const [, memory, passes, parallelism, salt = '', hash = ''] = found
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}
