import { once } from 'node:events'
import type { Socket } from 'node:net'
import pg, { type Client } from 'pg'

type Wire = {
  stream: Socket
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

type Value = string | number | null

/** `Copy` implements the protocol of `copy … from stdin`, which the driver does not support. */
class Copy extends pg.Query {
  readonly #text: string

  constructor(statement: string, text: string, done: (error: Error | undefined) => void) {
    super(statement, [], done)
    this.#text = text
  }

  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFromChunk(Buffer.from(this.#text))
    wire.endCopyFrom()
  }
}

/**
 * Writes rows faster than `insert`. Only the owner can use it, because row-level security does not allow `copy from`
 * for the application's role.
 */
export function copyRows(
  owner: Client,
  table: string,
  { columns, rows }: { columns: readonly string[]; rows: readonly (readonly Value[])[] },
): Promise<void> {
  if (rows.length === 0) return Promise.resolve()
  const text = rows.map((row) => `${row.map(printed).join('\t')}\n`).join('')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const statement = `copy ${table} (${columns.join(', ')}) from stdin`
  owner.query(new Copy(statement, text, (error) => (error ? reject(error) : resolve())))
  return promise
}

const special = /[\\\t\n\r]/
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function printed(value: Value): string {
  if (value === null) return '\\N'
  const text = String(value)
  return special.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? '') : text
}

/** The maximum number of received bytes that the consumer has not read yet. */
const bufferedBytes = 4 * 1024 * 1024

/** `CopyOut` implements the protocol of `copy … to stdout`. The server waits while the reader takes no rows. */
class CopyOut extends pg.Query {
  readonly #rows: Buffer[] = []
  #bytes = 0
  #wire: Wire | undefined
  #end: { error: Error | undefined } | undefined
  #wake: () => void = () => {}

  constructor(statement: string) {
    super(statement, [], (error: Error | undefined) => {
      this.#end = { error }
      this.#wake()
    })
  }

  handleCopyData({ chunk }: { chunk: Buffer }, wire: Wire): void {
    // The chunk is copied, because the driver reuses the memory of the chunk for the next message.
    this.#rows.push(Buffer.from(chunk))
    this.#bytes += chunk.length
    this.#wire = wire
    if (this.#bytes > bufferedBytes) wire.stream.pause()
    this.#wake()
  }

  async *chunks(): AsyncGenerator<Buffer[]> {
    for (;;) {
      if (this.#rows.length > 0) {
        const rows = this.#rows.splice(0)
        this.#bytes = 0
        this.#wire?.stream.resume()
        yield rows
      } else if (this.#end !== undefined) {
        if (this.#end.error) throw this.#end.error
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}

/** Reads the rows of a `copy … to stdout`, several at a time. The bytes of each row are unchanged. */
export function copyOut(owner: Client, statement: string): AsyncGenerator<Buffer[]> {
  const copy = new CopyOut(statement)
  owner.query(copy)
  return copy.chunks()
}

class CopyIn extends pg.Query {
  readonly #source: AsyncIterable<Buffer>
  failure: unknown

  constructor(statement: string, source: AsyncIterable<Buffer>, done: (error: Error | undefined) => void) {
    super(statement, [], done)
    this.#source = source
  }

  handleCopyInResponse(wire: Wire): void {
    this.#send(wire).catch((error: unknown) => {
      this.failure = error
      wire.sendCopyFail('The source failed')
    })
  }

  async #send(wire: Wire): Promise<void> {
    for await (const chunk of this.#source) {
      wire.sendCopyFromChunk(chunk)
      if (wire.stream.writableNeedDrain) await once(wire.stream, 'drain')
    }
    wire.endCopyFrom()
  }
}

/** Sends the output of a `copyOut` to a `copy … from stdin`, as fast as the server accepts it. */
export function copyIn(owner: Client, statement: string, source: AsyncIterable<Buffer>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const copy = new CopyIn(statement, source, (error) => (error ? reject(copy.failure ?? error) : resolve()))
  owner.query(copy)
  return promise
}
