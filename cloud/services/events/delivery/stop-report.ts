import type { SubscriptionReason } from '@millwright/api/event-subscriptions.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import type { SubscriptionKindName, SubscriptionRow } from '../subscription-store.ts'

/** The names of the kinds in audit entries and events. */
const names: Readonly<Record<SubscriptionKindName, { noun: string; action: string; idField: string }>> = {
  webhook: { noun: 'webhook', action: 'disableWebhook', idField: 'webhookId' },
  mqtt: { noun: 'mqtt-publisher', action: 'disableMqttPublisher', idField: 'mqttPublisherId' },
}

type StopReport = {
  tenantName: string
  subscription: Pick<SubscriptionRow, 'id' | 'kind' | 'name' | 'principalId'>
  reason: Exclude<SubscriptionReason, 'user'>
}

/**
 * Writes the audit entry and the event of a subscription that the platform disabled, in the transaction of the change. A
 * subscription whose owner is disabled is only paused: it continues when the owner is enabled.
 */
export async function reportStopped(
  tx: Transaction,
  { tenantName, subscription: { id, kind, name, principalId }, reason }: StopReport,
): Promise<void> {
  if (reason === 'owner_disabled') return
  const { noun, action, idField } = names[kind]
  const subject = `${noun}/${id}`
  const caller = systemCaller({ tenantId: tx.tenantId, tenantName })
  await record(tx, caller, { action: `events.${action}`, target: subject, detail: { name, reason } })
  await emit(tx, {
    type: `events.${noun}.disabled`,
    subject,
    data: { [idField]: id, name, reason, ownerId: principalId },
  })
}
