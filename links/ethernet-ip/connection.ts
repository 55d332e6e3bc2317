import type { Socket } from 'node:net'
import { connectToDevice, resetConnection } from '@millwright/link-sdk/network/connect.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { EthernetIpError, refusalOf } from './ethernet-ip-error.ts'
import {
  commands,
  contextOf,
  encodeFrame,
  encodeRead,
  encodeUnconnected,
  encodeUnconnectedSend,
  type Frame,
  frameLength,
  type ListedIdentity,
  type ObjectPath,
  parseFrame,
  parseListIdentity,
  parseUnconnected,
  services,
  sessionContent,
} from './message.ts'

/** The number of answers without a request, such as repeated answers, that a device can send before it counts as faulty. */
const mostOtherFrames = 16

/** The part of the time for an answer after which the device stops forwarding a message to a module. */
const forwardingShare = 0.75

/** Connects to a port. Returns undefined if it accepts no connection within the time limit. */
export async function connectTo(options: ContactOptions): Promise<EthernetIpConnection | undefined> {
  const socket = await connectToDevice({ ...options, protocol: 'ethernet-ip', operation: 'Connect' })
  return socket === undefined ? undefined : new EthernetIpConnection(socket, options)
}

type Request = { command: number; content?: Buffer; operation: string }
type Pending = { command: number; context: Buffer; resolve: (frame: Frame) => void; reject: (error: unknown) => void }

/**
 * `EthernetIpConnection` sends one request at a time over a TCP connection. It registers a session before the first CIP
 * message. The session ends with the connection.
 */
export class EthernetIpConnection implements Disposable {
  readonly #socket: Socket
  readonly #options: ContactOptions
  #received = Buffer.alloc(0)
  #requests = 0
  #otherFrames = 0
  #session: number | undefined
  #pending: Pending | undefined
  /** True when the last request was not answered in time. */
  #isUnanswered = false
  #failure: unknown

  constructor(socket: Socket, options: ContactOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('data', (bytes) => this.#onData(bytes))
    socket.on('error', () => this.#onClose())
    socket.on('end', () => this.#onClose())
    socket.on('close', () => this.#onClose())
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    // The operating system would repeat a request that the device has not confirmed.
    if (this.#isUnanswered) resetConnection(this.#socket)
    else this.#socket.destroy()
  }

  async listIdentity(): Promise<ListedIdentity> {
    const { content } = await this.#request({ command: commands.listIdentity, operation: 'ListIdentity' })
    return this.#checked(parseListIdentity(content))
  }

  /** Reads one attribute, or all attributes if the path has none, of the device or of the module in a slot. */
  async read(path: ObjectPath, slot?: number): Promise<Buffer> {
    const message = encodeRead(path)
    const operation = path.attribute === undefined ? 'GetAttributesAll' : 'GetAttributeSingle'
    const timeoutMs = this.#options.timeoutMs * forwardingShare
    const sent =
      slot === undefined
        ? { content: encodeUnconnected(message), operation }
        : {
            content: encodeUnconnected(encodeUnconnectedSend(message, { slot, timeoutMs })),
            operation: `${operation}OfModule`,
          }
    await this.#register()
    const { content } = await this.#request({ command: commands.sendRRData, ...sent })
    const answer = this.#checked(parseUnconnected(content))
    const isFromRouter = slot !== undefined && answer.service === services.unconnectedSend
    if (answer.service !== message[0] && !isFromRouter)
      throw this.#notEthernetIp(`it answers with the service code ${answer.service}`)
    const { status, extendedStatus } = answer
    if (status !== 0) throw refusalOf(this.#place, { status, extendedStatus, isFromRouter })
    return answer.data
  }

  async #register(): Promise<void> {
    if (this.#session !== undefined) return
    const { session } = await this.#request({
      command: commands.registerSession,
      content: sessionContent,
      operation: 'RegisterSession',
    })
    this.#session = session
  }

  /** Sends a request and returns its answer. Throws an `EthernetIpError` if the encapsulation reports an error. */
  async #request({ command, content, operation }: Request): Promise<Frame> {
    const { address, permits, signal } = this.#options
    if (this.#failure !== undefined) throw this.#failure
    using _permit = await takePermit(permits, { address, protocol: 'ethernet-ip', operation, kind: 'request' }, signal)
    const frame = await this.#exchange(command, content)
    if (frame.status === 0) return frame
    throw new EthernetIpError(
      'refused',
      `${this.#place} refuses ${operation} with the status ${frame.status}. Allow EtherNet/IP in the settings of the device, or exclude the address.`,
    )
  }

  async #exchange(command: number, content: Buffer = Buffer.alloc(0)): Promise<Frame> {
    if (this.#failure !== undefined) throw this.#failure
    const { promise, resolve, reject } = Promise.withResolvers<Frame>()
    this.#requests += 1
    const context = contextOf(this.#requests)
    this.#pending = { command, context, resolve, reject }
    this.#isUnanswered = true
    using _timer = startTimer(this.#options.timeoutMs, () =>
      reject(
        new EthernetIpError(
          'no answer',
          `${this.#place} does not answer to EtherNet/IP requests. Set a longer timeout_ms, or exclude the address.`,
        ),
      ),
    )
    this.#socket.write(encodeFrame(command, { session: this.#session ?? 0, context, content }))
    try {
      const frame = await promise
      this.#isUnanswered = false
      return frame
    } finally {
      this.#pending = undefined
    }
  }

  #onData(bytes: Buffer): void {
    if (this.#failure !== undefined) return
    this.#received = Buffer.concat([this.#received, bytes])
    while (this.#failure === undefined && this.#received.length > 0) {
      const length = frameLength(this.#received)
      if (length === undefined || (typeof length === 'number' && this.#received.length < length)) return
      const frame = parseFrame(this.#received)
      if (typeof frame === 'string' || typeof length === 'string') {
        this.#fail(this.#notEthernetIp('its answer has no EtherNet/IP header'))
        return
      }
      this.#received = Buffer.from(this.#received.subarray(length))
      this.#onFrame(frame)
    }
  }

  /**
   * An answer has the context of its request. A frame with another context is an answer that came after the time limit. Some
   * devices do not return the context of ListIdentity, which is the first request of a connection.
   */
  #onFrame(frame: Frame): void {
    const { command, context } = this.#pending ?? {}
    const isAnswer = frame.command === command && (command === commands.listIdentity || context?.equals(frame.context))
    if (isAnswer) {
      this.#pending?.resolve(frame)
      this.#pending = undefined
      return
    }
    this.#otherFrames += 1
    if (this.#otherFrames > mostOtherFrames + this.#requests)
      this.#fail(this.#notEthernetIp('it sends answers without requests'))
  }

  #onClose(): void {
    this.#socket.destroy()
    this.#fail(
      new EthernetIpError(
        'closed',
        `${this.#place} closes the connection without an answer. Scan the device again, or exclude the address.`,
      ),
    )
  }

  readonly #abort = () => this.#fail(this.#options.signal.reason)

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#pending?.reject(this.#failure)
    this.#received = Buffer.alloc(0)
    resetConnection(this.#socket)
  }

  #checked<Parsed extends object>(parsed: Parsed | string): Parsed {
    if (typeof parsed === 'string') throw this.#notEthernetIp(parsed)
    return parsed
  }

  #notEthernetIp(reason: string): EthernetIpError {
    return new EthernetIpError(
      'not ethernet-ip',
      `${this.#place} does not speak EtherNet/IP correctly: ${reason}. Change the option ports, or exclude the address.`,
    )
  }

  get #place(): string {
    return `${this.#options.address} TCP port ${this.#options.port}`
  }
}
