import { eventTypePrefix } from '@millwright/api/events.ts'

/** A function that returns whether a request selects an event. */
export type Selection = (event: { type: string; subject: string }) => boolean

/**
 * Returns the selection for the parameters of a request. `types` contains prefixes of event types. A prefix matches
 * only whole words between dots, with or without the common prefix of all types.
 */
export function selectionOf({ types, subject }: { types?: string; subject?: string }): Selection {
  const beginnings = types?.split(',').map(beginningOf)
  const stem = subject?.endsWith('*') ? subject.slice(0, -1) : undefined
  return (event) =>
    (beginnings === undefined || beginnings.some((beginning) => `${event.type}.`.startsWith(beginning))) &&
    (subject === undefined || (stem === undefined ? event.subject === subject : event.subject.startsWith(stem)))
}

function beginningOf(type: string): string {
  const own = `${type}.`.startsWith(eventTypePrefix) ? type.slice(eventTypePrefix.length) : type
  return own === '' || own.endsWith('.') ? own : `${own}.`
}
