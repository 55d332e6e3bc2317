import type { MqttPublisher, Webhook } from '@millwright/api/event-subscriptions.ts'
import { events } from '@millwright/api/events.ts'
import { isId, requireSingle } from '../input/lookup.ts'
import type { Session } from '../session/session.ts'

/** A webhook or an MQTT publisher. */
export type Subscription = Webhook | MqttPublisher

/** What differs between the commands of webhooks and of MQTT publishers. `operations` are names of API operations. */
export type SubscriptionKind = (typeof subscriptionKinds)[keyof typeof subscriptionKinds]

export const subscriptionKinds = {
  webhook: {
    command: 'millwright webhooks',
    argument: '<webhook>',
    noun: 'webhook',
    nounWithArticle: 'a webhook',
    title: 'Webhook',
    operations: {
      list: 'listWebhooks',
      read: 'readWebhook',
      update: 'updateWebhook',
      delete: 'deleteWebhook',
      test: 'testWebhook',
      deliveries: 'listWebhookDeliveries',
      delivery: 'readWebhookDelivery',
      retry: 'retryWebhookDelivery',
      retryDeadLetters: 'retryWebhookDeadLetters',
      replay: 'replayWebhook',
    },
  },
  publisher: {
    command: 'millwright mqtt',
    argument: '<publisher>',
    noun: 'MQTT publisher',
    nounWithArticle: 'an MQTT publisher',
    title: 'MQTT publisher',
    operations: {
      list: 'listMqttPublishers',
      read: 'readMqttPublisher',
      update: 'updateMqttPublisher',
      delete: 'deleteMqttPublisher',
      test: 'testMqttPublisher',
      deliveries: 'listMqttDeliveries',
      delivery: 'readMqttDelivery',
      retry: 'retryMqttDelivery',
      retryDeadLetters: 'retryMqttDeadLetters',
      replay: 'replayMqttPublisher',
    },
  },
} as const

/** Returns the id of a webhook or an MQTT publisher. */
export async function subscriptionId(
  { api }: Session,
  { operations, title, command }: SubscriptionKind,
  nameOrId: string,
): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(events)[operations.list]({ query: { limit: 100 } })
  const matches = (data as Subscription[]).filter(({ name }) => name === nameOrId)
  return requireSingle(title, nameOrId, { matches, list: `${command} list` })
}
