import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { StartError } from '../start-error.ts'

/**
 * Everything that must not be readable in a stolen database goes through here: AES-256-GCM under keys derived from
 * the master key, bound to what it belongs to, so that a sealed value cannot be moved to another row.
 */
export type Secrets = {
  seal(plain: Uint8Array | string, belongsTo: string): Buffer
  open(sealed: Uint8Array, belongsTo: string): Buffer
  /** A key for one purpose; the same in every process that has the same master key. */
  derive(purpose: string, bytes?: number): Buffer
  /** A message authentication code under the key of a purpose. */
  mac(purpose: string, message: Uint8Array | string): Buffer
}

export const masterKeyBytes = 32

const version = 1
const nonceBytes = 12
const tagBytes = 16

export function createSecrets(masterKey: Uint8Array): Secrets {
  if (masterKey.length !== masterKeyBytes) throw new StartError(`The master key must have ${masterKeyBytes} bytes.`)
  const derive = (purpose: string, bytes = 32) =>
    Buffer.from(hkdfSync('sha256', masterKey, 'millwright', purpose, bytes))
  const sealing = derive('seal')
  const purposes = new Map<string, Buffer>()

  return {
    derive,
    seal(plain, belongsTo) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce).setAAD(Buffer.from(belongsTo))
      return Buffer.concat([Buffer.of(version), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, belongsTo) {
      const bytes = Buffer.from(sealed)
      if (bytes[0] !== version || bytes.length < 1 + nonceBytes + tagBytes) throw new Error('Not a sealed value')
      const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(1, 1 + nonceBytes))
        .setAAD(Buffer.from(belongsTo))
        .setAuthTag(bytes.subarray(-tagBytes))
      return Buffer.concat([decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes)), decipher.final()])
    },
    mac(purpose, message) {
      let key = purposes.get(purpose)
      if (key === undefined) {
        key = derive(purpose)
        purposes.set(purpose, key)
      }
      return createHmac('sha256', key).update(message).digest()
    },
  }
}

/** Compares without telling by its duration where the difference is. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
