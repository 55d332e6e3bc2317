import { events } from '@millwright/api/events.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import type { SubscriptionChange, SubscriptionInput, SubscriptionKind } from '../subscription-kind.ts'
import type { PublisherDetails, SubscriptionRow } from '../subscription-store.ts'
import { subscriptionHandlers } from '../subscriptions.ts'
import { openMqttChannel, publicationsOf } from './channel.ts'
import { findTopicError } from './topic.ts'

type PublisherOperations =
  | 'listMqttPublishers'
  | 'createMqttPublisher'
  | 'readMqttPublisher'
  | 'updateMqttPublisher'
  | 'deleteMqttPublisher'
  | 'testMqttPublisher'
  | 'listMqttDeliveries'
  | 'readMqttDelivery'
  | 'retryMqttDelivery'
  | 'retryMqttDeadLetters'
  | 'replayMqttPublisher'

type PublisherInput = SubscriptionInput & Partial<PublisherDetails> & { password?: string | null }

const publisherKind: SubscriptionKind<PublisherInput, PublisherDetails & { hasPassword: boolean }> = {
  kind: 'mqtt',
  noun: 'mqtt-publisher',
  title: 'MQTT publisher',
  exampleUrl: 'mqtts://broker.example.com:8883',
  path: `${events.prefix}/mqtt-publishers`,
  idField: 'mqttPublisherId',
  actions: {
    create: 'createMqttPublisher',
    update: 'updateMqttPublisher',
    delete: 'deleteMqttPublisher',
    test: 'testMqttPublisher',
    retryDelivery: 'retryMqttDelivery',
    retryDeadLetters: 'retryMqttDeadLetters',
    replay: 'replayMqttPublisher',
  },
  requireTarget: ({ outbound }, url) => outbound.checkBroker(url),
  detailsOf,
  secretOf(change) {
    requireUserName(change)
    requirePassword(change)
    return change.input.password
  },
  viewOf: ({ details, sealedSecret }) => ({ ...(details as PublisherDetails), hasPassword: sealedSecret !== null }),
  isBatch: () => false,
  requestOf({ details }, tenantName, message) {
    const [{ topic, payload, retain, properties }] = publicationsOf(details as PublisherDetails, tenantName, message)
    const { contentType = '', userProperties = {} } = properties ?? {}
    const headers = { 'content-type': contentType, qos: '1', retain: String(retain), ...userProperties }
    return { target: topic, headers: headers as Record<string, string>, body: payload }
  },
  openTestChannel: (context, tenant, row) => openMqttChannel(context, tenant, testRow(row)),
}

function detailsOf({ id, input, before }: SubscriptionChange<PublisherInput>): PublisherDetails {
  const former = before?.details as PublisherDetails | undefined
  const { clientId, userName, topic, retain, statusTopic } = input
  const details: PublisherDetails = {
    clientId: clientId ?? former?.clientId ?? `millwright-${id}`,
    userName: userName === undefined ? (former?.userName ?? null) : userName,
    topic: topic ?? former?.topic ?? '',
    retain: retain ?? former?.retain ?? false,
    statusTopic: statusTopic === undefined ? (former?.statusTopic ?? null) : statusTopic,
  }
  const error = findTopicError(details)
  if (error !== undefined) throw fieldProblem('invalid_topic', `/data/${error.field}`, error.detail)
  return details
}

/** Throws a problem if there is a password without a user name after the change. MQTT clients send them together. */
function requireUserName(change: SubscriptionChange<PublisherInput>): void {
  const { input, before } = change
  const hasPassword = input.password === undefined ? (before?.sealedSecret ?? null) !== null : input.password !== null
  if (!hasPassword || detailsOf(change).userName !== null) return
  throw fieldProblem(
    'invalid_body',
    '/data/userName',
    'A password needs a user name. Add userName, or set password to null',
  )
}

/**
 * Throws a problem if the request sends the stored password to another broker. Otherwise a caller that may manage
 * publishers, and does not know the password, could send it to an own broker and read it.
 */
function requirePassword({ input, before }: SubscriptionChange<PublisherInput>): void {
  if (before === undefined || before.sealedSecret === null || input.password !== undefined) return
  const changesUrl = input.url !== undefined && input.url !== before.url
  const { certificateAuthority: authority } = input
  const changesAuthority = authority !== undefined && authority !== before.certificateAuthority
  if (!changesUrl && !changesAuthority) return
  const field = changesUrl ? 'url' : 'certificateAuthority'
  throw fieldProblem(
    'invalid_body',
    '/data/password',
    `A change of ${field} needs the password again. Add password to the request, or set it to null to remove it`,
  )
}

/**
 * Returns the row for the channel of a test event. It has another client id, so that the broker does not end the connection
 * of the publisher. It changes no status and leaves no retained message.
 */
function testRow(row: SubscriptionRow): SubscriptionRow {
  const details = row.details as PublisherDetails
  const clientId = `${details.clientId}-test`
  return { ...row, details: { ...details, clientId, retain: false, statusTopic: null } }
}

export function publisherHandlers(context: Context): Pick<Handlers<typeof events>, PublisherOperations> {
  const handlers = subscriptionHandlers(context, publisherKind)
  return {
    listMqttPublishers: handlers.list,
    async createMqttPublisher({ body: { data } }, caller) {
      const { view, headers } = await handlers.create(data, caller)
      return answer(201, { data: view }, headers)
    },
    readMqttPublisher: handlers.read,
    updateMqttPublisher: handlers.update,
    deleteMqttPublisher: handlers.delete,
    testMqttPublisher: handlers.test,
    listMqttDeliveries: handlers.listDeliveries,
    readMqttDelivery: handlers.readDelivery,
    retryMqttDelivery: handlers.retryDelivery,
    retryMqttDeadLetters: handlers.retryDeadLetters,
    replayMqttPublisher: handlers.replay,
  }
}
