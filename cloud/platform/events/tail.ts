import type { Semaphore } from '@millwright/api/semaphore.ts'
import type { Database } from '../database/database.ts'
import type { Log } from '../log.ts'
import { gone } from './position.ts'
import { type EventRow, list } from './store.ts'

/** The same object for all streams, so that each way of writing it is worked out once. */
export type Message = EventRow & { /** How much there is to remember. */ characters: number }

/** How many events are read, and looked at by a stream, at once. */
const pageSize = 100
/** What is remembered of the newest events for the streams of a tenant together. */
const keptMessages = 2_000
const keptCharacters = 4 * 1024 * 1024

type Options = {
  database: Database
  log: Log
  /** Limits the streams that read pages from the table. */
  reads: Semaphore
  tenantId: string
  /** The position it begins after. */
  newest: number
}

/**
 * The newest events of a tenant: read once for all its streams in this process. A stream that is further behind than
 * what is remembered reads pages from the table until it has caught up, so a slow one costs no memory.
 */
export class Tail {
  readonly #options: Options
  readonly #waiting = new Set<() => void>()
  /** Without gaps, and ends with the newest. */
  #messages: Message[] = []
  #newest: number
  #looking = false
  #again = false

  constructor(options: Options) {
    this.#options = options
    this.#newest = options.newest
  }

  /** What comes next after a position, nothing left out; empty when nothing does. */
  async after(position: number): Promise<readonly Message[]> {
    const remembered = this.#remembered(position)
    if (remembered !== undefined) return remembered
    const messages = await this.#options.reads.run(this.#options.tenantId, () => this.#read(position))
    if (messages.length === 0 || !follows(messages, position)) throw gone(position)
    return messages
  }

  /** Sees what was placed meanwhile. Many calls during one look are one more look. */
  async look(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    try {
      while (this.#again) {
        this.#again = false
        const messages = await this.#read(this.#newest)
        if (messages.length === pageSize) this.#again = true
        this.#remember(messages)
      }
    } catch (error) {
      this.#options.log.warn({ error, tenantId: this.#options.tenantId }, 'Events could not be read')
    } finally {
      this.#looking = false
    }
  }

  /** Until there is something after the position, something new, the time is over, or nobody waits any more. */
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

  #remembered(position: number): Message[] | undefined {
    const before = this.#newest - this.#messages.length
    if (position < before) return undefined
    return this.#messages.slice(position - before, position - before + pageSize)
  }

  async #read(after: number): Promise<Message[]> {
    const { database, tenantId } = this.#options
    const rows = await database.read({ tenantId }, (handle) => list(handle, { after, limit: pageSize }))
    return rows.map((row) => ({ ...row, characters: JSON.stringify(row.data).length }))
  }

  #remember(messages: readonly Message[]): void {
    const last = messages.at(-1)
    if (last === undefined) return
    // When events were forgotten before they were read, the streams find that out in the table.
    this.#messages = follows(messages, this.#newest) ? newestOf([...this.#messages, ...messages]) : []
    this.#newest = last.position
    for (const wake of this.#waiting) wake()
  }
}

/** Positions have no gaps, so whoever finds one knows that something was forgotten. */
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
