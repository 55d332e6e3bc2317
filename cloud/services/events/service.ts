import { events } from '@millwright/api/events.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import { extent, list } from '../../platform/events/store.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, service } from '../../platform/service.ts'
import { deliveryTasks } from './delivery/tasks.ts'
import { subscriptionGauges } from './gauge-store.ts'
import { cloudEvent, eventMessage } from './message.ts'
import { publisherHandlers } from './mqtt/publishers.ts'
import { selectionOf } from './selection.ts'
import { sealedSubscriptionSecrets } from './subscription-store.ts'
import { maySee, readableEvents } from './visibility.ts'
import { webhookHandlers } from './webhooks/webhooks.ts'

/**
 * The service for the events of a tenant. It lists and streams all changes of the tenant in the order of their
 * positions.
 */
export const eventsService = service({
  contract: events,
  migrations: { module: 'subscriptions', folder: new URL('./migrations/', import.meta.url) },
  sealed: sealedSubscriptionSecrets,
  tasks: deliveryTasks,
  gauges: subscriptionGauges,
  handlers: (context) => {
    const { database, feed } = context
    return {
      ...webhookHandlers(context),
      ...publisherHandlers(context),
      async listOutboundHosts() {
        return { data: [...context.outbound.allowed] }
      },
      async listEvents({ query: { after = 0, limit = 50 } }, caller) {
        const { rows, oldest, newest } = await database.read(caller, async (handle) => {
          // The position of the newest event is read before the page. Events that are committed in between can only be
          // added to the page, so the page never misses an event up to this position.
          const kept = await extent(handle)
          return { ...kept, rows: await list(handle, { after, limit }) }
        })
        const shown = await readableEvents(context, caller, rows)
        const lastPosition = rows.at(-1)?.position ?? after
        return {
          data: shown.map((row) => cloudEvent(row, caller.tenantName)),
          meta: {
            elements: shown.length,
            lastPosition,
            oldestPosition: oldest,
            newestPosition: Math.max(newest, rows.at(-1)?.position ?? 0),
          },
        }
      },

      async streamEvents({ query, headers }, caller) {
        const after = startOf(headers['last-event-id'], query.after)
        const selects = selectionOf(query)
        const stream = await openStream(context, feed, {
          caller,
          after,
          async format(messages, holder) {
            const allowed = messages.filter((message) => selects(message) && maySee(holder, message))
            const shown = await readableEvents(context, { ...caller, rights: holder.rights }, allowed)
            return shown.map((message) => eventMessage(message, caller.tenantName)).join('')
          },
        })
        return answer(200, stream, streamHeaders)
      },
    }
  },
})
