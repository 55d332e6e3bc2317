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

export type ShownState = Subscription['state'] | 'circuitOpen' | 'failing' | 'neverWorked'

type ShownFields = 'state' | 'circuit' | 'waiting' | 'lastSuccessTimestamp' | 'lastFailureTimestamp'

/**
 * Returns the state for the user. An active subscription whose last attempt failed is not shown as active, also before its
 * circuit breaker opens. A subscription that fails and has never delivered an event is shown as never worked.
 */
export function shownState(subscription: Pick<Subscription, ShownFields>): ShownState {
  const { state, circuit, waiting, lastSuccessTimestamp: success, lastFailureTimestamp: failure } = subscription
  if (state !== 'active') return state
  const hasFailed = failure !== null && (success === null || success < failure)
  if (circuit !== 'open' && (waiting === 0 || !hasFailed)) return 'active'
  if (success === null) return 'neverWorked'
  return circuit === 'open' ? 'circuitOpen' : 'failing'
}

/** Returns whether a subscription that should send events does not deliver them now. */
export function isInterrupted(subscription: Pick<Subscription, ShownFields>): boolean {
  const state = shownState(subscription)
  return state === 'circuitOpen' || state === 'failing' || state === 'neverWorked'
}

/**
 * Returns a subscription of the same kind that delivers events to the same host and port. If there is one, the address and the network
 * of a failing subscription are not the cause.
 */
export function workingOnSameHost(subscription: Subscription, all: readonly Subscription[]): Subscription | undefined {
  const { host } = new URL(subscription.url)
  return all.find(
    (other) =>
      other.id !== subscription.id &&
      kindOf(other) === kindOf(subscription) &&
      new URL(other.url).host === host &&
      other.lastSuccessTimestamp !== null &&
      shownState(other) === 'active',
  )
}
