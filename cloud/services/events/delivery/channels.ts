import type { Context } from '../../../platform/service.ts'
import { openMqttChannel } from '../mqtt/channel.ts'
import type { SubscriptionKindName, SubscriptionRow } from '../subscription-store.ts'
import { openWebhookChannel } from '../webhooks/channel.ts'
import type { Channel } from './channel.ts'

/**
 * Creates the channel of a subscription. It opens no connection before the first message, unless the connection shows that
 * the subscription is active.
 */
export type CreateChannel = (
  context: Context,
  tenant: { tenantId: string; tenantName: string },
  row: SubscriptionRow,
) => Promise<Channel>

/** The channels of each kind of subscription. */
const kinds: Record<SubscriptionKindName, CreateChannel> = { webhook: openWebhookChannel, mqtt: openMqttChannel }

export const createChannel: CreateChannel = (context, tenant, row) => kinds[row.kind](context, tenant, row)
