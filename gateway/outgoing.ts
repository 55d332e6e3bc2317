import { Readable } from 'node:stream'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { gatekeeper } from '@millwright/api/gatekeeper.ts'
import { Agent, type Dispatcher, ProxyAgent, request } from 'undici'
import type { Clock } from './clock.ts'
import type { OwnKey } from './identity/key.ts'
import { requestProof } from './identity/signatures.ts'
import type { TokenSource } from './identity/token.ts'

/** The cloud holds an answer up to 30 seconds when there is nothing to say. */
const answerMs = 75_000

/** How long one connection attempt may take. */
const connectMs = 10_000

/** The way from this network to the cloud. */
export function networkTo(proxy: string | undefined): Dispatcher {
  const limits = { connect: { timeout: connectMs }, headersTimeout: answerMs, bodyTimeout: answerMs, connections: 64 }
  return proxy === undefined ? new Agent(limits) : new ProxyAgent({ uri: proxy, ...limits })
}

/** `fetch` over that way: what carries no token of ours goes through it. */
export function fetchOver(dispatcher: Dispatcher): typeof fetch {
  return async (input, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers))
    const {
      statusCode,
      headers: answered,
      body,
    } = await request(input instanceof Request ? input.url : input, {
      dispatcher,
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers,
      body: typeof init.body === 'string' ? init.body : null,
      signal: init.signal ?? null,
    })
    return responseOf({ status: statusCode, headers: answered, body })
  }
}

export type OutgoingRequest = {
  method: string
  /** Below the origin of the cloud, with the query. */
  path: string
  headers?: Record<string, string | string[]>
  body?: string | Readable | undefined
  signal?: AbortSignal | undefined
  /** The answer has no end of its own. */
  lasting?: boolean
}

export type Answer = { status: number; headers: Dispatcher.ResponseData['headers']; body: Readable }

type Options = { baseUrl: string; key: OwnKey; clock: Clock; tokens: TokenSource; dispatcher: Dispatcher }

/**
 * The one way out of the gateway: every request to the cloud passes here and gets the token and the proof that it is
 * ours, whether an agent in this process makes it or one that came through the proxy.
 */
export class Outgoing {
  readonly #options: Options
  readonly #closing = new AbortController()
  readonly gatekeeper: Client<typeof gatekeeper>

  constructor(options: Options) {
    this.#options = options
    const { baseUrl } = options
    this.gatekeeper = client(gatekeeper, overHttp({ baseUrl, fetch: (input, init) => this.#fetch(input, init) }))
  }

  /** Answers whatever the cloud answers; throws when it cannot be asked. */
  async send(outgoing: OutgoingRequest): Promise<Answer> {
    const { answer, token } = await this.#attempt(outgoing)
    if (answer.status !== 401) return answer
    this.#options.tokens.forget(token)
    if (outgoing.body instanceof Readable) return answer
    await answer.body.resume().toArray()
    const { answer: second, token: another } = await this.#attempt(outgoing)
    if (second.status === 401) this.#options.tokens.forget(another)
    return second
  }

  async #attempt({ method, path, headers, body, signal, lasting }: OutgoingRequest) {
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
        headers: { ...headers, authorization: `Bearer ${token}`, dpop: proof },
        body: body ?? null,
        signal: signal ?? null,
        ...(lasting === true ? { bodyTimeout: 0 } : {}),
      })
      clock.observe(textOf(answered.date))
      tokens.noteReached(true)
      return { answer: { status: statusCode, headers: answered, body: answer }, token }
    } catch (error) {
      if (signal?.aborted !== true) tokens.noteReached(false)
      throw error
    }
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

  /** Ends what the gateway's own agents wait for. */
  close(): void {
    this.#closing.abort()
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

function responseOf({ status, headers, body }: Answer): Response {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  const isBodiless = status === 204 || status === 304
  if (isBodiless) body.resume()
  // The types of Node and of browsers for the same stream differ.
  const stream = isBodiless ? null : (Readable.toWeb(body) as unknown as ReadableStream)
  return new Response(stream, { status, headers: given })
}
