import { subscriptionLimits, type Webhook } from '@millwright/api/event-subscriptions.ts'
import { events } from '@millwright/api/events.ts'
import { record } from '../../../platform/audit/audit.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf } from '../../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import { interruptRunner } from '../delivery/delivery-store.ts'
import type { SubscriptionInput, SubscriptionKind } from '../subscription-kind.ts'
import { replaceSecrets, secretOwner, type WebhookDetails } from '../subscription-store.ts'
import { subscriptionHandlers } from '../subscriptions.ts'
import { openWebhookChannel, requestHeaders } from './channel.ts'
import { newSecret } from './signature.ts'

type WebhookOperations =
  | 'listWebhooks'
  | 'createWebhook'
  | 'readWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'testWebhook'
  | 'listWebhookDeliveries'
  | 'readWebhookDelivery'
  | 'retryWebhookDelivery'
  | 'retryWebhookDeadLetters'
  | 'replayWebhook'

const hourMs = 3_600_000

type OwnView = Pick<Webhook, 'batchSize' | 'previousSecretExpiresTimestamp'>
type WebhookInput = SubscriptionInput & { batchSize?: number }

const webhookKind: SubscriptionKind<WebhookInput, OwnView> = {
  kind: 'webhook',
  noun: 'webhook',
  title: 'Webhook',
  exampleUrl: 'https://cmms.example.com/millwright',
  path: `${events.prefix}/webhooks`,
  idField: 'webhookId',
  actions: {
    create: 'createWebhook',
    update: 'updateWebhook',
    delete: 'deleteWebhook',
    test: 'testWebhook',
    retryDelivery: 'retryWebhookDelivery',
    retryDeadLetters: 'retryWebhookDeadLetters',
    replay: 'replayWebhook',
  },
  requireTarget: ({ outbound }, url) => outbound.check(url),
  detailsOf({ input, before }) {
    const { batchSize = 1 } = (before?.details ?? {}) as Partial<WebhookDetails>
    return { batchSize: input.batchSize ?? batchSize }
  },
  secretOf: ({ before }) => (before === undefined ? newSecret() : undefined),
  viewOf: ({ details, previousSecretUntil }) => ({
    ...(details as WebhookDetails),
    previousSecretExpiresTimestamp:
      previousSecretUntil !== null && Date.parse(previousSecretUntil) > Date.now() ? previousSecretUntil : null,
  }),
  isBatch: ({ details }) => (details as WebhookDetails).batchSize > 1,
  requestOf: ({ url, details }, _tenantName, message) => ({
    target: url,
    headers: requestHeaders(message, details as WebhookDetails),
    body: message.body,
  }),
  openTestChannel: (context, { tenantId }, row) => openWebhookChannel(context, { tenantId }, row),
}

export function webhookHandlers(context: Context): Pick<Handlers<typeof events>, WebhookOperations> {
  const { database, safe } = context
  const handlers = subscriptionHandlers(context, webhookKind)
  return {
    listWebhooks: handlers.list,
    async createWebhook({ body: { data } }, caller) {
      const { view, secret, headers } = await handlers.create(data, caller)
      return answer(201, { data: { ...view, secret: secret ?? '' } }, headers)
    },
    readWebhook: handlers.read,
    updateWebhook: handlers.update,
    deleteWebhook: handlers.delete,

    async rotateWebhookSecret({ params: { id }, body }, caller) {
      const { previousSecretHours = subscriptionLimits.previousSecretHours } = body?.data ?? {}
      const secret = newSecret()
      const { version, view } = await database.transaction(caller, async (tx) => {
        const { name, sealedSecret } = await handlers.getLocked(tx, id)
        const now = Date.now()
        const keepsPrevious = previousSecretHours > 0
        await replaceSecrets(tx, {
          id,
          sealedSecret: await safe.seal(tx, secret, secretOwner(id)),
          sealedPreviousSecret: keepsPrevious ? sealedSecret : null,
          previousSecretUntil: keepsPrevious ? new Date(now + previousSecretHours * hourMs).toISOString() : null,
          modifiedAt: new Date(now).toISOString(),
        })
        // The runner signs with the keys that it opened at its start.
        await interruptRunner(tx, id)
        const detail = { name, previousSecretHours }
        await record(tx, caller, { action: 'events.rotateWebhookSecret', target: `webhook/${id}`, detail })
        const event = { webhookId: id, name, changed: ['secret'] }
        await emit(tx, { type: 'events.webhook.updated', subject: `webhook/${id}`, data: event })
        return handlers.getShown(tx, id)
      })
      return answer(200, { data: { ...view, secret } }, { etag: etagOf(version) })
    },

    testWebhook: handlers.test,
    listWebhookDeliveries: handlers.listDeliveries,
    readWebhookDelivery: handlers.readDelivery,
    retryWebhookDelivery: handlers.retryDelivery,
    retryWebhookDeadLetters: handlers.retryDeadLetters,
    replayWebhook: handlers.replay,
  }
}
