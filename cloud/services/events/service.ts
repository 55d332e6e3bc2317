import { events } from '@millwright/api/events.ts'
import { extent, list } from '../../platform/events/store.ts'
import { answer, service } from '../../platform/service.ts'
import { Feed } from './feed.ts'
import { cloudEvent } from './message.ts'
import { selectionOf, startOf } from './selection.ts'
import { openStream } from './stream.ts'

/** Nobody on the way may hold events back, or change them. */
const unbuffered = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/** Every change, in the one order of its tenant. */
export const eventsService = service({
  contract: events,
  handlers: (context) => {
    const { database, log } = context
    const feed = new Feed({ database, log })
    return {
      async listEvents({ query: { after = 0, limit = 50 } }, caller) {
        return database.read(caller, async (handle) => {
          // The extent first: what is placed meanwhile may then be in the page, but the page never ends before it.
          const { oldest, newest } = await extent(handle)
          const rows = await list(handle, { after, limit })
          const lastPosition = rows.at(-1)?.position ?? after
          return {
            data: rows.map((row) => cloudEvent(row, caller.tenantName)),
            meta: {
              elements: rows.length,
              lastPosition,
              oldestPosition: oldest,
              newestPosition: Math.max(newest, rows.at(-1)?.position ?? 0),
            },
          }
        })
      },

      async streamEvents({ query, headers }, caller) {
        const after = startOf(headers['last-event-id'], query.after)
        const stream = await openStream(context, feed, { caller, after, selects: selectionOf(query) })
        return answer(200, stream, unbuffered)
      },
    }
  },
})
