import type { MqttPublisher, Webhook } from '@millwright/api/event-subscriptions.ts'

/** `Subscription` is a webhook or an MQTT publisher. */
export type Subscription = Webhook | MqttPublisher
export type SubscriptionKind = 'webhook' | 'mqtt'

/** The paths of the pages of each kind. */
export const pathOf: Readonly<Record<SubscriptionKind, string>> = { webhook: '/webhooks', mqtt: '/webhooks/mqtt' }

export function isPublisher(subscription: Subscription): subscription is MqttPublisher {
  return 'topic' in subscription
}

export function kindOf(subscription: Subscription): SubscriptionKind {
  return isPublisher(subscription) ? 'mqtt' : 'webhook'
}

/** Returns the number of events between the position of a subscription and the newest event. */
export function eventsBehind({ position, newestPosition }: Pick<Subscription, 'position' | 'newestPosition'>): number {
  return Math.max(0, newestPosition - position)
}
