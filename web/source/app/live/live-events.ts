import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import type { FetchOperation } from '../api/client.ts'
import { Failure } from '../api/failure.ts'
import { readServerSentEvents } from './server-sent-events.ts'

export const eventTypePrefix = 'io.millwright.'

export type LiveState = 'connecting' | 'live' | 'interrupted'
type EventHandler = (event: CloudEvent) => void
type Subscription = { types: readonly string[]; handler: EventHandler }

const reconnect = { firstMs: 500, longestMs: 30_000 }

/**
 * `LiveEvents` receives all events over one stream and distributes them to subscriptions. After an interruption, the
 * stream resumes after the last received event. If the server has already deleted the events after it, `onGap` is
 * called.
 */
export class LiveEvents {
  readonly #raw: FetchOperation
  readonly #subscriptions = new Set<Subscription>()
  readonly #watchers = new Set<() => void>()
  readonly #ended = new AbortController()
  #position: string | undefined
  #state: LiveState = 'connecting'
  onGap: () => void = () => {}

  constructor(fetchOperation: FetchOperation) {
    this.#raw = fetchOperation
  }

  get state(): LiveState {
    return this.#state
  }

  /** Connects, and reconnects after an interruption, until `stop` is called. */
  async start(): Promise<void> {
    const backOff = new BackOff(reconnect)
    while (!this.#ended.signal.aborted) {
      const startedAt = performance.now()
      await this.#readStream().catch((error) => this.#onInterrupted(error))
      if (this.#ended.signal.aborted) return
      this.#setState('interrupted')
      if (performance.now() - startedAt > reconnect.longestMs) backOff.reset()
      await pause(backOff.nextMs(), this.#ended.signal)
    }
  }

  stop(): void {
    this.#ended.abort()
  }

  /**
   * Calls the handler for events whose type has one of these prefixes, and returns a function that ends the
   * subscription. Prefixes are written without `io.millwright.`. A prefix matches whole segments of the type only.
   */
  subscribe(types: readonly string[], handler: EventHandler): () => void {
    const subscription = { types, handler }
    this.#subscriptions.add(subscription)
    return () => this.#subscriptions.delete(subscription)
  }

  /** Calls the watcher on every change of the connection state. Returns a function that ends the calls. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  async #readStream(): Promise<void> {
    const headers = this.#position === undefined ? {} : { 'last-event-id': this.#position }
    const response = await this.#raw('events', 'streamEvents', { headers, signal: this.#ended.signal })
    if (response.body === null) return
    this.#setState('live')
    for await (const { id, event, data } of readServerSentEvents(response.body)) {
      if (id !== undefined) this.#position = id
      if (event?.startsWith(eventTypePrefix) && data !== undefined) this.#dispatch(event, data)
    }
  }

  /** Passes an event to the matching subscriptions. The event is parsed once, and only if a subscription matches. */
  #dispatch(type: string, data: string): void {
    const short = type.slice(eventTypePrefix.length)
    const listening = [...this.#subscriptions].filter(({ types }) => types.some((each) => hasTypePrefix(short, each)))
    if (listening.length === 0) return
    const event: CloudEvent = JSON.parse(data)
    for (const { handler } of listening) handler(event)
  }

  #onInterrupted(error: unknown): void {
    if (!(error instanceof Failure && error.status === 410)) return
    this.#position = undefined
    this.onGap()
  }

  #setState(state: LiveState): void {
    if (this.#state === state) return
    this.#state = state
    for (const watcher of this.#watchers) watcher()
  }
}

/**
 * Returns true when a type has the prefix. `inventory.asset.created` has the prefixes `inventory.asset` and `*`, but
 * not `inventory.ass`.
 */
export function hasTypePrefix(type: string, prefix: string): boolean {
  return prefix === '*' || type === prefix || type.startsWith(`${prefix}.`)
}
