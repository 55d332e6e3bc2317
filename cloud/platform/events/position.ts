import { Problem } from '@millwright/api/problem.ts'

/** The header goes first: a browser comes back with it to the address that it was first given. */
export function startOf(header: string | undefined, after: number | undefined): number | undefined {
  if (header === undefined || header === '') return after
  const position = /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN
  if (Number.isSafeInteger(position)) return position
  throw new Problem('invalid_header', 'Last-Event-ID is the id of an event of this stream: a position')
}

/** Refuses to go on where something would be missing: the reader has to know. */
export function requireKept(after: number, { oldest, newest }: { oldest: number | null; newest: number }): void {
  if (after > newest)
    throw new Problem('invalid_cursor', `There is no position ${after} yet: the newest event has ${newest}`)
  if (after < newest && (oldest === null || after < oldest - 1)) throw gone(after)
}

export function gone(after: number): Problem {
  return new Problem(
    'events_gone',
    `Not all events after position ${after} are kept: follow from now on, without a position, and read anew what you need`,
  )
}
