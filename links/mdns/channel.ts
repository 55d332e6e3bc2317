import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { connectSocket } from '@millwright/link-sdk/network/connected-socket.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { MdnsError } from './mdns-error.ts'
import { type DnsQuery, type DnsRecord, encodeQuery, keyOf, parseAnswer, type RecordType } from './message.ts'

/** The operations of the table `sends`. */
export const operations: Readonly<Record<RecordType, string>> = {
  A: 'A query',
  PTR: 'PTR query',
  SRV: 'SRV query',
  TXT: 'TXT query',
}

/** The limits of one channel. A device that exceeds them is reported as faulty. */
const channelLimits = {
  receivedBytes: 1024 * 1024,
  /** Datagrams that a device may send in addition to two answers per query. */
  unexpectedDatagrams: 64,
} as const

type Waiting = {
  id: number
  question: DnsQuery
  resolve: (records: readonly DnsRecord[] | undefined) => void
  reject: (error: Error) => void
}

/**
 * `Channel` queries one device with direct unicast queries (RFC 6762, section 5.5), one after the other. Its port is not
 * 5353, so the device sends its answers to the channel only (section 6.7). The socket is connected, so the system discards
 * datagrams of other senders, and reports a closed port.
 */
export class Channel implements Disposable {
  readonly #options: ContactOptions
  readonly #socket: Socket
  readonly #connected: Promise<void>
  #waiting: Waiting | undefined
  #failure: MdnsError | undefined
  #sent = 0
  #received = 0
  #receivedBytes = 0
  #isClosed = false

  constructor(options: ContactOptions) {
    this.#options = options
    this.#socket = createSocket('udp4')
    this.#connected = connectSocket(this.#socket, options).catch((error) => {
      throw unreachable(error)
    })
    // `query` reports this error. A channel that is closed before it sends has no use for it.
    this.#connected.catch(() => undefined)
    this.#socket.on('error', (error) => this.#fail(unreachable(error)))
    this.#socket.on('message', (message) => this.#onMessage(message))
  }

  /**
   * Sends one query. Returns all records of the answer, or undefined if the device does not answer in time. Throws an
   * `MdnsError` if the port is closed or the device floods the channel, and the reason of the signal when it is aborted.
   */
  async query(question: DnsQuery): Promise<readonly DnsRecord[] | undefined> {
    const { address, permits, timeoutMs, signal } = this.#options
    const id = randomInt(1, 0x1_0000)
    const message = encodeQuery(id, question)
    if (message === undefined) return undefined
    signal.throwIfAborted()
    await this.#connected
    const operation = operations[question.type]
    using _permit = await permits.take({ address, protocol: 'mdns', operation, kind: 'datagram_request' })
    signal.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure
    const { promise, resolve, reject } = Promise.withResolvers<readonly DnsRecord[] | undefined>()
    const abort = () => reject(signal.reason)
    this.#waiting = { id, question, resolve, reject }
    this.#sent += 1
    using _timer = startTimer(timeoutMs, () => resolve(undefined))
    signal.addEventListener('abort', abort, { once: true })
    try {
      this.#socket.send(message, (error) => error && reject(unreachable(error)))
      return await promise
    } finally {
      signal.removeEventListener('abort', abort)
      this.#waiting = undefined
    }
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
  }

  #onMessage(message: Buffer): void {
    this.#received += 1
    this.#receivedBytes += message.length
    const isFlood = this.#received > 2 * this.#sent + channelLimits.unexpectedDatagrams
    if (isFlood || this.#receivedBytes > channelLimits.receivedBytes) {
      this.#fail(new MdnsError('faulty', 'sends answers without queries'))
      return
    }
    const { id, question, resolve } = this.#waiting ?? {}
    if (id === undefined || question === undefined) return
    const answer = parseAnswer(message)
    if (answer === undefined) return
    // Some devices do not repeat the id of a unicast query, as in multicast answers. Their answer must fit the question.
    const isOwn = answer.id === id || (answer.id === 0 && answer.records.some((record) => isAnswerTo(record, question)))
    if (isOwn) resolve?.(answer.records)
  }

  #fail(error: MdnsError): void {
    this.#failure ??= error
    this.#waiting?.reject(error)
  }
}

function isAnswerTo({ name, type }: DnsRecord, question: DnsQuery): boolean {
  return type === question.type && keyOf(name) === keyOf(question.name)
}

function unreachable(error: Error): MdnsError {
  const code = 'code' in error ? error.code : error.message
  return new MdnsError('refused', `is not reachable (${code})`)
}
