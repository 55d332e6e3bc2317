/** The maximum number of requests of one subscription at the same time. A request with a batch contains many events. */
export const requestsAtOnce = 32
export const batchesAtOnce = 4
/** A page is read while fewer events and characters than this are in memory. */
export const readAhead = { events: 300, characters: 2 * 1024 * 1024 } as const
/** The maximum number of events whose content is read or checked again at a time, and of one subject. */
export const reload = { events: 100, perSubject: 20 } as const
/** After this time, the rights of the owner are checked again before an event is sent. */
export const freshMs = 5_000
/** How often the owner is read from the cache of access rights while events that were already checked are sent. */
export const ownerMs = 50
/** Results are stored together after this time, or when there are this many. */
export const groups = { ms: 100, results: 500 } as const
/** No request starts while this many results are not stored, or while storing takes longer than this time. */
export const unstored = { results: 2_000, ms: 2_000 } as const
/** How often the position is stored if all events were skipped. */
export const skippedMs = 1_000
export const idleMs = 5_000
export const maximumIdleMs = 60_000
/** The pause after an error of the database. */
export const pauseMs = 500
/** The longest pause of the loop. */
export const tickMs = 1_000
/** How long running requests may take after the process has begun to stop. */
export const graceMs = 1_000
