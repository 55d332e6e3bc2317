import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The condition of a network. The speed is per connection and direction. */
export type NetworkCondition = { latencyMs: number; bytesPerSecond: number }

/**
 * `SlowNetwork` is a TCP proxy in front of a port of this machine. It forwards at once, or with the latency and the speed of a
 * slow network. `cut` destroys all connections, as a short loss of the network does.
 */
export class SlowNetwork implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #target = 0
  #condition: NetworkCondition | undefined

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (client) => this.#join(client))
  }

  static async start(): Promise<SlowNetwork> {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new SlowNetwork(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Sets the port that receives new connections. */
  setTarget(port: number): void {
    this.#target = port
  }

  /** Changes the condition of all connections. Without a condition, bytes are forwarded at once. */
  setCondition(condition: NetworkCondition | undefined): void {
    this.#condition = condition
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    const server = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroySoon()
      })
      this.#forward(from, to)
    }
  }

  /** Forwards bytes in their order. The source waits while a delayed part is on its way, which limits the speed. */
  #forward(from: Socket, to: Socket): void {
    const write = (bytes: Buffer) => {
      if (to.write(bytes)) from.resume()
      else to.once('drain', () => from.resume())
    }
    from.on('data', (bytes: Buffer) => {
      from.pause()
      const condition = this.#condition
      if (condition === undefined) return write(bytes)
      const delayMs = condition.latencyMs + (1_000 * bytes.length) / condition.bytesPerSecond
      setTimeout(() => write(bytes), delayMs)
    })
    from.on('end', () => to.end())
  }
}
