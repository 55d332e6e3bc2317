import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { readsAllAssets } from '../../platform/asset-visibility.ts'
import { list } from '../../platform/events/store.ts'
import type { Context } from '../../platform/service.ts'
import type { DeliveryRow } from './delivery/delivery-store.ts'
import { messageOf } from './delivery/message.ts'
import { cloudEvent } from './message.ts'
import type { ShownRequest, SubscriptionInput, SubscriptionKind } from './subscription-kind.ts'
import type { SubscriptionRow } from './subscription-store.ts'
import { maySee, readableEvents } from './visibility.ts'

/**
 * Returns whether the caller may see which object a delivery is about. The log contains events that the owner of the
 * subscription could read. Another caller must be able to read all assets and all events of the type. That includes an
 * owner for the deliveries of the previous owner.
 */
export function isLogReader(
  caller: Caller,
  { principalId, ownerSince }: SubscriptionRow,
  { type, createdAt }: DeliveryRow,
): boolean {
  if (caller.principal.id === principalId && createdAt >= ownerSince) return true
  return readsAllAssets(caller) && maySee(caller, { type, data: {} })
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
  const [event] = await context.database.read(caller, (handle) => list(handle, { after: position - 1, limit: 1 }))
  if (event?.position !== position) return null
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
