import { randomUUID } from 'node:crypto'
import type { Log } from './log.ts'

/** A change of the count of one key: a number to add, after the former count was forgotten if `isReset` is true. */
export type CountChange = { count: number; isReset: boolean }

type OnChange = (key: string, change: CountChange) => void

/** `SharedLimit` reports the counts of one limit to the other processes. */
export type SharedLimit = {
  add(key: string, count: number): void
  /** Reports that the former count of the key is forgotten. */
  reset(key: string): void
}

type JoinOptions = {
  onChange: OnChange
  /** Counts below this number are not sent, because they hardly use the limit. */
  leastCount?: number
}

type Limit = { name: string; changes: Map<string, CountChange>; leastCount: number; onChange: OnChange }

type SharedCountsOptions = {
  /** Sends a text to all processes of the database, also to this one. */
  send: (text: string) => Promise<void>
  log: Log
}

/** Counts of this time are sent together. */
export const sendMs = 50
/** The maximum length of a key. Longer keys are counted in this process only. */
const longestKey = 100
/** The maximum number of keys of one limit that are sent together. Further keys are counted in this process only. */
const mostKeys = 1_000
/** PostgreSQL accepts notifications with less than 8,000 bytes. */
const messageBytes = 7_500

/**
 * `SharedCounts` sends the counts of limits to the other processes of the database, so that a limit applies to all processes
 * together. Each process decides with the counts in its own memory, so a limit also works while the database is overloaded.
 * A process learns the counts of other processes some milliseconds later. In this time, a client can exceed a limit. Behind
 * a connection pooler, no count is sent, and each limit applies to each process separately.
 */
export class SharedCounts {
  readonly #options: SharedCountsOptions
  readonly #processId = randomUUID()
  readonly #limits: Limit[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(options: SharedCountsOptions) {
    this.#options = options
  }

  /** Adds a limit. `onChange` is called for the counts of other processes. The name is the same in all processes. */
  join(name: string, { onChange, leastCount = 1 }: JoinOptions): SharedLimit {
    const limit: Limit = { name, changes: new Map(), leastCount, onChange }
    this.#limits.push(limit)
    return {
      add: (key, count) => this.#change(limit, key, (former) => ({ ...former, count: former.count + count })),
      reset: (key) => this.#change(limit, key, () => ({ count: 0, isReset: true })),
    }
  }

  /** Receives a text that a process has sent. Ignores texts of this process. */
  receive(text: string): void {
    const [processId, name, ...changes] = JSON.parse(text) as [string, string, ...[string, number, number][]]
    if (processId === this.#processId) return
    const limits = this.#limits.filter((limit) => limit.name === name)
    for (const [key, count, isReset] of changes) {
      if (typeof key !== 'string' || !Number.isFinite(count)) continue
      for (const { onChange } of limits) onChange(key, { count, isReset: isReset === 1 })
    }
  }

  /** Sends the waiting counts at once, for example before the process ends. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#sendAll()
  }

  #change({ changes }: Limit, key: string, change: (former: CountChange) => CountChange): void {
    const former = changes.get(key)
    if (former === undefined && (changes.size >= mostKeys || key.length > longestKey)) return
    changes.set(key, change(former ?? { count: 0, isReset: false }))
    this.#sendLater()
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => void this.#sendAll(), sendMs).unref()
  }

  /** Sends the waiting counts. Counts that are added during a slow send are sent afterwards, together. */
  async #sendAll(): Promise<void> {
    try {
      for (const { name, changes, leastCount } of this.#limits) {
        const sent = [...changes].filter(([, { count, isReset }]) => isReset || Math.abs(count) >= leastCount)
        changes.clear()
        for (const text of this.#messages(name, sent)) await this.#options.send(text)
      }
    } catch (error) {
      this.#options.log.warn({ error }, 'The counts of a limit could not be sent')
    } finally {
      this.#timer = undefined
      if (this.#limits.some(({ changes }) => changes.size > 0)) this.#sendLater()
    }
  }

  /** Returns the texts of changes. Each text fits into one notification. */
  #messages(name: string, changes: readonly [string, CountChange][]): string[] {
    const head = JSON.stringify([this.#processId, name]).slice(0, -1)
    const messages: string[] = []
    let text = head
    for (const [key, { count, isReset }] of changes) {
      const next = `,${JSON.stringify([key, count, isReset ? 1 : 0])}`
      if (Buffer.byteLength(text) + Buffer.byteLength(next) > messageBytes) {
        messages.push(`${text}]`)
        text = head
      }
      text += next
    }
    return text === head ? messages : [...messages, `${text}]`]
  }
}
