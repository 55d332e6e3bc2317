import { createSocket, type Socket } from 'node:dgram'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { connectSocket } from '@millwright/link-sdk/network/connected-socket.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { EthernetIpError } from './ethernet-ip-error.ts'
import { commands, type ListedIdentity, listIdentityDatagram, parseFrame, parseListIdentity } from './message.ts'

/** The number of datagrams to a silent address. */
const attempts = 2
/** The number of invalid answers after which a device counts as faulty. */
const mostInvalidAnswers = 16

/**
 * Sends ListIdentity as a UDP datagram, and again if there is no answer. Returns undefined if the address is silent or
 * its port is closed. Throws an `EthernetIpError` if it sends only invalid answers. The socket is connected, so the
 * operating system discards datagrams of other senders, and reports a closed port.
 */
export async function listIdentityByUdp(options: ContactOptions): Promise<ListedIdentity | undefined> {
  const { address, timeoutMs, permits, signal } = options
  using socket = new IdentitySocket(options)
  for (let attempt = 0; attempt < attempts && !socket.isRefused; attempt += 1) {
    const request = { address, protocol: 'ethernet-ip', operation: 'ListIdentity', kind: 'datagram_request' } as const
    using _permit = await takePermit(permits, request, signal)
    const identity = await socket.exchange(timeoutMs)
    if (identity !== undefined) return identity
  }
  if (socket.fault !== undefined) throw socket.fault
  return undefined
}

/** `IdentitySocket` exchanges datagrams with one device. */
class IdentitySocket implements Disposable {
  /** True when the operating system reported that the device does not accept datagrams. */
  isRefused = false
  fault: EthernetIpError | undefined
  readonly #options: ContactOptions
  readonly #socket: Socket
  readonly #answer = Promise.withResolvers<ListedIdentity | undefined>()
  readonly #connected: Promise<void>
  #invalidAnswers = 0

  constructor(options: ContactOptions) {
    this.#options = options
    this.#socket = createSocket('udp4')
    this.#connected = this.#connect()
    // `exchange` reports these errors. A socket that is closed before has no use for them.
    this.#connected.catch(() => undefined)
    this.#answer.promise.catch(() => undefined)
    this.#socket.on('error', () => this.#refuse())
    this.#socket.on('message', (message) => this.#onMessage(message))
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#socket.close()
  }

  /** Sends one datagram. Returns undefined if there is no valid answer within the time. */
  async exchange(timeoutMs: number): Promise<ListedIdentity | undefined> {
    await this.#connected
    this.#options.signal.throwIfAborted()
    if (this.isRefused) return undefined
    const silence = Promise.withResolvers<undefined>()
    this.#socket.send(listIdentityDatagram(), (error) => {
      if (error) this.#refuse()
    })
    using _timer = startTimer(timeoutMs, () => silence.resolve(undefined))
    return await Promise.race([this.#answer.promise, silence.promise])
  }

  /** Connects the socket. A device that cannot be reached refuses datagrams. */
  async #connect(): Promise<void> {
    try {
      await connectSocket(this.#socket, this.#options)
    } catch (error) {
      const isLocal = error instanceof Error && 'syscall' in error && error.syscall === 'bind'
      if (!isLocal) this.#refuse()
      else throw new LinkError('UNAVAILABLE', `The UDP socket could not be opened: ${error.message}.`, { cause: error })
    }
  }

  #refuse(): void {
    this.isRefused = true
    this.#answer.resolve(undefined)
  }

  readonly #abort = () => this.#answer.reject(this.#options.signal.reason)

  #onMessage(message: Buffer): void {
    const identity = identityIn(message)
    if (typeof identity !== 'string') {
      this.#answer.resolve(identity)
      return
    }
    const { address, port } = this.#options
    const text = `${address} UDP port ${port} does not speak EtherNet/IP correctly: ${identity}. Change the option ports, or exclude the address.`
    this.fault = new EthernetIpError('not ethernet-ip', text)
    this.#invalidAnswers += 1
    if (this.#invalidAnswers >= mostInvalidAnswers) this.#refuse()
  }
}

function identityIn(message: Buffer): ListedIdentity | string {
  const frame = parseFrame(message)
  if (typeof frame === 'string') return frame
  if (frame.command !== commands.listIdentity) return `it answers with the command ${frame.command}`
  if (frame.status !== 0) return `it refuses ListIdentity with the status ${frame.status}`
  return parseListIdentity(frame.content)
}
