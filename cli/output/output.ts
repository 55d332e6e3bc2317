import { details } from './details.ts'
import { type Columns, type Row, Table } from './table.ts'
import type { Terminal } from './terminal.ts'

/** `Format` is the output format: text for people, one JSON document, or one line of JSON per item. */
export type Format = 'text' | 'json' | 'ndjson'

type Page = { data: readonly Row[]; meta?: unknown }

/** `Output` prints the result of a command in the format that the user requested. */
export class Output {
  readonly terminal: Terminal
  readonly format: Format

  constructor(terminal: Terminal, format: Format) {
    this.terminal = terminal
    this.format = format
  }

  get isText(): boolean {
    return this.format === 'text'
  }

  /** Prints a sentence if the format is text. */
  async printText(sentence: string): Promise<void> {
    if (this.isText) await this.terminal.print(sentence)
  }

  /** Prints a response. In the JSON formats, prints the JSON as received; in text format, prints the fields. */
  async show(answer: { data: object }): Promise<void> {
    if (this.format === 'ndjson') return this.#print(JSON.stringify(answer.data))
    if (this.format === 'json') return this.#print(this.json(answer))
    for (const line of details({ ...answer.data })) await this.#print(line)
  }

  /** Prints a sentence in text format, and the response in the JSON formats. */
  async done(sentence: string, answer: object): Promise<void> {
    if (this.isText) return this.#print(sentence)
    await this.#print(
      this.format === 'json' ? this.json(answer) : JSON.stringify('data' in answer ? answer.data : answer),
    )
  }

  /**
   * Prints a list page by page, so that only one page is in memory. For an empty list, the `nothing` text is printed.
   */
  async list(
    pages: AsyncIterable<Page> | Page,
    { columns, nothing }: { columns: Columns; nothing: string },
  ): Promise<void> {
    const all = Symbol.asyncIterator in pages ? pages : only(pages)
    if (this.format === 'json') return this.#document(all)
    const table = new Table(columns, this.terminal)
    let seen = 0
    let total: number | undefined
    for await (const { data, meta } of all) {
      seen += data.length
      total = totalOf(meta) ?? total
      if (data.length === 0) continue
      for (const line of this.isText ? table.lines(data) : data.map((row) => JSON.stringify(row)))
        await this.#print(line)
    }
    if (!this.isText) return
    if (seen === 0) return this.terminal.note(nothing)
    if (all !== pages && total !== undefined && total > seen)
      this.terminal.note(`${seen} of ${total} shown. To show all, pass --all.`)
  }

  /** Prints all pages as one JSON document, while they arrive. */
  async #document(pages: AsyncIterable<Page>): Promise<void> {
    let last: unknown
    let open = false
    let pending = ''
    for await (const { data, meta } of pages) {
      last = meta
      for (const row of data) {
        if (open) await this.#print(`${pending},`)
        pending = `${open ? '' : '{"data":['}${JSON.stringify(row)}`
        open = true
      }
    }
    if (!open) return this.#print(this.json(last === undefined ? { data: [] } : { data: [], meta: last }))
    await this.#print(`${pending}]${last === undefined ? '' : `,"meta":${JSON.stringify(last)}`}}`)
  }

  json(value: unknown): string {
    return JSON.stringify(value, undefined, this.terminal.columns === undefined ? undefined : 2)
  }

  #print(line: string): Promise<void> {
    return this.terminal.print(line)
  }
}

async function* only(page: Page): AsyncGenerator<Page> {
  yield page
}

function totalOf(meta: unknown): number | undefined {
  const { totalElements, offset = 0 } = (meta ?? {}) as { totalElements?: number; offset?: number }
  return totalElements === undefined ? undefined : totalElements - offset
}
