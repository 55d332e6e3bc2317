/**
 * Sends many rows as parameters of one statement. Each column is one array in PostgreSQL's binary format. If the rows
 * were JSON, parsing them would cost the server several times more than storing them.
 */

/**
 * The types of columns. Values of `json` and `jsonb` are texts from `jsonText`. A `printed` value is a text from
 * `jsonText` for a column of type `text`. A `tsvector` value is a list of distinct lexemes that need no normalization.
 */
export type ColumnType = keyof typeof elements

export type Rowset<Row> = {
  /** The `from` item of a statement. It has the alias `r` and the named columns. */
  readonly rows: string
  /** Returns the parameters of the statement, one array for each column. */
  values(rows: readonly Row[]): Buffer[]
}

/** The lexemes of a `tsvector`. All lexemes start with `prefix`, and `lexemes` contains the rest of each. */
export type Lexemes = { prefix: string; lexemes: readonly string[] }

/** Defines a row set. The arrays of its columns are the parameters of the statement, starting at `$2`. */
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
      writer.reset()
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

/** Encodes one parameter of type `<type>[]`. Null and undefined become null. */
export function arrayOf(type: ColumnType, values: readonly unknown[]): Buffer {
  writer.reset()
  writer.begin(elements[type], values.length)
  for (const value of values) writer.add(value)
  writer.finish()
  return writer.copy()
}

/** An element type: its name, its OID, and a function that writes a value and returns its length in bytes. */
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
  tsvector: { name: 'tsvector', oid: 3614, write: (to, value: Lexemes) => to.lexemes(value) },
} as const satisfies Readonly<Record<string, Element>>

/** Replaces the NUL character, which the database cannot store. Lone surrogates are replaced by the UTF-8 encoder. */
function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** PostgreSQL counts timestamps from the year 2000. */
const epochMs = Date.UTC(2000, 0, 1)

function microsecondsOf(text: string): number {
  return (Date.parse(text) - epochMs) * 1_000
}

const headerBytes = 20
const emptyBytes = 12
const lengthBytes = 4
const initialBytes = 2 ** 20
/** The length up to which a text counts as short. */
const shortText = 40
const lastAscii = 127
const lexemeEnd = '\0\0\0'
const uint32 = 2 ** 32

/**
 * `pairs` contains the positions of the digit pairs in a UUID. `digits` contains the value of each digit by its
 * character code.
 */
const pairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const digits = new Uint8Array(128).fill(255)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  digits[digit.charCodeAt(0)] = value
  digits[digit.toUpperCase().charCodeAt(0)] = value
}

/**
 * `ArrayWriter` writes several arrays into one buffer, because creating hundreds of small buffers is slow. Consecutive
 * rows have many equal values, so an element that equals the previous one is copied.
 */
class ArrayWriter {
  #buffer = Buffer.allocUnsafe(initialBytes)
  #end = 0
  #element: Element | undefined
  #start = 0
  #hasNull = false
  #last: unknown
  #lastAt = -1

  reset(): void {
    this.#end = 0
    if (this.#buffer.length > initialBytes) this.#buffer = Buffer.allocUnsafe(initialBytes)
  }

  begin(element: Element, length: number): void {
    this.#ensureCapacity(headerBytes)
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
    else if (value === null || value === undefined) this.#null()
    else {
      const bytes = this.#element?.write(this, value as never) ?? 0
      this.#end = this.#buffer.writeInt32BE(bytes, start) + bytes
    }
    this.#last = value
    this.#lastAt = start
  }

  /** Completes the current array. Returns the offset of the next array. */
  finish(): number {
    this.#buffer.writeInt32BE(this.#hasNull ? 1 : 0, this.#start + 4)
    return this.#end
  }

  copy(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#end))
  }

  integer(value: number): number {
    this.#buffer.writeInt32BE(value, this.#reserve(4))
    return 4
  }

  /** Writes an integer of 64 bits. No value in the product exceeds 2^53. */
  bigint(value: number): number {
    const low = this.#reserve(8) + 4
    this.#buffer.writeInt32BE(Math.floor(value / uint32), low - 4)
    this.#buffer.writeUInt32BE(((value % uint32) + uint32) % uint32, low)
    return 8
  }

  uuid(value: string): number {
    const at = this.#reserve(16)
    let invalid = 0
    for (let index = 0; index < 16; index++) {
      const pair = pairs[index] ?? 0
      const high = digits[value.charCodeAt(pair)] ?? 255
      const low = digits[value.charCodeAt(pair + 1)] ?? 255
      invalid |= (high | low) & 0xf0
      this.#buffer[at + index] = (high << 4) | low
    }
    if (invalid !== 0 || value.length !== 36) throw new TypeError(`${value} is not a UUID`)
    return 16
  }

  /** Writes text, and leaves `free` unused bytes before it. */
  text(value: string, free = 0): number {
    // One UTF-16 code unit needs at most three bytes in UTF-8. A character of four bytes consists of two code units.
    const at = this.#reserve(free + value.length * 3) + free
    if (value.length <= shortText && this.#ascii(value, at)) return free + value.length
    return free + this.#buffer.write(value, at, 'utf8')
  }

  /** Writes text, if it is ASCII. For a short text, this loop is faster than a call of the encoder. */
  #ascii(value: string, at: number): boolean {
    const buffer = this.#buffer
    let units = 0
    for (let index = 0; index < value.length; index++) {
      const unit = value.charCodeAt(index)
      units |= unit
      buffer[at + index] = unit
    }
    return units <= lastAscii
  }

  /** Writes the version number of the `jsonb` format, then the text. */
  versioned(value: string): number {
    const bytes = this.text(value, 1)
    this.#buffer[this.#end + lengthBytes] = 1
    return bytes
  }

  /**
   * Writes the number of lexemes, then each lexeme with its terminator and its number of positions. The number of
   * positions is always zero.
   */
  lexemes({ prefix, lexemes }: Lexemes): number {
    const text = lexemes.length === 0 ? '' : `${prefix}${lexemes.join(lexemeEnd + prefix)}${lexemeEnd}`
    const bytes = this.text(text, 4)
    this.#buffer.writeInt32BE(lexemes.length, this.#end + lengthBytes)
    return bytes
  }

  bytes(value: Uint8Array): number {
    this.#buffer.set(value, this.#reserve(value.length))
    return value.length
  }

  #null(): void {
    this.#ensureCapacity(lengthBytes)
    this.#hasNull = true
    this.#end = this.#buffer.writeInt32BE(-1, this.#end)
  }

  #repeat(): void {
    const bytes = this.#end - this.#lastAt
    this.#ensureCapacity(bytes)
    this.#buffer.copyWithin(this.#end, this.#lastAt, this.#end)
    this.#end += bytes
  }

  /** Reserves space for an element with this many bytes and for its length. Returns the offset of the element. */
  #reserve(bytes: number): number {
    this.#ensureCapacity(lengthBytes + bytes)
    return this.#end + lengthBytes
  }

  #ensureCapacity(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }
}

const writer = new ArrayWriter()
