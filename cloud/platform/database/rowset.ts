import { storableText } from './json.ts'

/**
 * Many rows as parameters of one statement: a column is one array, in the binary form of PostgreSQL. Nothing has to be
 * read there: as JSON, the same rows cost the server several times what it takes to store them.
 */

/** What a column can hold. JSON comes as it was printed with `jsonText`; `printed` is the same in a column of text. */
export type ColumnType = 'uuid' | 'text' | 'integer' | 'bigint' | 'timestamptz' | 'printed' | 'json' | 'jsonb' | 'bytea'

export type Rowset<Row> = {
  /** For the `from` of a statement: the rows `r`, with their columns under their names. */
  readonly rows: string
  /** The values of its parameters. */
  values(rows: readonly Row[]): Buffer[]
}

/** Rows of these columns, whose arrays are the parameters from `$<first>` on. */
export function rowset<Row extends object>(
  columns: { readonly [Name in keyof Row & string]: ColumnType },
  { first = 2 } = {},
): Rowset<Row> {
  const described = Object.entries<ColumnType>(columns)
  const arrays = described.map(([, type], index) => `$${first + index}::${elements[type].name}[]`)
  const names = described.map(([name]) => `"${name}"`)
  return {
    rows: `unnest(${arrays.join(', ')}) as r (${names.join(', ')})`,
    values: (rows) => described.map(([name, type]) => arrayOf(type, columnOf(rows, name as keyof Row))),
  }
}

function columnOf<Row>(rows: readonly Row[], name: keyof Row): unknown[] {
  return rows.map((row) => row[name])
}

type Write = (array: ArrayWriter, value: never) => void

const elements: Readonly<Record<ColumnType, { name: string; oid: number; write: Write }>> = {
  uuid: { name: 'uuid', oid: 2950, write: (array, value: string) => array.uuid(value) },
  text: { name: 'text', oid: 25, write: (array, value: string) => array.text(storableText(value)) },
  integer: { name: 'integer', oid: 23, write: (array, value: number) => array.integer(value) },
  bigint: { name: 'bigint', oid: 20, write: (array, value: number) => array.bigint(value) },
  timestamptz: { name: 'timestamptz', oid: 1184, write: (array, value: string) => array.bigint(microsecondsOf(value)) },
  printed: { name: 'text', oid: 25, write: (array, value: string) => array.text(value) },
  json: { name: 'json', oid: 114, write: (array, value: string) => array.text(value) },
  jsonb: { name: 'jsonb', oid: 3802, write: (array, value: string) => array.jsonb(value) },
  bytea: { name: 'bytea', oid: 17, write: (array, value: Uint8Array) => array.bytes(value) },
}

/** One parameter of type `<type>[]`; what is null or undefined is null. */
export function arrayOf(type: ColumnType, values: readonly unknown[]): Buffer {
  const { oid, write } = elements[type]
  const array = new ArrayWriter(oid, values.length)
  for (const value of values) {
    if (value === null || value === undefined) array.nothing()
    else write(array, value as never)
  }
  return array.finish()
}

/** Times are counted from the year 2000. */
const epochMs = Date.UTC(2000, 0, 1)
let lastTime = { text: '', microseconds: 0 }

/** Rows that are written together mostly have the same time. */
function microsecondsOf(text: string): number {
  if (lastTime.text !== text) lastTime = { text, microseconds: (Date.parse(text) - epochMs) * 1_000 }
  return lastTime.microseconds
}

const headerBytes = 20
const usualBytes = 48
const bytesPerUnit = 3
const uint32 = 2 ** 32

class ArrayWriter {
  #buffer: Buffer
  #end = headerBytes
  #hasNull = 0

  constructor(oid: number, length: number) {
    this.#buffer = Buffer.allocUnsafe(headerBytes + length * usualBytes)
    this.#buffer.writeInt32BE(length === 0 ? 0 : 1, 0)
    this.#buffer.writeInt32BE(oid, 8)
    this.#buffer.writeInt32BE(length, 12)
    this.#buffer.writeInt32BE(1, 16)
  }

  nothing(): void {
    this.#hasNull = 1
    this.#begin(0)
    this.#end = this.#buffer.writeInt32BE(-1, this.#end)
  }

  integer(value: number): void {
    this.#begin(4)
    this.#end = this.#buffer.writeInt32BE(value, this.#buffer.writeInt32BE(4, this.#end))
  }

  /** Nothing of ours counts beyond 2^53. */
  bigint(value: number): void {
    this.#begin(8)
    const high = this.#buffer.writeInt32BE(8, this.#end)
    const low = this.#buffer.writeInt32BE(Math.floor(value / uint32), high)
    this.#end = this.#buffer.writeUInt32BE(((value % uint32) + uint32) % uint32, low)
  }

  uuid(value: string): void {
    this.#begin(16)
    const start = this.#buffer.writeInt32BE(16, this.#end)
    const written = this.#buffer.write(value.replaceAll('-', ''), start, 16, 'hex')
    if (written !== 16) throw new TypeError(`${value} is not a UUID`)
    this.#end = start + written
  }

  text(value: string): void {
    this.#begin(value.length * bytesPerUnit)
    const written = this.#buffer.write(value, this.#end + 4, 'utf8')
    this.#end = this.#buffer.writeInt32BE(written, this.#end) + written
  }

  /** Text after the number of its format. */
  jsonb(value: string): void {
    this.#begin(value.length * bytesPerUnit + 1)
    this.#buffer[this.#end + 4] = 1
    const written = this.#buffer.write(value, this.#end + 5, 'utf8') + 1
    this.#end = this.#buffer.writeInt32BE(written, this.#end) + written
  }

  bytes(value: Uint8Array): void {
    this.#begin(value.length)
    this.#buffer.set(value, this.#buffer.writeInt32BE(value.length, this.#end))
    this.#end += 4 + value.length
  }

  finish(): Buffer {
    this.#buffer.writeInt32BE(this.#hasNull, 4)
    const isEmpty = this.#buffer.readInt32BE(0) === 0
    return this.#buffer.subarray(0, isEmpty ? 12 : this.#end)
  }

  /** Makes room for the length of a value and as many bytes. */
  #begin(bytes: number): void {
    const needed = this.#end + 4 + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }
}
