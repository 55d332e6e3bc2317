import { Duplex } from 'node:stream'
import { decodeJson, type FrameType, frameTypes, maxDataBytes, maxMessageBytes, ProtocolError } from './frames.ts'
import { type StreamMessage, StreamRefusal } from './stream-header.ts'

/** The credit of a stream at its start and the credit of a stream whose reader keeps up, in bytes. */
export const windowBytes = { initial: 256 * 1024, maximum: 1024 * 1024 } as const

/**
 * The minimum credit that a frame consumes. It limits the number of small frames that wait for a slow reader, because each
 * of them needs memory of its own.
 */
const minimumCost = 256

/**
 * Data frames below this size are copied, because a slice would keep its whole batch in memory. They wait until the reader
 * has read all earlier bytes, because the buffer of a stream limits bytes and not the number of chunks.
 */
const smallDataBytes = 4 * 1024

/** The functions of a tunnel that its streams use. */
export type StreamPort = {
  /** The stream has a frame to send. */
  ready(stream: TunnelStream): void
  /** Sends a frame before the data that waits. */
  send(type: FrameType, streamId: number, payload: Uint8Array): void
  reset(streamId: number, refusal: { code: string; detail: string }): void
  /** Returns whether the window of a stream can grow by the number of bytes. */
  growWindow(bytes: number): boolean
  /** The stream has ended. `grownBytes` is the size by which its window has grown. */
  remove(stream: TunnelStream, grownBytes: number): void
}

type ReceivedItem =
  | { kind: 'data'; bytes: Buffer }
  | { kind: 'message'; message: StreamMessage; cost: number }
  | { kind: 'end' }

const none = new Uint8Array(0)

/**
 * `TunnelStream` is one stream of a tunnel: bytes in both directions, and JSON messages in order with the bytes. The
 * receiver gives the sender credit, so a slow reader stops only its own stream.
 *
 * A message is delivered with the event `message` after the reader has read all earlier bytes. Messages wait until the
 * event has a listener.
 */
export class TunnelStream extends Duplex {
  readonly id: number
  /** The bytes that were written to the stream and received from the other side, without messages. */
  sentBytes = 0
  receivedBytes = 0
  readonly #port: StreamPort
  #isAccepted = false
  /** Both directions have ended, or the stream was reset. */
  #isRemoved = false
  #hasSentEnd = false
  #hasReceivedEnd = false

  /** The chunks that wait for credit. The first chunk is sent from `#sentOfFirst`. */
  #outgoing: Buffer[] = []
  #sentOfFirst = 0
  #sendCredit: number = windowBytes.initial
  #onWritten: ((error?: Error | null) => void) | undefined
  #onFinal: ((error?: Error | null) => void) | undefined
  /** The chunks that are messages. */
  readonly #messages = new WeakSet<Buffer>()

  readonly #received: ReceivedItem[] = []
  #receiveCredit: number = windowBytes.initial
  #window: number = windowBytes.initial
  /** The credit that is not yet returned to the sender. */
  #consumed = 0
  #isReading = false
  #isDelivering = false

  constructor({ id, port }: { id: number; port: StreamPort }) {
    super({ allowHalfOpen: true })
    this.id = id
    this.#port = port
    // The end of a stream must not end the process if its user does not listen for errors.
    this.on('error', () => {})
    this.on('newListener', (event) => {
      if (event === 'message') process.nextTick(() => this.#deliver())
    })
  }

  /** Accepts a stream that the other side opened. */
  accept(): void {
    if (this.#isAccepted || this.destroyed) return
    this.#port.send(frameTypes.accept, this.id, none)
    this.handleAccept()
  }

  /** Refuses a stream that the other side opened. */
  refuse(refusal: { code: string; detail: string }): void {
    this.reset(refusal)
  }

  /** Ends the stream immediately. The other side gets the error `StreamRefusal`. Unread data is discarded. */
  reset(refusal: { code: string; detail: string }): void {
    if (!this.#isRemoved) this.#port.reset(this.id, refusal)
    this.#remove()
    this.destroy()
  }

  /** Sends a message after the bytes that were written before. Returns false if the sender should wait for `drain`. */
  sendMessage(message: StreamMessage): boolean {
    const bytes = Buffer.from(JSON.stringify(message))
    if (bytes.length > maxMessageBytes)
      throw new RangeError(`A message of a stream has ${bytes.length} bytes; the limit is ${maxMessageBytes}`)
    if (this.destroyed || this.writableEnded) return true
    this.#messages.add(bytes)
    return this.write(bytes)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this._writev([{ chunk }], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    for (const { chunk } of chunks) {
      if (chunk.length > 0) this.#outgoing.push(chunk)
      if (!this.#messages.has(chunk)) this.sentBytes += chunk.length
    }
    if (this.#outgoing.length === 0) {
      done()
      return
    }
    this.#onWritten = done
    this.#announce()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#onFinal = done
    this.#announce()
  }

  override _read(): void {
    this.#isReading = true
    this.#deliver()
  }

  /** Reads bytes. After the last bytes before a message or before small data, the next items are delivered. */
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size)
    if (this.#received.length > 0 && this.readableLength === 0) this.#deliver()
    return chunk
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const closed = { code: 'closed', detail: 'The stream was closed' }
    if (!this.#isRemoved) this.#port.reset(this.id, error instanceof StreamRefusal ? error : closed)
    this.#remove()
    this.#received.length = 0
    this.#outgoing.length = 0
    const failure = error ?? new StreamRefusal(closed)
    this.#onWritten?.(failure)
    this.#onFinal?.(failure)
    done(error)
  }

  /** Returns the next frame that can be sent. Called by the tunnel. */
  nextFrame(): { type: FrameType; payload: Uint8Array } | undefined {
    const first = this.#outgoing[0]
    if (!this.#isAccepted || this.#isRemoved) return undefined
    if (first === undefined) {
      if (this.#onFinal === undefined || this.#hasSentEnd) return undefined
      this.#hasSentEnd = true
      return { type: frameTypes.end, payload: none }
    }
    if (this.#messages.has(first)) {
      const cost = costOf(first)
      if (this.#sendCredit < cost) return undefined
      this.#sendCredit -= cost
      this.#outgoing.shift()
      return { type: frameTypes.message, payload: first }
    }
    if (this.#sendCredit < minimumCost) return undefined
    const end = Math.min(first.length, this.#sentOfFirst + Math.min(this.#sendCredit, maxDataBytes))
    const payload = first.subarray(this.#sentOfFirst, end)
    this.#sendCredit -= costOf(payload)
    if (end === first.length) {
      this.#outgoing.shift()
      this.#sentOfFirst = 0
    } else this.#sentOfFirst = end
    return { type: frameTypes.data, payload }
  }

  /** Continues the writer after a frame was sent. Called by the tunnel. */
  afterFrame(): void {
    if (this.#outgoing.length === 0 && this.#onWritten !== undefined) {
      const done = this.#onWritten
      this.#onWritten = undefined
      done()
    }
    if (this.#hasSentEnd && this.#onFinal !== undefined) {
      const done = this.#onFinal
      this.#onFinal = undefined
      done()
      if (this.#hasReceivedEnd) this.#remove()
    }
  }

  /** The other side accepted the stream. Called by the tunnel. */
  handleAccept(): void {
    if (this.#isAccepted) throw new ProtocolError('A stream was accepted twice')
    this.#isAccepted = true
    this.#announce()
  }

  handleWindow(credit: number): void {
    this.#sendCredit += credit
    if (this.#sendCredit > windowBytes.maximum) throw new ProtocolError('The window of a stream exceeds its limit')
    this.#announce()
  }

  handleData(bytes: Buffer): void {
    this.receivedBytes += bytes.length
    const kept = bytes.length < smallDataBytes ? Buffer.from(bytes) : bytes
    this.#take({ kind: 'data', bytes: kept }, costOf(bytes))
  }

  handleMessage(bytes: Buffer): void {
    const cost = costOf(bytes)
    const { type, ...members } = decodeJson(bytes)
    if (typeof type !== 'string') throw new ProtocolError('A message of a stream has no type')
    this.#take({ kind: 'message', message: { type, ...members }, cost }, cost)
  }

  handleEnd(): void {
    this.#take({ kind: 'end' }, 0)
    this.#hasReceivedEnd = true
    if (this.#hasSentEnd) this.#remove()
  }

  /** The other side ended the stream, or the tunnel closed. */
  handleReset(refusal: { code: string; detail: string }): void {
    this.#remove()
    this.destroy(new StreamRefusal(refusal))
  }

  #announce(): void {
    if (this.#isAccepted && !this.#isRemoved) this.#port.ready(this)
  }

  #remove(): void {
    if (this.#isRemoved) return
    this.#isRemoved = true
    this.#port.remove(this, this.#window - windowBytes.initial)
  }

  #take(item: ReceivedItem, cost: number): void {
    if (!this.#isAccepted) throw new ProtocolError('A stream sent data before it was accepted')
    if (this.#hasReceivedEnd) throw new ProtocolError('A stream sent data after its end')
    if (cost > this.#receiveCredit) throw new ProtocolError('A stream sent more bytes than its window')
    this.#receiveCredit -= cost
    this.#received.push(item)
    this.#deliver()
  }

  /** Passes received items to the reader as far as the reader requests them. */
  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    try {
      for (let item = this.#received[0]; item !== undefined && !this.destroyed; item = this.#received[0]) {
        if (item.kind === 'data') {
          if (!this.#isReading || (item.bytes.length < smallDataBytes && this.readableLength > 0)) break
          this.#received.shift()
          this.#consume(costOf(item.bytes))
          // The reader may request the next bytes during the push.
          this.#isReading = false
          if (this.push(item.bytes)) this.#isReading = true
        } else if (item.kind === 'message') {
          if (this.readableLength > 0 || this.listenerCount('message') === 0) break
          this.#received.shift()
          this.#consume(item.cost)
          this.emit('message', item.message)
        } else {
          this.#received.shift()
          this.push(null)
        }
      }
    } finally {
      this.#isDelivering = false
    }
  }

  /** Returns credit to the sender when half of the window is consumed. A window grows while the reader keeps up. */
  #consume(cost: number): void {
    this.#consumed += cost
    if (this.#consumed < this.#window / 2 || this.#hasReceivedEnd || this.#isRemoved) return
    let credit = this.#consumed
    if (this.#received.length === 0 && this.#window < windowBytes.maximum && this.#port.growWindow(this.#window)) {
      credit += this.#window
      this.#window *= 2
    }
    this.#consumed = 0
    this.#receiveCredit += credit
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(credit)
    this.#port.send(frameTypes.window, this.id, payload)
  }
}

function costOf({ length }: Uint8Array): number {
  return Math.max(length, minimumCost)
}
