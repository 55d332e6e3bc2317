import { createSocket, type Socket } from 'node:dgram'
import { EventEmitter } from 'node:events'
import { connectSocket } from '@millwright/link-sdk/network/connected-socket.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { SnmpError } from './snmp-error.ts'

/** The operations of the table `sends`. */
export type Operation = 'EngineDiscovery' | 'Get' | 'GetNext' | 'GetBulk'

export type ChannelOptions = {
  address: string
  port: number
  /** The address of the network interface to send from. */
  localAddress?: string | undefined
  permits: Permits
}

/** The limits of one channel. A device that exceeds them is reported as faulty. */
const channelLimits = {
  receivedBytes: 8 * 1024 * 1024,
  /** Datagrams that a device may send in addition to two answers per request. */
  unexpectedDatagrams: 64,
} as const

type Sent = (error: Error | null) => void

/**
 * `Channel` exchanges datagrams with one device. It has the methods of a socket that the SNMP library needs. It takes a
 * permit before each datagram. The socket is connected, so the system discards datagrams of other senders, and reports a
 * closed port.
 */
export class Channel extends EventEmitter implements Disposable {
  /** Returns the operation of the next datagram. */
  operationOf: () => Operation = () => 'Get'
  /** Called when a datagram has been sent. */
  onSent: () => void = () => undefined
  /** Returns false for a datagram that is discarded. */
  accepts: (message: Buffer) => boolean = () => true
  /** Called when the channel can no longer be used, or when the library fails at a datagram. */
  onFailure: (error: SnmpError) => void = () => undefined

  readonly #options: ChannelOptions
  readonly #socket: Socket
  readonly #connected: Promise<void>
  #sent = 0
  #received = 0
  #receivedBytes = 0
  #isClosed = false

  constructor(options: ChannelOptions) {
    super()
    this.#options = options
    this.#socket = createSocket('udp4')
    this.#connected = connectSocket(this.#socket, options).catch((error) => {
      throw unreachable(error)
    })
    // `send` reports this error. A channel that is closed before it sends has no use for it.
    this.#connected.catch(() => undefined)
    this.#socket.on('error', (error) => this.onFailure(unreachable(error)))
    this.#socket.on('message', (message) => this.#onMessage(message))
  }

  /** Sends one datagram, in the form in which the SNMP library calls it. */
  send(message: Buffer, _offset: number, _length: number, _port: number, _address: string, sent: Sent): void {
    this.transmit(message).then(
      () => sent(null),
      (error: Error) => sent(error),
    )
  }

  /** Waits for a permit and sends one datagram. */
  async transmit(message: Buffer): Promise<void> {
    const { address, permits } = this.#options
    const operation = this.operationOf()
    this.#sent += 1
    await this.#connected
    using _permit = await permits.take({ address, protocol: 'snmp', operation, kind: 'datagram_request' })
    if (this.#isClosed) throw new SnmpError('silent', 'does not answer')
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(message, (error) => (error ? reject(unreachable(error)) : resolve()))
    })
    // The library would wait for an answer that no longer arrives.
    if (this.#isClosed) throw new SnmpError('silent', 'does not answer')
    this.onSent()
  }

  ref(): void {
    this.#socket.ref()
  }

  unref(): void {
    this.#socket.unref()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
    this.emit('close')
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #onMessage(message: Buffer): void {
    if (this.#isClosed) return
    this.#received += 1
    this.#receivedBytes += message.length
    if (this.#receivedBytes > channelLimits.receivedBytes) {
      this.onFailure(new SnmpError('limit', `sends more than ${channelLimits.receivedBytes} bytes`))
    } else if (this.#received > 2 * this.#sent + channelLimits.unexpectedDatagrams) {
      this.onFailure(new SnmpError('faulty', 'sends answers without requests'))
    } else if (this.accepts(message)) {
      this.#pass(message)
    }
  }

  /** Passes a datagram to the SNMP library, which may throw at invalid datagrams. */
  #pass(message: Buffer): void {
    try {
      this.emit('message', message)
    } catch {
      this.onFailure(new SnmpError('faulty', 'sends answers that are not valid SNMP messages'))
    }
  }
}

function unreachable(error: Error): SnmpError {
  const code = 'code' in error ? error.code : error.message
  return new SnmpError('refused', `is not reachable (${code})`)
}
