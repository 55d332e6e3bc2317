import { pageLimits } from '@millwright/api/envelope.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Api } from '../../app/api/client.ts'
import { jsonOf } from '../../app/api/http.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useAppContext, usePermission } from '../../app/session/app-context.tsx'
import type { Subscription, SubscriptionKind } from './subscription.ts'

/** The prefixes of the events that change subscriptions. */
export const subscriptionEvents = { live: ['events.webhook', 'events.mqtt-publisher'] }

/** The polling interval. Deliveries change without an event. */
export const pollMs = 2_000

/** Returns the operations that both kinds have. */
export function operationsOf({ events }: Api, kind: SubscriptionKind) {
  return kind === 'webhook'
    ? {
        update: events.updateWebhook,
        remove: events.deleteWebhook,
        test: events.testWebhook,
        listDeliveries: events.listWebhookDeliveries,
        readDelivery: events.readWebhookDelivery,
        retry: events.retryWebhookDelivery,
        retryDeadLetters: events.retryWebhookDeadLetters,
        replay: events.replayWebhook,
      }
    : {
        update: events.updateMqttPublisher,
        remove: events.deleteMqttPublisher,
        test: events.testMqttPublisher,
        listDeliveries: events.listMqttDeliveries,
        readDelivery: events.readMqttDelivery,
        retry: events.retryMqttDelivery,
        retryDeadLetters: events.retryMqttDeadLetters,
        replay: events.replayMqttPublisher,
      }
}

const readOperations: Readonly<Record<SubscriptionKind, string>> = {
  webhook: 'readWebhook',
  mqtt: 'readMqttPublisher',
}

/** `LoadedSubscription` is a subscription with its ETag, which a change sends as `If-Match`. */
export type LoadedSubscription = { subscription: Subscription; etag: string | undefined }

/** Returns a subscription. Events and polling update it. */
export function useSubscription(kind: SubscriptionKind, id: string) {
  const { fetchOperation } = useAppContext()
  const operation = readOperations[kind]
  return useQuery<LoadedSubscription>({
    queryKey: keyOf('events', operation, { params: { id } }),
    queryFn: async ({ signal }) => {
      const response = await fetchOperation('events', operation, { params: { id }, signal })
      const { data } = (await jsonOf(response)) as { data: Subscription }
      return { subscription: data, etag: response.headers.get('etag') ?? undefined }
    },
    meta: subscriptionEvents,
    staleTime: 0,
    refetchInterval: pollMs,
  })
}

/** The polling interval of pages that show only whether something is wrong. Deliveries fail without an event. */
const overviewPollMs = 60_000

/** Returns all webhooks and MQTT publishers, for users who can manage them. */
export function useSubscriptions(): Subscription[] {
  const query = useOperationQuery()
  const options = { enabled: usePermission('glb_webhook_manage'), refetchInterval: overviewPollMs, staleTime: 0 }
  const input = { query: { limit: pageLimits.maximum } }
  const webhooks = useQuery({ ...query(['events', 'listWebhooks'], input, subscriptionEvents), ...options })
  const publishers = useQuery({ ...query(['events', 'listMqttPublishers'], input, subscriptionEvents), ...options })
  return [...(webhooks.data?.data ?? []), ...(publishers.data?.data ?? [])]
}

/** Returns a function that loads all data of subscriptions again. */
export function useRefreshSubscriptions(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('events') })
}
