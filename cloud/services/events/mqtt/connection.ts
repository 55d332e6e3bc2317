import { once } from 'node:events'
import type { Socket } from 'node:net'
import { generate, type IConnackPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import { maximumReceivedBytes, PacketReader, ProtocolError } from './packet-reader.ts'
import { closedByBroker, firstErrorCode, refusedConnection, refusedPublication } from './reason-codes.ts'

/**
 * A connection of MQTT 5 that publishes with QoS 1. It has no subscriptions and no session: the broker forgets it when it
 * ends (clean start, session expiry 0). A publication that the broker has not confirmed when the connection ends is
 * rejected. It is never sent again here, because the deliverer decides which event is sent next.
 *
 * Every packet of the broker answers a packet of the client. Any other packet ends the connection. The client respects the
 * receive maximum, the maximum packet size and the keep alive time of the broker.
 */

const keepAliveSeconds = 30
/** The maximum number of publications without confirmation, also if the receive maximum of the broker is higher. */
const maximumInFlight = 256
const maximumPacketId = 65_535
/** The length of a response without properties: the flags, the reason code and the length of the properties. */
const shortestConnack = 3
const maximumTopicBytes = 65_535
/** An upper limit for the size of the header and the properties of a publication. */
const propertyBytes = 2_048
/** How long the end of a connection waits for the broker. */
const closeMs = 2_000
/** The errors of a connection that the broker closed while data was on the way. */
const resets: readonly string[] = ['ECONNRESET', 'EPIPE']
const maximumReasonCharacters = 1_024

export type Publication = Pick<IPublishPacket, 'topic' | 'retain' | 'properties'> & { payload: string }

/** The response of the broker to a publication. 16: no client has subscribed to the topic. */
export type Confirmation = { reasonCode: number }

/** An error of the broker, as a sentence for the log. */
export class BrokerError extends Error {
  readonly reasonCode: number | null
  /** The explanation of the broker, if it sent one. */
  readonly reason: string | undefined

  constructor(message: string, { reasonCode = null, reason }: { reasonCode?: number | null; reason?: unknown } = {}) {
    super(message)
    this.reasonCode = reasonCode
    this.reason = typeof reason === 'string' ? reason.slice(0, maximumReasonCharacters) : undefined
  }
}

export type ConnectionOptions = {
  clientId: string
  userName: string | null
  password: string | null
  /** The topic of the last will. The broker publishes `offline` when the connection ends without a DISCONNECT packet. */
  statusTopic: string | null
  signal: AbortSignal
}

type Pending = {
  publication: Publication
  resolve(confirmation: Confirmation): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

/** What the broker permits, from its response to the connection. */
type BrokerLimits = { inFlight: number; packetBytes: number; retains: boolean; keepAliveSeconds: number }

export class Connection {
  readonly #socket: Socket
  readonly #reader = new PacketReader()
  readonly #inFlight = new Map<number, Pending>()
  readonly #waiting: Pending[] = []
  readonly #accepted = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #limits: BrokerLimits | undefined
  #error: Error | undefined
  #lastId = 0
  #hasSent = false
  #awaitsPing = false
  #pings: NodeJS.Timeout | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#accepted.promise.catch(() => {})
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      this.#fail(resets.includes(error.code ?? '') ? new BrokerError(this.#closedText()) : error),
    )
    socket.on('close', () => this.#fail(new BrokerError(this.#closedText())))
  }

  /** Starts a session on an open socket. The connection owns the socket from now on. */
  static async open(socket: Socket, options: ConnectionOptions): Promise<Connection> {
    const { clientId, userName, password, statusTopic, signal } = options
    const connection = new Connection(socket)
    const cancel = () => connection.#fail(signal.reason)
    signal.addEventListener('abort', cancel)
    try {
      if (socket.destroyed) throw new BrokerError(connection.#closedText())
      connection.#write({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 5,
        clean: true,
        clientId,
        keepalive: keepAliveSeconds,
        ...(userName === null ? {} : { username: userName }),
        ...(password === null ? {} : { password: Buffer.from(password) }),
        ...(statusTopic === null ? {} : { will: { topic: statusTopic, payload: 'offline', qos: 1, retain: true } }),
        properties: { receiveMaximum: 1, maximumPacketSize: maximumReceivedBytes },
      })
      signal.throwIfAborted()
      await connection.#accepted.promise
      return connection
    } catch (error) {
      connection.#fail(error as Error)
      throw error
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Resolves when the connection has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /**
   * Publishes and waits for the confirmation of the broker. If the broker does not confirm a sent publication in time, the
   * connection ends: the broker could still publish it, and a second attempt must not overtake it.
   */
  publish(publication: Publication, timeoutMs: number): Promise<Confirmation> {
    return new Promise((resolve, reject) => {
      const problem = this.#error ?? this.#refusal(publication)
      if (problem !== undefined) {
        reject(problem)
        return
      }
      const timer = setTimeout(() => this.#expire(pending), timeoutMs)
      const pending = { publication, resolve, reject, timer }
      this.#waiting.push(pending)
      this.#sendWaiting()
    })
  }

  /** Publishes a last message, if there is one, and ends the connection in order. The broker does not publish the will. */
  async end(lastMessage?: Publication): Promise<void> {
    const timer = setTimeout(() => this.#socket.destroy(), closeMs)
    const closed = new BrokerError('The connection to the broker was closed')
    for (const pending of this.#waiting.splice(0)) {
      clearTimeout(pending.timer)
      pending.reject(closed)
    }
    try {
      if (lastMessage !== undefined) await this.publish(lastMessage, closeMs).catch(() => {})
      if (this.#error === undefined) {
        this.#write({ cmd: 'disconnect', reasonCode: 0 })
        this.#fail(closed, { isOrderly: true })
      }
      // The event `error` also ends the wait. The socket is closed after it.
      if (!this.#socket.closed) await once(this.#socket, 'close').catch(() => {})
    } finally {
      clearTimeout(timer)
    }
  }

  #sendWaiting(): void {
    const most = this.#limits?.inFlight ?? 0
    while (this.#inFlight.size < most) {
      const pending = this.#waiting.shift()
      if (pending === undefined) return
      const messageId = this.#nextId()
      this.#inFlight.set(messageId, pending)
      this.#write({ cmd: 'publish', qos: 1, dup: false, messageId, ...pending.publication })
    }
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId % maximumPacketId) + 1
    while (this.#inFlight.has(this.#lastId))
    return this.#lastId
  }

  #write(packet: Packet): void {
    this.#hasSent = true
    this.#socket.write(generate(packet, { protocolVersion: 5 }))
  }

  #read(chunk: Buffer): void {
    if (this.#error !== undefined) return
    try {
      for (const packet of this.#reader.read(chunk)) {
        this.#handle(packet)
        if (this.#error !== undefined) return
      }
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #handle(packet: Packet): void {
    if (packet.cmd === 'disconnect') {
      const { reasonCode = 0, properties } = packet
      this.#fail(new BrokerError(closedByBroker(reasonCode), { reasonCode, reason: properties?.reasonString }))
    } else if (packet.cmd === 'connack' && this.#limits === undefined) this.#accept(limitsOf(packet))
    else if (packet.cmd === 'pingresp' && this.#awaitsPing) this.#awaitsPing = false
    else if (packet.cmd === 'puback') this.#confirm(packet)
    else throw new ProtocolError('The broker sent a response without a request')
  }

  #accept(limits: BrokerLimits): void {
    this.#limits = limits
    this.#pings = setInterval(() => this.#ping(), (limits.keepAliveSeconds * 1_000) / 2)
    this.#accepted.resolve()
  }

  #confirm({ messageId = 0, reasonCode = 0, properties }: Extract<Packet, { cmd: 'puback' }>): void {
    const pending = this.#inFlight.get(messageId)
    if (pending === undefined) throw new ProtocolError('The broker confirmed a publication that was not sent')
    this.#inFlight.delete(messageId)
    clearTimeout(pending.timer)
    if (reasonCode < firstErrorCode) pending.resolve({ reasonCode })
    else {
      const text = refusedPublication(reasonCode)
      pending.reject(new BrokerError(text, { reasonCode, reason: properties?.reasonString }))
    }
    this.#sendWaiting()
  }

  /** Returns why the broker cannot accept the publication. */
  #refusal(publication: Publication): BrokerError | undefined {
    const { packetBytes = 0, retains = false } = this.#limits ?? {}
    if (publication.retain && !retains)
      return new BrokerError('The broker does not support retained messages. Set retain to false')
    const { topic, payload } = publication
    // The broker would close the connection, and all other events in flight would fail too.
    if (topic === '')
      return new BrokerError('The topic of this event is empty: it has no {id}. Add fixed text to the topic')
    if (Buffer.byteLength(topic) > maximumTopicBytes) return new BrokerError('The topic of the event is too long')
    // A character needs at most three bytes in UTF-8. The exact size is only necessary near the limit.
    if (3 * (topic.length + payload.length) + propertyBytes <= packetBytes) return undefined
    const packet: Packet = { cmd: 'publish', qos: 1, dup: false, messageId: 1, ...publication }
    const bytes = generate(packet, { protocolVersion: 5 }).length
    if (bytes <= packetBytes) return undefined
    return new BrokerError(
      `The event needs a packet of ${bytes} bytes, and the broker accepts at most ${packetBytes}. Increase the limit of the broker`,
    )
  }

  #expire(pending: Pending): void {
    const place = this.#waiting.indexOf(pending)
    if (place === -1) this.#fail(new BrokerError('The broker did not confirm an event in time'))
    else {
      this.#waiting.splice(place, 1)
      pending.reject(new BrokerError('The broker did not confirm earlier events in time'))
    }
  }

  #ping(): void {
    if (this.#awaitsPing) this.#fail(new BrokerError('The broker did not answer a ping'))
    else if (!this.#hasSent) {
      this.#write({ cmd: 'pingreq' })
      this.#awaitsPing = true
    }
    this.#hasSent = false
  }

  /** Ends the connection and rejects everything that is not confirmed. */
  #fail(error: Error, { isOrderly = false }: { isOrderly?: boolean } = {}): void {
    if (this.#error !== undefined) return
    this.#error = error
    clearInterval(this.#pings)
    if (isOrderly) this.#socket.end()
    else this.#socket.destroy()
    this.#accepted.reject(error)
    for (const { timer, reject } of [...this.#inFlight.values(), ...this.#waiting.splice(0)]) {
      clearTimeout(timer)
      reject(error)
    }
    this.#inFlight.clear()
    this.#ended.resolve()
  }

  #closedText(): string {
    return this.#limits === undefined
      ? 'The broker closed the connection without a response. If the port expects TLS, use mqtts'
      : 'The broker closed the connection'
  }
}

/** Returns what the broker permits. Throws if it refused the connection, or if its response is not valid. */
function limitsOf({ length = 0, reasonCode = 0, properties = {} }: IConnackPacket): BrokerLimits {
  const { receiveMaximum, maximumPacketSize, maximumQoS, retainAvailable, serverKeepAlive, reasonString } = properties
  if (reasonCode !== 0) throw new BrokerError(refusedConnection(reasonCode), { reasonCode, reason: reasonString })
  if (length < shortestConnack) throw new ProtocolError('The broker sent a response that is not valid MQTT 5')
  if (maximumQoS === 0) throw new BrokerError('The broker does not support QoS 1. Use a broker that does')
  return {
    inFlight: Math.min(numberOf(receiveMaximum, maximumPacketId), maximumInFlight),
    packetBytes: numberOf(maximumPacketSize, Number.POSITIVE_INFINITY),
    retains: retainAvailable !== false,
    keepAliveSeconds: Math.min(numberOf(serverKeepAlive || undefined, keepAliveSeconds), keepAliveSeconds),
  }
}

/** Returns a number of the response. The parser returns an array if the broker sent a property twice. */
function numberOf(value: unknown, otherwise: number): number {
  if (value === undefined) return otherwise
  if (typeof value !== 'number' || value < 1) throw new ProtocolError('The broker sent a property that is not valid')
  return value
}
