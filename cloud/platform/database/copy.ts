import pg, { type Client } from 'pg'

type Wire = { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }

type Value = string | number | null

/** The protocol of `copy … from stdin`, which the driver leaves to others. */
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

/** Writes rows faster than `insert` can. As the owner only: the application's role is under policies, and may not. */
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
