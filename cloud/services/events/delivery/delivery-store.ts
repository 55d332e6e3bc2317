import {
  type Attempt,
  type DeliveryState,
  type SubscriptionReason,
  subscriptionLimits,
} from '@millwright/api/event-subscriptions.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { highestId } from '../../../platform/database/id.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'
import { extent } from '../../../platform/events/store.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import type { ProgressRow } from '../subscription-store.ts'

/**
 * The log of deliveries, and the changes that users make to the progress of a subscription. Each change removes the lease
 * of the runner, so that the runner stops and stores nothing after the change.
 */

/** The topic that is signalled when a subscription is created or changed. The task of deliveries then runs soon. */
export const subscriptionsTopic = 'events.subscriptions'

/** The condition for deliveries that are sent later. It is the condition of an index. Test events have no position. */
export const unsent = `state in ('waiting', 'failed') and not is_dead_letter and position is not null`

/** A row of the log. `attempts` contains the newest attempts. */
export type DeliveryRow = {
  id: string
  eventId: string
  /** Null for a test event. */
  position: number | null
  type: string
  subject: string
  state: DeliveryState
  isDeadLetter: boolean
  messageId: string
  attemptCount: number
  attempts: Attempt[]
  nextAt: string | null
  createdAt: string
}

/** The progress of a subscription, with the numbers that users see. */
export type SubscriptionStatus = ProgressRow & {
  subscriptionId: string
  newestPosition: number
  waiting: number
  deadLetters: number
}

const createStatement = statement(
  `insert into event_subscription_progress (tenant_id, subscription_id, position)
   select $1, $2, coalesce((select last from event_positions where tenant_id = $1), 0)
   returning position`,
)

/** Creates the progress of a new subscription. It starts after the newest event. */
export async function createProgress(tx: Transaction, subscriptionId: string): Promise<void> {
  await tx.run(createStatement, subscriptionId)
  tx.signal(subscriptionsTopic)
}

const statusStatement = statement<SubscriptionStatus>(
  `select p.subscription_id as "subscriptionId", p.position, p.stopped_reason as "stoppedReason",
     p.stopped_at as "stoppedAt", p.failures, p.opened_at as "openedAt", p.blocked_until as "blockedUntil",
     p.wake_at as "wakeAt", p.last_success_at as "lastSuccessAt", p.last_failure_at as "lastFailureAt",
     p.last_error as "lastError",
     coalesce((select last from event_positions where tenant_id = $1), 0) as "newestPosition",
     (select count(*) from event_deliveries
      where tenant_id = $1 and subscription_id = p.subscription_id and ${unsent}) as waiting,
     (select count(*) from event_deliveries as d
      where d.tenant_id = $1 and d.subscription_id = p.subscription_id and d.is_dead_letter) as "deadLetters"
   from event_subscription_progress as p
   where p.tenant_id = $1 and p.subscription_id = any($2::uuid[])`,
)

/** Returns the progress of subscriptions, in any order. */
export function readStatus(handle: Handle, subscriptionIds: readonly string[]): Promise<SubscriptionStatus[]> {
  return handle.rows(statusStatement, subscriptionIds)
}

const interruptStatement = statement(
  `update event_subscription_progress set runner_id = null, runner_until = null, wake_at = $3,
     blocked_until = case when blocked_until > $3 then $3 else blocked_until end
   where tenant_id = $1 and subscription_id = $2`,
)

/**
 * Stops the runner of a subscription when the transaction commits. Call this function in the transaction of each change of
 * the subscription: pause, new target, new owner. If the subscription is active, a new runner starts soon, and an open circuit
 * breaker tries one event at once.
 */
export async function interruptRunner(tx: Transaction, subscriptionId: string, now = new Date()): Promise<void> {
  await tx.run(interruptStatement, subscriptionId, now)
  tx.signal(subscriptionsTopic)
}

const resetCircuitStatement = statement(
  `update event_subscription_progress set runner_id = null, runner_until = null, wake_at = $3, failures = 0,
     opened_at = null, blocked_until = null
   where tenant_id = $1 and subscription_id = $2`,
)

/** Stops the runner of a subscription and closes its circuit breaker, so that events are sent at once. */
async function closeCircuit(tx: Transaction, subscriptionId: string, now: Date): Promise<void> {
  await tx.run(resetCircuitStatement, subscriptionId, now)
  tx.signal(subscriptionsTopic)
}

const lockStatement = statement<{ stoppedReason: SubscriptionReason | null; position: number }>(
  `select stopped_reason as "stoppedReason", position from event_subscription_progress
   where tenant_id = $1 and subscription_id = $2 for update`,
)
const resumeStatement = statement(
  `update event_subscription_progress set stopped_reason = null, stopped_at = null, failures = 0, opened_at = null,
     blocked_until = null, wake_at = $3, position = $4, runner_id = null, runner_until = null
   where tenant_id = $1 and subscription_id = $2`,
)
const makeDueStatement = statement(
  `update event_deliveries set next_at = $3
   where tenant_id = $1 and subscription_id = $2 and next_at > $3::timestamptz and state = 'failed' and ${unsent}`,
)

/** Makes all events of a subscription that wait for a retry due now. */
export async function makeDue(tx: Transaction, subscriptionId: string, now: Date): Promise<void> {
  await tx.run(makeDueStatement, subscriptionId, now)
}

/**
 * Continues a subscription that the platform or a user has stopped. All events that wait for a retry are due at once. If
 * events were deleted before they were sent, the subscription continues with the oldest event.
 */
export async function clearStop(tx: Transaction, subscriptionId: string, now = new Date()): Promise<void> {
  const before = await tx.row(lockStatement, subscriptionId)
  if (before === undefined) return
  const { oldest, newest } = await extent(tx)
  const position = before.stoppedReason === 'events_gone' ? (oldest ?? newest + 1) - 1 : before.position
  await tx.run(resumeStatement, subscriptionId, now, position)
  await makeDue(tx, subscriptionId, now)
  tx.signal(subscriptionsTopic)
}

const ownerDisabledStatement = statement(
  `update event_subscription_progress set stopped_reason = 'owner_disabled', stopped_at = $3
   where tenant_id = $1 and subscription_id = $2`,
)

/** Pauses a subscription whose owner is disabled. Call this function after `clearStop` or `replay`. */
export async function pauseForOwner(tx: Transaction, subscriptionId: string, now = new Date()): Promise<void> {
  await tx.run(ownerDisabledStatement, subscriptionId, now)
}

const forgetFinishedStatement = statement(
  `update event_subscription_progress set finished_to = 0, unfinished = '{}' where tenant_id = $1 and subscription_id = $2`,
)
const removeUnsentStatement = statement(
  `delete from event_deliveries where tenant_id = $1 and subscription_id = $2 and position >= $3
     and ${unsent}`,
)

function invalidStart(detail: string): Problem {
  return fieldProblem('invalid_cursor', '/data/fromPosition', detail)
}

/**
 * Sends all events from a position on again. Events after the position that wait for a retry are removed from the log,
 * because they are sent in order with the others. Continues a subscription that the platform has stopped. Throws if the
 * replay would leave out events that were not sent yet. Events that were deleted are left out.
 */
export async function replay(
  tx: Transaction,
  { subscriptionId, fromPosition }: { subscriptionId: string; fromPosition: number },
  now = new Date(),
): Promise<void> {
  const before = await tx.row(lockStatement, subscriptionId)
  if (before === undefined) return
  const { oldest, newest } = await extent(tx)
  const firstKept = oldest ?? newest + 1
  const unsentFrom = before.position + 1
  if (fromPosition > newest + 1)
    throw invalidStart(`Position ${fromPosition} does not exist yet. The newest event has position ${newest}`)
  if (fromPosition < firstKept)
    throw new Problem(
      'events_gone',
      oldest === null
        ? `The events from position ${fromPosition} on have been deleted. Start at position ${newest + 1}`
        : `The event at position ${fromPosition} has been deleted. The oldest event has position ${oldest}`,
    )
  const hasLostEvents = before.stoppedReason === 'events_gone' || unsentFrom < firstKept
  if (fromPosition > unsentFrom && !hasLostEvents)
    throw invalidStart(
      `The events from position ${unsentFrom} on have not been sent yet, and a replay does not leave out events. ` +
        `Start at position ${unsentFrom} or at an earlier position`,
    )
  await tx.run(removeUnsentStatement, subscriptionId, fromPosition)
  await tx.run(forgetFinishedStatement, subscriptionId)
  await tx.run(resumeStatement, subscriptionId, now, fromPosition - 1)
  await makeDue(tx, subscriptionId, now)
  tx.signal(subscriptionsTopic)
}

const columns = `id, event_id as "eventId", position, type, subject, state, is_dead_letter as "isDeadLetter",
  message_id as "messageId", attempt_count as "attemptCount", attempts, next_at as "nextAt", created_at as "createdAt"`

const page = `tenant_id = $1 and subscription_id = $2 and id < $3`
const listStatement = statement<DeliveryRow>(
  `select ${columns} from event_deliveries where ${page} order by id desc limit $4 offset $5`,
)
const listSucceededStatement = statement<DeliveryRow>(
  `select ${columns} from event_deliveries where ${page} and state = 'succeeded' order by id desc limit $4 offset $5`,
)
const listUnsentStatement = statement<DeliveryRow>(
  `select ${columns} from event_deliveries
   where ${page} and state <> 'succeeded' and state = $6 order by id desc limit $4 offset $5`,
)
const listDeadStatement = statement<DeliveryRow>(
  `select ${columns} from event_deliveries where ${page} and is_dead_letter order by id desc limit $4 offset $5`,
)

export type DeliveryPage = {
  subscriptionId: string
  state?: DeliveryState | undefined
  /** True to list only dead letters. */
  deadLetters?: boolean | undefined
  /** The id of the last delivery of the previous page. */
  before?: string | undefined
  /** The number of deliveries to skip. */
  offset?: number
  limit: number
}

/** Lists deliveries of a subscription, newest first. */
export async function listDeliveries(handle: Handle, filter: DeliveryPage): Promise<DeliveryRow[]> {
  const { subscriptionId, state, deadLetters, before = highestId, offset = 0, limit } = filter
  const values = [subscriptionId, before, limit, offset]
  if (deadLetters === true)
    return state === undefined || state === 'failed' ? handle.rows(listDeadStatement, ...values) : []
  if (state === undefined) return handle.rows(listStatement, ...values)
  if (state === 'succeeded') return handle.rows(listSucceededStatement, ...values)
  return handle.rows(listUnsentStatement, ...values, state)
}

export type DeliveryKey = { subscriptionId: string; deliveryId: string }

const findStatement = statement<DeliveryRow>(
  `select ${columns} from event_deliveries where tenant_id = $1 and subscription_id = $2 and id = $3`,
)

export function findDelivery(
  handle: Handle,
  { subscriptionId, deliveryId }: DeliveryKey,
): Promise<DeliveryRow | undefined> {
  return handle.row(findStatement, subscriptionId, deliveryId)
}

const retryStatement = statement<DeliveryRow>(
  `update event_deliveries set is_dead_letter = false, next_at = $4,
     first_failed_at = case when is_dead_letter then null else first_failed_at end
   where tenant_id = $1 and subscription_id = $2 and id = $3
   returning ${columns}`,
)
const eventKeptStatement = statement<{ id: string }>(`select id from events where tenant_id = $1 and position = $2`)

/**
 * Makes a failed delivery due now. A dead letter is sent again for the full time. Throws if the delivery does not exist,
 * did not fail, or its event was deleted.
 */
export async function retryDelivery(tx: Transaction, key: DeliveryKey, now = new Date()): Promise<DeliveryRow> {
  const { subscriptionId, deliveryId } = key
  // The lock of the progress comes first, as in all other changes, so that a runner and a user do not block each other.
  await closeCircuit(tx, subscriptionId, now)
  const delivery = await findDelivery(tx, key)
  if (delivery === undefined) throw new Problem('not_found', `There is no delivery with the id ${deliveryId}`)
  if (delivery.state !== 'failed' || delivery.position === null)
    throw new Problem(
      'conflict',
      delivery.position === null
        ? 'A test event is not sent again. Send another test event'
        : `The delivery has the state ${delivery.state}. Only a failed delivery can be sent again`,
    )
  if ((await tx.row(eventKeptStatement, delivery.position)) === undefined)
    throw new Problem('events_gone', 'The event was deleted after 30 days, so it cannot be sent again')
  return (await tx.row(retryStatement, subscriptionId, deliveryId, now)) ?? delivery
}

const retryDeadStatement = statement(
  `update event_deliveries set is_dead_letter = false, first_failed_at = null, next_at = $3
   where tenant_id = $1 and id = any(array(
     select id from event_deliveries where tenant_id = $1 and subscription_id = $2 and is_dead_letter
     order by id limit $4))`,
)
const countOpenStatement = statement<{ count: number }>(
  `select count(*) as count from event_deliveries
   where tenant_id = $1 and subscription_id = $2 and ${unsent}`,
)

const countDeadStatement = statement<{ count: number }>(
  `select count(*) as count from event_deliveries where tenant_id = $1 and subscription_id = $2 and is_dead_letter`,
)

/**
 * Makes dead letters due now, oldest first. Their number is limited by the number of events of a subscription that can
 * wait for a retry. Returns how many are due, and how many remain.
 */
export async function retryDeadLetters(
  tx: Transaction,
  subscriptionId: string,
  now = new Date(),
): Promise<{ retried: number; remaining: number }> {
  await closeCircuit(tx, subscriptionId, now)
  const open = (await tx.row(countOpenStatement, subscriptionId))?.count ?? 0
  const limit = Math.max(0, subscriptionLimits.waiting - open)
  const retried = await tx.run(retryDeadStatement, subscriptionId, now, limit)
  return { retried, remaining: (await tx.row(countDeadStatement, subscriptionId))?.count ?? 0 }
}

/** A delivery of a test event. It has no position and is never sent again. */
export type TestDelivery = Omit<DeliveryRow, 'position' | 'isDeadLetter' | 'attemptCount' | 'nextAt' | 'attempts'> & {
  attempt: Attempt
}

const insertTestStatement = statement<DeliveryRow>(
  `insert into event_deliveries (tenant_id, id, subscription_id, event_id, type, subject, state, message_id,
     attempt_count, attempts, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $10)
   returning ${columns}`,
)

/** Writes the delivery of a test event to the log. */
export async function insertTestDelivery(
  tx: Transaction,
  subscriptionId: string,
  { id, eventId, type, subject, state, messageId, attempt, createdAt }: TestDelivery,
): Promise<DeliveryRow> {
  const values = [id, subscriptionId, eventId, type, subject, state, messageId, jsonText([attempt]), createdAt]
  const row = await tx.row(insertTestStatement, ...values)
  if (row === undefined) throw new Error('The delivery of a test event was not stored')
  return row
}
