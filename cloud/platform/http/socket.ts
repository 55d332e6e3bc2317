import { EventEmitter } from 'node:events'
import type { Socket as TcpSocket } from 'node:net'
import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import type { WebSocket } from 'ws'
import { limits } from '../limits.ts'

type SocketEvents = {
  /** A text message is a string, a binary message is a buffer. */
  message: [message: Buffer | string]
  /** The bytes that waited to be sent are passed to the network. */
  drain: []
  close: [code: number, reason: string]
}

/** The reason of a close frame has at most 123 bytes (RFC 6455 §5.5.1). */
const reasonBytes = 123

/** `Socket` is an open WebSocket of an operation. The handler of the operation reads and writes it. */
export class Socket extends EventEmitter<SocketEvents> {
  readonly #webSocket: WebSocket
  readonly #connection: TcpSocket
  #receivedBytes: number
  /** Whether the client has to answer a ping. A silent client is not checked before its first ping. */
  #isPinged = false
  #closeTimer: NodeJS.Timeout | undefined

  constructor(webSocket: WebSocket, connection: TcpSocket) {
    super()
    this.#webSocket = webSocket
    this.#connection = connection
    this.#receivedBytes = connection.bytesRead
    connection.on('drain', () => this.emit('drain'))
    webSocket.on('message', (data, isBinary) => this.emit('message', isBinary ? (data as Buffer) : String(data)))
    // The library closes the connection after an error of the protocol. The close event follows.
    webSocket.on('error', () => {})
    webSocket.on('close', (code, reason) => {
      clearTimeout(this.#closeTimer)
      this.emit('close', code, String(reason))
    })
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN
  }

  /** The number of bytes that are not yet passed to the network. */
  get bufferedBytes(): number {
    return this.#webSocket.bufferedAmount
  }

  /**
   * Sends a text or a binary message. Returns false if the sender should wait for the event `drain`. A sender that does
   * not wait loses the connection when `limits.socketBufferBytes` are waiting. After the close, messages are discarded.
   */
  send(message: Uint8Array | string): boolean {
    if (!this.isOpen) return true
    this.#webSocket.send(message)
    const { bufferedBytes } = this
    if (bufferedBytes > limits.socketBufferBytes) this.terminate()
    return bufferedBytes < limits.streamBytes
  }

  /** Stops the reading of messages, so that the client has to wait. */
  pause(): void {
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
  }

  /** Closes the WebSocket after the messages that were sent. A client that does not answer loses its connection. */
  close(code: number, reason = ''): void {
    if (this.#closeTimer !== undefined) return
    this.#webSocket.close(
      code,
      Buffer.from(reason)
        .subarray(0, reasonBytes)
        .toString()
        .replace(/\uFFFD+$/, ''),
    )
    // The answer of the client must be read.
    this.#webSocket.resume()
    this.#closeTimer = setTimeout(() => this.terminate(), limits.socketCloseMs).unref()
  }

  /** Closes the connection immediately. */
  terminate(): void {
    this.#webSocket.terminate()
  }

  /** Sends a ping. Terminates the connection if nothing arrived since the previous ping. */
  checkAlive(): void {
    // A paused socket reads nothing, so the client cannot prove that it is alive.
    if (this.#webSocket.isPaused) this.#isPinged = false
    if (!this.isOpen || this.#webSocket.isPaused) return
    const { bytesRead } = this.#connection
    if (this.#isPinged && bytesRead === this.#receivedBytes) this.terminate()
    else this.#webSocket.ping()
    this.#isPinged = true
    this.#receivedBytes = bytesRead
  }

  /**
   * Sends a ping on a paused socket. The server does not read the end of a connection while the socket is paused, but a
   * ping to a client that has ended fails. A client that is alive learns that the server is alive.
   */
  checkPaused(): void {
    if (this.isOpen && this.#webSocket.isPaused) this.#webSocket.ping()
  }

  /** Returns the socket as the channel of a tunnel. The tunnel then reads all binary messages. */
  channel(): MessageChannel {
    const socket = this
    return {
      send: (message) => void socket.send(message),
      get bufferedBytes() {
        return socket.bufferedBytes
      },
      close: (reason) => socket.close(1000, reason),
      onMessage: (listener) => {
        socket.on('message', (message) => {
          if (typeof message === 'string') socket.close(1003, 'Send binary messages only')
          else listener(message)
        })
      },
      onClose: (listener) => {
        socket.on('close', () => listener())
      },
      onDrain: (listener) => {
        socket.on('drain', listener)
      },
    }
  }
}
