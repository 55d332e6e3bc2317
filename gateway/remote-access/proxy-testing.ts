import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

type ProxyOptions = {
  /** The required value of the header `Proxy-Authorization`. */
  authorization?: string | undefined
}

/** `TestProxy` is an HTTP proxy for tests. It supports the method CONNECT and forwards other requests. */
export class TestProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** The targets of the CONNECT requests. */
  readonly targets: string[] = []
  #bytesOfClosed = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start({ authorization }: ProxyOptions = {}): Promise<TestProxy> {
    // Requests to a platform without TLS are forwarded.
    const server = createServer((request, response) => {
      const { method = 'GET', headers, url = '' } = request
      const forwarded = httpRequest(url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      forwarded.on('error', () => response.destroy())
      request.pipe(forwarded)
    })
    const proxy = new TestProxy(server)
    server.on('connection', (socket) => {
      proxy.#sockets.add(socket)
      socket.on('close', () => {
        proxy.#bytesOfClosed += socket.bytesWritten
        proxy.#sockets.delete(socket)
      })
    })
    server.on('connect', (request: IncomingMessage, client: Socket) => {
      if (authorization !== undefined && request.headers['proxy-authorization'] !== authorization)
        return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      proxy.targets.push(request.url ?? '')
      join(client, request.url ?? '')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The number of bytes that the proxy has sent to its clients. */
  get bytesToClients(): number {
    return [...this.#sockets].reduce((sum, socket) => sum + socket.bytesWritten, this.#bytesOfClosed)
  }

  /** Destroys all connections, as a short loss of the network does. New connections are accepted. */
  interrupt(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Connects a client of the proxy with its target. */
function join(client: Socket, target: string): void {
  const { hostname, port } = new URL(`http://${target}`)
  const server = connect(Number(port), hostname, () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    server.pipe(client)
    client.pipe(server)
  })
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => undefined)
    one.on('close', () => other.destroy())
  }
}
