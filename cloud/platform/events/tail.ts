import type { Semaphore } from '@millwright/api/semaphore.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { eventsDeleted } from './position.ts'
import { type EventRow, list } from './store.ts'

/** An event with its size. All streams share the same object, so that its text is computed only once. */
export type Message = EventRow & { /** The length of the data as JSON text. */ characters: number }

/** The maximum number of events that a stream reads and checks at a time. */
const pageSize = 100
/** The limits for the newest events that are kept in memory for all streams of a tenant. */
const keptMessages = 2_000
const keptCharacters = 4 * 1024 * 1024

type Options = {
  database: Database
  log: Log
  /** Limits how many streams read pages from the table at the same time. */
  reads: Semaphore
  tenantId: string
  /** The position after which the tail starts. */
  newest: number
}

/**
 * `Tail` holds the newest events of a tenant in memory. They are read once for all streams of the tenant in this
 * process. A stream at an older position reads pages from the table until it reaches the tail, so a slow stream uses no
 * memory.
 */
export class Tail {
  readonly #options: Options
  readonly #waiting = new Set<() => void>()
  /** The newest events, oldest first, without gaps. */
  #messages: Message[] = []
  #newest: number
  #looking = false
  #again = false

  constructor(options: Options) {
    this.#options = options
    this.#newest = options.newest
  }

  /** The position of the newest event that was read. */
  get newest(): number {
    return this.#newest
  }

  /** Returns the events after a position, without gaps. The list is empty if there are none. */
  async after(position: number): Promise<readonly Message[]> {
    const remembered = this.#cached(position)
    if (remembered !== undefined) return remembered
    const messages = await this.#options.reads.run(this.#options.tenantId, () => this.#read(position))
    if (messages.length === 0 || !follows(messages, position)) throw eventsDeleted(position)
    return messages
  }

  /** Reads new events. Any number of calls during a read cause one further read. */
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

  /** Waits until an event after the position exists, the time is over, or the signal aborts. */
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
    // If events were deleted before the tail read them, the tail is emptied. The streams then read the table and detect
    // the gap.
    this.#messages = follows(messages, this.#newest) ? newestOf([...this.#messages, ...messages]) : []
    this.#newest = last.position
    for (const wake of this.#waiting) wake()
  }
}

/** Returns true if the messages directly follow the position. A gap means that events were deleted. */
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
