import { randomUUID } from 'node:crypto'
import { validate as isUuid } from 'uuid'
import type { Log } from '../log.ts'

type HeartbeatsOptions = {
  /** Sends a text to all processes of the database, also to this one. */
  send: (text: string) => Promise<void>
  /** Called when another process has ended, or is no longer heard. */
  onEnded: () => void
  log: Log
  now?: () => number
}

/** The interval of the notifications of a process. */
export const heartbeatMs = 1_000
/** After this time without a notification, a process counts as ended. */
export const silenceMs = 3_000
/** The maximum number of other processes. Every user of the database can send notifications, so the number is limited. */
const mostProcesses = 1_000

/**
 * `Heartbeats` finds out that another process of the platform has ended. Each process sends a notification every second, and
 * another one when it stops. A process that is wrongly counted as ended causes only checks for its work, because the leases
 * of its work are still valid. Behind a connection pooler there are no notifications, and only the sweep of all tenants finds
 * the work of a process that has ended.
 */
export class Heartbeats {
  readonly #options: HeartbeatsOptions
  readonly #processId = randomUUID()
  /** The time at which each other process was heard last. */
  readonly #heardAt = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #tickedAt = 0
  #heardOwnAt = 0

  constructor(options: HeartbeatsOptions) {
    this.#options = options
  }

  /** The number of other processes that run. */
  get processes(): number {
    return this.#heardAt.size
  }

  start(): void {
    this.#tickedAt = this.#now()
    this.#heardOwnAt = this.#tickedAt
    this.#timer ??= setInterval(() => this.#tick(), heartbeatMs).unref()
    void this.#send('runs')
  }

  /** Notifies the other processes that this process has returned its work. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#send('stopped')
  }

  /** Receives a text that a process has sent. Ignores texts of this process. */
  receive(text: string): void {
    const [processId = '', state] = text.split(' ')
    if (processId === this.#processId) {
      this.#hearOwn()
      return
    }
    if (state === 'runs') {
      const isKnown = this.#heardAt.has(processId)
      if (isKnown || (this.#heardAt.size < mostProcesses && isUuid(processId)))
        this.#heardAt.set(processId, this.#now())
      return
    }
    // A later version can send other states. They are not a reason to search all tenants.
    if (state !== 'stopped') return
    this.#heardAt.delete(processId)
    this.#options.onEnded()
  }

  /** The notifications of all processes were lost together with those of this one, so the silence starts again. */
  #hearOwn(): void {
    const now = this.#now()
    if (this.#isDeaf(now)) for (const processId of this.#heardAt.keys()) this.#heardAt.set(processId, now)
    this.#heardOwnAt = now
  }

  /** Returns true if this process receives no notifications, for example because the database restarts. */
  #isDeaf(now: number): boolean {
    return now - this.#heardOwnAt > 2 * heartbeatMs
  }

  #tick(): void {
    const now = this.#now()
    // If this process did not run for some time, it has not yet read the notifications of this time.
    const isLate = now - this.#tickedAt > 2 * heartbeatMs
    this.#tickedAt = now
    void this.#send('runs')
    if (isLate || this.#isDeaf(now)) return
    const silent = [...this.#heardAt].filter(([, heardAt]) => now - heardAt > silenceMs)
    for (const [processId] of silent) this.#heardAt.delete(processId)
    if (silent.length > 0) this.#options.onEnded()
  }

  async #send(state: 'runs' | 'stopped'): Promise<void> {
    try {
      await this.#options.send(`${this.#processId} ${state}`)
    } catch (error) {
      this.#options.log.debug({ error }, 'The notification that this process runs could not be sent')
    }
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now()
  }
}
