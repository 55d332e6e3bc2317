import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { reasonOf } from '../identity/enrolment.ts'
import { RefusedError } from '../identity/token.ts'
import type { Log } from '../log.ts'
import { PortTakenError, SetupError } from '../setup-error.ts'
import type { GatewayTls } from '../tls/gateway-tls.ts'
import { forwardedRequestHeaders, forwardedResponseHeaders, forwardedTarget } from './routes.ts'

/**
 * The address that the proxy listens on without TLS. It is loopback only, so that other machines cannot use the gateway's
 * identity.
 */
const loopback = '127.0.0.1'

type Options = {
  port: number
  cloud: CloudConnection
  log: Log
  /** The body of `GET /gateway/status`. */
  status: () => unknown
  /**
   * Listens on this address with TLS, for agents on other machines. They need a certificate of the gateway with the role
   * `agent`, and cannot read the status of the gateway.
   */
  remote?: { host: string; tls: GatewayTls } | undefined
}

/** The limits for agents on other machines. */
const remoteLimits = { connections: 256, handshakeMs: 10_000, headersMs: 30_000 } as const

/**
 * `AuthProxy` forwards the requests of agents on this machine to the cloud. It adds the token and the proof of
 * possession of the gateway.
 */
export class AuthProxy {
  readonly #server: Server
  readonly #options: Options

  private constructor(options: Options) {
    this.#options = options
    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => this.#refuse(response, error))
    }
    const { remote } = options
    this.#server = remote === undefined ? createServer(onRequest) : remoteServer(remote.tls, onRequest)
    // Requests have no time limit, because the event stream of a job stays open.
    this.#server.requestTimeout = 0
  }

  static async start(options: Options): Promise<AuthProxy> {
    const proxy = new AuthProxy(options)
    const listening = once(proxy.#server, 'listening')
    const { remote } = options
    proxy.#server.listen(options.port, remote?.host ?? loopback)
    await listening.catch((error: NodeJS.ErrnoException) => {
      if (remote !== undefined)
        throw new SetupError(
          `The auth proxy with TLS cannot listen on ${remote.host}, port ${options.port} (${error.code}): set MILLWRIGHT_GATEWAY_TLS_HOST to an address of this machine and MILLWRIGHT_GATEWAY_AGENT_TLS_PORT to a free port.`,
        )
      if (error.code === 'EADDRINUSE') {
        throw new PortTakenError(
          'proxyPort',
          `Port ${options.port} of the auth proxy is in use: stop the other program, or set MILLWRIGHT_GATEWAY_PROXY_PORT to a free port.`,
        )
      }
      throw new SetupError(
        `The auth proxy cannot listen on ${loopback}:${options.port} (${error.code}): set MILLWRIGHT_GATEWAY_PROXY_PORT to a free port.`,
      )
    })
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { remote } = this.#options
    if (remote === undefined) requireThisMachine(request)
    else requireAgent(request, remote.tls)
    const { method = 'GET', url = '/' } = request
    if (remote === undefined && method === 'GET' && url === '/gateway/status')
      return answerJson(response, 200, this.#options.status())
    const path = forwardedTarget(method, url)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const hasBody = request.headers['content-length'] !== undefined || 'transfer-encoding' in request.headers
    const answer = await this.#options.cloud.send({
      method,
      path,
      headers: forwardedRequestHeaders(request.headers),
      body: hasBody ? request : undefined,
      signal: gone.signal,
      isStreamed: true,
    })
    response.writeHead(answer.status, forwardedResponseHeaders(answer.headers))
    // The headers are sent before the first event, so that an agent knows that the event stream is open.
    response.flushHeaders()
    await pipeline(answer.body, response).catch((error: unknown) => {
      if (!gone.signal.aborted)
        this.#options.log.debug({ error, path }, 'the connection to an agent ended before the response was complete')
    })
  }

  #refuse(response: ServerResponse, error: unknown): void {
    if (response.headersSent) return void response.destroy()
    const problem = problemOf(error)
    if (problem.code === 'internal') this.#options.log.error({ error }, 'request of an agent failed')
    for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
    answerJson(response, problem.status, problem.toDocument(), 'application/problem+json')
  }
}

/**
 * Throws unless the `host` header names this machine and the request has no `origin`. This prevents DNS rebinding: a
 * page in a browser on this machine must not use the proxy through another host name.
 */
function requireThisMachine({ headers }: IncomingMessage): void {
  const name = (headers.host ?? '').replace(/:\d+$/, '')
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(name)
  if (isLocal && headers.origin === undefined) return
  throw new Problem('forbidden', 'The auth proxy accepts requests to localhost only')
}

/** Throws unless the request has a certificate of an agent. Pages in browsers cannot use the proxy. */
function requireAgent({ socket, headers }: IncomingMessage, tls: GatewayTls): void {
  if (headers.origin !== undefined) throw new Problem('forbidden', 'The auth proxy does not accept requests of pages')
  try {
    tls.peerOf((socket as TLSSocket).getPeerCertificate(), 'agent')
  } catch (error) {
    throw new Problem('forbidden', (error as Error).message)
  }
}

/** Returns a server that accepts only certificates of the gateway. It ends the connections of a revoked certificate. */
function remoteServer(tls: GatewayTls, onRequest: RequestListener): Server {
  const server = createTlsServer({ ...tls.serverOptions, handshakeTimeout: remoteLimits.handshakeMs }, onRequest)
  server.maxConnections = remoteLimits.connections
  server.headersTimeout = remoteLimits.headersMs
  const sockets = new Set<TLSSocket>()
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  tls.onRevoked(({ serial }) => {
    for (const socket of sockets) if (socket.getPeerCertificate().serialNumber === serial) socket.destroy()
  })
  return server
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof RefusedError) return new Problem('unavailable', error.message, { retryAfter: 300 })
  return new Problem('unavailable', `The platform is not reachable (${reasonOf(error)})`, { retryAfter: 5 })
}

function answerJson(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
}
