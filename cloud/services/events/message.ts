import { type CloudEvent, eventTypePrefix } from '@millwright/api/events.ts'
import type { EventRow } from '../../platform/events/store.ts'

const sequenceDigits = 16

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

/** Caches the text of each event, because many streams and subscriptions send the same event. */
const texts = new WeakMap<EventRow, string>()

/** Returns an event as JSON text. */
export function eventText(row: EventRow, tenantName: string): string {
  const before = texts.get(row)
  if (before !== undefined) return before
  const text = JSON.stringify(cloudEvent(row, tenantName))
  texts.set(row, text)
  return text
}

/** Formats an event as a server-sent event. The JSON text contains no line breaks, so the data is one line. */
export function eventMessage(row: EventRow, tenantName: string): string {
  return `id: ${row.position}\nevent: ${eventTypePrefix + row.type}\ndata: ${eventText(row, tenantName)}\n\n`
}
