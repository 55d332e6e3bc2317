import type { Writable } from 'node:stream'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'

/**
 * The maximum number of bytes that a client can send to a terminal before the device is ready. These bytes are read,
 * because messages for the sign-in come after them.
 */
const earlyBytes = 1024 * 1024

/**
 * `StreamInput` reads the bytes and messages of a client. Bytes that arrive before the device is ready are stored.
 * The message `end` ends the bytes like the end of the stream, because a WebSocket has no half close.
 */
export class StreamInput {
  readonly #stream: TunnelStream
  #early: Buffer[] = []
  #earlyBytes = 0
  #isEnded = false
  #sink: Writable | undefined
  /** The receivers of the next messages, by type. */
  readonly #waiting = new Map<string, (message: StreamMessage) => void>()
  readonly #handlers = new Map<string, (message: StreamMessage) => void>()

  constructor(stream: TunnelStream) {
    this.#stream = stream
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    stream.on('end', () => this.#end())
    stream.on('message', (message: StreamMessage) => this.#receive(message))
  }

  /** Calls a function for each message of a type. */
  onMessage(type: string, handler: (message: StreamMessage) => void): void {
    this.#handlers.set(type, handler)
  }

  /** Waits for the next message of a type. Rejects when the stream closes. */
  next(type: string): Promise<StreamMessage> {
    return new Promise((resolve, reject) => {
      const onClose = () => {
        this.#waiting.delete(type)
        reject(new Error('The stream was closed'))
      }
      if (this.#stream.destroyed) return onClose()
      this.#stream.once('close', onClose)
      this.#waiting.set(type, (message) => {
        this.#stream.off('close', onClose)
        resolve(message)
      })
    })
  }

  /** Writes all bytes to the sink, and ends the sink after the last byte. Reads no faster than the sink accepts bytes. */
  pipeTo(sink: Writable): void {
    this.#sink = sink
    sink.on('drain', () => this.#stream.resume())
    const early = this.#early
    this.#early = []
    for (const bytes of early) this.#write(sink, bytes)
    if (this.#isEnded) sink.end()
  }

  #take(bytes: Buffer): void {
    if (this.#isEnded) return
    if (this.#sink !== undefined) {
      this.#write(this.#sink, bytes)
      return
    }
    this.#early.push(bytes)
    this.#earlyBytes += bytes.length
    if (this.#earlyBytes > earlyBytes)
      this.#stream.reset({ code: 'busy', detail: 'The client sent too much data before the device was ready.' })
  }

  #write(sink: Writable, bytes: Buffer): void {
    if (!sink.writableEnded && !sink.destroyed && !sink.write(bytes)) this.#stream.pause()
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#sink?.end()
  }

  #receive(message: StreamMessage): void {
    const { type } = message
    if (type === 'end') this.#end()
    const waiting = this.#waiting.get(type)
    this.#waiting.delete(type)
    if (waiting === undefined) this.#handlers.get(type)?.(message)
    else waiting(message)
  }
}
