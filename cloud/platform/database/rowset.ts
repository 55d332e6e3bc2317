/**
 * Many rows as parameters of one statement: a column is one array, in the binary form of PostgreSQL. Nothing has to be
 * read there: as JSON, the same rows cost the server several times what it takes to store them.
 */

/**
 * What a column can hold. JSON comes as it was printed with `jsonText`; `printed` is the same in a column of text. A
 * `tsvector` comes as its words, which are all different and can be stored as they are.
 */
export type ColumnType = keyof typeof elements

export type Rowset<Row> = {
  /** For the `from` of a statement: the rows `r`, with their columns under their names. */
  readonly rows: string
  /** The values of its parameters. */
  values(rows: readonly Row[]): Buffer[]
}

/** What all words begin with, and how each goes on. */
export type Words = { prefix: string; words: readonly string[] }

/** Rows of these columns, whose arrays are the parameters from `$2` on. */
export function rowset<Row extends object>(
  columns: {
    readonly [Name in keyof Row & string]: ColumnType
  },
): Rowset<Row> {
  const described = Object.entries<ColumnType>(columns) as [keyof Row & string, ColumnType][]
  const arrays = described.map(([, type], index) => `$${2 + index}::${elements[type].name}[]`)
  const names = described.map(([name]) => `"${name}"`)
  return {
    rows: `unnest(${arrays.join(', ')}) as r (${names.join(', ')})`,
    values(rows) {
      writer.startOver()
      const ends = described.map(([name, type]) => {
        writer.begin(elements[type], rows.length)
        for (const row of rows) writer.add(row[name])
        return writer.finish()
      })
      const all = writer.copy()
      return ends.map((end, index) => all.subarray(ends[index - 1] ?? 0, end))
    },
  }
}

/** One parameter of type `<type>[]`; what is null or undefined is null. */
export function arrayOf(type: ColumnType, values: readonly unknown[]): Buffer {
  writer.startOver()
  writer.begin(elements[type], values.length)
  for (const value of values) writer.add(value)
  writer.finish()
  return writer.copy()
}

/** A type of elements: its name, its number, and how one is written after its length, which is answered. */
type Element = { name: string; oid: number; write: (writer: ArrayWriter, value: never) => number }

const elements = {
  uuid: { name: 'uuid', oid: 2950, write: (to, value: string) => to.uuid(value) },
  text: { name: 'text', oid: 25, write: (to, value: string) => to.text(withoutNul(value)) },
  integer: { name: 'integer', oid: 23, write: (to, value: number) => to.integer(value) },
  bigint: { name: 'bigint', oid: 20, write: (to, value: number) => to.bigint(value) },
  timestamptz: { name: 'timestamptz', oid: 1184, write: (to, value: string) => to.bigint(microsecondsOf(value)) },
  printed: { name: 'text', oid: 25, write: (to, value: string) => to.text(value) },
  json: { name: 'json', oid: 114, write: (to, value: string) => to.text(value) },
  jsonb: { name: 'jsonb', oid: 3802, write: (to, value: string) => to.versioned(value) },
  bytea: { name: 'bytea', oid: 17, write: (to, value: Uint8Array) => to.bytes(value) },
  tsvector: { name: 'tsvector', oid: 3614, write: (to, value: Words) => to.words(value) },
} as const satisfies Readonly<Record<string, Element>>

/** What else no database can keep, encoding replaces anyway. */
function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Times are counted from the year 2000. */
const epochMs = Date.UTC(2000, 0, 1)

function microsecondsOf(text: string): number {
  return (Date.parse(text) - epochMs) * 1_000
}

const headerBytes = 20
const emptyBytes = 12
const lengthBytes = 4
const keptBytes = 2 ** 20
const wordEnd = '\0\0\0'
const uint32 = 2 ** 32

/** Where the pairs of digits of a UUID are, and what the digits stand for. */
const pairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const digits = new Uint8Array(128).fill(255)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  digits[digit.charCodeAt(0)] = value
  digits[digit.toUpperCase().charCodeAt(0)] = value
}

/**
 * Arrays one after the other in one place, taken out at once: hundreds of small buffers are slow to make. An element
 * that is the same as the one before is copied, for neighbouring rows have much in common.
 */
class ArrayWriter {
  #buffer = Buffer.allocUnsafe(keptBytes)
  #end = 0
  #element: Element | undefined
  #start = 0
  #hasNull = false
  #last: unknown
  #lastAt = -1

  startOver(): void {
    this.#end = 0
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafe(keptBytes)
  }

  begin(element: Element, length: number): void {
    this.#makeRoom(headerBytes)
    this.#element = element
    this.#start = this.#end
    this.#hasNull = false
    this.#lastAt = -1
    this.#buffer.writeInt32BE(length === 0 ? 0 : 1, this.#start)
    this.#buffer.writeInt32BE(element.oid, this.#start + 8)
    this.#buffer.writeInt32BE(length, this.#start + 12)
    this.#buffer.writeInt32BE(1, this.#start + 16)
    this.#end += length === 0 ? emptyBytes : headerBytes
  }

  add(value: unknown): void {
    const start = this.#end
    if (value === this.#last && this.#lastAt >= 0) this.#repeat()
    else if (value === null || value === undefined) this.#nothing()
    else {
      const bytes = this.#element?.write(this, value as never) ?? 0
      this.#end = this.#buffer.writeInt32BE(bytes, start) + bytes
    }
    this.#last = value
    this.#lastAt = start
  }

  /** Answers where the next array begins. */
  finish(): number {
    this.#buffer.writeInt32BE(this.#hasNull ? 1 : 0, this.#start + 4)
    return this.#end
  }

  copy(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#end))
  }

  integer(value: number): number {
    this.#buffer.writeInt32BE(value, this.#roomFor(4))
    return 4
  }

  /** Nothing of ours counts beyond 2^53. */
  bigint(value: number): number {
    const low = this.#roomFor(8) + 4
    this.#buffer.writeInt32BE(Math.floor(value / uint32), low - 4)
    this.#buffer.writeUInt32BE(((value % uint32) + uint32) % uint32, low)
    return 8
  }

  uuid(value: string): number {
    const at = this.#roomFor(16)
    let wrong = 0
    for (let index = 0; index < 16; index++) {
      const pair = pairs[index] ?? 0
      const high = digits[value.charCodeAt(pair)] ?? 255
      const low = digits[value.charCodeAt(pair + 1)] ?? 255
      wrong |= (high | low) & 0xf0
      this.#buffer[at + index] = (high << 4) | low
    }
    if (wrong !== 0 || value.length !== 36) throw new TypeError(`${value} is not a UUID`)
    return 16
  }

  /** After as many bytes as are kept free in front of it. */
  text(value: string, free = 0): number {
    // A unit of a text takes three bytes at most: what takes four has two units.
    const at = this.#roomFor(free + value.length * 3) + free
    return free + this.#buffer.write(value, at, 'utf8')
  }

  /** Text after the number of its format. */
  versioned(value: string): number {
    const bytes = this.text(value, 1)
    this.#buffer[this.#end + lengthBytes] = 1
    return bytes
  }

  /** Their number, then each with its end and the number of its places, which is none. */
  words({ prefix, words }: Words): number {
    const text = words.length === 0 ? '' : `${prefix}${words.join(wordEnd + prefix)}${wordEnd}`
    const bytes = this.text(text, 4)
    this.#buffer.writeInt32BE(words.length, this.#end + lengthBytes)
    return bytes
  }

  bytes(value: Uint8Array): number {
    this.#buffer.set(value, this.#roomFor(value.length))
    return value.length
  }

  #nothing(): void {
    this.#makeRoom(lengthBytes)
    this.#hasNull = true
    this.#end = this.#buffer.writeInt32BE(-1, this.#end)
  }

  #repeat(): void {
    const bytes = this.#end - this.#lastAt
    this.#makeRoom(bytes)
    this.#buffer.copyWithin(this.#end, this.#lastAt, this.#end)
    this.#end += bytes
  }

  /** Where an element of so many bytes begins, behind its length. */
  #roomFor(bytes: number): number {
    this.#makeRoom(lengthBytes + bytes)
    return this.#end + lengthBytes
  }

  #makeRoom(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }
}

const writer = new ArrayWriter()
