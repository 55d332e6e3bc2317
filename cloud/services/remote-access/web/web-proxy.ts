/**
 * The web proxy serves the web pages of devices on the host names of their sessions. A browser enters a session with a
 * ticket and gets a cookie, which each further request must contain. The steps of a request: host name → entry or cookie →
 * state of the session → cross-site check → device.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limits } from '../../../platform/limits.ts'
import type { Log } from '../../../platform/log.ts'
import type { HostHandler } from '../../../platform/service.ts'
import { crossSiteRefusal } from './cross-site.ts'
import { createEntry, type Entry, entriesIn, entryCookie } from './entry-cookie.ts'
import { type Exchange, exchangeHttp, hasBodyOf } from './http-exchange.ts'
import { type MessagePage, sendPage } from './message-page.ts'
import { ProxiedSession } from './proxied-session.ts'
import {
  busyPage,
  crossSitePage,
  endedPage,
  invalidRequestPage,
  notAllowedPage,
  notEnteredPage,
  notOpenPage,
  serviceWorkerPage,
  tooLargePage,
  unknownHostPage,
} from './session-pages.ts'
import { exchangeSocket } from './socket-exchange.ts'
import type { WebHost } from './web-host.ts'
import { webLimits } from './web-limits.ts'
import type { WebSession, WebSessions } from './web-session.ts'

type WebProxyOptions = {
  host: WebHost
  sessions: WebSessions
  /** Returns the origin of the platform. */
  baseUrl: () => string
  log: Log
  /** Aborted when the process stops. */
  stopping: AbortSignal
}

/** The paths of the platform on the host of a session. They never reach the device. */
const ownPaths = '/.millwright/'
const entryPath = '/.millwright/enter'
const ticketPattern = /^[\w.~-]{16,128}$/
/** TRACE returns the headers of a request, also those that scripts cannot read. */
const refusedMethods = ['TRACE', 'CONNECT']

/** Throws a page as the response. */
class Refusal extends Error {
  readonly page: MessagePage

  constructor(page: MessagePage) {
    super(page.title)
    this.page = page
  }
}

export class WebProxy implements HostHandler {
  readonly #options: WebProxyOptions
  readonly #proxied = new Map<string, ProxiedSession>()
  #entryChecks = 0

  constructor(options: WebProxyOptions) {
    this.#options = options
    options.sessions.onEnd((id) => this.#proxied.get(id)?.end())
    const timer = setInterval(() => this.#forgetIdle(), webLimits.idleMs).unref()
    options.stopping.addEventListener('abort', () => {
      clearInterval(timer)
      for (const session of this.#proxied.values()) session.end()
    })
  }

  owns(hostname: string): boolean {
    return this.#options.host.owns(hostname)
  }

  request(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => {})
    response.on('error', () => {})
    this.#serve(request, response).catch((error: unknown) => this.#answerFailure(response, error))
  }

  upgrade(request: IncomingMessage, connection: Socket, head: Buffer): void {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(connection)
    response.on('finish', () => {
      response.detachSocket(connection)
      connection.destroySoon()
    })
    connection.on('error', () => {})
    this.#admit(request, response, { isUpgrade: true })
      .then((exchange) => exchangeSocket({ ...exchange, connection, head }))
      .catch((error: unknown) => this.#answerFailure(response, error))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, isOwn } = pathOf(request)
    if (isOwn && pathname === entryPath) return this.#enter(request, response)
    await exchangeHttp(await this.#admit(request, response, { isUpgrade: false }))
  }

  #answerFailure(response: ServerResponse, error: unknown): void {
    if (error instanceof Refusal) {
      sendPage(response, error.page)
      return
    }
    this.#options.log.error({ error }, 'failed: request of a web session')
    if (response.headersSent) response.destroy()
    else sendPage(response, { status: 500, title: 'Internal error', texts: ['Retry later.'] })
  }

  /** Redeems the ticket of a session, and gives the browser the cookie of the session. */
  async #enter(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, sessions } = this.#options
    const id = this.#sessionOf(request)
    if (request.method !== 'GET') throw new Refusal(notAllowedPage(request.method ?? ''))
    const dest = request.headers['sec-fetch-dest']
    if (dest !== undefined && dest !== 'document')
      throw new Refusal(crossSitePage('Open the link of the session in a new window.'))
    const query = request.url?.slice(request.url.indexOf('?')) ?? ''
    const ticket = new URLSearchParams(query).get('ticket') ?? ''
    const isPossible = ticketPattern.test(ticket)
    const session = isPossible ? await this.#checkEntry(() => sessions.redeemTicket(id, ticket)) : undefined
    if (session === undefined || session.id !== id) throw new Refusal(notEnteredPage(this.#consoleUrl))
    if (session.state === 'ended') throw new Refusal(endedPage(session, this.#consoleUrl))
    if (session.state !== 'open') throw new Refusal(notOpenPage(this.#consoleUrl))
    const { value, ...entry } = createEntry(session.tenantId)
    await sessions.storeEntry(session, entry)
    this.#hold(session, entry)
    response.writeHead(303, {
      location: '/',
      'set-cookie': entryCookie(value, { isSecure: host.isSecure }),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-length': '0',
    })
    response.end()
  }

  /** Checks that the browser entered the session, that the session is open and that the request is the session's own. */
  async #admit(
    request: IncomingMessage,
    response: ServerResponse,
    { isUpgrade }: { isUpgrade: boolean },
  ): Promise<Exchange> {
    const id = this.#sessionOf(request)
    const { host } = this.#options
    const { headers, method = '' } = request
    const session = await this.#enteredSession(id, headers.cookie)
    if (session === undefined) throw new Refusal(notEnteredPage(this.#consoleUrl))
    const current = await session.current()
    if (current.state === 'ended') throw new Refusal(endedPage(current, this.#consoleUrl))
    if (current.state !== 'open') throw new Refusal(notOpenPage(this.#consoleUrl))
    const origin = host.originOf(headers.host ?? '')
    const origins = [origin, host.sessionOrigin(id)]
    const refusal = crossSiteRefusal({ method, headers, isUpgrade }, origins)
    if (refusal !== undefined) throw new Refusal(crossSitePage(refusal))
    if (pathOf(request).isOwn) throw new Refusal(unknownHostPage())
    if (headers['service-worker'] !== undefined) throw new Refusal(serviceWorkerPage())
    if (this.#requests >= webLimits.requests) throw new Refusal(busyPage())
    return {
      request,
      response,
      session,
      origin,
      origins,
      baseUrl: this.#options.baseUrl(),
      consoleUrl: this.#consoleUrl,
    }
  }

  /** Returns the session of the host name. Throws a refusal for a request that is not valid. */
  #sessionOf(request: IncomingMessage): string {
    const id = this.#options.host.sessionOf(request.headers.host)
    if (id === undefined) throw new Refusal(unknownHostPage())
    const refusal = invalidRequest(request)
    if (refusal !== undefined) throw new Refusal(refusal)
    return id
  }

  /** Returns the session if the cookie is valid for it. The session stays in memory, with its connections. */
  async #enteredSession(id: string, cookies: string | undefined): Promise<ProxiedSession | undefined> {
    const { host, sessions } = this.#options
    const entries = entriesIn(cookies, { isSecure: host.isSecure })
    const known = this.#proxied.get(id)
    if (known !== undefined && entries.some((entry) => known.knows(entry))) return known
    for (const entry of entries) {
      const session = await this.#checkEntry(async () =>
        (await sessions.hasEntry(id, entry)) ? sessions.findSession({ tenantId: entry.tenantId, id }) : undefined,
      )
      if (session !== undefined) return this.#hold(session, entry)
    }
    return undefined
  }

  /** Checks a cookie or a ticket in the database. Requests without a valid one must not use all of its connections. */
  async #checkEntry<Result>(check: () => Promise<Result>): Promise<Result> {
    if (this.#entryChecks >= webLimits.entryChecks) throw new Refusal(busyPage())
    this.#entryChecks += 1
    try {
      return await check()
    } finally {
      this.#entryChecks -= 1
    }
  }

  /** Holds a session in memory, with a valid cookie. */
  #hold(session: WebSession, entry: Entry): ProxiedSession {
    const proxied = this.#proxied.get(session.id) ?? new ProxiedSession(session, this.#options.sessions)
    this.#proxied.set(session.id, proxied)
    proxied.addEntry(entry)
    if (session.state !== 'open') proxied.end()
    return proxied
  }

  get #requests(): number {
    let requests = 0
    for (const session of this.#proxied.values()) requests += session.requests
    return requests
  }

  get #consoleUrl(): string {
    return `${this.#options.baseUrl()}/console/remote`
  }

  #forgetIdle(): void {
    for (const [id, session] of this.#proxied) {
      if (!session.isIdle) continue
      session.end()
      this.#proxied.delete(id)
    }
  }
}

function pathOf({ url = '' }: IncomingMessage): { pathname: string; isOwn: boolean } {
  const pathname = url.split('?', 1)[0] ?? ''
  return { pathname, isOwn: pathname.startsWith(ownPaths) }
}

/** Returns a page for a request that the proxy and the device could read in different ways. */
function invalidRequest(request: IncomingMessage): MessagePage | undefined {
  const { url = '', method = '', rawHeaders, headers } = request
  if (!url.startsWith('/')) return invalidRequestPage('Send the path of the page, not a complete address.')
  if (url.length > limits.urlBytes) return tooLargePage(`The URL exceeds the limit of ${limits.urlBytes} bytes.`)
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length, 0)
  if (bytes > limits.headerBytes) return tooLargePage(`The headers exceed the limit of ${limits.headerBytes} bytes.`)
  for (const single of ['host', 'content-length', 'transfer-encoding', 'origin', 'authorization', 'sec-fetch-site']) {
    if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === single).length > 1)
      return invalidRequestPage(`The header ${single} is sent more than once. Send it once.`)
  }
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || headers['content-length'] !== undefined))
    return invalidRequestPage(
      'The length of the body is not clear. Send Content-Length, or "Transfer-Encoding: chunked".',
    )
  if (refusedMethods.includes(method)) return notAllowedPage(method)
  if ((method === 'GET' || method === 'HEAD') && hasBodyOf(request))
    return invalidRequestPage(`A ${method} request cannot have a body.`)
  return undefined
}
