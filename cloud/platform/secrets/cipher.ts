import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export const keyBytes = 32
const saltBytes = 12
const nonceBytes = 12
const tagBytes = 16
const algorithm = 'aes-256-gcm'

export const cipherOverhead = saltBytes + nonceBytes + tagBytes

/**
 * Encrypts with AES-256-GCM. Each value has its own key, which is derived from the given key and a random salt. A GCM
 * key is safe for 2^32 random nonces. Salt and nonce together have 192 random bits, so no counter is needed.
 */
export function encrypt(key: KeyObject, plain: Uint8Array | string, associated: Uint8Array): Buffer {
  const random = randomBytes(saltBytes + nonceBytes)
  const own = keyOfValue(key, random)
  const cipher = createCipheriv(algorithm, own, random.subarray(saltBytes), { authTagLength: tagBytes })
  wipe(own)
  cipher.setAAD(associated)
  return Buffer.concat([random, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts a value. Throws if the value was encrypted with another key or other associated data, or was changed. */
export function decrypt(key: KeyObject, encrypted: Uint8Array, associated: Uint8Array): Buffer {
  const bytes = Buffer.from(encrypted.buffer, encrypted.byteOffset, encrypted.length)
  if (bytes.length < cipherOverhead) throw new Error('The value is too short for an encrypted value')
  const own = keyOfValue(key, bytes)
  const nonce = bytes.subarray(saltBytes, saltBytes + nonceBytes)
  const decipher = createDecipheriv(algorithm, own, nonce, { authTagLength: tagBytes })
  wipe(own)
  decipher.setAAD(associated).setAuthTag(bytes.subarray(-tagBytes))
  const plain = decipher.update(bytes.subarray(saltBytes + nonceBytes, -tagBytes))
  try {
    decipher.final()
    return plain
  } catch (error) {
    wipe(plain)
    throw error
  }
}

function keyOfValue(key: KeyObject, random: Buffer): Buffer {
  return createHmac('sha256', key).update('key of one value').update(random.subarray(0, saltBytes)).digest()
}

/** Decrypts values that were sealed before the product had several keys. One key sealed all these values. */
export function decryptWithoutSalt(key: KeyObject, encrypted: Buffer, associated: Uint8Array): Buffer {
  const decipher = createDecipheriv(algorithm, key, encrypted.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(associated).setAuthTag(encrypted.subarray(-tagBytes))
  return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

/** Derives a key for one purpose. */
export function derive(key: KeyObject, purpose: string, bytes = keyBytes): Buffer {
  return Buffer.from(hkdfSync('sha256', key, 'millwright', purpose, bytes))
}

/**
 * Creates a key object. Unlike a buffer, a key object is not printed or copied by accident. The given bytes are
 * overwritten.
 */
export function keyOf(bytes: Buffer): KeyObject {
  if (bytes.length !== keyBytes) throw new TypeError(`A key has ${keyBytes} bytes`)
  const key = createSecretKey(bytes)
  wipe(bytes)
  return key
}

export function newKey(): KeyObject {
  return keyOf(randomBytes(keyBytes))
}

/** Overwrites the bytes. Internal copies of Node remain until they are garbage-collected. */
export function wipe(bytes: Uint8Array): void {
  bytes.fill(0)
}

/** Compares two byte arrays in constant time. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
