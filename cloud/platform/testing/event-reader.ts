import assert from 'node:assert/strict'
import { type CloudEvent, events } from '@millwright/api/events.ts'

type Dispatched = { id: string; event: string; data: string }
type Opening = { token: string; path?: string; query?: Record<string, string>; lastEventId?: number | string }

/** `EventReader` reads server-sent events like a browser: over a socket, with the standard's rules for ids. */
export class EventReader {
  readonly response: Response
  readonly #abort: AbortController
  readonly #messages: AsyncGenerator<Dispatched>
  lastEventId = ''

  private constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    this.#messages = this.#dispatch()
  }

  /** Opens a stream. It does not throw if the stream is refused, so check the response. */
  static async open(
    base: string,
    { token, path = events.prefix + events.operations.streamEvents.path, query = {}, lastEventId }: Opening,
  ): Promise<EventReader> {
    const abort = new AbortController()
    const response = await fetch(`${base}${path}?${new URLSearchParams(query)}`, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
      },
      signal: abort.signal,
    })
    return new EventReader(response, abort)
  }

  /** Returns the next message, or undefined at the end of the stream. */
  async next(): Promise<Dispatched | undefined> {
    const { done, value } = await this.#messages.next()
    return done === true ? undefined : value
  }

  /** Reads the given number of events. The end message is not counted. */
  async take(count: number): Promise<CloudEvent[]> {
    const received: CloudEvent[] = []
    while (received.length < count) {
      const message = await this.next()
      assert.ok(message, 'the stream has ended')
      assert.notEqual(message.event, 'end', message.data)
      const event = JSON.parse(message.data) as CloudEvent
      assert.deepEqual([message.id, message.event], [String(Number(event.sequence)), event.type])
      received.push(event)
    }
    return received
  }

  close(): void {
    this.#abort.abort()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async *#dispatch(): AsyncGenerator<Dispatched> {
    let text = ''
    for await (const chunk of (this.response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const fields = new Map(text.slice(0, end).split('\n').map(fieldOf))
        text = text.slice(end + 2)
        this.lastEventId = fields.get('id') ?? this.lastEventId
        const data = fields.get('data')
        if (data !== undefined) yield { id: this.lastEventId, event: fields.get('event') ?? 'message', data }
      }
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(': ')
  return [line.slice(0, colon), line.slice(colon + 2)]
}
