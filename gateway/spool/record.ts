import { crc32 } from 'node:zlib'

/**
 * The size of an entry's header, which contains the length and the checksum of the text. The text follows the header.
 */

const headerBytes = 8

/** The maximum size of an entry. If a file contains a larger length, the file is damaged. */
export const largestEntryBytes = 16 * 1024 * 1024

export function recordOf(entry: string): Buffer {
  const length = Buffer.byteLength(entry)
  if (length > largestEntryBytes)
    throw new RangeError(`The spool entry has ${length} bytes. The limit is ${largestEntryBytes} bytes`)
  const record = Buffer.allocUnsafe(headerBytes + length)
  record.write(entry, headerBytes)
  record.writeUInt32LE(length, 0)
  record.writeUInt32LE(crc32(record.subarray(headerBytes)), 4)
  return record
}

export type Read = (position: number, length: number) => Promise<Buffer>

/**
 * Returns the entry at a position, and the position of the next entry. Returns undefined at the end of the file, and
 * for an entry that a crash left incomplete.
 */
export async function entryAt(read: Read, position: number): Promise<{ entry: string; next: number } | undefined> {
  const header = await read(position, headerBytes)
  if (header.length < headerBytes) return undefined
  const length = header.readUInt32LE(0)
  if (length === 0 || length > largestEntryBytes) return undefined
  const payload = await read(position + headerBytes, length)
  if (payload.length < length || crc32(payload) !== header.readUInt32LE(4)) return undefined
  return { entry: payload.toString('utf8'), next: position + headerBytes + length }
}
