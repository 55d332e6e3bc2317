import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../durable-file.ts'
import { entryAt } from './record.ts'

/** Returns the name of a segment file. The names sort in the order of the segment numbers. */
export function segmentName(number: number): string {
  return `${String(number).padStart(12, '0')}.spool`
}

export function segmentNumber(name: string): number | undefined {
  const digits = /^(\d{12})\.spool$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** `Segment` is one file of the spool with consecutive entries. */
export class Segment {
  readonly number: number
  readonly #folder: string
  readonly #file: FileHandle
  #size: number

  private constructor(folder: string, options: { number: number; file: FileHandle; size: number }) {
    this.#folder = folder
    this.number = options.number
    this.#file = options.file
    this.#size = options.size
  }

  static async create(folder: string, number: number): Promise<Segment> {
    const file = await open(join(folder, segmentName(number)), 'wx+', 0o600)
    await syncFolder(folder)
    return new Segment(folder, { number, file, size: 0 })
  }

  /** Opens a file, and removes an incomplete entry at its end. */
  static async open(folder: string, number: number): Promise<Segment> {
    const file = await open(join(folder, segmentName(number)), 'r+')
    const { size } = await file.stat()
    const segment = new Segment(folder, { number, file, size })
    let whole = 0
    for (let entry = await segment.entryAt(0); entry !== undefined; entry = await segment.entryAt(whole)) {
      whole = entry.next
    }
    if (whole < size) await file.truncate(whole)
    segment.#size = whole
    return segment
  }

  get size(): number {
    return this.#size
  }

  /** Appends a record. Resolves when the record is on disk. A failed write leaves no incomplete entry. */
  async append(record: Buffer): Promise<void> {
    try {
      await this.#writeWhole(record)
      await this.#file.datasync()
    } catch (error) {
      await this.#file.truncate(this.#size).catch(() => undefined)
      throw error
    }
    this.#size += record.length
  }

  /**
   * Writes the whole record. An almost full disk accepts a part of the record without an error, and then rejects the
   * rest.
   */
  async #writeWhole(record: Buffer): Promise<void> {
    for (let done = 0; done < record.length; ) {
      const { bytesWritten } = await this.#file.write(record, done, record.length - done, this.#size + done)
      done += bytesWritten
    }
  }

  entryAt(position: number): Promise<{ entry: string; next: number } | undefined> {
    return entryAt((from, length) => this.#read(from, length), position)
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.allocUnsafe(length), 0, length, position)
    return buffer.subarray(0, bytesRead)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  async remove(): Promise<void> {
    await this.close()
    await rm(join(this.#folder, segmentName(this.number)), { force: true })
  }
}
