import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { CertificateWithKey } from '@millwright/api/certificates.ts'
import type { Delivery, Webhook } from '@millwright/api/event-subscriptions.ts'
import { Webhook as Verifier } from 'standardwebhooks'
import type { TestCaller } from '../../../platform/testing/hub.ts'

/** A request that a receiver got. */
export type ReceivedRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

/** Answers a request after it was received. */
export type Answer = (...response: Parameters<RequestListener>) => void

/** `HttpReceiver` is an HTTP or HTTPS server that records requests. A test sets how it answers. */
export class HttpReceiver implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = []
  answer: Answer = (_, response) => response.end()
  /** The number of connections that clients have opened. */
  connections = 0
  readonly #server: Server | TlsServer
  readonly #protocol: 'http' | 'https'

  private constructor(pair: CertificateWithKey | undefined) {
    this.#protocol = pair === undefined ? 'http' : 'https'
    const listener: RequestListener = async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request)).toString()
      const { method = '', url: path = '', headers } = request
      this.requests.push({ method, path, headers, body })
      this.answer(request, response)
    }
    this.#server =
      pair === undefined ? createServer(listener) : createTlsServer({ cert: pair.certificate, key: pair.key }, listener)
    this.#server.on('connection', () => {
      this.connections += 1
    })
  }

  static async open(pair?: CertificateWithKey): Promise<HttpReceiver> {
    const receiver = new HttpReceiver(pair)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#protocol}://127.0.0.1:${this.port}/events`
  }

  get last(): ReceivedRequest {
    const request = this.requests.at(-1)
    if (request === undefined) throw new Error('The receiver got no request')
    return request
  }

  /** Uses another certificate for new connections, and closes the open ones. */
  replaceCertificate({ certificate: cert, key }: CertificateWithKey): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext({ cert, key })
    this.#server.closeAllConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Returns whether the independent library of Standard Webhooks accepts the signature of a request. */
export function isSigned({ headers, body }: ReceivedRequest, secret: string): boolean {
  try {
    new Verifier(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

type NewWebhook = Parameters<TestCaller['events']['createWebhook']>[0]['body']['data']

/** Creates a webhook for all events. It is paused unless the test sets `active`, so that only test events are sent. */
export async function createWebhook(
  caller: TestCaller,
  fields: Partial<NewWebhook> & { url: string },
): Promise<Webhook & { secret: string }> {
  const data = { types: ['io.millwright.'], active: false, ...fields }
  return (await caller.events.createWebhook({ body: { data } })).data
}

/** Sends a test event and returns its delivery. */
export async function sendTest(caller: TestCaller, id: string): Promise<Delivery> {
  return (await caller.events.testWebhook({ params: { id } })).data
}
