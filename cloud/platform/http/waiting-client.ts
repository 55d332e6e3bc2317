import type { Socket as TcpSocket } from 'node:net'
import { limits } from '../limits.ts'

/**
 * `WaitingClient` is a client that waits for the response to its request for a WebSocket. The connection is read, because
 * otherwise a disconnect would not be noticed. Bytes that the client sends early are stored up to a limit.
 */
export class WaitingClient {
  readonly #connection: TcpSocket
  readonly #received: Buffer[] = []
  #bytes = 0
  readonly #disconnected = new AbortController()

  constructor(connection: TcpSocket) {
    this.#connection = connection
    connection.on('data', this.#store).on('end', this.abort).on('close', this.abort)
  }

  /** Aborted when the client disconnects. */
  get signal(): AbortSignal {
    return this.#disconnected.signal
  }

  readonly abort = (): void => this.#disconnected.abort()

  /** Ends the reading and returns the bytes that arrived. The next reader must resume the connection. */
  stop(): Buffer {
    this.#connection.pause()
    this.#connection.off('data', this.#store).off('end', this.abort).off('close', this.abort)
    return Buffer.concat(this.#received)
  }

  readonly #store = (chunk: Buffer): void => {
    this.#received.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes >= limits.streamBytes) this.#connection.pause()
  }
}
