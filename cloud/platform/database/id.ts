import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

/**
 * Ids are UUIDv7: they sort by the time they were made, so that a range of time is a range of ids and needs no index
 * of its own.
 */

const idBytes = 16
/** Chance by the pool: asked for id by id, it is most of what an id costs. */
const pool = new Uint8Array(256 * idBytes)
let used = pool.length
let msecs = 0
let seq = 0

/** A new id, larger than all that this process made before: rows that are made together keep their order. */
export function newId(): string {
  const random = someChance()
  const now = Date.now()
  if (now > msecs) {
    msecs = now
    seq = startOf(random)
  } else {
    seq = (seq + 1) >>> 0
    if (seq === 0) msecs++
  }
  return v7({ random, msecs, seq })
}

/** Ids made at a time, one after the other: the order of ids is the order of creation. */
export function idsAt(timeMs: number, count: number): string[] {
  const first = startOf(someChance())
  return Array.from({ length: count }, (_, index) => v7({ random: someChance(), msecs: timeMs, seq: first + index }))
}

function someChance(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += idBytes
  return pool.subarray(used - idBytes, used)
}

/** Half of the range at most, so that there is room to count on. */
function startOf(random: Uint8Array): number {
  return new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1
}

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
