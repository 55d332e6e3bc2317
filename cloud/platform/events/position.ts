import { Problem } from '@millwright/api/problem.ts'

/**
 * Returns the start position of a stream. The `Last-Event-ID` header has priority, because a browser that reconnects
 * sends the header and the original URL.
 */
export function startOf(header: string | undefined, after: number | undefined): number | undefined {
  if (header === undefined || header === '') return after
  const position = /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN
  if (Number.isSafeInteger(position)) return position
  throw new Problem('invalid_header', 'Last-Event-ID must be the id of an event of this stream')
}

/**
 * Throws if the position does not exist yet. Also throws if events after the position were deleted, because the
 * reader would miss them.
 */
export function requireAvailable(after: number, { oldest, newest }: { oldest: number | null; newest: number }): void {
  if (after > newest)
    throw new Problem('invalid_cursor', `Position ${after} does not exist yet. The newest event has position ${newest}`)
  if (after < newest && (oldest === null || after < oldest - 1)) throw eventsDeleted(after)
}

export function eventsDeleted(after: number): Problem {
  return new Problem(
    'events_gone',
    `Some events after position ${after} have been deleted. Read the current state of the resources, and open the stream without Last-Event-ID`,
  )
}
