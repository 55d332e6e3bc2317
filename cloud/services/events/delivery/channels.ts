import type { Context } from '../../../platform/service.ts'
import type { SubscriptionKindName, SubscriptionRow } from '../subscription-store.ts'
import { openWebhookChannel } from '../webhooks/channel.ts'
import type { Channel } from './channel.ts'

/** Creates the channel of a subscription. It opens no connection before the first message. */
export type CreateChannel = (
  context: Context,
  tenant: { tenantId: string; tenantName: string },
  row: SubscriptionRow,
) => Promise<Channel>

/** The channels of each kind of subscription. */
const kinds: Partial<Record<SubscriptionKindName, CreateChannel>> = { webhook: openWebhookChannel }

export const createChannel: CreateChannel = async (context, tenant, row) => {
  const create = kinds[row.kind]
  if (create === undefined) throw new TypeError(`There is no channel for subscriptions of the kind ${row.kind}`)
  return create(context, tenant, row)
}
