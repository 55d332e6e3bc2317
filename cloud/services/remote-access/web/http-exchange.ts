import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { LinkRewriter } from './link-rewriter.ts'
import { type Header, headerPairs } from './message-headers.ts'
import { sendPage } from './message-page.ts'
import type { ProxiedSession } from './proxied-session.ts'
import { requestHeaders } from './request-headers.ts'
import { requestLogLine } from './request-log.ts'
import { ForeignRedirect, isHtml, responseHeaders, withoutBodyHeaders } from './response-headers.ts'
import { busyPage, endedPage, failurePage, foreignRedirectPage } from './session-pages.ts'

export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  session: ProxiedSession
  /** The origin of the session, as the browser names it. */
  origin: string
  /** All forms of the session's origin. */
  origins: readonly string[]
  /** The origin of the platform. */
  baseUrl: string
  consoleUrl: string
}

/** Passes a request to the device and its response to the browser. Bodies are streamed in both directions. */
export async function exchangeHttp(exchange: Exchange): Promise<void> {
  const { request, response, session } = exchange
  const running = session.begin()
  if (running === undefined) return sendPage(response, busyPage())
  const startedAt = Date.now()
  const counter = new ByteCounter()
  response.once('close', () => running.abort())
  try {
    await answer(exchange, running.signal, counter)
  } catch (error) {
    await explain(exchange, error)
  } finally {
    const { method = '', url = '' } = request
    const line = requestLogLine({ startedAt, method, url, status: response.statusCode, bytes: counter.bytes })
    await session.finish(running, line)
  }
}

async function answer(exchange: Exchange, signal: AbortSignal, counter: ByteCounter): Promise<void> {
  const { request, response, session, origin } = exchange
  const received = await ask(exchange, signal)
  const status = received.statusCode
  // A page of the device that is not sent is not read. The connection then cannot be used again.
  received.body.on('error', () => {})
  const pairs = headerPairs(received.headers as unknown as string[])
  const isSecure = origin.startsWith('https:')
  const path = request.url ?? '/'
  const headers = responseHeaders(pairs, { status, device: session.device, origin, path, isSecure })
  if (headers instanceof ForeignRedirect) {
    received.body.destroy()
    return sendPage(response, foreignRedirectPage(headers.target, await session.current()))
  }
  const rewriting = rewritingOf(status, pairs)
  const isBodyless = request.method === 'HEAD' || status === 204 || status === 304
  const steps = rewriting === undefined ? [] : [...rewriting, new LinkRewriter({ device: session.device, origin })]
  response.writeHead(status, (steps.length > 0 ? withoutBodyHeaders(headers) : headers).flat())
  if (isBodyless) {
    received.body.destroy()
    response.end()
    return
  }
  // An endless response may send its first bytes late.
  response.flushHeaders()
  await pipeline([received.body as Readable, ...steps, counter, response], { signal })
}

/**
 * Sends the request to the device. A device may close an unused connection at the moment at which a request is sent. So
 * a request that changes nothing is sent again.
 */
async function ask(exchange: Exchange, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { request, session, origins, baseUrl } = exchange
  const hasBody = hasBodyOf(request)
  const headers = requestHeaders(headerPairs(request.rawHeaders), { device: session.device, origins, issuer: baseUrl })
  const send = () =>
    session.connections.request({
      method: request.method as Dispatcher.HttpMethod,
      path: request.url ?? '/',
      headers: headers.filter(([name]) => hasBody || name !== 'content-length').flat(),
      body: hasBody ? request : null,
      signal,
      responseHeaders: 'raw',
    })
  try {
    return await send()
  } catch (error) {
    const isRepeatable = !hasBody && (request.method === 'GET' || request.method === 'HEAD') && !signal.aborted
    if (!isRepeatable || !isLostConnection(error)) throw error
    return send()
  }
}

function isLostConnection(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

export function hasBodyOf({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0)
}

/**
 * Returns the steps that decode a page whose links are rewritten. Returns undefined for a response that is passed
 * unchanged: other types, parts of a page, and encodings that the proxy does not know.
 */
function rewritingOf(status: number, headers: readonly Header[]): Transform[] | undefined {
  const valueNamed = (wanted: string) =>
    headers
      .find(([name]) => name === wanted)?.[1]
      .trim()
      .toLowerCase()
  const type = valueNamed('content-type')
  if (!isHtml(type) || status === 206 || /charset="?utf-(?:16|32)/.test(type ?? '')) return undefined
  const encoding = valueNamed('content-encoding') ?? 'identity'
  if (encoding === 'identity' || encoding === '') return []
  if (encoding === 'gzip' || encoding === 'x-gzip') return [createGunzip()]
  return encoding === 'br' ? [createBrotliDecompress()] : undefined
}

/** Sends a page with the reason why there is no response. A response that has started is cut off, so that the browser notices it. */
async function explain({ response, session, consoleUrl }: Exchange, error: unknown): Promise<void> {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const current = await session.current()
  sendPage(response, current.state === 'open' ? failurePage(error) : endedPage(current, consoleUrl))
}

/** `ByteCounter` counts the bytes that pass through it. */
class ByteCounter extends Transform {
  bytes = 0

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length
    done(null, chunk)
  }
}
