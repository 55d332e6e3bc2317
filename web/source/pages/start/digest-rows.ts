import type { ActivityEntry } from '@millwright/api/activity.ts'
import { type EntryRow, isLinkOutage, linksOf, outageOf, outageStart } from '../activity/entry-rows.ts'

/** The number of rows in the digest, and of outages among them. */
const limits = { rows: 6, outages: 2 } as const

/** A row of the digest. An outage and its end have the time at which the outage began, if it is known. */
export type DigestRow = EntryRow & { since?: string }

/**
 * Returns the newest rows. The newest outages of gateways are among them, even if many entries are newer. An outage that has ended is
 * one row, which is its end.
 */
export function digestRows(rows: readonly EntryRow[]): DigestRow[] {
  const ends = rows.filter(({ entry }) => outageOf(entry) === 'end')
  const current = rows.filter(({ entry }, index) => {
    const newer = ends.filter((end) => rows.indexOf(end) < index)
    return (
      outageOf(entry) !== 'begin' ||
      !hasEnded(
        entry,
        newer.map((end) => end.entry),
      )
    )
  })
  const outages = current.filter(({ entry }) => outageOf(entry) !== undefined).slice(0, limits.outages)
  const others = current.filter((row) => !outages.includes(row)).slice(0, limits.rows - outages.length)
  return current
    .filter((row) => outages.includes(row) || others.includes(row))
    .map((row) => {
      const since = outageStart(row)
      return since === undefined ? row : { ...row, since }
    })
}

/** Returns whether newer entries are the end of an outage: of the gateway, or of all its links that did not respond. */
function hasEnded(begin: ActivityEntry, ends: readonly ActivityEntry[]): boolean {
  const isLink = isLinkOutage(begin.action)
  const own = ends.filter((end) => isLinkOutage(end.action) === isLink && end.object?.id === begin.object?.id)
  if (!isLink) return own.length > 0
  const recovered = new Set(own.flatMap((end) => linksOf(end).map(({ link }) => link)))
  return linksOf(begin).every(({ link }) => recovered.has(link))
}
