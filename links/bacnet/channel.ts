import { createSocket, type Socket } from 'node:dgram'
import { connectSocket } from '@millwright/link-sdk/network/connected-socket.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { PermitRefusedError, takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { BacnetError } from './bacnet-error.ts'
import {
  type Apdu,
  decodeDatagram,
  decodeReadProperty,
  decodeReadPropertyMultiple,
  encodeReadProperty,
  encodeReadPropertyMultiple,
  encodeWhoIs,
  type IAm,
  type InstanceRange,
  ipAddressOf,
  type PropertyValue,
  type ReadTarget,
  type Received,
  type Station,
  stationName,
} from './codec.ts'

/**
 * `FoundDevice` is a device that was found, but not read. `station` is set for a device behind a router. `iAm` is absent for
 * a device that did not answer to Who-Is.
 */
export type FoundDevice = ReadTarget & { iAm?: IAm }

/** The operations of the table `sends` that a channel sends. */
type Operation = 'WhoIs' | 'ReadProperty' | 'ReadPropertyMultiple'

/** The limits of one channel. An address that exceeds them is reported as faulty. */
const channelLimits = {
  receivedBytes: 8 * 1024 * 1024,
  /** Datagrams that are neither the answer to a request nor the first I-Am of a device. */
  unexpectedDatagrams: 64,
} as const

/** The maximum number of devices behind one router. */
export const mostStations = 1_000

/** The number of times that a request is sent. */
const usualAttempts = 2

type Pending = {
  invokeId: number
  station: Station | undefined
  resolve: (data: Buffer) => void
  reject: (error: unknown) => void
}

/**
 * `Channel` exchanges messages with one IP address: a device, or a router with the devices behind it. It sends one request
 * at a time, and takes a permit before each datagram. The socket is connected, so the system discards datagrams of other
 * senders, and reports a closed port.
 */
export class Channel implements Disposable {
  readonly #options: ContactOptions
  readonly #socket: Socket
  readonly #connected: Promise<void>
  /** The devices that answered to Who-Is, by their station. The device at the address itself has the key ''. */
  readonly #found = new Map<string, FoundDevice>()
  #onFound: () => void = () => undefined
  #pending: Pending | undefined
  #invokeId = 0
  #receivedBytes = 0
  #unexpected = 0
  /** The reason why the last datagram was not a BACnet message, until the next valid answer. */
  #malformed: string | undefined
  #failure: unknown
  #fail: (error: unknown) => void = () => undefined

  constructor(options: ContactOptions) {
    this.#options = options
    this.#socket = createSocket('udp4')
    this.#connected = connectSocket(this.#socket, options).catch((error) => {
      throw this.#unreachable(error)
    })
    // The first request reports this error. A channel that is closed before it sends has no use for it.
    this.#connected.catch(() => undefined)
    this.#socket.on('error', (error) => this.#end(this.#unreachable(error)))
    this.#socket.on('message', (message) => this.#onMessage(message))
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#socket.close()
  }

  /** Returns the device at the address, or undefined if it does not answer to Who-Is. */
  async whoIs(instances: InstanceRange): Promise<FoundDevice | undefined> {
    const isFound = () => this.#found.has('')
    await this.#collect({ instances, isRouted: false, collectMs: this.#options.timeoutMs, isComplete: isFound })
    return this.#found.get('')
  }

  /** Returns the devices behind the router at the address that answer to Who-Is in a time. */
  async whoIsBehind(instances: InstanceRange, collectMs: number): Promise<FoundDevice[]> {
    const isFull = () => this.#found.size >= mostStations
    await this.#collect({ instances, isRouted: true, collectMs, isComplete: isFull })
    return [...this.#found.values()].filter(({ station }) => station !== undefined)
  }

  async #collect({ instances, isRouted, collectMs, isComplete }: Collection): Promise<void> {
    const message = encodeWhoIs({ instances, isRouted, delivery: 'unicast' })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    promise.catch(() => undefined)
    this.#fail = reject
    this.#onFound = () => {
      if (isComplete()) resolve()
    }
    try {
      await this.#send(message, { operation: 'WhoIs', forwarded: isRouted })
      this.#onFound()
      using _timer = startTimer(collectMs, resolve)
      await promise
    } finally {
      this.#onFound = () => undefined
      this.#fail = () => undefined
    }
  }

  /** Reads a property of a device object. Returns the instance of the device, which can differ from a requested wildcard. */
  async readProperty(
    target: ReadTarget,
    property: number,
    { attempts = usualAttempts } = {},
  ): Promise<{ instance: number; value: PropertyValue }> {
    const encode = (invokeId: number) => encodeReadProperty(target, property, invokeId)
    const answer = await this.#request(target, { operation: 'ReadProperty', encode, attempts })
    const decoded = this.#decoded(() => decodeReadProperty(answer))
    if (decoded.property !== property) throw this.#faulty('it answers with another property than requested')
    return decoded
  }

  /** Reads properties of a device object with one request. Properties that the device refuses are not in the result. */
  async readProperties(target: ReadTarget, properties: readonly number[]): Promise<Map<number, PropertyValue>> {
    const encode = (invokeId: number) => encodeReadPropertyMultiple(target, properties, invokeId)
    const answer = await this.#request(target, { operation: 'ReadPropertyMultiple', encode, attempts: usualAttempts })
    const { instance, values } = this.#decoded(() => decodeReadPropertyMultiple(answer))
    if (instance !== target.instance) throw this.#faulty('it answers for another device than requested')
    return values
  }

  async #request({ station }: ReadTarget, { operation, encode, attempts }: Request): Promise<Buffer> {
    this.#invokeId = (this.#invokeId + 1) & 0xff
    const invokeId = this.#invokeId
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#exchange({ invokeId, station }, encode(invokeId), operation)
      } catch (error) {
        if (attempt >= attempts || !(error instanceof BacnetError && error.fault === 'silent')) throw error
      }
    }
  }

  async #exchange(to: Pick<Pending, 'invokeId' | 'station'>, message: Buffer, operation: Operation): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    promise.catch(() => undefined)
    this.#fail = reject
    try {
      await this.#requireReachable(to.station, operation)
      await this.#send(message, { operation, forwarded: false }, () => {
        this.#pending = { ...to, resolve, reject }
      })
      using _timer = startTimer(this.#options.timeoutMs, () => reject(this.#silence(to.station)))
      return await promise
    } finally {
      this.#pending = undefined
      this.#fail = () => undefined
    }
  }

  /** A router sends a request to the IP address of a station. The station can be excluded, so the request needs its permit too. */
  async #requireReachable(station: Station | undefined, operation: Operation): Promise<void> {
    const address = station === undefined ? undefined : ipAddressOf(station)
    if (address === undefined) return
    const { permits, signal } = this.#options
    try {
      using _permit = await takePermit(permits, { address, protocol: 'bacnet', operation, kind: 'request' }, signal)
    } catch (error) {
      // The router reports the address, so an address that is not allowed must not end the scan.
      const isAddress = error instanceof PermitRefusedError && ['excluded', 'protocol'].includes(error.reason)
      throw isAddress ? new BacnetError('rejected', error.message) : error
    }
  }

  async #send(message: Buffer, traffic: Traffic, onSend: () => void = () => undefined): Promise<void> {
    const { address, permits, signal } = this.#options
    await this.#connected
    if (this.#failure !== undefined) throw this.#failure
    const request = { address, protocol: 'bacnet', kind: 'datagram_request', ...traffic } as const
    using _permit = await takePermit(permits, request, signal)
    if (this.#failure !== undefined) throw this.#failure
    onSend()
    await new Promise<void>((resolve, reject) => {
      this.#socket.send(message, (error) => (error ? reject(this.#unreachable(error)) : resolve()))
    })
    signal.throwIfAborted()
  }

  #onMessage(message: Buffer): void {
    if (this.#failure !== undefined) return
    this.#receivedBytes += message.length
    if (!this.#isExpected(message)) this.#unexpected += 1
    if (this.#receivedBytes > channelLimits.receivedBytes)
      this.#end(this.#faulty(`it sends more than ${channelLimits.receivedBytes} bytes`))
    else if (this.#unexpected > channelLimits.unexpectedDatagrams)
      this.#end(this.#faulty('it sends answers without requests'))
  }

  /** Passes a datagram to the request that waits for it. Returns false if none does. */
  #isExpected(message: Buffer): boolean {
    try {
      return this.#pass(decodeDatagram(message))
    } catch (error) {
      if (!(error instanceof BacnetError)) throw error
      this.#malformed = error.message
      return false
    }
  }

  #pass(received: Received): boolean {
    if (received.type === 'unreachableNetwork') return this.#rejectNetwork(received)
    if (received.type !== 'apdu' || received.origin !== undefined) return false
    const { source, apdu } = received
    if (apdu.type === 'iAm') return this.#addFound({ instance: apdu.iAm.instance, station: source, iAm: apdu.iAm })
    return this.#answer(apdu, source)
  }

  #addFound(device: FoundDevice): boolean {
    const key = device.station === undefined ? '' : stationName(device.station)
    if (this.#found.has(key) || this.#found.size > mostStations) return false
    this.#malformed = undefined
    this.#found.set(key, device)
    this.#onFound()
    return true
  }

  #answer(apdu: Exclude<Apdu, { type: 'iAm' }>, source: Station | undefined): boolean {
    const pending = this.#pending
    if (apdu.type === 'other' || apdu.invokeId !== pending?.invokeId || !isSame(source, pending.station)) return false
    this.#malformed = undefined
    this.#pending = undefined
    if (apdu.type === 'answer') pending.resolve(apdu.data)
    else pending.reject(this.#refusal(apdu, source))
    return true
  }

  #refusal(apdu: Extract<Apdu, { type: 'segment' | 'refusal' }>, source: Station | undefined): BacnetError {
    const place = this.#place(source)
    if (apdu.type === 'refusal' && !apdu.isSegmentation)
      return new BacnetError('rejected', `${place} answers to BACnet requests with ${apdu.reason}.`)
    return new BacnetError(
      'segmented',
      `${place} has an answer that does not fit into one BACnet message. The link does not accept answers in segments.`,
    )
  }

  /** A router reports that it cannot reach the network of a request. */
  #rejectNetwork({ network, reason }: { network: number; reason: number }): boolean {
    const pending = this.#pending
    if (pending?.station?.network !== network) return false
    const text = `${this.#place()} cannot reach the BACnet network ${network} (reason ${reason}).`
    pending.reject(new BacnetError('rejected', text))
    this.#pending = undefined
    return true
  }

  #decoded<Value>(decode: () => Value): Value {
    try {
      return decode()
    } catch (error) {
      throw error instanceof BacnetError ? this.#faulty(error.message) : error
    }
  }

  #silence(station: Station | undefined): BacnetError {
    if (this.#malformed !== undefined) return this.#faulty(this.#malformed)
    return new BacnetError(
      'silent',
      `${this.#place(station)} does not answer to BACnet requests. Set a longer timeout_ms, or exclude the address.`,
    )
  }

  #faulty(reason: string): BacnetError {
    return new BacnetError(
      'faulty',
      `${this.#place()} does not speak BACnet correctly: ${reason}. Change the option ports, or exclude the address.`,
    )
  }

  #unreachable(error: Error): BacnetError {
    const code = 'code' in error ? error.code : error.message
    return new BacnetError('refused', `${this.#place()} is not reachable (${code}).`)
  }

  #place(station?: Station): string {
    const place = `${this.#options.address} port ${this.#options.port}`
    return station === undefined ? place : `Station ${stationName(station)} behind ${place}`
  }

  readonly #abort = () => this.#end(this.#options.signal.reason)

  /** Ends the request that waits, and all later requests. */
  #end(error: unknown): void {
    this.#failure ??= error
    this.#fail(this.#failure)
  }
}

/** `Traffic` is a datagram. A router forwards a Who-Is for all networks. */
type Traffic = { operation: Operation; forwarded: boolean }
type Request = { operation: Operation; encode: (invokeId: number) => Buffer; attempts: number }
type Collection = {
  instances: InstanceRange
  isRouted: boolean
  collectMs: number
  /** Whether all answers have arrived, so that the rest of the time is not needed. */
  isComplete: () => boolean
}

function isSame(one: Station | undefined, other: Station | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.network === other.network && one.mac.equals(other.mac)
}
