import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { MessageChannel } from './channel.ts'
import { ChannelWatch } from './channel-watch.ts'
import {
  type ControlMessage,
  decodeControl,
  decodeJson,
  decodeRefusal,
  encodeControl,
  encodeRefusal,
  type FrameType,
  frameHeaderBytes,
  frameTypes,
  type Hello,
  maxHeaderBytes,
  ProtocolError,
  readFrames,
  writeFrame,
} from './frames.ts'
import { type StreamHeader, StreamRefusal } from './stream-header.ts'
import { TunnelStream } from './tunnel-stream.ts'

export const tunnelLimits = {
  /** The maximum number of open streams of a tunnel. */
  streams: 6_400,
  /**
   * The maximum bytes of batches that are not confirmed. Above it, streams wait. At 1.5 times this number, no stream can be
   * opened. At twice this number, the tunnel is closed.
   */
  unconfirmedBytes: 8 * 1024 * 1024,
  /** Above this number of bytes in the channel, streams wait. A small number keeps the delay of other streams short. */
  channelBytes: 256 * 1024,
  /** The maximum bytes by which the windows of all streams together can grow. */
  grownBytes: 64 * 1024 * 1024,
  /** The time after a lost channel in which a new channel can continue the streams. */
  resumeMs: 4_000,
  /** The time without a message after which the channel is checked, without and with open streams. */
  idleMs: 15_000,
  idleWithStreamsMs: 5_000,
  /** The time in which the other side must answer a check or the start of a channel. */
  answerMs: 5_000,
  /** The time in which the other side must accept or refuse a stream. */
  openMs: 60_000,
} as const

export type TunnelLimits = { readonly [Name in keyof typeof tunnelLimits]: number }

export type TunnelOptions = {
  role: 'gateway' | 'cloud'
  /** The id of a tunnel that a gateway created. Without it, the tunnel of a gateway creates an id. */
  id?: string
  /** Called for each stream that the other side opens. It accepts or refuses the stream, now or later. */
  onOpen?: (stream: TunnelStream, header: StreamHeader) => void
  limits?: Partial<TunnelLimits>
}

type TunnelEvents = {
  /** The channel was lost. The streams wait for a new channel. */
  suspended: []
  /** A new channel continues the streams. */
  resumed: []
  closed: [reason: string]
}

type PendingOpen = { resolve: (stream: TunnelStream) => void; reject: (error: unknown) => void }

/** Batches are acknowledged after this number of bytes, or after this time. */
const ackBytes = 256 * 1024
const ackMs = 200
/** Frames with a larger payload have a separate batch. Smaller frames share a batch. */
const smallFrameBytes = 16 * 1024
const slabBytes = 64 * 1024
/** How often a channel without the event `drain` is checked. */
const drainPollMs = 5
const highestStreamId = 0xffff_fffe
const replacedReason = 'Another channel replaces this channel'

/**
 * `Tunnel` is one end of a connection between a gateway and the cloud with many streams. It exists over several channels:
 * after the loss of a channel, a new channel continues all streams without loss or repetition of data.
 *
 * States: new, until the first channel is attached; attached; suspended, after the loss of a channel; closed. The batches
 * of frames are counted. Unconfirmed batches are stored, and repeated on the next channel from the position that the
 * other side names. Streams are served round robin, and each has its own window.
 */
export class Tunnel extends EventEmitter<TunnelEvents> {
  readonly role: 'gateway' | 'cloud'
  readonly #limits: TunnelLimits
  readonly #onOpen: TunnelOptions['onOpen']
  #id: string
  #state: 'new' | 'attached' | 'suspended' | 'closed' = 'new'
  /** The channel, if the other side has named its position. */
  #channel: MessageChannel | undefined
  #watch: ChannelWatch | undefined
  /** The channel on which the tunnel waits for the position of the other side. */
  #nextWatch: ChannelWatch | undefined

  readonly #streams = new Map<number, TunnelStream>()
  readonly #opening = new Map<number, PendingOpen>()
  #nextStreamId: number
  #highestReceivedId = 0
  #grownBytes = 0

  /** The streams with frames to send, in round-robin order. */
  readonly #ready = new Set<TunnelStream>()
  /** The batch that is being filled, and the place of its first byte in the slab. */
  #slab = Buffer.allocUnsafeSlow(slabBytes)
  #batchStart = 0
  #batchEnd = 0
  #isFlushScheduled = false

  /** The batches that are not confirmed. The last one has the number `#sentCount`. */
  #unconfirmed: Buffer[] = []
  #unconfirmedBytes = 0
  #sentCount = 0
  #receivedCount = 0
  #acknowledgedCount = 0
  #unacknowledgedBytes = 0

  #ackTimer: NodeJS.Timeout | undefined
  #resumeTimer: NodeJS.Timeout | undefined
  #drainTimer: NodeJS.Timeout | undefined

  constructor({ role, id, onOpen, limits }: TunnelOptions) {
    super()
    this.role = role
    this.#id = id ?? (role === 'gateway' ? randomBytes(16).toString('hex') : '')
    this.#onOpen = onOpen
    this.#limits = { ...tunnelLimits, ...limits }
    this.#nextStreamId = role === 'cloud' ? 1 : 2
  }

  /** The random id of the tunnel. The gateway creates it. In the cloud it is empty until the first channel names it. */
  get id(): string {
    return this.#id
  }

  get state(): 'new' | 'attached' | 'suspended' | 'closed' {
    return this.#state
  }

  /** The number of streams that are open or being opened. */
  get streamCount(): number {
    return this.#streams.size
  }

  /** Uses a channel: the first one, or a new one after a loss. A former channel is closed. */
  attach(channel: MessageChannel): void {
    const receive = this.#prepare(channel)
    channel.onMessage(receive)
  }

  /** Opens a stream. The promise is rejected with a `StreamRefusal` if the other side refuses it or does not answer. */
  open(header: StreamHeader, { signal }: { signal?: AbortSignal } = {}): Promise<TunnelStream> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const payload = Buffer.from(JSON.stringify(header))
      if (payload.length > maxHeaderBytes)
        throw new RangeError(`The header of a stream has ${payload.length} bytes; the limit is ${maxHeaderBytes}`)
      if (this.#state === 'closed') throw closedRefusal('The tunnel is closed')
      if (this.#streams.size >= this.#limits.streams || this.#nextStreamId > highestStreamId)
        throw new StreamRefusal({ code: 'busy', detail: `The tunnel has ${this.#streams.size} streams. Retry later` })
      if (this.#unconfirmedBytes >= 1.5 * this.#limits.unconfirmedBytes)
        throw new StreamRefusal({ code: 'busy', detail: 'The tunnel is overloaded. Retry later' })
      const stream = this.#createStream(this.#nextStreamId)
      this.#nextStreamId += 2
      const giveUp = (error: unknown) => {
        stream.destroy()
        settle()
        reject(error)
      }
      const abort = () => giveUp(signal?.reason)
      const timer = setTimeout(
        () => giveUp(new StreamRefusal({ code: 'device_unreachable', detail: 'The gateway did not answer in time' })),
        this.#limits.openMs,
      )
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        this.#opening.delete(stream.id)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#opening.set(stream.id, {
        resolve: (opened) => {
          settle()
          resolve(opened)
        },
        reject: (error) => {
          settle()
          reject(error)
        },
      })
      this.#send(frameTypes.open, stream.id, payload)
    })
  }

  /** Closes the tunnel and ends all streams. The other side gets the reason. */
  close(reason: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    for (const channel of [this.#watch?.channel, this.#nextWatch?.channel])
      channel?.send(encodeControl({ type: 'close', reason }))
    this.#closeChannels(reason)
    for (const timer of [this.#ackTimer, this.#resumeTimer, this.#drainTimer]) clearTimeout(timer)
    const refusal = closedRefusal(reason)
    for (const { reject } of [...this.#opening.values()]) reject(refusal)
    for (const stream of [...this.#streams.values()]) stream.handleReset(refusal)
    this.#ready.clear()
    this.#unconfirmed = []
    this.#unconfirmedBytes = 0
    this.emit('closed', reason)
  }

  #closeChannels(reason: string): void {
    const watches = [this.#watch, this.#nextWatch]
    this.#channel = undefined
    this.#watch = undefined
    this.#nextWatch = undefined
    for (const watch of watches) {
      watch?.stop()
      watch?.channel.close(reason)
    }
  }

  /** Starts the use of a channel. Returns the function that receives its messages. */
  #prepare(channel: MessageChannel): (message: Uint8Array) => void {
    if (this.#state === 'closed') {
      channel.send(encodeControl({ type: 'close', reason: 'The tunnel is closed' }))
      channel.close('The tunnel is closed')
      return () => {}
    }
    // The position in the hello is final, so the gateway stops reading a former channel.
    const former = this.#watch
    if (this.role === 'gateway' && former !== undefined) {
      this.#lose(former)
      former.channel.close(replacedReason)
    }
    const replaced = this.#nextWatch
    const { answerMs, idleMs, idleWithStreamsMs } = this.#limits
    const watch = new ChannelWatch({
      channel,
      answerMs,
      idleMs: () => (this.#streams.size > 0 ? idleWithStreamsMs : idleMs),
      sendPing: () => channel.send(encodeControl({ type: 'ping' })),
      onSilent: () => {
        channel.close('The other side does not answer')
        this.#lose(watch)
      },
    })
    this.#nextWatch = watch
    replaced?.stop()
    replaced?.channel.close(replacedReason)
    channel.onClose(() => this.#lose(watch))
    channel.onDrain?.(() => this.#scheduleFlush())
    if (this.role === 'gateway') channel.send(this.#hello())
    return (message) => {
      if (watch !== this.#watch && watch !== this.#nextWatch) return
      try {
        this.#receive(watch, Buffer.from(message.buffer, message.byteOffset, message.byteLength))
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        this.close(error.message)
      }
    }
  }

  #hello(): Buffer {
    const isResume = this.#state !== 'new'
    return encodeControl({ type: 'hello', id: this.#id, isResume, received: this.#receivedCount })
  }

  #receive(watch: ChannelWatch, bytes: Buffer): void {
    watch.received()
    const control = decodeControl(bytes)
    if (watch === this.#nextWatch) {
      if (control?.type === 'close') this.#closeByOther(control.reason)
      else if (control?.type === 'hello') this.#begin(watch, control)
      else throw new ProtocolError('The first message of a channel is not a hello')
      return
    }
    if (control !== undefined) {
      this.#control(watch.channel, control)
      return
    }
    this.#receivedCount += 1
    this.#unacknowledgedBytes += bytes.length
    readFrames(bytes, this.#handleFrame)
    this.#acknowledge()
  }

  #control(channel: MessageChannel, control: ControlMessage): void {
    switch (control.type) {
      case 'hello':
        throw new ProtocolError('A channel started twice')
      case 'ack':
        this.#confirm(control.received)
        this.#scheduleFlush()
        break
      case 'ping':
        channel.send(encodeControl({ type: 'pong' }))
        break
      case 'pong':
        break
      case 'close':
        this.#closeByOther(control.reason)
    }
  }

  #closeByOther(reason: string): void {
    // The other side has already closed the tunnel and gets no message.
    this.#closeChannels('')
    this.close(reason)
  }

  /** The other side named its position. From now on, the channel carries the frames of the streams. */
  #begin(watch: ChannelWatch, { id, isResume, received }: Hello): void {
    const isFirst = this.#state === 'new'
    if (isFirst && this.#id === '') this.#id = id
    if (id !== this.#id || isResume === isFirst) throw new ProtocolError('The tunnel to resume does not exist')
    this.#confirm(received)
    const { channel } = watch
    if (this.role === 'cloud') channel.send(this.#hello())
    const replaced = this.#watch
    this.#channel = channel
    this.#watch = watch
    this.#nextWatch = undefined
    this.#state = 'attached'
    replaced?.stop()
    replaced?.channel.close(replacedReason)
    this.#acknowledgedCount = this.#receivedCount
    clearTimeout(this.#resumeTimer)
    for (const batch of this.#unconfirmed) channel.send(batch)
    if (!isFirst) this.emit('resumed')
    this.#flush()
  }

  /** Removes the batches that the other side has received. */
  #confirm(received: number): void {
    const firstUnconfirmed = this.#sentCount - this.#unconfirmed.length
    const confirmed = received - firstUnconfirmed
    if (confirmed < 0 || confirmed > this.#unconfirmed.length)
      throw new ProtocolError('The position of the other side is not stored')
    if (confirmed === 0) return
    for (const batch of this.#unconfirmed.splice(0, confirmed)) this.#unconfirmedBytes -= batch.length
  }

  /** Confirms received batches, immediately after many bytes and otherwise after a short time. */
  #acknowledge(): void {
    if (this.#state === 'closed') return
    if (this.#unacknowledgedBytes >= ackBytes) this.#sendAck()
    else this.#ackTimer ??= setTimeout(() => this.#sendAck(), ackMs)
  }

  #sendAck(): void {
    clearTimeout(this.#ackTimer)
    this.#ackTimer = undefined
    if (this.#channel === undefined || this.#receivedCount === this.#acknowledgedCount) return
    this.#acknowledgedCount = this.#receivedCount
    this.#unacknowledgedBytes = 0
    this.#channel.send(encodeControl({ type: 'ack', received: this.#receivedCount }))
  }

  readonly #handleFrame = (type: FrameType, streamId: number, payload: Buffer): void => {
    if (this.#state === 'closed') return
    if (type === frameTypes.open) {
      this.#handleOpen(streamId, payload)
      return
    }
    const stream = this.#streams.get(streamId)
    if (stream === undefined) {
      // The other side did not know yet that the stream has ended.
      const isOwn = streamId % 2 === this.#nextStreamId % 2
      const highest = isOwn ? this.#nextStreamId - 2 : this.#highestReceivedId
      if (streamId > highest || streamId === 0) throw new ProtocolError(`The stream ${streamId} does not exist`)
      return
    }
    switch (type) {
      case frameTypes.accept: {
        const opening = this.#opening.get(streamId)
        if (opening === undefined) throw new ProtocolError(`The stream ${streamId} does not wait for an answer`)
        stream.handleAccept()
        opening.resolve(stream)
        break
      }
      case frameTypes.data:
        stream.handleData(payload)
        break
      case frameTypes.message:
        stream.handleMessage(payload)
        break
      case frameTypes.window:
        if (payload.length !== 4) throw new ProtocolError('A window frame has no credit')
        stream.handleWindow(payload.readUInt32BE())
        break
      case frameTypes.end:
        stream.handleEnd()
        break
      case frameTypes.reset: {
        const refusal = decodeRefusal(payload)
        this.#opening.get(streamId)?.reject(new StreamRefusal(refusal))
        stream.handleReset(refusal)
      }
    }
  }

  #handleOpen(streamId: number, payload: Buffer): void {
    const isOwn = streamId % 2 === this.#nextStreamId % 2
    if (isOwn || streamId <= this.#highestReceivedId)
      throw new ProtocolError(`The stream ${streamId} cannot be opened with this id`)
    if (this.#streams.size >= this.#limits.streams)
      throw new ProtocolError(`The tunnel has ${this.#streams.size} streams, which is the limit`)
    const header = decodeJson(payload)
    this.#highestReceivedId = streamId
    const stream = this.#createStream(streamId)
    if (this.#onOpen === undefined) stream.refuse({ code: 'busy', detail: 'This side does not accept streams' })
    else this.#onOpen(stream, header as StreamHeader)
  }

  #createStream(id: number): TunnelStream {
    const stream = new TunnelStream({
      id,
      port: {
        ready: (ready) => {
          this.#ready.add(ready)
          this.#scheduleFlush()
        },
        send: (type, streamId, payload) => this.#send(type, streamId, payload),
        reset: (streamId, refusal) => this.#send(frameTypes.reset, streamId, encodeRefusal(refusal)),
        growWindow: (bytes) => {
          if (this.#grownBytes + bytes > this.#limits.grownBytes) return false
          this.#grownBytes += bytes
          return true
        },
        remove: (removed, grownBytes) => {
          this.#streams.delete(removed.id)
          this.#ready.delete(removed)
          this.#grownBytes -= grownBytes
        },
      },
    })
    this.#streams.set(id, stream)
    if (this.#streams.size === 1) this.#watch?.reschedule()
    return stream
  }

  /** Sends a frame. Frames of the same turn of the event loop share a batch. */
  #send(type: FrameType, streamId: number, payload: Uint8Array): void {
    if (this.#state === 'closed') return
    this.#encode(type, streamId, payload)
    this.#scheduleFlush()
  }

  #encode(type: FrameType, streamId: number, payload: Uint8Array): void {
    const bytes = frameHeaderBytes + payload.length
    if (payload.length > smallFrameBytes) {
      this.#seal()
      const batch = Buffer.allocUnsafeSlow(bytes)
      writeFrame(batch, 0, { type, streamId, payload })
      this.#sendBatch(batch)
      return
    }
    if (this.#batchEnd + bytes > slabBytes) {
      this.#seal()
      this.#slab = Buffer.allocUnsafeSlow(slabBytes)
      this.#batchStart = 0
      this.#batchEnd = 0
    }
    this.#batchEnd = writeFrame(this.#slab, this.#batchEnd, { type, streamId, payload })
  }

  /** Completes the batch that is being filled. */
  #seal(): void {
    if (this.#batchEnd === this.#batchStart) return
    const batch = this.#slab.subarray(this.#batchStart, this.#batchEnd)
    this.#batchStart = this.#batchEnd
    this.#sendBatch(batch)
  }

  #sendBatch(batch: Buffer): void {
    this.#sentCount += 1
    this.#unconfirmed.push(batch)
    this.#unconfirmedBytes += batch.length
    this.#channel?.send(batch)
    if (this.#unconfirmedBytes > 2 * this.#limits.unconfirmedBytes)
      this.close('The other side does not confirm what it receives')
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#state === 'closed') return
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  /** Sends the frames of the streams round robin, as long as the channel accepts them. */
  #flush(): void {
    if (this.#state === 'closed') return
    for (const stream of this.#ready) {
      if (!this.#hasRoom()) break
      this.#ready.delete(stream)
      const frame = stream.nextFrame()
      if (frame === undefined) continue
      this.#encode(frame.type, stream.id, frame.payload)
      // The stream goes to the end of the set, and the loop reaches it again.
      this.#ready.add(stream)
      stream.afterFrame()
    }
    this.#seal()
    if (this.#ready.size > 0) this.#pollDrain()
  }

  #hasRoom(): boolean {
    const channel = this.#channel
    if (channel === undefined || this.#unconfirmedBytes >= this.#limits.unconfirmedBytes) return false
    return channel.bufferedBytes + this.#batchEnd - this.#batchStart < this.#limits.channelBytes
  }

  #pollDrain(): void {
    if (this.#channel === undefined || this.#channel.onDrain !== undefined || this.#drainTimer !== undefined) return
    this.#drainTimer = setTimeout(() => {
      this.#drainTimer = undefined
      this.#flush()
    }, drainPollMs)
  }

  #lose(watch: ChannelWatch): void {
    watch.stop()
    if (watch === this.#nextWatch) {
      this.#nextWatch = undefined
      if (this.#state === 'new') this.close('The channel was lost before the tunnel was open')
    }
    if (watch !== this.#watch) return
    this.#watch = undefined
    this.#channel = undefined
    this.#state = 'suspended'
    this.#seal()
    const other = this.role === 'cloud' ? 'gateway' : 'platform'
    this.#resumeTimer = setTimeout(
      () => this.close(`The connection to the ${other} was lost and not resumed in time`),
      this.#limits.resumeMs,
    )
    this.emit('suspended')
  }

  /**
   * Attaches a channel that a gateway opened: to the tunnel that its first message names, or to a new tunnel. `find`
   * returns a tunnel of this gateway.
   */
  static accept(
    channel: MessageChannel,
    { find, create }: { find: (id: string) => Tunnel | undefined; create: (id: string) => Tunnel },
  ): void {
    let receive: ((message: Uint8Array) => void) | undefined
    const timer = setTimeout(() => channel.close('The channel did not start in time'), tunnelLimits.answerMs)
    channel.onClose(() => clearTimeout(timer))
    channel.onMessage((message) => {
      if (receive === undefined) {
        clearTimeout(timer)
        const hello = helloIn(message)
        const tunnel = hello === undefined ? undefined : hello.isResume ? find(hello.id) : create(hello.id)
        if (tunnel === undefined) {
          const reason = 'The tunnel to resume does not exist'
          channel.send(encodeControl({ type: 'close', reason }))
          channel.close(reason)
          receive = () => {}
          return
        }
        receive = tunnel.#prepare(channel)
      }
      receive(message)
    })
  }
}

function helloIn(message: Uint8Array): Hello | undefined {
  try {
    const control = decodeControl(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
    return control?.type === 'hello' ? control : undefined
  } catch {
    return undefined
  }
}

function closedRefusal(reason: string): StreamRefusal {
  return new StreamRefusal({ code: 'tunnel_closed', detail: reason })
}
