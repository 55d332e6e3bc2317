import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Element, element, elementsOf, inside, integer, numberIn, octets, tag } from './simulator-ber.ts'

/** This file implements the user-based security model of version 3 (RFC 3414, RFC 3826, RFC 7860) for the simulated agent. */

export type SimulatedUser = {
  name: string
  authProtocol: 'md5' | 'sha' | 'sha256' | 'sha512'
  authPassword: string
  /** The password for AES with 128 bits. */
  privPassword: string
}

const hashes = {
  md5: { hash: 'md5', length: 12 },
  sha: { hash: 'sha1', length: 12 },
  sha256: { hash: 'sha256', length: 24 },
  sha512: { hash: 'sha512', length: 48 },
} as const

/** The counters of RFC 3414 that a report names. */
export const reports = {
  unsupportedSecurityLevel: '1.3.6.1.6.3.15.1.1.1.0',
  unknownUserName: '1.3.6.1.6.3.15.1.1.3.0',
  unknownEngineId: '1.3.6.1.6.3.15.1.1.4.0',
  wrongDigest: '1.3.6.1.6.3.15.1.1.5.0',
  decryptionError: '1.3.6.1.6.3.15.1.1.6.0',
} as const
export type Report = keyof typeof reports

/** Derives the key of a password for one engine (RFC 3414 section A.2). */
export function localKey(password: string, engineId: Buffer, hash: string): Buffer {
  const digest = createHash(hash).update(Buffer.alloc(1_048_576, password)).digest()
  return createHash(hash).update(digest).update(engineId).update(digest).digest()
}

type SecureMessage = { messageId: number; isReportable: boolean; scoped: Element[] } & {
  report?: Report
}

/** `SimulatedEngine` checks and decrypts requests, and encrypts and signs answers. */
export class SimulatedEngine {
  readonly id: Buffer
  readonly #user: SimulatedUser
  readonly #authKey: Buffer
  readonly #privKey: Buffer
  readonly #startedAt = performance.now()
  readonly #boots = 1

  constructor(user: SimulatedUser, id: Buffer) {
    this.id = id
    this.#user = user
    const hash = hashes[user.authProtocol].hash
    this.#authKey = localKey(user.authPassword, id, hash)
    this.#privKey = localKey(user.privPassword, id, hash).subarray(0, 16)
  }

  get #time(): number {
    return 100 + Math.floor((performance.now() - this.#startedAt) / 1_000)
  }

  /** Reads a request. The result contains the PDU, or the report with which the agent answers. */
  read(message: Buffer): SecureMessage {
    const [outer] = elementsOf(message)
    const [, globals, parameters, data] = inside(outer, tag.sequence)
    const [id, , flagBytes] = inside(globals, tag.sequence)
    const flags = flagBytes?.content[0] ?? 0
    const [engineId, boots, time, user, signature, salt] = inside(
      elementsOf(parameters?.content ?? Buffer.alloc(0))[0],
      tag.sequence,
    )
    const base = { messageId: numberIn(id), isReportable: (flags & 4) !== 0, scoped: [] }
    if (engineId?.content.equals(this.id) !== true) return { ...base, report: 'unknownEngineId' }
    if (user?.content.toString() !== this.#user.name) return { ...base, report: 'unknownUserName' }
    if ((flags & 3) !== 3) return { ...base, report: 'unsupportedSecurityLevel' }
    if (signature === undefined || !this.#isSigned(message, signature.content))
      return { ...base, report: 'wrongDigest' }
    const iv = this.#vector(numberIn(boots), numberIn(time), salt?.content ?? Buffer.alloc(8))
    try {
      const plain = createDecipheriv('aes-128-cfb', this.#privKey, iv).update(data?.content ?? Buffer.alloc(0))
      return { ...base, scoped: inside(elementsOf(plain)[0], tag.sequence) }
    } catch {
      return { ...base, report: 'decryptionError' }
    }
  }

  /** Encodes an answer. Reports are plain text. */
  write(messageId: number, pdu: Buffer, { isSecure }: { isSecure: boolean }): Buffer {
    const scoped = element(tag.sequence, octets(this.id), octets(''), pdu)
    const salt = isSecure ? randomBytes(8) : Buffer.alloc(0)
    const [boots, time] = [this.#boots, this.#time]
    const cipher = createCipheriv('aes-128-cfb', this.#privKey, this.#vector(boots, time, salt))
    const { length } = hashes[this.#user.authProtocol]
    const signature = Buffer.alloc(isSecure ? length : 0)
    const parameters = [
      octets(this.id),
      integer(boots),
      integer(time),
      octets(isSecure ? this.#user.name : ''),
      octets(signature),
      octets(salt),
    ]
    const message = element(
      tag.sequence,
      integer(3),
      element(tag.sequence, integer(messageId), integer(65_507), octets(Buffer.from([isSecure ? 3 : 0])), integer(3)),
      octets(element(tag.sequence, ...parameters)),
      isSecure ? octets(cipher.update(scoped)) : scoped,
    )
    return isSecure ? this.#sign(message) : message
  }

  /** The message is signed while its signature is filled with zeros. */
  #sign(message: Buffer): Buffer {
    const [, , parameters] = inside(elementsOf(message)[0], tag.sequence)
    const fields = inside(elementsOf(parameters?.content ?? Buffer.alloc(0))[0], tag.sequence)
    const place = fields[4]?.content ?? Buffer.alloc(0)
    const digest = this.#digest(message)
    digest.copy(place, 0, 0, place.length)
    return message
  }

  #isSigned(message: Buffer, signature: Buffer): boolean {
    const { length } = hashes[this.#user.authProtocol]
    if (signature.length !== length) return false
    const received = Buffer.from(signature)
    signature.fill(0)
    return timingSafeEqual(this.#digest(message).subarray(0, length), received)
  }

  #digest(message: Buffer): Buffer {
    return createHmac(hashes[this.#user.authProtocol].hash, this.#authKey).update(message).digest()
  }

  #vector(boots: number, time: number, salt: Buffer): Buffer {
    const iv = Buffer.alloc(16)
    iv.writeUInt32BE(boots, 0)
    iv.writeUInt32BE(time, 4)
    salt.copy(iv, 8, 0, 8)
    return iv
  }
}
