import { emit } from '../../platform/events/events.ts'
import type { TestHub } from '../../platform/testing/hub.ts'

/** Emits events in one transaction. The events become visible when the relay has run. */
export async function emitEvents(
  hub: TestHub,
  subjects: readonly string[],
  type = 'test.thing.changed',
): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    for (const subject of subjects) await emit(tx, { type, subject, data: {} })
  })
}

/** Emits an event about an asset of an access group. */
export async function emitAssetEvent(hub: TestHub, subject: string, accessGroupId: string): Promise<void> {
  await hub.context.database.transaction(hub.tenant, (tx) =>
    emit(tx, { type: 'inventory.asset.updated', subject, data: { accessGroupId } }),
  )
}
