import { Readable } from 'node:stream'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { gatekeeper } from '@millwright/api/gatekeeper.ts'
import type { Tracer } from '@millwright/api/tracing.ts'
import { type Dispatcher, request } from 'undici'
import type { Clock } from './clock.ts'
import type { OwnKey } from './identity/key.ts'
import { requestProof } from './identity/signatures.ts'
import type { TokenSource } from './identity/token.ts'
import { type Answer, responseOf } from './platform/platform-fetch.ts'
import { traceHeaders } from './trace-context.ts'

export type CloudRequest = {
  method: string
  /** The path and query below the origin of the platform. */
  path: string
  headers?: Record<string, string | string[]>
  body?: string | Readable | undefined
  signal?: AbortSignal | undefined
  /** True for an event stream, which has no time limit. */
  isStreamed?: boolean
}

type Options = {
  baseUrl: string
  key: OwnKey
  clock: Clock
  tokens: TokenSource
  dispatcher: Dispatcher
  /** Undefined if the gateway exports no traces. */
  tracer?: Tracer | undefined
}

/**
 * `CloudConnection` sends all requests of the gateway to the platform, and adds the token and the proof of possession.
 * The agents in this process and the auth proxy use this connection.
 */
export class CloudConnection {
  readonly #options: Options
  readonly #closing = new AbortController()
  readonly gatekeeper: Client<typeof gatekeeper>

  constructor(options: Options) {
    this.#options = options
    const { baseUrl } = options
    this.gatekeeper = client(gatekeeper, overHttp({ baseUrl, fetch: (input, init) => this.#fetch(input, init) }))
  }

  /** The tracer for the jobs of the agents. */
  get tracer(): Tracer | undefined {
    return this.#options.tracer
  }

  /**
   * Sends a request and returns the response with any status. After status 401, the request is repeated once with a new
   * token, unless its body is a stream. Throws when the platform is not reachable.
   */
  async send(cloud: CloudRequest): Promise<Answer> {
    const { answer, token } = await this.#attempt(cloud)
    if (answer.status !== 401) return answer
    this.#options.tokens.forget(token)
    if (cloud.body instanceof Readable) return answer
    await answer.body.resume().toArray()
    const { answer: second, token: another } = await this.#attempt(cloud)
    if (second.status === 401) this.#options.tokens.forget(another)
    return second
  }

  async #attempt({ method, path, headers, body, signal, isStreamed }: CloudRequest) {
    const { baseUrl, key, clock, tokens, dispatcher } = this.#options
    const url = new URL(path, baseUrl)
    const token = await tokens.get()
    const proof = await requestProof({ key, clock }, { method, url, token })
    try {
      const {
        statusCode,
        headers: answered,
        body: answer,
      } = await request(url, {
        dispatcher,
        method: method as Dispatcher.HttpMethod,
        headers: { ...traceHeaders(), ...headers, authorization: `Bearer ${token}`, dpop: proof },
        body: body ?? null,
        signal: signal ?? null,
        ...(isStreamed === true ? { bodyTimeout: 0 } : {}),
      })
      clock.observe(textOf(answered.date))
      tokens.reportReachability(true)
      return { answer: { status: statusCode, headers: answered, body: answer }, token }
    } catch (error) {
      if (signal?.aborted !== true) tokens.reportReachability(false)
      throw error
    }
  }

  /**
   * Returns the URL and the headers of a request that opens a WebSocket. Call `onRefused` after status 401, so that the
   * next request uses a new token.
   */
  async socketRequest(path: string): Promise<{ url: URL; headers: Record<string, string>; onRefused: () => void }> {
    const { baseUrl, key, clock, tokens } = this.#options
    const url = new URL(path, baseUrl)
    const token = await tokens.get()
    const dpop = await requestProof({ key, clock }, { method: 'GET', url, token })
    return { url, headers: { authorization: `Bearer ${token}`, dpop }, onRefused: () => tokens.forget(token) }
  }

  async #fetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input)
    const answer = await this.send({
      method: init.method ?? 'GET',
      path: url.pathname + url.search,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof init.body === 'string' ? init.body : undefined,
      signal: this.#closing.signal,
    })
    return responseOf(answer)
  }

  /** Aborts the pending requests of the gateway's agents. */
  close(): void {
    this.#closing.abort()
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
