import { type DeliveryState, type SubscriptionReason, subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { EventRow } from '../../../platform/events/store.ts'
import type { ProgressRow, SubscriptionKindName } from '../subscription-store.ts'
import { unsent } from './delivery-store.ts'

/**
 * The statements of runners. A runner has the lease of one subscription. Leases use the clock of the database, so that
 * processes with different clocks agree. Retries use the clock of the process.
 */

const isFree = `p.tenant_id = $1 and s.tenant_id = $1 and s.active and p.stopped_reason is null
     and (p.runner_until is null or p.runner_until < now())`
/** `keepsOpen`: also publishers with a status topic, which stay connected without events. */
const isRunnable = (now: string, keepsOpen: string) => `${isFree}
     and case when p.blocked_until is not null then p.blocked_until <= ${now}
         else p.wake_at <= ${now} or p.position < (select last from event_positions where tenant_id = $1)
           or (${keepsOpen} and s.details ->> 'statusTopic' is not null) end`
const subscriptionsOfProgress = `event_subscription_progress as p
   join event_subscriptions as s on s.tenant_id = $1 and s.id = p.subscription_id`

/** A statement that returns a row if a subscription needs a runner. */
export const anyRunnable = statement(
  `select p.subscription_id from ${subscriptionsOfProgress} where ${isRunnable('now()', 'true')} limit 1`,
)

export type Runnable = { subscriptionId: string; kind: SubscriptionKindName }

const runnableStatement = statement<Runnable>(
  `select p.subscription_id as "subscriptionId", s.kind from ${subscriptionsOfProgress}
   where ${isRunnable('$2::timestamptz', '$4::boolean')} order by p.subscription_id limit $3`,
)

/** Lists the subscriptions that need a runner and have none. */
export function listRunnable(
  handle: Handle,
  { now, limit, keepsOpen }: { now: Date; limit: number; keepsOpen: boolean },
): Promise<Runnable[]> {
  return handle.rows(runnableStatement, now, limit, keepsOpen)
}

const activeStatement = statement<{ id: string }>(
  `select s.id from ${subscriptionsOfProgress}
   where p.tenant_id = $1 and s.tenant_id = $1 and s.active and p.stopped_reason is null`,
)

/** Lists the subscriptions that send new events. */
export async function listActive(handle: Handle): Promise<string[]> {
  return (await handle.rows(activeStatement)).map(({ id }) => id)
}

const ownerDisabled = `p.tenant_id = $1 and s.tenant_id = $1 and p.stopped_reason = 'owner_disabled'`

/** A statement that returns a row if the owner of a subscription was disabled. */
export const anyOwnerDisabled = statement(
  `select p.subscription_id from ${subscriptionsOfProgress} where ${ownerDisabled} limit 1`,
)

const ownerDisabledStatement = statement<{ subscriptionId: string; principalId: string }>(
  `select p.subscription_id as "subscriptionId", s.principal_id as "principalId" from ${subscriptionsOfProgress}
   where ${ownerDisabled}`,
)

/** Lists the subscriptions that were paused because their owners were disabled. */
export function listOwnerDisabled(handle: Handle) {
  return handle.rows(ownerDisabledStatement)
}

const enableStatement = statement(
  `update event_subscription_progress set stopped_reason = null, stopped_at = null, wake_at = $3
   where tenant_id = $1 and subscription_id = any($2::uuid[]) and stopped_reason = 'owner_disabled'`,
)

/** Continues subscriptions whose owners are enabled again. */
export function continueSubscriptions(
  tx: Transaction,
  { ids, now }: { ids: readonly string[]; now: Date },
): Promise<number> {
  return tx.run(enableStatement, ids, now)
}

export type Lease = { subscriptionId: string; runnerId: string }
export type ClaimedProgress = ProgressRow & Lease & Finished

/**
 * The events after the position that are finished: those up to `finishedTo`, except those at the positions in `unfinished`.
 */
export type Finished = { finishedTo: number; unfinished: readonly number[] }

const leases = rowset<Lease>({ subscriptionId: 'uuid', runnerId: 'uuid' })
const claimStatement = statement<ClaimedProgress>(
  `update event_subscription_progress as p
   set runner_id = r."runnerId", runner_until = now() + $4::integer * interval '1 millisecond'
   from ${leases.rows}
   where p.tenant_id = $1 and p.subscription_id = r."subscriptionId" and p.stopped_reason is null
     and (p.runner_until is null or p.runner_until < now())
   returning p.subscription_id as "subscriptionId", p.runner_id as "runnerId", p.position,
     p.finished_to as "finishedTo", p.unfinished,
     p.stopped_reason as "stoppedReason", p.stopped_at as "stoppedAt", p.failures, p.opened_at as "openedAt",
     p.blocked_until as "blockedUntil", p.wake_at as "wakeAt", p.last_success_at as "lastSuccessAt",
     p.last_failure_at as "lastFailureAt", p.last_error as "lastError"`,
)

/** Claims the leases that no other runner has. */
export function claim(tx: Transaction, wanted: readonly Lease[], leaseMs: number): Promise<ClaimedProgress[]> {
  return tx.rows(claimStatement, ...leases.values(wanted), leaseMs)
}

const renewStatement = statement<Lease>(
  `update event_subscription_progress as p set runner_until = now() + $4::integer * interval '1 millisecond'
   from ${leases.rows}
   where p.tenant_id = $1 and p.subscription_id = r."subscriptionId" and p.runner_id = r."runnerId"
   returning p.subscription_id as "subscriptionId", p.runner_id as "runnerId"`,
)

/** Renews leases. Returns those that their runners still have. */
export function renew(tx: Transaction, held: readonly Lease[], leaseMs: number): Promise<Lease[]> {
  return tx.rows(renewStatement, ...leases.values(held), leaseMs)
}

const heldStatement = statement(
  `select 1 from event_subscription_progress where tenant_id = $1 and subscription_id = $2 and runner_id = $3`,
)

/** Returns whether a runner still has its lease. A change of the subscription by any process removes the lease. */
export async function isHeld(handle: Handle, { subscriptionId, runnerId }: Lease): Promise<boolean> {
  return (await handle.row(heldStatement, subscriptionId, runnerId)) !== undefined
}

/** What a runner stores about its subscription. Times are in milliseconds. */
export type ProgressWrite = Finished & {
  position: number
  failures: number
  openedAt: number | null
  blockedUntil: number | null
  wakeAt: number | null
  lastSuccessAt: number | null
  lastFailureAt: number | null
  lastError: string | null
  stoppedReason: Exclude<SubscriptionReason, 'user'> | null
  /** True at the end of the runner. */
  releases: boolean
}

const saveStatement = statement(
  `update event_subscription_progress set position = $4, failures = $5, opened_at = $6, blocked_until = $7, wake_at = $8,
     last_success_at = $9, last_failure_at = $10, last_error = $11, stopped_reason = $12, stopped_at = $13,
     runner_id = case when $14::boolean then null else runner_id end,
     runner_until = case when $14::boolean then null else runner_until end, finished_to = $15, unfinished = $16
   where tenant_id = $1 and subscription_id = $2 and runner_id = $3`,
)

/** Stores the progress of a subscription. Returns false if the runner no longer has the lease. */
export async function saveProgress(
  tx: Transaction,
  { subscriptionId, runnerId }: Lease,
  { progress, now }: { progress: ProgressWrite; now: number },
): Promise<boolean> {
  const { position, failures, openedAt, blockedUntil, wakeAt, lastSuccessAt, lastFailureAt, lastError } = progress
  const { stoppedReason, releases, finishedTo, unfinished } = progress
  const times = [openedAt, blockedUntil, wakeAt, lastSuccessAt, lastFailureAt].map(dateOf)
  const values = [position, failures, ...times, lastError, stoppedReason, dateOf(stoppedReason === null ? null : now)]
  return (await tx.run(saveStatement, subscriptionId, runnerId, ...values, releases, finishedTo, unfinished)) > 0
}

/** The result of a delivery. `attempts` is JSON text of a list: the new attempts. */
export type DeliveryWrite = {
  id: string
  eventId: string
  position: number
  type: string
  subject: string
  state: DeliveryState
  isDeadLetter: boolean
  messageId: string
  attemptCount: number
  attempts: string
  firstFailedAt: number | null
  nextAt: number | null
}

type NewDelivery = Omit<DeliveryWrite, 'isDeadLetter' | 'firstFailedAt' | 'nextAt'> & {
  deadLetter: number
  firstFailedAt: string | null
  nextAt: string | null
}

type ChangedDelivery = Omit<NewDelivery, 'eventId' | 'position' | 'type' | 'subject'>

const resultColumns = {
  id: 'uuid',
  state: 'text',
  deadLetter: 'integer',
  messageId: 'text',
  attemptCount: 'integer',
  attempts: 'json',
  firstFailedAt: 'timestamptz',
  nextAt: 'timestamptz',
} as const
const changedDeliveries = rowset<ChangedDelivery>(resultColumns)
const newDeliveries = rowset<NewDelivery>({
  ...resultColumns,
  eventId: 'uuid',
  position: 'bigint',
  type: 'text',
  subject: 'text',
})
const insertStatement = statement(
  `insert into event_deliveries (tenant_id, subscription_id, created_at, id, event_id, position, type, subject, state,
     is_dead_letter, message_id, attempt_count, attempts, first_failed_at, next_at)
   select $1, $14, $15::timestamptz, id, "eventId", position, type, subject, state, "deadLetter" = 1, "messageId",
     "attemptCount", attempts, "firstFailedAt", "nextAt" from ${newDeliveries.rows}
   returning 1`,
)

export async function insertDeliveries(
  tx: Transaction,
  subscriptionId: string,
  { rows, now }: { rows: readonly DeliveryWrite[]; now: number },
): Promise<void> {
  if (rows.length > 0)
    await tx.run(insertStatement, ...newDeliveries.values(rows.map(rowOf)), subscriptionId, new Date(now))
}

/** The newest attempts: the stored ones and the new ones. */
const attempts = `jsonb_path_query_array(d.attempts::jsonb || r.attempts::jsonb,
     '$[last - ${subscriptionLimits.attempts - 1} to last]')::json`
const updateStatement = statement(
  `update event_deliveries as d
   set state = r.state, is_dead_letter = r."deadLetter" = 1, message_id = r."messageId",
     attempt_count = r."attemptCount", first_failed_at = r."firstFailedAt", next_at = r."nextAt", attempts = ${attempts}
   from ${changedDeliveries.rows}
   where d.tenant_id = $1 and d.subscription_id = $10 and d.id = r.id`,
)

/** Stores the results of events that were already in the log, and adds the new attempts. */
export async function updateDeliveries(
  tx: Transaction,
  subscriptionId: string,
  rows: readonly DeliveryWrite[],
): Promise<void> {
  if (rows.length > 0) await tx.run(updateStatement, ...changedDeliveries.values(rows.map(rowOf)), subscriptionId)
}

/** An event that waits for a retry, or behind an earlier event of its subject. */
export type UnsentRow = {
  id: string
  eventId: string
  position: number
  type: string
  subject: string
  messageId: string
  attemptCount: number
  firstFailedAt: string | null
  nextAt: string | null
}

const unsentStatement = statement<UnsentRow>(
  `select id, event_id as "eventId", position, type, subject, message_id as "messageId", attempt_count as "attemptCount",
     first_failed_at as "firstFailedAt", next_at as "nextAt"
   from event_deliveries where tenant_id = $1 and subscription_id = $2 and ${unsent} order by position`,
)

/** Lists the events that are sent later, in order. Their number is limited. */
export function listUnsent(handle: Handle, subscriptionId: string): Promise<UnsentRow[]> {
  return handle.rows(unsentStatement, subscriptionId)
}

const eventsStatement = statement<EventRow>(
  `select id, position, type, subject, time, data from events where tenant_id = $1 and position = any($2::bigint[])`,
)

/** Returns the events at these positions that are still stored. */
export function listEventsAt(handle: Handle, positions: readonly number[]): Promise<EventRow[]> {
  return handle.rows(eventsStatement, positions)
}

function rowOf({ isDeadLetter, firstFailedAt, nextAt, ...row }: DeliveryWrite): NewDelivery {
  return {
    ...row,
    deadLetter: isDeadLetter ? 1 : 0,
    firstFailedAt: textOf(firstFailedAt),
    nextAt: textOf(nextAt),
  }
}

function textOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}

function dateOf(timeMs: number | null): Date | null {
  return timeMs === null ? null : new Date(timeMs)
}
