/*
 * DNS messages (RFC 1035) as multicast DNS (RFC 6762) uses them: encodes queries with one question, and parses answers. Names
 * are lists of labels, because the name of a service can contain dots. Each byte of a label is one character, so that a name
 * of a device is sent back to it unchanged.
 *
 * Records of other types are skipped by their length, and a record with invalid data is left out. The cost of a message is
 * limited: by its size, the number of records, and the number of pointers in a name.
 */

/** `Name` is a list of labels without the root, such as `['_http', '_tcp', 'local']`. */
export type Name = readonly string[]

/** The types of records that the link queries, with their numbers. */
export const recordTypes = { A: 1, PTR: 12, TXT: 16, SRV: 33 } as const
export type RecordType = keyof typeof recordTypes

export type DnsQuery = { name: Name; type: RecordType }

export type DnsRecord = { name: Name } & (
  | { type: 'A'; address: string }
  | { type: 'PTR'; target: Name }
  | { type: 'SRV'; target: Name; port: number }
  | { type: 'TXT'; strings: readonly string[] }
)

export type Answer = { id: number; records: readonly DnsRecord[] }

export const messageLimits = {
  /** The largest message of multicast DNS (RFC 6762, section 17). */
  bytes: 9_000,
  /** The number of questions of one message. Answers have one or none. */
  questions: 16,
  /** The number of labels of one name. The names of services have about four, and names of IPv6 addresses have 34. */
  labels: 40,
  /** The number of records of one message that are read. */
  records: 256,
  /** The number of strings of one TXT record that are read. */
  strings: 128,
  /** The number of pointers of one name. */
  pointers: 32,
} as const

const headerBytes = 12
const longestName = 255
const longestLabel = 63
const internetClass = 1
/** The highest bit of a class means that the record replaces older ones. */
const classMask = 0x7fff
const isAnswerFlag = 0x8000

/** Returns a query with one question, or undefined if the name is too long. */
export function encodeQuery(id: number, { name, type }: DnsQuery): Buffer | undefined {
  const labels = name.map((label) => Buffer.from(label, 'latin1'))
  const bytes = labels.reduce((sum, label) => sum + label.length + 1, 1)
  if (bytes > longestName || labels.some(({ length }) => length === 0 || length > longestLabel)) return undefined
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(1, 4)
  const end = Buffer.from([0, 0, recordTypes[type], 0, internetClass])
  return Buffer.concat([header, ...labels.flatMap((label) => [Buffer.from([label.length]), label]), end])
}

/** Returns the records of an answer. Returns undefined for other messages and for malformed ones. */
export function parseAnswer(message: Buffer): Answer | undefined {
  if (message.length < headerBytes || message.length > messageLimits.bytes) return undefined
  if ((message.readUInt16BE(2) & isAnswerFlag) === 0) return undefined
  try {
    const [questions, ...counts] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at))
    let at = headerBytes
    if (questions === undefined || questions > messageLimits.questions) return undefined
    for (let index = 0; index < questions; index += 1) at = readName(message, at).next + 4
    const records: DnsRecord[] = []
    const total = counts.reduce((sum, count) => sum + count, 0)
    for (let index = 0; index < Math.min(total, messageLimits.records); index += 1) {
      const { record, next } = readRecord(message, at)
      if (record !== undefined) records.push(record)
      at = next
    }
    return { id: message.readUInt16BE(0), records }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Returns a text that is equal for equal names. Names are compared without the case of ASCII letters. */
export function keyOf(name: Name): string {
  return name.map((label) => `${label.length} ${label.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())}`).join()
}

function readRecord(message: Buffer, start: number): { record: DnsRecord | undefined; next: number } {
  const { name, next: at } = readName(message, start)
  const type = message.readUInt16BE(at)
  const isInternet = (message.readUInt16BE(at + 2) & classMask) === internetClass
  const data = at + 10
  const end = data + message.readUInt16BE(at + 8)
  if (end > message.length) throw new RangeError('The record is longer than the message')
  return { record: isInternet ? contentOf({ message, name, type, data, end }) : undefined, next: end }
}

type RecordPlace = { message: Buffer; name: Name; type: number; data: number; end: number }

/** Returns the content of a record, or undefined if the link does not use its type or if its data is invalid. */
function contentOf({ message, name, type, data, end }: RecordPlace): DnsRecord | undefined {
  try {
    if (type === recordTypes.A && end - data === 4)
      return { name, type: 'A', address: message.subarray(data, end).join('.') }
    if (type === recordTypes.PTR) return { name, type: 'PTR', target: nameWithin(message, data, end) }
    if (type === recordTypes.SRV && end - data > 6) {
      const port = message.readUInt16BE(data + 4)
      return { name, type: 'SRV', port, target: nameWithin(message, data + 6, end) }
    }
    if (type === recordTypes.TXT) return { name, type: 'TXT', strings: stringsIn(message.subarray(data, end)) }
    return undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function nameWithin(message: Buffer, start: number, end: number): Name {
  const { name, next } = readName(message, start)
  if (next > end) throw new RangeError('The name is longer than its record')
  return name
}

function stringsIn(data: Buffer): string[] {
  const strings: string[] = []
  for (let at = 0; at < data.length && strings.length < messageLimits.strings; ) {
    const end = at + 1 + data.readUInt8(at)
    if (end > data.length) throw new RangeError('The text is longer than its record')
    if (end > at + 1) strings.push(data.toString('latin1', at + 1, end))
    at = end
  }
  return strings
}

/** Reads a name. Pointers must lead backwards, so that no message causes an endless loop. Throws a `RangeError`. */
function readName(message: Buffer, start: number): { name: Name; next: number } {
  const name: string[] = []
  let at = start
  let lowest = start
  let next: number | undefined
  let bytes = 1
  for (let pointers = 0; ; ) {
    const length = message.readUInt8(at)
    if (length === 0) return { name, next: next ?? at + 1 }
    if (length <= longestLabel) {
      const end = at + 1 + length
      bytes += 1 + length
      const isTooLong = bytes > longestName || name.length >= messageLimits.labels
      if (end > message.length || isTooLong) throw new RangeError('The name is too long')
      name.push(message.toString('latin1', at + 1, end))
      at = end
      continue
    }
    const target = message.readUInt16BE(at) & 0x3fff
    pointers += 1
    if (length < 0xc0 || target >= lowest || pointers > messageLimits.pointers)
      throw new RangeError('The name has an invalid pointer')
    next ??= at + 2
    at = target
    lowest = target
  }
}
