import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import type { FetchOperation } from '../api/client.ts'
import { Failure } from '../api/failure.ts'
import { readServerSentEvents } from './server-sent-events.ts'

export const eventTypePrefix = 'io.millwright.'

export type LiveState = 'connecting' | 'live' | 'interrupted'
type EventHandler = (event: CloudEvent) => void
type Subscription = { types: readonly string[]; handler: EventHandler }

/** `TabMessage` is a message between the tabs of one user. The tab that reads the stream sends all but `hello`. */
type TabMessage =
  | { kind: 'hello' }
  | { kind: 'status'; state: LiveState; position: string | undefined }
  | { kind: 'event'; id: string | undefined; type: string; data: string }
  | { kind: 'gap' }

const reconnect = { firstMs: 500, longestMs: 30_000 }

/**
 * `LiveEvents` receives all events over one stream and distributes them to subscriptions. All tabs of a user share the
 * stream, because a browser opens only six connections to a server over HTTP/1.1: the tab that holds a lock reads the
 * stream and passes the events to the other tabs. If this tab closes, another tab continues after the last received event.
 * The stream also resumes there after an interruption. If the server has already deleted the events after it, `onGap` is
 * called.
 */
export class LiveEvents {
  readonly #raw: FetchOperation
  readonly #name: string
  readonly #tabs: BroadcastChannel
  readonly #subscriptions = new Set<Subscription>()
  readonly #watchers = new Set<() => void>()
  readonly #ended = new AbortController()
  #position: string | undefined
  #state: LiveState = 'connecting'
  #isLeading = false
  onGap: () => void = () => {}

  constructor(fetchOperation: FetchOperation, userId: string) {
    this.#raw = fetchOperation
    this.#name = `millwright.events.${userId}`
    this.#tabs = new BroadcastChannel(this.#name)
  }

  get state(): LiveState {
    return this.#state
  }

  /** Follows the tab that reads the stream, and reads the stream when no other tab does, until `stop` is called. */
  async start(): Promise<void> {
    this.#tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#follow(data)
    this.#tell({ kind: 'hello' })
    const { signal } = this.#ended
    await navigator.locks.request(this.#name, { signal }, () => this.#lead()).catch(() => {})
  }

  /** Connects, and reconnects after an interruption. */
  async #lead(): Promise<void> {
    this.#isLeading = true
    this.#tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
      if (data.kind === 'hello') this.#tellStatus()
    }
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
    this.#tabs.close()
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
      if (!event?.startsWith(eventTypePrefix) || data === undefined) continue
      this.#tell({ kind: 'event', id, type: event, data })
      this.#dispatch(event, data)
    }
  }

  /** Handles a message of the tab that reads the stream. */
  #follow(message: TabMessage): void {
    if (message.kind === 'status') {
      this.#position = message.position
      this.#setState(message.state)
    }
    if (message.kind === 'event') {
      this.#position = message.id ?? this.#position
      this.#dispatch(message.type, message.data)
    }
    if (message.kind === 'gap') this.#onDeleted()
  }

  #tellStatus(): void {
    this.#tell({ kind: 'status', state: this.#state, position: this.#position })
  }

  #tell(message: TabMessage): void {
    if (!this.#ended.signal.aborted) this.#tabs.postMessage(message)
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
    this.#tell({ kind: 'gap' })
    this.#onDeleted()
  }

  #onDeleted(): void {
    this.#position = undefined
    this.onGap()
  }

  #setState(state: LiveState): void {
    if (this.#state === state) return
    this.#state = state
    if (this.#isLeading) this.#tellStatus()
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
