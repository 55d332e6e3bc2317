import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, crc32, createDeflateRaw } from 'node:zlib'
import { Problem } from '@millwright/api/problem.ts'

/**
 * Writes a zip archive as a stream. Sizes follow each entry (data descriptors), because they are not known before. The
 * archive has no zip64 extensions: not all readers of packages know them.
 */

export type ZipEntry = { name: string; content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array> }

/** The maximum size of an entry and of the archive. */
const zipBytes = 2 ** 32 - 1

/** The size of a compressed chunk. Each chunk is one round trip to the thread that compresses. */
const chunkBytes = 128 * 1024

type WrittenEntry = { name: Buffer; crc: number; size: number; compressedSize: number; offset: number }

type ZipOptions = {
  /** The level of compression. A lower one takes less time. */
  level?: number
}

export async function* zipParts(
  entries: Iterable<ZipEntry>,
  { level = constants.Z_DEFAULT_COMPRESSION }: ZipOptions = {},
): AsyncGenerator<Buffer> {
  const written: WrittenEntry[] = []
  let offset = 0
  const counted = (part: Buffer) => {
    offset += part.length
    if (offset > zipBytes) throw tooLarge('file')
    return part
  }
  for (const { name, content } of entries) {
    const entry = { name: Buffer.from(name), crc: 0, size: 0, compressedSize: 0, offset }
    yield counted(localHeader(entry))
    for await (const part of deflated(content, entry, level)) yield counted(part)
    yield counted(descriptor(entry))
    written.push(entry)
  }
  const start = offset
  for (const entry of written) yield counted(directoryHeader(entry))
  yield endOfDirectory(written.length, { start, size: offset - start })
}

function tooLarge(what: string): Problem {
  return new Problem(
    'conflict',
    `The ${what} has more than ${zipBytes} bytes, which is the limit of zip files. Use a filter that selects fewer objects`,
  )
}

/** Compresses the content of an entry, and adds its checksum and sizes to the entry. */
async function* deflated(content: ZipEntry['content'], entry: WrittenEntry, level: number): AsyncGenerator<Buffer> {
  async function* measured(): AsyncGenerator<Buffer> {
    for await (const part of content) {
      const bytes =
        typeof part === 'string' ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.length)
      entry.size += bytes.length
      if (entry.size > zipBytes) throw tooLarge(`part ${entry.name}`)
      entry.crc = crc32(bytes, entry.crc)
      yield bytes
    }
  }
  const compressor = createDeflateRaw({ level, chunkSize: chunkBytes })
  const source = Readable.from(measured(), { objectMode: false })
  // An error of the content also ends the loop below, which throws it.
  const compression = pipeline(source, compressor).catch(() => {})
  try {
    for await (const part of compressor) {
      entry.compressedSize += part.length
      yield part
    }
  } finally {
    await compression
  }
}

const versionNeeded = 20
/** Sizes follow the content, and names are in UTF-8. */
const flags = 0x0808
const deflateMethod = 8
/** The first of January 1980, the earliest date of the format. Equal content makes equal archives. */
const date = 0x0021

function localHeader({ name }: WrittenEntry): Buffer {
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(versionNeeded, 4)
  header.writeUInt16LE(flags, 6)
  header.writeUInt16LE(deflateMethod, 8)
  header.writeUInt16LE(date, 12)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, name])
}

function descriptor({ crc, size, compressedSize }: WrittenEntry): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32LE(0x08074b50, 0)
  bytes.writeUInt32LE(crc, 4)
  bytes.writeUInt32LE(compressedSize, 8)
  bytes.writeUInt32LE(size, 12)
  return bytes
}

function directoryHeader({ name, crc, size, compressedSize, offset }: WrittenEntry): Buffer {
  const header = Buffer.alloc(46)
  header.writeUInt32LE(0x02014b50, 0)
  header.writeUInt16LE(versionNeeded, 4)
  header.writeUInt16LE(versionNeeded, 6)
  header.writeUInt16LE(flags, 8)
  header.writeUInt16LE(deflateMethod, 10)
  header.writeUInt16LE(date, 14)
  header.writeUInt32LE(crc, 16)
  header.writeUInt32LE(compressedSize, 20)
  header.writeUInt32LE(size, 24)
  header.writeUInt16LE(name.length, 28)
  header.writeUInt32LE(offset, 42)
  return Buffer.concat([header, name])
}

function endOfDirectory(entries: number, { start, size }: { start: number; size: number }): Buffer {
  const record = Buffer.alloc(22)
  record.writeUInt32LE(0x06054b50, 0)
  record.writeUInt16LE(entries, 8)
  record.writeUInt16LE(entries, 10)
  record.writeUInt32LE(size, 12)
  record.writeUInt32LE(start, 16)
  return record
}
