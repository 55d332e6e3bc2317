import { type Static, type TProperties, Type } from 'typebox'
import { empty, type Operation } from './contract.ts'
import { closed, data, describedPattern, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'

/**
 * The operations for subscriptions: webhooks and MQTT publishers. A subscription sends events to another system. The
 * operations are part of the contract `events`.
 */

export const subscriptionLimits = {
  /** Maximum number of webhooks and MQTT publishers of a tenant. */
  subscriptions: 100,
  types: 50,
  /** Maximum number of events in one request of a webhook. */
  batch: 100,
  /** The time in which a receiver must respond. */
  responseMs: 15_000,
  /** How long an event is sent again. After that time it is a dead letter. */
  retryHours: 72,
  /** The maximum number of events of a subscription that wait for a retry. At the limit, newer events are not read. */
  waiting: 10_000,
  /** How long the previous secret stays valid after a change, unless the caller sets another time. */
  previousSecretHours: 24,
  maxPreviousSecretHours: 168,
  /** How long successful deliveries are kept in the log, and how many of each subscription. */
  logDays: 7,
  logged: 100_000,
  /** How long dead letters are kept. It is the time for which events are kept. */
  deadLetterDays: 30,
  /** Maximum characters of the body of a response in the log. */
  responseCharacters: 1_024,
  /** The attempts of a delivery that the log contains: the newest ones. */
  attempts: 10,
  authorityCharacters: 65_536,
} as const

const Position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Count = Type.Integer({ minimum: 0 })
const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(
  schema: Schema,
  options: { description?: string } = {},
) => Type.Union([schema, Type.Null()], options)

const Types = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: describedPattern(
      '^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*\\.?$',
      'must be words separated by dots, with lower-case letters, digits, dashes and underscores, for example inventory.asset',
    ),
    examples: ['io.millwright.inventory.asset.'],
  }),
  {
    minItems: 1,
    maxItems: subscriptionLimits.types,
    description:
      'Prefixes of event types, compared in whole words: `inventory.asset` selects `inventory.asset.created`. `io.millwright.` selects all events',
  },
)

/** The fields that users set, for webhooks and MQTT publishers. */
const selection = {
  types: Types,
  accessGroup: nullable(Uuid, { description: 'Only events that name an asset of this access group. null: all events' }),
  filter: nullable(Type.String({ minLength: 1, maxLength: 4_096 }), {
    description:
      'A filter for assets, as in the asset list. Only events that name a matching asset are sent, and the deletion of every asset. null: all events',
  }),
  active: Type.Boolean({ description: 'false: paused. Events wait for up to 30 days' }),
  certificateAuthority: nullable(Type.String({ minLength: 1, maxLength: subscriptionLimits.authorityCharacters }), {
    description: 'PEM certificates of the private authority of the receiver. null: the public authorities',
  }),
}

/** The start of `lastError` while the asset list does not accept the filter of a subscription. */
export const filterErrorStart = 'The filter is not valid: '

/** The start of the error of an attempt to which the receiver responded with an HTTP status. The status follows. */
export const statusErrorStart = 'The receiver answered '

const subscriptionStates = ['active', 'paused', 'disabled'] as const
/** Why a subscription does not send events. */
const subscriptionReasons = ['user', 'owner_disabled', 'receiver_gone', 'events_gone'] as const
export type SubscriptionReason = (typeof subscriptionReasons)[number]

const status = {
  state: Type.Enum([...subscriptionStates], {
    description: 'A disabled subscription sends nothing until a user activates it',
  }),
  reason: nullable(
    Type.Enum([...subscriptionReasons], {
      description:
        '`user`: paused by a user. `owner_disabled`: the owner is disabled or deleted. `receiver_gone`: the receiver responded with 410. `events_gone`: events that were not sent have been deleted; start a replay',
    }),
  ),
  owner: closed(
    { id: Uuid, name: Type.String() },
    { description: 'Only events that this principal can read are sent' },
  ),
  position: Type.Unsafe<number>({ ...Position, description: 'All events up to this position were handled' }),
  newestPosition: Type.Unsafe<number>({ ...Position, description: 'The newest event of the tenant' }),
  waiting: Type.Unsafe<number>({
    ...Count,
    description: 'Failed events that are sent again, and later events of the same objects',
  }),
  deadLetters: Count,
  circuit: Type.Enum(['closed', 'open'], {
    description:
      'open: attempts for several objects failed, or the filter is not valid. The next attempt is at `nextAttemptTimestamp`',
  }),
  nextAttemptTimestamp: nullable(Timestamp, { description: 'null if no event waits, or the state is not active' }),
  lastSuccessTimestamp: nullable(Timestamp),
  lastFailureTimestamp: nullable(Timestamp),
  lastError: nullable(Type.String()),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
}

const webhookFields = {
  name: Name,
  url: Type.String({
    maxLength: 2_048,
    format: 'uri',
    description: 'https, or http if MILLWRIGHT_OUTBOUND_ALLOW names the host',
    examples: ['https://cmms.example.com/millwright'],
  }),
  ...selection,
  batchSize: Type.Integer({
    minimum: 1,
    maximum: subscriptionLimits.batch,
    description: 'Above 1: the body is an array with up to this many events',
  }),
}

export const Webhook = closed({
  id: Uuid,
  ...webhookFields,
  ...status,
  previousSecretExpiresTimestamp: nullable(Timestamp, {
    description: 'Until this time, requests are also signed with the previous secret',
  }),
})
export type Webhook = Static<typeof Webhook>

const topicDescription =
  'Placeholders: `{tenant}`, `{type}` (dots become slashes; not with `retain`), `{kind}` and `{id}` of the subject. The characters / + # $ % in values become `%2F` and so on. Example: `millwright/{tenant}/{kind}/{id}`'
const Topic = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: describedPattern(
    '^[^+#\\u0000-\\u001f\\u007f$][^+#\\u0000-\\u001f\\u007f]*$',
    'must not contain the characters + and # or control characters, and must not start with $, for example millwright/events',
  ),
})

const publisherFields = {
  name: Name,
  url: Type.String({
    maxLength: 2_048,
    pattern: describedPattern(
      '^mqtts?://',
      'must start with mqtts:// or mqtt://, for example mqtts://broker.example.com:8883',
    ),
    description: '`mqtts://host:port`, or `mqtt://host:port` if MILLWRIGHT_OUTBOUND_ALLOW names the host',
    examples: ['mqtts://broker.example.com:8883'],
  }),
  ...selection,
  clientId: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: describedPattern(
      '^[A-Za-z0-9_.:-]+$',
      'must consist of letters, digits and the characters _ . : -, for example millwright-plant-1',
    ),
    description:
      'Default: `millwright-` and the id of the publisher. A broker permits one connection per client id. Test events use this id with `-test`',
  }),
  userName: nullable(Type.String({ minLength: 1, maxLength: 256 })),
  topic: Type.Unsafe<string>({ ...Topic, description: topicDescription }),
  retain: Type.Boolean({
    description:
      'The broker keeps the last event of each topic. If the topic contains `{id}`, the deletion of an object removes its retained event',
  }),
  statusTopic: nullable(Topic, {
    description:
      'Retained `online` and `offline` (last will) of the publisher, which then stays connected without events. Placeholder: `{tenant}`. null: none',
  }),
}

export const MqttPublisher = closed({ id: Uuid, ...publisherFields, hasPassword: Type.Boolean(), ...status })
export type MqttPublisher = Static<typeof MqttPublisher>

const password = nullable(Type.String({ minLength: 1, maxLength: 1_024, writeOnly: true, format: 'password' }), {
  description:
    'Needs `userName`. A change of `url` or `certificateAuthority` needs the password again. null: no password',
})
const secret = Type.String({ description: 'The signing secret `whsec_…`. It is shown only once' })

const Attempt = closed({
  time: Timestamp,
  durationMs: Count,
  status: nullable(Type.Integer(), { description: 'The HTTP status, or the reason code of the broker' }),
  error: nullable(Type.String(), { description: 'Why the attempt failed. null after a success' }),
  responseHeaders: Type.Optional(Type.Record(Type.String(), Type.String())),
  responseBody: Type.Optional(
    Type.String({ description: 'The start of the response. Missing if the caller may not read the event' }),
  ),
})
export type Attempt = Static<typeof Attempt>

export const deliveryStates = ['succeeded', 'waiting', 'failed', 'skipped'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export const Delivery = closed({
  id: Uuid,
  eventId: Uuid,
  position: nullable(Position, { description: 'The position of the event. null for a test event' }),
  type: Type.String(),
  subject: nullable(Type.String(), { description: 'null if the caller may not read the event' }),
  state: Type.Enum([...deliveryStates], {
    description:
      '`waiting`: waits behind an earlier event of the same object. `failed`: the last attempt failed. `skipped`: the owner could no longer read the event, the types, the access group or the filter no longer select it, or the event was deleted',
  }),
  isDeadLetter: Type.Boolean({ description: 'The event is not sent again unless a user retries it' }),
  messageId: Type.String({ description: 'The header `webhook-id`: the id of the event, or of the batch' }),
  attemptCount: Count,
  attempts: Type.Array(Attempt, { description: `The newest ${subscriptionLimits.attempts} attempts, oldest first` }),
  nextAttemptTimestamp: nullable(Timestamp),
  createdTimestamp: Timestamp,
})
export type Delivery = Static<typeof Delivery>

const DeliveryDetail = closed({
  ...Delivery.properties,
  request: nullable(
    closed({
      target: Type.String({ description: 'The URL, or the topic of the broker' }),
      headers: Type.Record(Type.String(), Type.String()),
      body: Type.String(),
    }),
    {
      description:
        'The request as it is sent to the receiver, without its signature. null if the event was deleted or the caller may not read it',
    },
  ),
})

const byId = closed({ id: Uuid })
const byDelivery = closed({ id: Uuid, deliveryId: Uuid })

function optional<Properties extends TProperties>(properties: Properties) {
  return Type.Partial(closed(properties)).properties
}

const { url: webhookUrl, types: webhookTypes, ...webhookOthers } = webhookFields
const NewWebhook = Type.Object(
  { url: webhookUrl, types: webhookTypes, ...optional(webhookOthers) },
  { additionalProperties: false },
)
const WebhookChange = Type.Object(optional(webhookFields), { additionalProperties: false, minProperties: 1 })
const { url: brokerUrl, types: brokerTypes, topic, ...publisherOthers } = publisherFields
const NewPublisher = Type.Object(
  { url: brokerUrl, types: brokerTypes, topic, password: Type.Optional(password), ...optional(publisherOthers) },
  { additionalProperties: false },
)
const PublisherChange = Type.Object(
  { ...optional(publisherFields), password: Type.Optional(password) },
  { additionalProperties: false, minProperties: 1 },
)

const access = 'glb_webhook_manage' as const
const targetErrors = [
  'target_not_allowed',
  'access_group_not_found',
  'invalid_filter',
  'unknown_property',
  'invalid_certificate',
] as const

/** The operations that webhooks and MQTT publishers have in common. */
const shared = {
  remove: {
    method: 'DELETE',
    access,
    params: byId,
    headers: ['if-match'],
    answers: { 204: empty },
    errors: ['not_found', 'precondition_failed'],
  },
  test: {
    method: 'POST',
    access,
    params: byId,
    waits: true,
    answers: { 200: data(Delivery) },
    errors: ['not_found'],
  },
  list: {
    method: 'GET',
    access,
    params: byId,
    query: closed({
      ...pageQuery,
      cursor: Type.Optional(Type.String({ maxLength: 200, description: '`meta.nextCursor` of the previous page' })),
      state: Type.Optional(Type.Enum([...deliveryStates])),
      deadLetters: Type.Optional(Type.Boolean({ description: 'true: only dead letters' })),
    }),
    answers: { 200: page(Delivery) },
    errors: ['not_found', 'invalid_cursor'],
  },
  read: {
    method: 'GET',
    access,
    params: byDelivery,
    answers: { 200: data(DeliveryDetail) },
    errors: ['not_found'],
  },
  retry: {
    method: 'POST',
    access,
    params: byDelivery,
    answers: { 200: data(Delivery) },
    errors: ['not_found', 'conflict', 'events_gone'],
  },
  retryAll: {
    method: 'POST',
    access,
    params: byId,
    answers: {
      200: data(
        closed({
          retried: Count,
          remaining: Type.Unsafe<number>({
            ...Count,
            description: `Dead letters that were not retried, because at most ${subscriptionLimits.waiting} events can wait. Repeat the call later`,
          }),
        }),
      ),
    },
    errors: ['not_found'],
  },
  replay: {
    method: 'POST',
    access,
    params: byId,
    body: data(closed({ fromPosition: Type.Unsafe<number>({ ...Position, minimum: 1 }) })),
    errors: ['not_found', 'invalid_cursor', 'events_gone'],
  },
} as const

const replayDescription =
  'All events from this position on are sent again, in order, with the same ids. Also continues a subscription whose events were deleted.'

export const subscriptionOperations = {
  listOutboundHosts: {
    method: 'GET',
    path: '/outbound-hosts',
    summary: 'List the hosts and networks to which the installation can send',
    description: 'The values of the setting `MILLWRIGHT_OUTBOUND_ALLOW`.',
    access,
    answers: { 200: data(Type.Array(Type.String())) },
  },
  listWebhooks: {
    method: 'GET',
    path: '/webhooks',
    summary: 'List webhooks by name',
    access,
    query: closed({ ...pageQuery }),
    answers: { 200: page(Webhook) },
  },
  createWebhook: {
    method: 'POST',
    path: '/webhooks',
    summary: 'Create a webhook; events after its creation are sent',
    description:
      'The host must be in the setting `MILLWRIGHT_OUTBOUND_ALLOW` of the installation. Requests follow Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. The body is a CloudEvent in JSON. A response with 2xx within 15 s confirms the event. ' +
      'You become the owner: the platform sends only events that you can read at the time of sending.',
    access,
    stepUp: 'credentials',
    answersSecret: true,
    body: data(NewWebhook),
    waits: true,
    answers: { 201: data(closed({ ...Webhook.properties, secret })) },
    errors: ['too_many_subscriptions', ...targetErrors],
  },
  readWebhook: {
    method: 'GET',
    path: '/webhooks/{id}',
    summary: 'Read a webhook and its state',
    access,
    params: byId,
    tagged: true,
    answers: { 200: data(Webhook) },
    errors: ['not_found'],
  },
  updateWebhook: {
    method: 'PATCH',
    path: '/webhooks/{id}',
    summary: 'Change, pause or resume a webhook; a change of what is sent or where makes you its owner',
    access,
    params: byId,
    headers: ['if-match'],
    body: data(WebhookChange),
    waits: true,
    answers: { 200: data(Webhook) },
    errors: ['not_found', 'precondition_failed', ...targetErrors],
  },
  deleteWebhook: { ...shared.remove, path: '/webhooks/{id}', summary: 'Delete a webhook and its log' },
  rotateWebhookSecret: {
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    summary: 'Create a new secret; the previous secret stays valid for some time',
    access,
    stepUp: 'credentials',
    answersSecret: true,
    params: byId,
    body: Type.Optional(
      data(
        closed({
          previousSecretHours: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: subscriptionLimits.maxPreviousSecretHours,
              default: subscriptionLimits.previousSecretHours,
              description: 'How long requests are also signed with the previous secret',
            }),
          ),
        }),
      ),
    ),
    answers: { 200: data(closed({ ...Webhook.properties, secret })) },
    errors: ['not_found'],
  },
  testWebhook: { ...shared.test, path: '/webhooks/{id}/test', summary: 'Send a test event now' },
  listWebhookDeliveries: {
    ...shared.list,
    path: '/webhooks/{id}/deliveries',
    summary: 'List deliveries, newest first',
  },
  readWebhookDelivery: {
    ...shared.read,
    path: '/webhooks/{id}/deliveries/{deliveryId}',
    summary: 'Read a delivery with its request and responses',
  },
  retryWebhookDelivery: {
    ...shared.retry,
    path: '/webhooks/{id}/deliveries/{deliveryId}/retry',
    summary: 'Send a failed event again now',
  },
  retryWebhookDeadLetters: {
    ...shared.retryAll,
    path: '/webhooks/{id}/retry-dead-letters',
    summary: 'Send all dead letters again',
  },
  replayWebhook: {
    ...shared.replay,
    path: '/webhooks/{id}/replay',
    summary: 'Send the events from a position on again',
    description: replayDescription,
    answers: { 200: data(Webhook) },
  },
  listMqttPublishers: {
    method: 'GET',
    path: '/mqtt-publishers',
    summary: 'List MQTT publishers by name',
    access,
    query: closed({ ...pageQuery }),
    answers: { 200: page(MqttPublisher) },
  },
  createMqttPublisher: {
    method: 'POST',
    path: '/mqtt-publishers',
    summary: 'Create an MQTT publisher; events after its creation are published',
    description:
      'MQTT 5 with QoS 1. The host must be in the setting `MILLWRIGHT_OUTBOUND_ALLOW` of the installation. The payload is a CloudEvent in JSON. You become the owner: the platform sends only events that you can read at the time of sending.',
    access,
    body: data(NewPublisher),
    waits: true,
    answers: { 201: data(MqttPublisher) },
    errors: ['too_many_subscriptions', 'invalid_topic', ...targetErrors],
  },
  readMqttPublisher: {
    method: 'GET',
    path: '/mqtt-publishers/{id}',
    summary: 'Read an MQTT publisher and its state',
    access,
    params: byId,
    tagged: true,
    answers: { 200: data(MqttPublisher) },
    errors: ['not_found'],
  },
  updateMqttPublisher: {
    method: 'PATCH',
    path: '/mqtt-publishers/{id}',
    summary: 'Change, pause or resume an MQTT publisher; a change of what is sent or where makes you its owner',
    access,
    params: byId,
    headers: ['if-match'],
    body: data(PublisherChange),
    waits: true,
    answers: { 200: data(MqttPublisher) },
    errors: ['not_found', 'precondition_failed', 'invalid_topic', ...targetErrors],
  },
  deleteMqttPublisher: {
    ...shared.remove,
    path: '/mqtt-publishers/{id}',
    summary: 'Delete an MQTT publisher and its log',
  },
  testMqttPublisher: { ...shared.test, path: '/mqtt-publishers/{id}/test', summary: 'Publish a test event now' },
  listMqttDeliveries: {
    ...shared.list,
    path: '/mqtt-publishers/{id}/deliveries',
    summary: 'List deliveries, newest first',
  },
  readMqttDelivery: {
    ...shared.read,
    path: '/mqtt-publishers/{id}/deliveries/{deliveryId}',
    summary: 'Read a delivery with its topic and payload',
  },
  retryMqttDelivery: {
    ...shared.retry,
    path: '/mqtt-publishers/{id}/deliveries/{deliveryId}/retry',
    summary: 'Publish a failed event again now',
  },
  retryMqttDeadLetters: {
    ...shared.retryAll,
    path: '/mqtt-publishers/{id}/retry-dead-letters',
    summary: 'Publish all dead letters again',
  },
  replayMqttPublisher: {
    ...shared.replay,
    path: '/mqtt-publishers/{id}/replay',
    summary: 'Publish the events from a position on again',
    description: replayDescription,
    answers: { 200: data(MqttPublisher) },
  },
} as const satisfies Record<string, Operation>
