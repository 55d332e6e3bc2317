import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

/**
 * Ids are UUIDv7, so they sort by creation time. A time range is also a range of ids, so it needs no separate index.
 */

/** The number of bytes of an id. */
export const idBytes = 16
/**
 * Random bytes for many ids. They are generated at once, because generating them for each id would take most of the
 * time of creating an id.
 */
const pool = new Uint8Array(256 * idBytes)
let used = pool.length
let msecs = 0
let seq = 0

/** Returns a new id that is larger than all earlier ones of this process, so that rows keep their order of creation. */
export function newId(): string {
  const random = randomBytesForId()
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

/** Returns ids for one point in time, in increasing order. */
export function idsAt(timeMs: number, count: number): string[] {
  const first = startOf(randomBytesForId())
  return Array.from({ length: count }, (_, index) =>
    v7({ random: randomBytesForId(), msecs: timeMs, seq: first + index }),
  )
}

function randomBytesForId(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += idBytes
  return pool.subarray(used - idBytes, used)
}

/** Returns the start of a sequence. It is in the lower half of the range, so that the sequence can increase. */
function startOf(random: Uint8Array): number {
  return new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1
}

/** Returns the smallest id for a point in time. */
export function lowestIdAt(timeMs: number): string {
  const hex = Math.max(0, Math.trunc(timeMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** Returns the creation time of an id, in milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

export const lowestId = '00000000-0000-0000-0000-000000000000'
export const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Returns whether a text is a UUID in lower case. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** Returns the bytes of a UUID. */
export function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** Returns the UUID with the given bytes, in lower case. */
export function idOfBytes(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
