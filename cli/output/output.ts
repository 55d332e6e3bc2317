import { details } from './details.ts'
import { type Columns, type Row, Table } from './table.ts'
import type { Terminal } from './terminal.ts'

/** For people, as one document for programs, or as a line of JSON for each thing. */
export type Format = 'text' | 'json' | 'ndjson'

type Page = { data: readonly Row[]; meta?: unknown }

/** How a command says what it found, in the form that was asked for. */
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

  /** A sentence for people. Programs read what was answered instead. */
  async say(sentence: string): Promise<void> {
    if (this.isText) await this.terminal.print(sentence)
  }

  /** What was answered, as it is; people get it field by field. */
  async show(answer: { data: object }): Promise<void> {
    if (this.format === 'ndjson') return this.#print(JSON.stringify(answer.data))
    if (this.format === 'json') return this.#print(this.json(answer))
    for (const line of details({ ...answer.data })) await this.#print(line)
  }

  /** A sentence for people, the answer for programs. */
  async done(sentence: string, answer: object): Promise<void> {
    if (this.isText) return this.#print(sentence)
    await this.#print(
      this.format === 'json' ? this.json(answer) : JSON.stringify('data' in answer ? answer.data : answer),
    )
  }

  /** A list in whatever number of pages; nothing is kept but the page at hand. */
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
    if (seen === 0) return this.terminal.tell(nothing)
    if (all !== pages && total !== undefined && total > seen)
      this.terminal.tell(`${seen} of ${total}: --all shows the rest.`)
  }

  /** One document, written while it comes. */
  async #document(pages: AsyncIterable<Page>): Promise<void> {
    let last: unknown
    let open = false
    let held = ''
    for await (const { data, meta } of pages) {
      last = meta
      for (const row of data) {
        if (open) await this.#print(`${held},`)
        held = `${open ? '' : '{"data":['}${JSON.stringify(row)}`
        open = true
      }
    }
    if (!open) return this.#print(this.json(last === undefined ? { data: [] } : { data: [], meta: last }))
    await this.#print(`${held}]${last === undefined ? '' : `,"meta":${JSON.stringify(last)}`}}`)
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
