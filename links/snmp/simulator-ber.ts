/** This file encodes and decodes BER (ITU-T X.690) for the simulated agent, independently of the SNMP library. */

export const tag = {
  integer: 0x02,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  ip: 0x40,
  counter: 0x41,
  gauge: 0x42,
  ticks: 0x43,
  noSuchObject: 0x80,
  noSuchInstance: 0x81,
  endOfMibView: 0x82,
} as const

export function element(tagByte: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tagByte]), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = bytesOf(length)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function bytesOf(number: number): number[] {
  const bytes: number[] = []
  for (let rest = number; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return bytes.length === 0 ? [0] : bytes
}

/** Encodes an integer. Numbers that are not negative start with a bit that is 0. */
export function integer(number: number, tagByte: number = tag.integer): Buffer {
  if (number < 0) {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(number)
    return element(tagByte, bytes)
  }
  const bytes = bytesOf(number)
  return element(tagByte, Buffer.from((bytes[0] ?? 0) > 0x7f ? [0, ...bytes] : bytes))
}

export function octets(content: Buffer | string): Buffer {
  return element(tag.octets, Buffer.from(content))
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return element(tag.oid, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

function base128(number: number): number[] {
  const digits = [number % 128]
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift(0x80 | (rest % 128))
  return digits
}

/** `Element` is a decoded element. `content` is a view of the message, so its position in the message is known. */
export type Element = { tag: number; content: Buffer }

/** Decodes the elements of a message one after the other. Throws a RangeError for an element that is not complete. */
export function elementsOf(bytes: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const tagByte = bytes.readUInt8(at)
    const first = bytes.readUInt8(at + 1)
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
    const from = at + 2 + lengthBytes
    if (from + length > bytes.length) throw new RangeError('The element is not complete.')
    elements.push({ tag: tagByte, content: bytes.subarray(from, from + length) })
    at = from + length
  }
  return elements
}

/** Returns the elements inside an element with this tag. */
export function inside(outer: Element | undefined, tagByte: number): Element[] {
  if (outer?.tag !== tagByte) throw new RangeError(`The message has no element ${tagByte}.`)
  return elementsOf(outer.content)
}

export function numberIn(one: Element | undefined): number {
  const content = one?.content ?? Buffer.alloc(0)
  if (content.length === 0 || content.length > 6) throw new RangeError('The number is not valid.')
  return content.readIntBE(0, content.length)
}

export function oidIn(one: Element | undefined): string {
  const parts: number[] = []
  let part = 0
  for (const byte of one?.content ?? []) {
    part = part * 128 + (byte & 0x7f)
    if (byte < 0x80) {
      parts.push(part)
      part = 0
    }
  }
  const [first = 0, ...rest] = parts
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - root * 40, ...rest].join('.')
}
