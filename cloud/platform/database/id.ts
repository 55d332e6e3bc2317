/**
 * Ids are UUIDv7: they sort by the time they were made, so that a range of time is a range of ids and needs no index
 * of its own.
 */

/** The smallest id that can be made at a time. */
export function lowestIdAt(timeMs: number): string {
  const hex = Math.max(0, Math.trunc(timeMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** When an id was made, in milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

export const lowestId = '00000000-0000-0000-0000-000000000000'
export const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
