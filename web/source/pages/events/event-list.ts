import type { CloudEvent } from '@millwright/api/events.ts'

/** A page that is open for a day must not grow for a day. */
const mostKept = 2_000

/** The newest first. What comes while the list is paused waits. */
export type EventList = { shown: readonly CloudEvent[]; waiting: readonly CloudEvent[] }

export const noEvents: EventList = { shown: [], waiting: [] }

export function added(list: EventList, events: readonly CloudEvent[], { isPaused }: { isPaused: boolean }): EventList {
  return isPaused ? { ...list, waiting: merged(list.waiting, events) } : { ...list, shown: merged(list.shown, events) }
}

export function resumed({ shown, waiting }: EventList): EventList {
  return { shown: merged(shown, waiting), waiting: [] }
}

function merged(before: readonly CloudEvent[], events: readonly CloudEvent[]): readonly CloudEvent[] {
  const known = new Set(before.map(({ id }) => id))
  const fresh = events.filter(({ id }) => !known.has(id))
  return [...fresh, ...before].toSorted((a, b) => (a.sequence < b.sequence ? 1 : -1)).slice(0, mostKept)
}

export function begins(type: string, beginning: string): boolean {
  return type.startsWith(beginning.trim().toLowerCase())
}
