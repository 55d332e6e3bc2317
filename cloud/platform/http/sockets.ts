import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket as TcpSocket } from 'node:net'
import type { Contract, Operation } from '@millwright/api/contract.ts'
import { pathsOf } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { WebSocketServer } from 'ws'
import type { Caller } from '../access/caller.ts'
import { limits } from '../limits.ts'
import { authorize, type LocalOperation } from '../operation.ts'
import type { AnonymousCaller } from '../service.ts'
import { type Authorize, type AuthorizedRequest, incomingRequestOf } from './incoming-request.ts'
import { Socket } from './socket.ts'
import { patternOf } from './unrouted.ts'
import { WaitingClient } from './waiting-client.ts'

/** A request for a WebSocket whose response is not sent yet. */
export type Upgrade = { connection: TcpSocket; head: Buffer; response: ServerResponse }

type SocketsOptions = {
  operations: readonly { contract: Contract; operation: Operation }[]
  authorize: Authorize
  /** Returns the origins whose pages can open a WebSocket, in addition to the host of the request. */
  origins: () => readonly string[]
}

/**
 * `Sockets` serves the operations that are WebSockets. A request for a WebSocket takes the route of its operation like
 * every other request, so it gets the same checks, and a refusal is a problem document. Only the handler of the route
 * switches the connection to a WebSocket.
 */
export class Sockets {
  readonly #options: SocketsOptions
  readonly #patterns: readonly RegExp[]
  readonly #upgrades = new WeakMap<IncomingMessage, Upgrade>()
  readonly #open = new Map<Socket, string>()
  /** The number of open and starting WebSockets of each principal. */
  readonly #byPrincipal = new Map<string, number>()
  readonly #connections = new Set<TcpSocket>()
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.socketMessageBytes,
  })
  #count = 0
  #stops = false

  constructor(options: SocketsOptions) {
    this.#options = options
    this.#patterns = options.operations
      .filter(({ operation }) => operation.socket !== undefined)
      .flatMap(({ contract, operation }) => pathsOf(contract, operation).map(patternOf))
  }

  /** Checks the open WebSockets until the server stops, and then closes them. */
  start(app: FastifyInstance): void {
    const timers = [
      setInterval(() => {
        for (const socket of this.#open.keys()) socket.checkAlive()
      }, limits.socketPingMs).unref(),
      setInterval(() => {
        for (const socket of this.#open.keys()) socket.checkPaused()
      }, limits.pausedSocketPingMs).unref(),
    ]
    app.addHook('preClose', async () => {
      this.#stops = true
      for (const timer of timers) clearInterval(timer)
      for (const socket of this.#open.keys()) socket.close(1012, 'The server restarts')
      for (const connection of this.#connections) connection.destroy()
    })
  }

  /** Returns whether a request with an upgrade header is for a WebSocket. Other requests ignore the header. */
  isUpgrade({ method, url = '', headers }: IncomingMessage): boolean {
    if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false
    const path = url.split('?', 1)[0] ?? ''
    return this.#patterns.some((pattern) => pattern.test(path))
  }

  /** Passes a request for a WebSocket to its route. */
  route(app: FastifyInstance, request: IncomingMessage, { connection, head }: Omit<Upgrade, 'response'>): void {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(connection)
    response.on('finish', () => {
      response.detachSocket(connection)
      connection.destroySoon()
    })
    connection.on('error', ignore)
    this.#upgrades.set(request, { connection, head, response })
    app.routing(request, response)
  }

  upgradeOf(request: FastifyRequest): Upgrade | undefined {
    return this.#upgrades.get(request.raw)
  }

  /**
   * Authorizes a request for a WebSocket with its access token or with a ticket. `redeem` returns the caller of the
   * ticket. It is undefined if the service runs in another process, which then checks the ticket.
   */
  async authorize(
    request: FastifyRequest,
    { contract, operation, redeem }: Pick<LocalOperation, 'contract' | 'operation' | 'redeem'>,
  ): Promise<AuthorizedRequest> {
    this.#requireOwnOrigin(request)
    const incoming = incomingRequestOf(request)
    if (operation.socket?.acceptsTicket !== true || !hasTicket(request))
      return this.#options.authorize(incoming, operation, contract)
    // The limit of the client's address applies until the ticket is checked.
    const anonymous = await this.#options.authorize(incoming, { ...operation, access: 'public' }, contract)
    if (redeem === undefined) return anonymous
    const caller = await redeem({ params: request.params, query: request.query }, anonymous.caller.request)
    authorize(operation, caller)
    return { ...anonymous, caller }
  }

  /** Opens the WebSocket of a request, and passes it to the handler of its operation. */
  async accept({ connection, head, response }: Upgrade, { request, reply, local }: Acceptance): Promise<void> {
    const protocol = requireHandshake(request, local.operation)
    const caller = request.caller as Caller
    const release = this.reserve(caller)
    const client = new WaitingClient(connection)
    try {
      const input = { params: request.params, query: request.query }
      const open = await local.openSocket?.(input, caller, client.signal)
      if (client.signal.aborted || !connection.readable || !connection.writable)
        throw new Problem('request_timeout', 'The client disconnected before the WebSocket was open')
      if (this.#stops) throw new Problem('unavailable', 'The server restarts. Retry later', { retryAfter: 2 })
      reply.hijack()
      response.detachSocket(connection)
      request.raw.headers['sec-websocket-protocol'] = protocol
      const received = Buffer.concat([head, client.stop()])
      this.#server.handleUpgrade(request.raw, connection, received, (webSocket) => {
        connection.off('error', ignore)
        const socket = new Socket(webSocket, connection)
        this.#open.set(socket, caller.principal.id)
        socket.on('close', () => {
          this.#open.delete(socket)
          release()
        })
        // The handler can pause the socket, so the reading starts before.
        connection.resume()
        open?.(socket)
      })
    } catch (error) {
      release()
      client.abort()
      throw error
    }
  }

  /** Counts a WebSocket of a principal. The returned function ends the count. */
  reserve(caller: Caller | AnonymousCaller): () => void {
    const principal = 'principal' in caller ? caller.principal.id : `address ${caller.request.address}`
    const ofPrincipal = this.#byPrincipal.get(principal) ?? 0
    if (this.#count >= limits.sockets)
      throw new Problem('overloaded', `The process has ${limits.sockets} open WebSockets. Retry later`, {
        retryAfter: 5,
      })
    if (ofPrincipal >= limits.socketsPerPrincipal)
      throw new Problem(
        'too_many_requests',
        `You have ${limits.socketsPerPrincipal} open WebSockets, which is the limit. Close one of them`,
        { retryAfter: 5 },
      )
    this.#count += 1
    this.#byPrincipal.set(principal, ofPrincipal + 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#count -= 1
      const left = (this.#byPrincipal.get(principal) ?? 1) - 1
      if (left > 0) this.#byPrincipal.set(principal, left)
      else this.#byPrincipal.delete(principal)
    }
  }

  /** Closes a connection that is forwarded to another process when the server stops. */
  track(connection: TcpSocket): void {
    this.#connections.add(connection)
    connection.on('close', () => this.#connections.delete(connection))
    if (this.#stops) connection.destroy()
  }

  /**
   * Refuses WebSockets of pages of other origins. A browser sends the header `Origin` with every WebSocket, and no other
   * rule of the browser prevents such a connection.
   */
  #requireOwnOrigin({ headers, raw }: FastifyRequest): void {
    if (!this.#upgrades.has(raw) || headers.origin === undefined) return
    if (this.#options.origins().includes(headers.origin)) return
    if (URL.parse(headers.origin)?.host === headers.host) return
    throw new Problem('forbidden', 'WebSockets are only available to pages of the platform (header Origin)')
  }
}

type Acceptance = {
  request: FastifyRequest
  reply: FastifyReply
  local: Pick<LocalOperation, 'operation' | 'openSocket'>
}

function hasTicket({ query }: FastifyRequest): boolean {
  return typeof (query as { ticket?: unknown }).ticket === 'string'
}

/**
 * Checks the headers of a WebSocket request (RFC 6455 §4.2.1), so that every refusal is a problem document. Returns the
 * subprotocol.
 */
export function requireHandshake({ headers }: FastifyRequest, { socket }: Operation): string {
  const { protocol = '' } = socket ?? {}
  const key = headers['sec-websocket-key']
  if (key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key))
    throw new Problem('invalid_header', 'The header Sec-WebSocket-Key is missing or not valid')
  if (headers['sec-websocket-version'] !== '13')
    throw new Problem('invalid_header', 'Send the header "Sec-WebSocket-Version: 13"', {
      headers: { 'sec-websocket-version': '13' },
    })
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  if (!offered.includes(protocol))
    throw new Problem('invalid_header', `Send the header "Sec-WebSocket-Protocol: ${protocol}"`)
  return protocol
}

function ignore(): void {}
