import type { CloudEvent } from '@millwright/api/events.ts'

/** The maximum number of events in memory. */
const maxEvents = 2_000

/**
 * `EventList` contains the displayed events, newest first. While the list is paused, new events are collected in
 * `waiting`.
 */
export type EventList = { shown: readonly CloudEvent[]; waiting: readonly CloudEvent[] }

export const noEvents: EventList = { shown: [], waiting: [] }

export function addEvents(
  list: EventList,
  events: readonly CloudEvent[],
  { isPaused }: { isPaused: boolean },
): EventList {
  return isPaused
    ? { ...list, waiting: mergeEvents(list.waiting, events) }
    : { ...list, shown: mergeEvents(list.shown, events) }
}

export function resumeList({ shown, waiting }: EventList): EventList {
  return { shown: mergeEvents(shown, waiting), waiting: [] }
}

function mergeEvents(before: readonly CloudEvent[], events: readonly CloudEvent[]): readonly CloudEvent[] {
  const ids = new Set(before.map(({ id }) => id))
  const fresh = events.filter(({ id }) => !ids.has(id))
  return [...fresh, ...before].toSorted((a, b) => (a.sequence < b.sequence ? 1 : -1)).slice(0, maxEvents)
}

export function hasPrefix(type: string, prefix: string): boolean {
  return type.startsWith(prefix.trim().toLowerCase())
}
