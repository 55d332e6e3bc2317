import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Webhook } from '@millwright/api/event-subscriptions.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import type { Clock } from './clock.ts'
import { Deliverer } from './deliverer.ts'

/** A request that a receiver got. */
export type ReceivedRequest = { messageId: string; events: CloudEvent[] }

/** Answers a request: a status, or undefined for no response. */
export type ReceiverBehaviour = (request: ReceivedRequest) => number | undefined | Promise<number | undefined>

/** `Receiver` is an HTTP server that gets the events of a webhook. */
export class Receiver {
  /** All requests in the order of their arrival, also those that were refused. */
  readonly requests: ReceivedRequest[] = []
  /** The events that the receiver confirmed, in order. */
  readonly accepted: CloudEvent[] = []
  /** The number of requests without a response whose connection is open. */
  open = 0
  behaviour: ReceiverBehaviour = () => 204
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  static async open(): Promise<Receiver> {
    const receiver = new Receiver()
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as CloudEvent | CloudEvent[]
    const received = { messageId: String(request.headers['webhook-id']), events: [body].flat() }
    this.requests.push(received)
    this.open += 1
    response.on('close', () => {
      this.open -= 1
    })
    const status = await this.behaviour(received)
    if (status === undefined) return
    if (status >= 200 && status < 300) this.accepted.push(...received.events)
    response.writeHead(status).end()
  }

  /** The subjects of the confirmed events, in order. */
  get subjects(): string[] {
    return this.accepted.map(({ subject }) => subject ?? '')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** `TestClock` is a clock that only moves when a test moves it. */
export class TestClock implements Clock {
  #now = Date.now()
  readonly #waiting = new Set<{ at: number; end: () => void }>()

  now(): number {
    return this.#now
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiter = {
        at: this.#now + ms,
        end: () => {
          this.#waiting.delete(waiter)
          signal.removeEventListener('abort', waiter.end)
          resolve()
        },
      }
      if (signal.aborted || ms <= 0) return resolve()
      this.#waiting.add(waiter)
      signal.addEventListener('abort', waiter.end)
    })
  }

  /** Moves the clock. Everything that is due then continues. */
  advance(ms: number): void {
    this.#now += ms
    for (const waiter of [...this.#waiting]) if (waiter.at <= this.#now) waiter.end()
  }
}

/** Opens a hub that can send to receivers on this machine. With `clock`, its retries use this clock. */
export async function deliveryHub({ clock }: { clock?: Clock } = {}): Promise<TestHub> {
  const hub = await testHub({ ownProcesses: true, outboundAllow: ['127.0.0.1'] })
  if (clock !== undefined) useClock(hub, clock)
  return hub
}

export function useClock(hub: TestHub, clock: Clock): void {
  Deliverer.of(hub.contextOf('events')).parts.clock = clock
}

/** Creates a webhook for the events that tests emit. */
export async function createWebhook(
  caller: TestCaller,
  url: string,
  fields: Partial<Pick<Webhook, 'types' | 'batchSize' | 'active' | 'name'>> = {},
): Promise<string> {
  const { data } = await caller.events.createWebhook({ body: { data: { url, types: ['test.'], ...fields } } })
  return data.id
}

/** Waits until the condition is true. Fails after a time limit. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 240_000,
): Promise<void> {
  const deadline = performance.now() + limitMs
  const pause = growingPause()
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Time limit: ${what}`)
    await pause()
  }
}

/**
 * Runs due tasks until the condition is true. A process finds the work of another process when it checks all tenants, which
 * takes long in a database with the tenants of many tests.
 */
export function untilSettled(hub: TestHub, condition: () => boolean, what: string): Promise<void> {
  return until(async () => {
    await hub.settle()
    return condition()
  }, what)
}
