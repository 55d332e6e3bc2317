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

type CountedFields = ShownFields | 'deadLetters' | 'position' | 'newestPosition'

/**
 * Returns the number of events that are not delivered: those that wait for a retry, the dead letters, and those that are not yet
 * read. An active subscription reads new events at once, so that these are not counted.
 */
export function undeliveredCount(subscription: Pick<Subscription, CountedFields>): number {
  const behind = shownState(subscription) === 'active' ? 0 : eventsBehind(subscription)
  return subscription.waiting + subscription.deadLetters + behind
}

export type ShownState = Subscription['state'] | 'circuitOpen' | 'failing'

type ShownFields = 'state' | 'circuit' | 'waiting' | 'lastSuccessTimestamp' | 'lastFailureTimestamp'

/**
 * Returns the state for the user. An active subscription whose last attempt failed is not shown as active, also before its
 * circuit breaker opens.
 */
export function shownState(subscription: Pick<Subscription, ShownFields>): ShownState {
  const { state, circuit, waiting, lastSuccessTimestamp: success, lastFailureTimestamp: failure } = subscription
  if (state !== 'active') return state
  if (circuit === 'open') return 'circuitOpen'
  const hasFailed = failure !== null && (success === null || success < failure)
  return waiting > 0 && hasFailed ? 'failing' : 'active'
}

/** Returns whether a subscription that should send events does not deliver them now. */
export function isInterrupted(subscription: Pick<Subscription, ShownFields>): boolean {
  const state = shownState(subscription)
  return state === 'circuitOpen' || state === 'failing'
}
