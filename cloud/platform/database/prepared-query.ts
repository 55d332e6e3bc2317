import pg, { type Connection, type FieldDef } from 'pg'
import { parserOf } from './parsing.ts'

export type QueryResult = { rows: Record<string, unknown>[]; rowCount: number }

type QueryCallback = (error: Error | undefined, result: QueryResult | undefined) => void

/** The members of the driver's query class that its types omit. The driver calls `callback` with the result. */
type DriverQuery = {
  name: string | undefined
  callback: QueryCallback
  submit(connection: Connection): Error | null
}

const DriverQuery = pg.Query as unknown as new (text: string, values: unknown[], callback: QueryCallback) => DriverQuery

type Column = { name: string; parse: (text: string) => unknown }

/**
 * The columns of each statement that has already run on a connection. `undescribed` is the same connection, but it does
 * not request descriptions of columns.
 */
type ConnectionDescriptions = { columns: Map<string, Column[]>; undescribed: Connection }

const descriptions = new WeakMap<Connection, ConnectionDescriptions>()

/**
 * `PreparedQuery` requests the description of its columns once per connection. The driver alone would request it each
 * time. This is safe, because the server refuses to run a prepared statement whose columns have changed.
 */
export class PreparedQuery extends DriverQuery {
  #columns: Column[] | undefined
  #descriptions: ConnectionDescriptions | undefined
  readonly #rows: Record<string, unknown>[] = []
  #rowCount = 0
  #parseError: Error | undefined

  constructor(
    { name, text, values }: { name: string | undefined; text: string; values: unknown[] },
    callback: QueryCallback,
  ) {
    super(text, values, callback)
    this.name = name
  }

  override submit(connection: Connection): Error | null {
    if (this.name === undefined) return super.submit(connection)
    this.#descriptions = descriptions.get(connection) ?? createDescriptions(connection)
    this.#columns = this.#descriptions.columns.get(this.name)
    return super.submit(this.#columns === undefined ? connection : this.#descriptions.undescribed)
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#columns = fields.map(columnOf)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const row: Record<string, unknown> = {}
    const columns = this.#columns ?? []
    try {
      for (let i = 0; i < columns.length; i++) {
        const { name, parse } = columns[i] as Column
        const text = fields[i] ?? null
        row[name] = text === null ? null : parse(text)
      }
    } catch (error) {
      this.#parseError = error as Error
    }
    this.#rows.push(row)
  }

  /** Reads the number of rows from the command tag, such as `SELECT 3` or `INSERT 0 3`. `BEGIN` has no number. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#rowCount = Number.parseInt(text.slice(text.lastIndexOf(' ') + 1), 10) || 0
    if (this.name !== undefined) this.#descriptions?.columns.set(this.name, this.#columns ?? [])
  }

  handleReadyForQuery(): void {
    if (this.#parseError === undefined) this.callback(undefined, { rows: this.#rows, rowCount: this.#rowCount })
    else this.callback(this.#parseError, undefined)
  }
}

const textSuffix = ':text'

/**
 * Returns how a column is parsed. A column whose name ends with `:text` is not parsed, so that JSON stays text. A cast
 * to text would copy the value in the server.
 */
function columnOf({ name, dataTypeID }: FieldDef): Column {
  if (name.endsWith(textSuffix)) return { name: name.slice(0, -textSuffix.length), parse: (text) => text }
  return { name, parse: parserOf(dataTypeID) }
}

function createDescriptions(connection: Connection): ConnectionDescriptions {
  const undescribed: Connection = Object.create(connection, { describe: { value: () => {} } })
  const created: ConnectionDescriptions = { columns: new Map(), undescribed }
  descriptions.set(connection, created)
  return created
}
