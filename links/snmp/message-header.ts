/**
 * This file reads the header of SNMP version 3 messages (RFC 3412 section 6, RFC 3414 section 2.4). The link reads it for
 * two reasons: an answer to an engine discovery contains the engine id, and an answer with a lower security level than
 * the request must be discarded, which the SNMP library does not check.
 */

type MessageHeader = {
  messageId: number
  isAuthenticated: boolean
  isEncrypted: boolean
  engineId: Buffer
  /** The type of the PDU. It is undefined if the PDU is encrypted. */
  pduType: number | undefined
}

const tags = { integer: 0x02, octets: 0x04, sequence: 0x30 } as const
export const reportPdu = 0xa8

/** Returns the header of a version 3 message, or undefined for other bytes. */
export function parseMessageHeader(message: Buffer): MessageHeader | undefined {
  try {
    const body = new Cursor(message).open(tags.sequence)
    if (body.read(tags.integer).toString('hex') !== '03') return undefined
    const globals = body.open(tags.sequence)
    const messageId = integerOf(globals.read(tags.integer))
    globals.read(tags.integer)
    const flags = globals.read(tags.octets)[0] ?? 0
    const security = new Cursor(body.read(tags.octets)).open(tags.sequence)
    const isEncrypted = (flags & 2) !== 0
    return {
      messageId,
      isAuthenticated: (flags & 1) !== 0,
      isEncrypted,
      engineId: security.read(tags.octets),
      pduType: isEncrypted ? undefined : pduTypeIn(body.open(tags.sequence)),
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function integerOf(bytes: Buffer): number {
  return bytes.length === 0 || bytes.length > 6 ? Number.NaN : bytes.readIntBE(0, bytes.length)
}

function pduTypeIn(scoped: Cursor): number {
  scoped.read(tags.octets)
  scoped.read(tags.octets)
  return scoped.peek()
}

/** `Cursor` reads BER elements in order. It throws a RangeError at an element that is not complete or has another tag. */
class Cursor {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  peek(): number {
    return this.#bytes.readUInt8(this.#at)
  }

  read(tag: number): Buffer {
    if (this.peek() !== tag) throw new RangeError(`Expected tag ${tag}`)
    this.#at += 1
    const length = this.#length()
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('Truncated element')
    const content = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return content
  }

  open(tag: number): Cursor {
    return new Cursor(this.read(tag))
  }

  #length(): number {
    const first = this.peek()
    this.#at += 1
    if (first < 0x80) return first
    const bytes = first & 0x7f
    if (bytes === 0 || bytes > 4) throw new RangeError('Length not supported')
    const length = this.#bytes.readUIntBE(this.#at, bytes)
    this.#at += bytes
    return length
  }
}

/**
 * Returns the enterprise number of the manufacturer in an engine id (RFC 3411 section 5), or undefined if the engine id
 * contains none.
 */
export function enterpriseOfEngine(engineId: Buffer): number | undefined {
  return engineId.length < 5 ? undefined : engineId.readUInt32BE(0) % 2 ** 31
}
