import { createHash } from 'node:crypto'
import { LruMap } from 'toad-cache'

/** A statement of a store: written once, prepared once per connection. The row type is what it yields. */
export type Statement<Row = unknown> = { readonly name: string; readonly text: string; readonly row?: Row }

/**
 * `$1` of every statement is the tenant: the transaction fills it in, and the statement says `tenant_id = $1` itself,
 * so that it uses the index and is routed to one shard. Row-level security stands behind it as the backstop.
 */
export function statement<Row = Record<string, never>>(text: string): Statement<Row> {
  return { name: nameOf(text), text }
}

/**
 * A statement that is put together for one request (a filter). Texts that come again and again are prepared like those
 * of a store, since reading and planning them costs more than running them; all others are sent and forgotten.
 */
export function dynamicStatement<Row = Record<string, never>>(text: string): Statement<Row> {
  return { name: frequent.nameOf(text), text }
}

const often = { uses: 8, prepared: 64, watched: 500 } as const

/** Which texts come often. What is prepared stays in every connection, so not many ever are. */
class FrequentTexts {
  readonly #names = new Map<string, string>()
  readonly #uses = new LruMap<number>(often.watched)

  nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const uses = (this.#uses.get(text) ?? 0) + 1
    if (uses < often.uses || this.#names.size >= often.prepared) {
      this.#uses.set(text, uses)
      return ''
    }
    this.#uses.delete(text)
    this.#names.set(text, nameOf(text))
    return nameOf(text)
  }
}

const frequent = new FrequentTexts()

function nameOf(text: string): string {
  return `m${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`
}
