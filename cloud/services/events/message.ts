import { type CloudEvent, eventTypePrefix } from '@millwright/api/events.ts'
import type { Problem } from '@millwright/api/problem.ts'
import type { EventRow } from '../../platform/events/store.ts'

const sequenceDigits = 16
/** How long a reader whose connection broke waits before it comes back. */
const retryMs = 1_000

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

/** An event as a server-sent one. JSON has no line breaks of its own, so it is one line. */
export function eventMessage(row: EventRow, tenantName: string): string {
  const event = cloudEvent(row, tenantName)
  return `id: ${row.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** The first words: where it begins, so that who is cut off before the first event resumes there. */
export function openingMessage(position: number): string {
  return `retry: ${retryMs}\nid: ${position}\n\n`
}

/** Dispatches nothing, but moves the reader past events that are not for it: it never resumes from long ago. */
export function heartbeat(position: number): string {
  return `: still here\nid: ${position}\n\n`
}

/** Why it ends. Without an id: the reader resumes after the last event it got. */
export function endMessage(problem: Problem): string {
  return `event: end\ndata: ${JSON.stringify(problem.toDocument())}\n\n`
}
