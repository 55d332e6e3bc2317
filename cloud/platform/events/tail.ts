import type { Semaphore } from '@millwright/api/semaphore.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { eventsDeleted } from './position.ts'
import { type EventRow, list } from './store.ts'

/** An event with its size. All streams share the same object, so that each representation is computed once. */
export type Message = EventRow & { /** How much there is to remember. */ characters: number }

/** How many events a stream reads and checks at a time. */
const pageSize = 100
/** The limits for the newest events that the streams of a tenant share in memory. */
const keptMessages = 2_000
const keptCharacters = 4 * 1024 * 1024

type Options = {
  database: Database
  log: Log
  /** Limits the streams that read pages from the table. */
  reads: Semaphore
  tenantId: string
  /** The position after which the tail starts. */
  newest: number
}

/**
 * `Tail` holds the newest events of a tenant, which are read once for all its streams in this process. A stream that is
 * further behind reads pages from the table until it has caught up, so a slow stream uses no memory.
 */
export class Tail {
  readonly #options: Options
  readonly #waiting = new Set<() => void>()
  /** Without gaps; the last one is the newest. */
  #messages: Message[] = []
  #newest: number
  #looking = false
  #again = false

  constructor(options: Options) {
    this.#options = options
    this.#newest = options.newest
  }

  /** Returns the events after a position, without gaps; empty if there are none. */
  async after(position: number): Promise<readonly Message[]> {
    const remembered = this.#cached(position)
    if (remembered !== undefined) return remembered
    const messages = await this.#options.reads.run(this.#options.tenantId, () => this.#read(position))
    if (messages.length === 0 || !follows(messages, position)) throw eventsDeleted(position)
    return messages
  }

  /** Reads new events. Calls during a read cause one more read. */
  async refresh(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    try {
      while (this.#again) {
        this.#again = false
        const messages = await this.#read(this.#newest)
        if (messages.length === pageSize) this.#again = true
        this.#cache(messages)
      }
    } catch (error) {
      this.#options.log.warn({ error, tenantId: this.#options.tenantId }, 'The newest events cannot be read')
    } finally {
      this.#looking = false
    }
  }

  /** Waits until there is an event after the position, the time is over, or the signal aborts. */
  async wait(position: number, { signal, ms }: { signal: AbortSignal; ms: number }): Promise<void> {
    if (position < this.#newest || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#waiting.add(resolve)
    const leave = () => resolve()
    signal.addEventListener('abort', leave)
    await promise
    signal.removeEventListener('abort', leave)
    this.#waiting.delete(resolve)
    clearTimeout(timer)
  }

  #cached(position: number): Message[] | undefined {
    const before = this.#newest - this.#messages.length
    if (position < before) return undefined
    return this.#messages.slice(position - before, position - before + pageSize)
  }

  async #read(after: number): Promise<Message[]> {
    const { database, tenantId } = this.#options
    const rows = await database.read({ tenantId }, (handle) => list(handle, { after, limit: pageSize }))
    return rows.map((row) => ({ ...row, characters: JSON.stringify(row.data).length }))
  }

  #cache(messages: readonly Message[]): void {
    const last = messages.at(-1)
    if (last === undefined) return
    // If events were deleted before they were read, the streams detect it when they read the table.
    this.#messages = follows(messages, this.#newest) ? newestOf([...this.#messages, ...messages]) : []
    this.#newest = last.position
    for (const wake of this.#waiting) wake()
  }
}

/** Positions have no gaps. A gap means that events were deleted. */
function follows(messages: readonly Message[], position: number): boolean {
  return messages.every((message, index) => message.position === position + 1 + index)
}

function newestOf(messages: Message[]): Message[] {
  let characters = 0
  let from = messages.length
  while (from > 0 && messages.length - from < keptMessages) {
    characters += messages[from - 1]?.characters ?? 0
    if (characters > keptCharacters) break
    from--
  }
  return from === 0 ? messages : messages.slice(from)
}
