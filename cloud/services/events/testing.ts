import type { StoredPrincipal } from '../../platform/access/current-caller.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { createProgress, insertTestDelivery } from './delivery/delivery-store.ts'
import { insertSubscription, type NewSubscription, secretOwner } from './subscription-store.ts'
import { newSecret } from './webhooks/signature.ts'

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

/** Stores a paused webhook with a delivery, and a paused MQTT publisher. They send nothing. */
export async function useSubscriptions(
  hub: TestHub,
  { principalId }: TestCaller,
): Promise<{ webhookId: string; publisherId: string; deliveryId: string }> {
  const { database, safe } = hub.contextOf('events')
  const [webhookId, publisherId, deliveryId] = [newId(), newId(), newId()]
  const owner: StoredPrincipal = {
    principalId,
    principalKind: 'user',
    principalName: 'usage',
    roles: { roles: ['administrator'] },
  }
  const now = new Date().toISOString()
  const fields = { types: ['io.millwright.'], accessGroupId: null, filter: null, active: false, createdAt: now }
  const publisher = { clientId: 'usage', userName: null, topic: 'millwright/{id}', retain: false, statusTopic: null }
  await database.transaction(hub.tenant, async (tx) => {
    const create = async (row: Pick<NewSubscription, 'id' | 'kind' | 'name' | 'url' | 'details'>) => {
      const sealedSecret = await safe.seal(tx, newSecret(), secretOwner(row.id))
      await insertSubscription(tx, { ...owner, ...fields, ...row, certificateAuthority: null, sealedSecret })
      await createProgress(tx, row.id)
    }
    await create({ id: webhookId, kind: 'webhook', name: 'usage', url: 'https://a.example', details: { batchSize: 1 } })
    await create({ id: publisherId, kind: 'mqtt', name: 'usage', url: 'mqtts://a.example', details: publisher })
    await insertTestDelivery(tx, webhookId, {
      id: deliveryId,
      eventId: newId(),
      type: 'events.webhook.tested',
      subject: `webhook/${webhookId}`,
      state: 'failed',
      messageId: newId(),
      attempt: { time: now, durationMs: 1, status: 500, error: 'The receiver answered 500' },
      createdAt: now,
    })
  })
  return { webhookId, publisherId, deliveryId }
}
