import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import type { Context } from '../../platform/service.ts'
import type { DeliveryRow } from './delivery/delivery-store.ts'
import { messageOf } from './delivery/message.ts'
import { listEventsAt } from './delivery/runner-store.ts'
import { cloudEvent } from './message.ts'
import type { ShownRequest, SubscriptionInput, SubscriptionKind } from './subscription-kind.ts'
import type { SubscriptionRow } from './subscription-store.ts'
import { maySee, readableEvents } from './visibility.ts'

/**
 * Returns the ids of the deliveries whose events the caller can read now. The owner of the subscription has no other rule:
 * earlier events can be those of another owner, or the rights of the owner or of its token can be smaller now. For a deleted
 * event, only its type and subject are known. Test events contain nothing that a manager of subscriptions cannot read.
 */
export async function readableDeliveries(
  context: Context,
  caller: Caller,
  deliveries: readonly DeliveryRow[],
): Promise<ReadonlySet<string>> {
  const positions = deliveries.flatMap(({ position }) => position ?? [])
  const kept = await context.database.read(caller, (handle) => listEventsAt(handle, positions))
  const dataOf = new Map(kept.map(({ id, data }) => [id, data]))
  const events = deliveries
    .filter(({ position }) => position !== null)
    .map(({ id, eventId, type, subject }) => ({ deliveryId: id, type, subject, data: dataOf.get(eventId) ?? {} }))
    .filter((event) => maySee(caller, event))
  const readable = events.length === 0 ? [] : await readableEvents(context, caller, events)
  const tests = deliveries.filter(({ position }) => position === null)
  return new Set([...readable.map(({ deliveryId }) => deliveryId), ...tests.map(({ id }) => id)])
}

type LoggedDelivery<Input extends SubscriptionInput, OwnView> = {
  kind: SubscriptionKind<Input, OwnView>
  row: SubscriptionRow
  delivery: DeliveryRow
}

/**
 * Builds the request of a delivery again, with the content that the owner can read now. Returns null for a test event, for
 * a deleted event, and for an event that the owner or the caller can no longer read.
 */
export async function deliveryRequest<Input extends SubscriptionInput, OwnView>(
  context: Context,
  caller: Caller,
  { kind, row, delivery: { position, messageId } }: LoggedDelivery<Input, OwnView>,
): Promise<ShownRequest | null> {
  if (position === null) return null
  const [event] = await context.database.read(caller, (handle) => listEventsAt(handle, [position]))
  if (event === undefined) return null
  const owner = await currentCaller(context, caller.tenantId, row)
  let shown = [event]
  for (const reader of new Set([owner, caller]))
    shown = [
      ...(await readableEvents(
        context,
        reader,
        shown.filter((one) => maySee(reader, one)),
      )),
    ]
  const [readable] = shown
  if (readable === undefined) return null
  const sent = cloudEvent(readable, caller.tenantName)
  const message = { ...messageOf([sent], { isBatch: kind.isBatch(row) }), id: messageId }
  return kind.requestOf(row, caller.tenantName, message)
}
