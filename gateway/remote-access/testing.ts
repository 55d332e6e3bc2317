import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import { type StreamHeader, type StreamMessage, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import { createLog } from '../log.ts'
import type { RemoteAccessSettings } from './remote-access-settings.ts'
import { RemoteStreams } from './remote-streams.ts'
import { ownMachine, refusalOf } from './target-rules.ts'

/** This file contains the test support of remote access: the side of the platform, and real servers as devices. */

export const sessionId = '0198f0c2-7b1e-7c3a-9d55-0242ac120001'
const assetId = '0198f0c2-7b1e-7c3a-9d55-0242ac120003'

/** Returns two channels that are connected with each other in memory. */
export function channelPair(): [MessageChannel, MessageChannel] {
  const listeners = [new Set<(message: Uint8Array) => void>(), new Set<(message: Uint8Array) => void>()] as const
  const onClose = new Set<() => void>()
  let isClosed = false
  const end = (own: 0 | 1): MessageChannel => ({
    send: (message) => {
      const copy = Buffer.from(message)
      setImmediate(() => {
        if (!isClosed) for (const listener of listeners[own === 0 ? 1 : 0]) listener(copy)
      })
    },
    bufferedBytes: 0,
    close: () => {
      if (isClosed) return
      // Messages that were sent before the close still arrive.
      setImmediate(() => {
        isClosed = true
        for (const listener of onClose) listener()
      })
    },
    onMessage: (listener) => void listeners[own].add(listener),
    onClose: (listener) => void onClose.add(listener),
  })
  return [end(0), end(1)]
}

type StreamRequest = StreamHeader extends infer Header ? (Header extends unknown ? Partial<Header> : never) : never

type PlatformOptions = {
  settings?: RemoteAccessSettings
  credential?: object | undefined
  /** The ports of the gateway itself. */
  ports?: number[]
  isHostKeyAccepted?: boolean
}

/** `TestPlatform` is the side of the platform. It opens streams to a gateway over a tunnel, and decides about host keys. */
export class TestPlatform implements Disposable {
  readonly tunnel: Tunnel
  readonly streams: RemoteStreams
  readonly hostKeys: StreamMessage[] = []
  readonly logged: string[] = []
  readonly #options: PlatformOptions
  settings: RemoteAccessSettings
  credentialRequests = 0

  constructor(port: number, options: PlatformOptions = {}) {
    this.#options = options
    this.settings = options.settings ?? {
      isEnabled: true,
      loopback: true,
      allow: [{ network: '127.0.0.0/8', ports: [port] }],
    }
    this.streams = new RemoteStreams({
      log: createLog({ level: 'debug', to: { write: (line) => void this.logged.push(line) } }),
      refresh: async () => undefined,
      check: (target) =>
        refusalOf(target, { settings: this.settings, isFound: () => false, own: ownMachine(options.ports ?? []) }),
      requestCredential: async () => {
        this.credentialRequests += 1
        return options.credential === undefined ? undefined : JSON.stringify(options.credential)
      },
    })
    const gateway = new Tunnel({ role: 'gateway', onOpen: this.streams.open })
    gateway.on('closed', () => this.streams.endAll('The tunnel was closed'))
    this.tunnel = new Tunnel({ role: 'cloud' })
    const [one, other] = channelPair()
    this.tunnel.attach(one)
    gateway.attach(other)
    this.#port = port
  }
  readonly #port: number

  /** Opens a stream and collects its messages. */
  async open(request: StreamRequest, { session = sessionId } = {}): Promise<TestStream> {
    const header = { sessionId: session, assetId, address: '127.0.0.1', port: this.#port, ...request } as StreamHeader
    const stream = await this.tunnel.open(header)
    return new TestStream(stream, (message) => {
      this.hostKeys.push(message)
      return this.#options.isHostKeyAccepted !== false
    })
  }

  terminal(more: object = {}): Promise<TestStream> {
    const hasCredential = this.#options.credential !== undefined
    return this.open({ kind: 'terminal', columns: 80, rows: 24, hasCredential, ...more })
  }

  [Symbol.dispose](): void {
    this.tunnel.close('The test has ended')
  }
}

export class TestStream {
  readonly stream: TunnelStream
  readonly messages: StreamMessage[] = []
  readonly #waiting = new Set<() => void>()
  #error: Error | undefined
  #isClosed = false

  constructor(stream: TunnelStream, decide: (message: StreamMessage) => boolean) {
    this.stream = stream
    this.#error = stream.errored ?? undefined
    this.#isClosed = stream.closed
    stream.on('error', (error) => {
      this.#error = error
      this.#wake()
    })
    stream.on('close', () => {
      this.#isClosed = true
      this.#wake()
    })
    stream.on('message', (message: StreamMessage) => {
      if (message.type === 'host-key')
        stream.sendMessage({ type: 'host-key-decision', isAccepted: decide(message), isNew: true })
      this.messages.push(message)
      this.#wake()
    })
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Waits for the next message of a type, and removes it. Rejects when the stream ends. */
  async next(type: string): Promise<StreamMessage> {
    for (;;) {
      const index = this.messages.findIndex((message) => message.type === type)
      if (index !== -1) return this.messages.splice(index, 1)[0] as StreamMessage
      if (this.#error !== undefined) throw this.#error
      if (this.#isClosed) throw new Error(`The stream ended without the message ${type}`)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  /** Reads until the text appears. */
  async readUntil(expected: string): Promise<string> {
    let read = ''
    for await (const bytes of this.stream.iterator({ destroyOnReturn: false })) {
      read += String(bytes)
      if (read.includes(expected)) return read
    }
    throw new Error(`"${expected}" is not in ${read}`)
  }

  rest(): Promise<string> {
    return text(this.stream)
  }

  /** Waits for the refusal of the stream. */
  async refusal(): Promise<StreamRefusal> {
    this.stream.resume()
    while (this.#error === undefined && !this.#isClosed)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    if (this.#error instanceof StreamRefusal) return this.#error
    throw new Error(`The stream was not refused: ${this.#error}`)
  }
}

/** Returns the refusal of a stream that does not open. */
export async function refusalOfOpening(opening: Promise<unknown>): Promise<StreamRefusal> {
  try {
    await opening
  } catch (error) {
    if (error instanceof StreamRefusal) return error
    throw error
  }
  throw new Error('The stream was accepted')
}

/** `TestDevice` is a TCP server on a free port of the loopback interface. */
export class TestDevice implements AsyncDisposable {
  readonly #server: Server
  readonly sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(serve: (socket: Socket) => void): Promise<TestDevice> {
    const server = createServer({ allowHalfOpen: true })
    const device = new TestDevice(server)
    server.on('connection', (socket) => {
      device.sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => device.sockets.delete(socket))
      serve(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return device
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
