import { type Packet, type Parser, parser } from 'mqtt-packet'

/**
 * The maximum size of a packet of the broker. A publisher receives only confirmations, which are small. The limit is
 * announced to the broker.
 */
export const maximumReceivedBytes = 16_384

/** The packets that a broker sends to a client without subscriptions, by the number of their type. */
const expectedTypes: readonly number[] = [2, 4, 13, 14]
const maximumLengthBytes = 4

/** The broker sent bytes that are not a valid packet, or a packet that the publisher did not expect. */
export class ProtocolError extends Error {}

/**
 * `PacketReader` splits the bytes of a broker into packets. It checks the type and the length of a packet before it waits
 * for the rest, so that a broker cannot fill the memory. The bytes of one packet at a time go to the parser.
 */
export class PacketReader {
  readonly #parser: Parser = parser({ protocolVersion: 5 })
  #packet: Packet | undefined
  #rest: Buffer = Buffer.alloc(0)

  constructor() {
    this.#parser.on('packet', (packet) => {
      this.#packet = packet
    })
    this.#parser.on('error', (error: Error) => {
      throw new ProtocolError(`The broker sent a packet that is not valid MQTT 5: ${error.message}`)
    })
  }

  /** Returns the complete packets one after the other. Throws a `ProtocolError` if the bytes are not valid. */
  *read(chunk: Buffer): Generator<Packet> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (let bytes = packetBytes(this.#rest); bytes !== undefined; bytes = packetBytes(this.#rest)) {
      const first = this.#rest.subarray(0, bytes)
      this.#rest = this.#rest.subarray(bytes)
      yield this.#parse(first)
    }
  }

  #parse(bytes: Buffer): Packet {
    this.#packet = undefined
    try {
      this.#parser.parse(bytes)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      throw new ProtocolError('The broker sent a packet that is not valid MQTT 5', { cause: error })
    }
    if (this.#packet === undefined) throw new ProtocolError('The broker sent a packet that is not complete')
    return this.#packet
  }
}

/** Returns the size of the first packet, or undefined if it is not complete. */
function packetBytes(bytes: Buffer): number | undefined {
  const [first] = bytes
  if (first === undefined) return undefined
  // The lower four bits are reserved in the packets that a publisher receives.
  if (!expectedTypes.includes(first >> 4) || (first & 0x0f) !== 0)
    throw new ProtocolError('The broker sent data that is not a response of MQTT 5. Check the host and the port')
  let length = 0
  for (let at = 1; at <= maximumLengthBytes; at += 1) {
    const digit = bytes[at]
    if (digit === undefined) return undefined
    length += (digit & 0x7f) * 128 ** (at - 1)
    if (at + 1 + length > maximumReceivedBytes)
      throw new ProtocolError(`The broker sent a packet that is larger than ${maximumReceivedBytes} bytes`)
    if (digit < 0x80) return bytes.length >= at + 1 + length ? at + 1 + length : undefined
  }
  throw new ProtocolError('The broker sent a packet with an invalid length')
}
