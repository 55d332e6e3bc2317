import type { Delivery, Webhook } from '@millwright/api/event-subscriptions.ts'
import { eventTypePrefix } from '@millwright/api/events.ts'
import type { DeliveryRow, SubscriptionStatus } from './delivery/delivery-store.ts'
import type { SubscriptionRow } from './subscription-store.ts'

/** The fields of a response that webhooks and MQTT publishers have in common. */
export type CommonView = Omit<Webhook, 'batchSize' | 'previousSecretExpiresTimestamp'>

export function commonView(row: SubscriptionRow, status: SubscriptionStatus): CommonView {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    types: row.types,
    accessGroup: row.accessGroupId,
    filter: row.filter,
    active: row.active,
    certificateAuthority: row.certificateAuthority,
    ...stateOf(row, status),
    owner: { id: row.principalId, name: row.principalName },
    position: status.position,
    newestPosition: status.newestPosition,
    waiting: status.waiting,
    deadLetters: status.deadLetters,
    circuit: status.openedAt === null ? ('closed' as const) : ('open' as const),
    nextAttemptTimestamp: nextAttempt(row, status),
    lastSuccessTimestamp: status.lastSuccessAt,
    lastFailureTimestamp: status.lastFailureAt,
    lastError: status.lastError,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/**
 * Returns the time of the next retry of an active subscription. The time is also stored for subscriptions in which no event
 * waits, and for those that are paused or disabled.
 */
function nextAttempt({ active }: SubscriptionRow, status: SubscriptionStatus): string | null {
  const { stoppedReason, openedAt, blockedUntil, waiting, wakeAt } = status
  if (!active || stoppedReason !== null) return null
  if (openedAt !== null) return blockedUntil
  return waiting > 0 ? wakeAt : null
}

function stateOf({ active }: SubscriptionRow, { stoppedReason }: SubscriptionStatus) {
  if (stoppedReason === 'receiver_gone' || stoppedReason === 'events_gone')
    return { state: 'disabled' as const, reason: stoppedReason }
  if (!active) return { state: 'paused' as const, reason: 'user' as const }
  if (stoppedReason !== null) return { state: 'paused' as const, reason: stoppedReason }
  return { state: 'active' as const, reason: null }
}

/** Returns a delivery for a response. A receiver can repeat the event in its response, so only readers get it. */
export function deliveryView(row: DeliveryRow, isReader: boolean): Delivery {
  const { nextAt, createdAt, type, subject, attempts, ...fields } = row
  return {
    ...fields,
    attempts: isReader ? attempts : attempts.map(({ responseBody: _, ...attempt }) => attempt),
    type: eventTypePrefix + type,
    subject: isReader ? subject : null,
    nextAttemptTimestamp: nextAt,
    createdTimestamp: createdAt,
  }
}
