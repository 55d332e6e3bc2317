import { type CloudEvent, events, eventTypePrefix } from '@millwright/api/events.ts'
import { type EventRow, extent, list } from '../../platform/events/store.ts'
import { service } from '../../platform/service.ts'

const sequenceDigits = 16

/** Every change, in the one order of its tenant. */
export const eventsService = service({
  contract: events,
  handlers: ({ database }) => ({
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
  }),
})

export function cloudEvent({ id, position, type, subject, time, data }: EventRow, tenantName: string): CloudEvent {
  return {
    specversion: '1.0',
    id,
    source: `/tenants/${tenantName}`,
    type: eventTypePrefix + type,
    subject,
    time,
    datacontenttype: 'application/json',
    sequence: String(position).padStart(sequenceDigits, '0'),
    data,
  }
}
