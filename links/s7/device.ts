import type { Socket } from 'node:net'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { connectToDevice, resetConnection } from '@millwright/link-sdk/network/connect.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import {
  connectionRequest,
  listRequest,
  type Message,
  type ModulePlace,
  mostPacketBytes,
  nextPartRequest,
  ownReference,
  packetLengthOf,
  parseListPart,
  parseMessage,
  parsePacket,
  parseSetup,
  setupRequest,
  type Tpdu,
} from './message.ts'

/** The number of packets without a request, such as late answers, that a device can send before it counts as faulty. */
const mostOtherPackets = 16
/** The number of requests for the parts of one list, and the size of a list. A correct device needs less. */
const mostParts = 32
const mostListBytes = 16_384

type Fault = 'refused' | 'no answer' | 'closed' | 'not s7'

/** `S7Error` means that a connection or a module did not give a usable answer. */
export class S7Error extends LinkError {
  readonly fault: Fault

  constructor(fault: Fault, description: string) {
    super(fault === 'not s7' ? 'PAYLOAD_DESERIALISATION_ISSUE' : 'UNAVAILABLE', description)
    this.name = 'S7Error'
    this.fault = fault
  }
}

/** Connects to a port. Returns undefined if it accepts no connection within the time limit. */
export async function connectTo(options: ContactOptions): Promise<S7Connection | undefined> {
  const socket = await connectToDevice({ ...options, protocol: 's7', operation: 'Connect' })
  return socket === undefined ? undefined : new S7Connection(socket, options)
}

type Answer = Exclude<Tpdu, { type: 'data' }> | { type: 'message'; message: Message }
type Pending = {
  isAnswer: (answer: Answer) => boolean
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** `S7Connection` sends one request at a time to one module over a TCP connection. */
export class S7Connection implements AsyncDisposable {
  readonly #socket: Socket
  readonly #options: ContactOptions
  #received = Buffer.alloc(0)
  /** The parts of a message that consists of several packets. */
  #message = Buffer.alloc(0)
  #reference = 0
  #otherPackets = 0
  #pending: Pending | undefined
  /** True when the last request was not answered in time. */
  #isUnanswered = false
  #failure: unknown
  readonly #closed = Promise.withResolvers<void>()

  constructor(socket: Socket, options: ContactOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('data', (bytes) => this.#onData(bytes))
    socket.on('error', () => this.#onClose())
    socket.on('end', () => this.#onClose())
    socket.on('close', () => {
      this.#onClose()
      this.#closed.resolve()
    })
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Closes the connection. A controller has few connections, so the caller waits before it opens another one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.signal.removeEventListener('abort', this.#abort)
    // The operating system would repeat a request that the device has not confirmed.
    if (this.#isUnanswered) resetConnection(this.#socket)
    else this.#socket.destroy()
    await this.#closed.promise
  }

  /** Connects to a module, and returns the length of messages that the module supports. */
  async open(module: ModulePlace): Promise<number> {
    const { type } = await this.#request('ConnectTransport', connectionRequest(module), (answer) =>
      answer.type === 'confirm' ? answer.reference === ownReference : answer.type === 'refusal',
    )
    if (type === 'refusal')
      throw new S7Error(
        'refused',
        `${this.#place} refuses the connection to rack ${module.rack}, slot ${module.slot}. Set the options rack, slots and connection_type.`,
      )
    const answer = await this.#requestMessage('SetupCommunication', setupRequest)
    if (answer.error !== 0)
      throw new S7Error(
        'refused',
        `${this.#place} refuses S7 communication with the error ${hex(answer.error)}. Set the option connection_type, or exclude the address.`,
      )
    return this.#correct(parseSetup(answer))
  }

  /**
   * Reads a system status list, in several parts if it does not fit into one message. Returns its content, and undefined
   * if the device does not have the list or does not return it.
   */
  async readList(id: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = []
    let bytes = 0
    let sequence = 0
    for (let count = 0; count < mostParts; count += 1) {
      const answer = await this.#requestMessage('ReadSystemStatusList', (reference) =>
        count === 0 ? listRequest(reference, { id, index: 0 }) : nextPartRequest(reference, sequence),
      )
      const part = this.#correct(parseListPart(answer))
      if (part.error !== 0) return undefined
      parts.push(part.content)
      bytes += part.content.length
      if (part.isLast) return Buffer.concat(parts)
      if (bytes > mostListBytes) break
      sequence = part.sequence
    }
    throw this.#notS7('its list does not end')
  }

  async #requestMessage(operation: string, requestOf: (reference: number) => Buffer): Promise<Message> {
    this.#reference = (this.#reference + 1) & 0xffff
    const reference = this.#reference
    const answer = await this.#request(
      operation,
      requestOf(reference),
      (one) => one.type === 'refusal' || (one.type === 'message' && one.message.reference === reference),
    )
    if (answer.type === 'message') return answer.message
    throw new S7Error(
      'closed',
      `${this.#place} ends the connection without an answer. Scan the device again, or exclude the address.`,
    )
  }

  /** Sends a request with its permit, and returns its answer. */
  async #request(operation: string, packet: Buffer, isAnswer: Pending['isAnswer']): Promise<Answer> {
    const { address, permits, signal, timeoutMs } = this.#options
    using _permit = await takePermit(permits, { address, protocol: 's7', operation, kind: 'request' }, signal)
    if (this.#failure !== undefined) throw this.#failure
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#pending = { isAnswer, resolve, reject }
    this.#isUnanswered = true
    using _timer = startTimer(timeoutMs, () =>
      reject(
        new S7Error(
          'no answer',
          `${this.#place} does not answer to S7 requests. Set a longer timeout_ms, or exclude the address.`,
        ),
      ),
    )
    this.#socket.write(packet)
    try {
      const answer = await promise
      this.#isUnanswered = false
      return answer
    } finally {
      this.#pending = undefined
    }
  }

  #onData(bytes: Buffer): void {
    if (this.#failure !== undefined) return
    this.#received = Buffer.concat([this.#received, bytes])
    while (this.#failure === undefined) {
      const length = packetLengthOf(this.#received)
      if (typeof length === 'string') this.#fail(this.#notS7(length))
      if (typeof length !== 'number' || this.#received.length < length) return
      const packet = this.#received.subarray(0, length)
      this.#received = this.#received.subarray(length)
      this.#onPacket(parsePacket(packet))
    }
  }

  #onPacket(tpdu: Tpdu | string): void {
    if (typeof tpdu === 'string') this.#fail(this.#notS7(tpdu))
    else if (tpdu.type === 'data') this.#onContent(tpdu)
    else this.#onAnswer(tpdu)
  }

  #onContent({ content, isLast }: { content: Buffer; isLast: boolean }): void {
    this.#message = Buffer.concat([this.#message, content])
    if (this.#message.length > mostPacketBytes) this.#fail(this.#notS7('its message is too long'))
    else if (isLast) {
      const message = parseMessage(this.#message)
      this.#message = Buffer.alloc(0)
      if (typeof message === 'string') this.#fail(this.#notS7(message))
      else this.#onAnswer({ type: 'message', message })
    }
    // A message can have any number of empty packets, so they are counted.
    else if (content.length === 0) this.#onOther()
  }

  #onAnswer(answer: Answer): void {
    if (this.#pending?.isAnswer(answer)) {
      this.#pending.resolve(answer)
      this.#pending = undefined
    } else this.#onOther()
  }

  #onOther(): void {
    this.#otherPackets += 1
    if (this.#otherPackets > mostOtherPackets) this.#fail(this.#notS7('it sends answers without requests'))
  }

  #onClose(): void {
    this.#socket.destroy()
    this.#fail(
      new S7Error(
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

  #correct<Parsed>(parsed: Parsed | string): Parsed {
    if (typeof parsed === 'string') throw this.#notS7(parsed)
    return parsed
  }

  #notS7(reason: string): S7Error {
    return new S7Error(
      'not s7',
      `${this.#place} does not speak S7 correctly: ${reason}. Change the option ports, or exclude the address.`,
    )
  }

  get #place(): string {
    return `${this.#options.address} port ${this.#options.port}`
  }
}

function hex(code: number): string {
  return `0x${code.toString(16).padStart(4, '0')}`
}
