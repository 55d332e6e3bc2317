import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { CloudEvent } from '@millwright/api/events.ts'
import { type Caller, until } from './platform.ts'

/** `EventReceiver` receives the events of assets by a webhook, and checks the signature of each request. */
export class EventReceiver implements AsyncDisposable {
  static readonly #type = 'io.millwright.inventory.asset.'
  readonly #server: Server
  readonly #received = new Set<string>()
  readonly #faults: string[] = []
  /** The position of the newest event when the webhook was created. */
  #start = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start({ events }: Caller): Promise<EventReceiver> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const receiver = new EventReceiver(server)
    const url = `http://127.0.0.1:${port}/`
    const { data } = await events.createWebhook({
      body: { data: { url, types: [EventReceiver.#type], batchSize: 20 } },
    })
    receiver.#start = data.position
    receiver.#accept(data.secret)
    return receiver
  }

  /** Waits until all events of the list were received. */
  async requireAll(events: readonly CloudEvent[], limitMs: number): Promise<void> {
    const expected = events.filter(
      ({ type, sequence }) => type.startsWith(EventReceiver.#type) && Number(sequence) > this.#start,
    )
    assert.ok(expected.length > 0)
    await until('the webhook has all events', () => expected.every(({ id }) => this.#received.has(id)), limitMs)
    assert.deepEqual(this.#faults, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #accept(secret: string): void {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    this.#server.on('request', async (request, response) => {
      const body = await buffer(request)
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers
      const expected = `v1,${createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')}`
      if (signature !== expected) this.#faults.push(`The signature of the request ${id} is wrong`)
      const content = JSON.parse(body.toString()) as CloudEvent | CloudEvent[]
      for (const event of [content].flat()) this.#received.add(event.id)
      response.writeHead(204).end()
    })
  }
}
