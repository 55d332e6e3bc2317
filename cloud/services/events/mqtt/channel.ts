import { type Attempt, subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import type { Outbound } from '../../../platform/outbound.ts'
import type { Context } from '../../../platform/service.ts'
import { connectionError } from '../connection-error.ts'
import type { Channel, Message, Outcome } from '../delivery/channel.ts'
import { type PublisherDetails, type SubscriptionRow, secretOwner } from '../subscription-store.ts'
import { BrokerError, Connection, type Publication } from './connection.ts'
import { ProtocolError } from './packet-reader.ts'
import { isTopicPerObject, statusTopicOf, topicOf } from './topic.ts'

/**
 * The channel of an MQTT publisher. It has one connection to the broker, opens it for the first event and shares it
 * between all events. An event is delivered when the broker has confirmed it (PUBACK with a reason code below 128).
 *
 * Without a status topic, the runner closes the channel after a minute without events. With a status topic, the channel
 * connects at once and stays connected while the publisher is active, so that `online` and `offline` show the state of the
 * publisher and not the pauses between events. After a loss of the connection it connects again with growing pauses.
 */

const limits = {
  idleMs: 60_000,
  /** A connection that lasts this long is stable. The pauses before the next connections start again with the first. */
  stableMs: 60_000,
  firstReconnectMs: 5_000,
  maximumReconnectMs: 300_000,
}

/** CloudEvents, MQTT protocol binding, structured mode. */
const contentType = 'application/cloudevents+json; charset=utf-8'

export type MqttChannelOptions = PublisherDetails & {
  outbound: Pick<Outbound, 'connectBroker'>
  url: string
  certificateAuthority: string | null
  password: string | null
  tenantName: string
  /** The time in which the broker must confirm an event, with the connection. Tests use a shorter time. */
  responseMs?: number
  /** The first pause before a new connection of a channel with a status topic. Tests use a shorter time. */
  reconnectMs?: number
}

/** What an event becomes on the broker: the event and, after the deletion of an object, the removal of its retained event. */
export function publicationsOf(
  { topic: template, retain }: PublisherDetails,
  tenantName: string,
  { events: [event], body }: Message,
): [Publication, ...Publication[]] {
  const topic = topicOf(template, tenantName, event)
  const publication = { topic, payload: body, retain, properties: propertiesOf(event) }
  if (!retain || !isTopicPerObject(template) || !event.type.endsWith('.deleted')) return [publication]
  return [publication, { topic, payload: '', retain: true }]
}

function propertiesOf({ id, type }: CloudEvent) {
  return { payloadFormatIndicator: true, contentType, userProperties: { id, type } }
}

/** Opens the channel of an MQTT publisher. */
export async function openMqttChannel(
  { outbound, safe }: Pick<Context, 'outbound' | 'safe'>,
  tenant: { tenantId: string; tenantName: string },
  row: SubscriptionRow,
): Promise<MqttChannel> {
  const { id, url, certificateAuthority, sealedSecret } = row
  const password = sealedSecret === null ? null : await safe.open(tenant, sealedSecret, secretOwner(id))
  return new MqttChannel({
    ...(row.details as PublisherDetails),
    outbound,
    url,
    certificateAuthority,
    password: password === null ? null : password.toString(),
    tenantName: tenant.tenantName,
  })
}

export class MqttChannel implements Channel {
  readonly idleMs: number
  readonly #options: MqttChannelOptions
  readonly #statusTopic: string | null
  readonly #responseMs: number
  readonly #firstReconnectMs: number
  readonly #closing = new AbortController()
  #connection: Promise<Connection> | undefined
  #reconnect: NodeJS.Timeout | undefined
  #reconnectMs: number

  constructor(options: MqttChannelOptions) {
    const { statusTopic, tenantName, responseMs, reconnectMs } = options
    this.#options = options
    this.#statusTopic = statusTopic === null ? null : statusTopicOf(statusTopic, tenantName)
    this.#responseMs = responseMs ?? subscriptionLimits.responseMs
    this.#firstReconnectMs = reconnectMs ?? limits.firstReconnectMs
    this.#reconnectMs = this.#firstReconnectMs
    this.idleMs = statusTopic === null ? limits.idleMs : Number.POSITIVE_INFINITY
    if (statusTopic !== null) this.#connect().catch(() => {})
  }

  async send(message: Message, signal: AbortSignal): Promise<Outcome> {
    const time = new Date().toISOString()
    const startedAt = performance.now()
    const attempt = (rest: Omit<Attempt, 'time' | 'durationMs'>): Attempt => ({
      time,
      durationMs: Math.round(performance.now() - startedAt),
      ...rest,
    })
    const canceled = Promise.withResolvers<never>()
    const cancel = () => canceled.reject(new BrokerError('The attempt was canceled'))
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    try {
      const status = await Promise.race([this.#publish(message, startedAt + this.#responseMs), canceled.promise])
      return { isDelivered: true, isGone: false, attempt: attempt({ status, error: null }) }
    } catch (error) {
      const { reasonCode, reason } = error instanceof BrokerError ? error : { reasonCode: null, reason: undefined }
      const body = reason === undefined ? {} : { responseBody: reason }
      return {
        isDelivered: false,
        isGone: false,
        attempt: attempt({ status: reasonCode, error: this.#textOf(error), ...body }),
      }
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Publishes `offline`, if there is a status topic, and ends the connection. */
  async close(): Promise<void> {
    this.#closing.abort(new BrokerError('The publisher was stopped'))
    clearTimeout(this.#reconnect)
    const opening = this.#connection
    this.#connection = undefined
    const connection = await opening?.catch(() => undefined)
    const topic = this.#statusTopic
    await connection?.end(topic === null ? undefined : { topic, payload: 'offline', retain: true })
  }

  /** Publishes an event. Returns the reason code of the last confirmation. */
  async #publish(message: Message, deadline: number): Promise<number> {
    const { tenantName } = this.#options
    let status = 0
    for (const publication of publicationsOf(this.#options, tenantName, message)) {
      const connection = await this.#connect()
      const remainingMs = Math.max(deadline - performance.now(), 1)
      const { reasonCode } = await connection.publish(publication, remainingMs)
      status = reasonCode
    }
    return status
  }

  /** Returns the open connection, or opens one. Concurrent callers share it. */
  #connect(): Promise<Connection> {
    if (this.#connection !== undefined) return this.#connection
    const opening = this.#open()
    this.#connection = opening
    const lost = () => {
      if (this.#connection !== opening) return
      this.#connection = undefined
      this.#reconnectLater()
    }
    opening.then(async (connection) => {
      const openedAt = performance.now()
      await connection.ended
      // A connection that ends soon does not shorten the pauses: another client can have the same client id.
      if (performance.now() - openedAt > limits.stableMs) this.#reconnectMs = this.#firstReconnectMs
      lost()
    }, lost)
    return opening
  }

  async #open(): Promise<Connection> {
    const { outbound, url, certificateAuthority, clientId, userName, password } = this.#options
    const late = AbortSignal.timeout(this.#responseMs)
    const signal = AbortSignal.any([this.#closing.signal, late])
    const statusTopic = this.#statusTopic
    const deadline = performance.now() + this.#responseMs
    try {
      const socket = await outbound.connectBroker(url, { certificateAuthority, signal })
      const connection = await Connection.open(socket, { clientId, userName, password, statusTopic, signal })
      if (statusTopic === null) return connection
      try {
        const online = { topic: statusTopic, payload: 'online', retain: true }
        await connection.publish(online, Math.max(deadline - performance.now(), 1))
        return connection
      } catch (error) {
        await connection.end()
        throw error
      }
    } catch (error) {
      if (late.aborted) throw new BrokerError(`The broker did not accept the connection within ${this.#seconds()} s`)
      throw this.#closing.signal.aborted ? this.#closing.signal.reason : error
    }
  }

  #reconnectLater(): void {
    if (this.#statusTopic === null || this.#closing.signal.aborted) return
    clearTimeout(this.#reconnect)
    const jitter = 0.8 + 0.4 * Math.random()
    this.#reconnect = setTimeout(() => this.#connect().catch(() => {}), this.#reconnectMs * jitter)
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, limits.maximumReconnectMs)
  }

  #textOf(error: unknown): string {
    if (error instanceof BrokerError || error instanceof ProtocolError) return error.message
    return connectionError(error, 'The broker')
  }

  #seconds(): number {
    return this.#responseMs / 1_000
  }
}
