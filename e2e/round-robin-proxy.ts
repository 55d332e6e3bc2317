import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/**
 * `RoundRobinProxy` is a load balancer for tests. It sends each request and each WebSocket to the next process in turn, so that
 * two requests in a row arrive at different processes. A process that refuses the connection is skipped, as by a load balancer
 * with health checks. A request whose process dies before the response gets 502.
 */
export class RoundRobinProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #targets: readonly URL[] = []
  #next = 0

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (incoming, response) => this.#forward(incoming, response, this.#order()))
    server.on('upgrade', (incoming, socket, head) => {
      this.#upgrade(incoming, { socket: socket as Socket, head }, this.#order())
    })
    server.on('connection', (socket) => this.#track(socket))
  }

  static async start(): Promise<RoundRobinProxy> {
    // An idle connection stays open. Otherwise a client can send a request while the proxy closes its connection.
    const server = createServer({ keepAliveTimeout: 0 }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new RoundRobinProxy(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Sets the processes. */
  setTargets(urls: readonly string[]): void {
    this.#targets = urls.map((url) => new URL(url))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Returns the processes in the order in which a request tries them. */
  #order(): URL[] {
    const first = this.#next++ % this.#targets.length
    return [...this.#targets.slice(first), ...this.#targets.slice(0, first)]
  }

  #forward(incoming: IncomingMessage, response: ServerResponse, [target, ...others]: URL[]): void {
    if (target === undefined) {
      response.writeHead(503).end('No process is reachable')
      return
    }
    const { method, url } = incoming
    let isConnected = false
    const outgoing = request(new URL(url ?? '/', target), { method, headers: headersFor(incoming), agent: false })
    outgoing.on('socket', (socket) => {
      socket.once('connect', () => {
        isConnected = true
        incoming.pipe(outgoing)
      })
    })
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
      answer.on('aborted', () => response.destroy())
    })
    outgoing.on('error', () => {
      if (!isConnected) this.#forward(incoming, response, others)
      else if (response.headersSent) response.destroy()
      else response.writeHead(502).end('The process ended before its response')
    })
    outgoing.flushHeaders()
    response.on('close', () => outgoing.destroy())
  }

  #upgrade(incoming: IncomingMessage, client: { socket: Socket; head: Buffer }, [target, ...others]: URL[]): void {
    const { socket, head } = client
    if (target === undefined) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n')
      return
    }
    const outgoing = connect(Number(target.port), target.hostname)
    this.#track(outgoing)
    let isConnected = false
    outgoing.once('connect', () => {
      isConnected = true
      const lines = Object.entries(headersFor(incoming)).map(([name, value]) => `${name}: ${value}`)
      outgoing.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      outgoing.write(head)
      socket.pipe(outgoing).pipe(socket)
    })
    outgoing.on('error', () => {
      if (isConnected) socket.destroy()
      else this.#upgrade(incoming, client, others)
    })
    outgoing.on('close', () => {
      if (isConnected) socket.destroy()
    })
    socket.on('error', () => outgoing.destroy())
    socket.on('close', () => outgoing.destroy())
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

/** Returns the headers of a request with the address of the client, after the addresses that the client sent. */
function headersFor({ headers, socket }: IncomingMessage): Record<string, string> {
  const addresses = [headers['x-forwarded-for'], socket.remoteAddress].filter((address) => address !== undefined)
  const plain = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
  return { ...Object.fromEntries(plain), 'x-forwarded-for': addresses.join(', ') }
}
