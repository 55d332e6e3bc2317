/**
 * This file contains the binary encoding of OPC UA (OPC 10000-6, 5.2) that the simulated server needs. It shares no code
 * with the client, so both are tested against each other.
 */

/** `SimulatedNodeId` is a numeric node id. All other kinds are read as text. */
export type SimulatedNodeId = { namespace: number; id: number | string }

/** `Value` is a value of a variable. */
export type Value =
  | { type: 'String' | 'LocalizedText'; value: string | null }
  | { type: 'Int32'; value: number }
  | { type: 'DateTime'; value: Date }
  | { type: 'Strings'; value: readonly string[] }

const valueTypes = { Int32: 6, String: 12, DateTime: 13, LocalizedText: 21, Strings: 12 | 0x80 } as const

/** The number of 100-nanosecond intervals between 1601 and 1970. */
const epochTicks = 116_444_736_000_000_000n

/** `Encoder` writes values one after the other. */
export class Encoder {
  readonly #parts: Buffer[] = []

  finish(): Buffer {
    return Buffer.concat(this.#parts)
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes)
    return this
  }

  byte(value: number): this {
    return this.raw(Buffer.from([value]))
  }

  uint16(value: number): this {
    const bytes = Buffer.alloc(2)
    bytes.writeUInt16LE(value)
    return this.raw(bytes)
  }

  uint32(value: number): this {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return this.raw(bytes)
  }

  int32(value: number): this {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    return this.raw(bytes)
  }

  double(value: number): this {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(value)
    return this.raw(bytes)
  }

  bytes(value: Buffer | null): this {
    return value === null ? this.int32(-1) : this.int32(value.length).raw(value)
  }

  text(value: string | null): this {
    return this.bytes(value === null ? null : Buffer.from(value, 'utf8'))
  }

  time(value: Date | undefined): this {
    const bytes = Buffer.alloc(8)
    if (value !== undefined) bytes.writeBigInt64LE(BigInt(value.getTime()) * 10_000n + epochTicks)
    return this.raw(bytes)
  }

  nodeId({ namespace, id }: SimulatedNodeId): this {
    if (typeof id === 'string') return this.byte(0x03).uint16(namespace).text(id)
    if (namespace === 0 && id < 256) return this.byte(0x00).byte(id)
    if (namespace < 256 && id < 65_536) return this.byte(0x01).byte(namespace).uint16(id)
    return this.byte(0x02).uint16(namespace).uint32(id)
  }

  qualifiedName(namespace: number, name: string): this {
    return this.uint16(namespace).text(name)
  }

  localizedText(text: string | null): this {
    return text === null ? this.byte(0x00) : this.byte(0x02).text(text)
  }

  list<Item>(items: readonly Item[], write: (item: Item) => unknown): this {
    this.int32(items.length)
    for (const item of items) write(item)
    return this
  }

  /** Writes a DataValue with a value. */
  dataValue({ type, value }: Value): this {
    this.byte(0x01).byte(valueTypes[type])
    if (type === 'Int32') return this.int32(value)
    if (type === 'DateTime') return this.time(value)
    if (type === 'Strings') return this.list(value, (one) => this.text(one))
    return type === 'String' ? this.text(value) : this.localizedText(value)
  }

  /** Writes a DataValue with a status code only. */
  badValue(statusCode: number): this {
    return this.byte(0x02).uint32(statusCode)
  }
}

/** `Decoder` reads values one after the other. It throws a `RangeError` at the end of the bytes. */
export class Decoder {
  readonly #bytes: Buffer
  #position: number

  constructor(bytes: Buffer, position = 0) {
    this.#bytes = bytes
    this.#position = position
  }

  #take(length: number): number {
    const position = this.#position
    if (position + length > this.#bytes.length) throw new RangeError('The message is incomplete.')
    this.#position += length
    return position
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  uint16(): number {
    return this.#bytes.readUInt16LE(this.#take(2))
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }

  int32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }

  skip(length: number): this {
    this.#take(length)
    return this
  }

  bytes(): Buffer | null {
    const length = this.int32()
    if (length < 0) return null
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  text(): string | null {
    return this.bytes()?.toString('utf8') ?? null
  }

  nodeId(): SimulatedNodeId {
    const kind = this.byte() & 0x3f
    if (kind === 0x00) return { namespace: 0, id: this.byte() }
    if (kind === 0x01) return { namespace: this.byte(), id: this.uint16() }
    const namespace = this.uint16()
    if (kind === 0x02) return { namespace, id: this.uint32() }
    if (kind === 0x03) return { namespace, id: this.text() ?? '' }
    if (kind === 0x05) return { namespace, id: this.bytes()?.toString('hex') ?? '' }
    throw new RangeError('The kind of the node id is not supported.')
  }

  list<Item>(read: () => Item): Item[] {
    return Array.from({ length: Math.max(this.int32(), 0) }, read)
  }
}
