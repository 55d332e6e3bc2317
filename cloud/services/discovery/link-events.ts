import { gatekeeperLimits, type ReportedLinkEvent } from '@millwright/api/gatekeeper.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type EventRecord, emitAll } from '../../platform/events/events.ts'
import { type EventCursor, lockEventCursors, moveEventCursors, type PutLink } from './link-store.ts'

/**
 * Publishes alarms and driver events of links on the event stream. A gateway reports its latest events repeatedly, so each
 * link has a cursor: the number of its last published event. The number is valid for one `eventStream`. A gateway that
 * restarts begins a new stream. If numbers are missing, the gateway dropped these events before it could report them.
 */

type Link = Pick<PutLink, 'assetId' | 'report'>
type NumberedEvent = ReportedLinkEvent & { sequence: number }

const typeOf = { alarm: 'discovery.link.alarm', driver: 'discovery.link.event' } as const

/** Returns the link in the form that is stored: with only its latest events. */
export function withStoredEvents<L extends PutLink>(link: L): L {
  const { events } = link.report
  if (events === undefined) return link
  return { ...link, report: { ...link.report, events: events.slice(-gatekeeperLimits.storedEventsPerLink) } }
}

/**
 * Publishes new events of links. Call this function after `putLinks` in the same transaction: the row locks of the
 * links then serialise concurrent reports of a gateway.
 */
export async function publishLinkEvents(tx: Transaction, gatewayId: string, links: readonly Link[]): Promise<void> {
  const talking = links.filter(({ report }) => report.eventStream !== undefined && report.events !== undefined)
  if (talking.length === 0) return
  const ids = talking.map(({ report }) => report.appInstanceId)
  const cursors = new Map((await lockEventCursors(tx, gatewayId, ids)).map((cursor) => [cursor.appInstanceId, cursor]))
  const events: EventRecord[] = []
  const moved: EventCursor[] = []
  for (const { assetId, report } of talking) {
    const { appInstanceId, eventStream: stream = null } = report
    const cursor = cursors.get(appInstanceId)
    let last = cursor?.stream === stream ? cursor.sequence : 0
    const room = gatekeeperLimits.eventsPerReport - events.length
    const published = numbered(report.events ?? [], last).slice(0, room)
    for (const { sequence, timestamp, kind, text } of published) {
      const dropped = sequence - last - 1
      last = sequence
      events.push({
        type: typeOf[kind],
        subject: `asset/${assetId}`,
        data: { gatewayId, assetLinkId: appInstanceId, timestamp, text, ...(dropped === 0 ? {} : { dropped }) },
      })
    }
    if (published.length > 0) moved.push({ appInstanceId, stream, sequence: last })
  }
  if (events.length === 0) return
  await moveEventCursors(tx, gatewayId, moved)
  await emitAll(tx, events)
}

/** Returns the events after the cursor without duplicates, in the order of their numbers. */
function numbered(events: readonly ReportedLinkEvent[], after: number): NumberedEvent[] {
  const bySequence = new Map<number, NumberedEvent>()
  for (const event of events) {
    const { sequence = 0 } = event
    if (sequence > after) bySequence.set(sequence, { ...event, sequence })
  }
  return [...bySequence.values()].toSorted((one, other) => one.sequence - other.sequence)
}
