import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { Problem } from '@millwright/api/problem.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import { reasonOf } from '../identity/enrolment.ts'
import { RefusedError } from '../identity/token.ts'
import type { Log } from '../log.ts'
import { PortTakenError, SetupError } from '../setup-error.ts'
import { forwardedRequestHeaders, forwardedResponseHeaders, forwardedTarget } from './routes.ts'

/**
 * The address that the proxy listens on. It is loopback only, so that other machines cannot use the gateway's identity.
 */
const loopback = '127.0.0.1'

type Options = {
  port: number
  cloud: CloudConnection
  log: Log
  /** The body of `GET /gateway/status`. */
  status: () => unknown
}

/**
 * `AuthProxy` forwards the requests of agents on this machine to the cloud. It adds the token and the proof of
 * possession of the gateway.
 */
export class AuthProxy {
  readonly #server: Server
  readonly #options: Options

  private constructor(options: Options) {
    this.#options = options
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => this.#refuse(response, error))
    })
    // Requests have no time limit, because the event stream of a job stays open.
    this.#server.requestTimeout = 0
  }

  static async start(options: Options): Promise<AuthProxy> {
    const proxy = new AuthProxy(options)
    const listening = once(proxy.#server, 'listening')
    proxy.#server.listen(options.port, loopback)
    await listening.catch((error: NodeJS.ErrnoException) => {
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
    requireThisMachine(request)
    const { method = 'GET', url = '/' } = request
    if (method === 'GET' && url === '/gateway/status') return answerJson(response, 200, this.#options.status())
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

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof RefusedError) return new Problem('unavailable', error.message, { retryAfter: 300 })
  return new Problem('unavailable', `The platform is not reachable (${reasonOf(error)})`, { retryAfter: 5 })
}

function answerJson(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
}
