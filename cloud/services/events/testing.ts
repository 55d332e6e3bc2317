import { emit } from '../../platform/events/events.ts'
import type { TestHub } from '../../platform/testing/hub.ts'

/** Says that things happened, in one transaction; told when the relay has run. */
export async function say(hub: TestHub, subjects: readonly string[], type = 'test.thing.changed'): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    for (const subject of subjects) await emit(tx, { type, subject, data: {} })
  })
}

/** Says something about an asset of an access group. */
export async function sayOfAsset(hub: TestHub, subject: string, accessGroupId: string): Promise<void> {
  await hub.context.database.transaction(hub.tenant, (tx) =>
    emit(tx, { type: 'inventory.asset.updated', subject, data: { accessGroupId } }),
  )
}
