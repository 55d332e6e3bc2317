import { type EntryRow, outageOf } from '../activity/entry-rows.ts'

/** The number of rows in the digest, and of outages among them. */
const limits = { rows: 6, outages: 2 } as const

/** Returns the newest rows. The newest outages of gateways are among them, even if many entries are newer. */
export function digestRows(rows: readonly EntryRow[]): EntryRow[] {
  const outages = rows.filter(({ entry }) => outageOf(entry) !== undefined).slice(0, limits.outages)
  const others = rows.filter((row) => !outages.includes(row)).slice(0, limits.rows - outages.length)
  return rows.filter((row) => outages.includes(row) || others.includes(row))
}
