import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { readIfExists } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { recordOf } from './record.ts'
import { Segment, segmentNumber } from './segment.ts'

type Options = { folder: string; limitBytes: number; log?: Log }

/** The size at which a new file is started. Files are deleted when all their entries are delivered. */
const segmentBytes = 8 * 1024 * 1024

/**
 * The maximum size of a file that is reused when the spool is empty. If the file is larger, the next entry is written
 * to a new file.
 */
const reusedWhenEmptyBytes = 256 * 1024

type Waiter = { until: () => boolean; resolve: () => void }

/**
 * `Spool` is a bounded first-in-first-out queue on disk for data that waits for delivery to the cloud. An appended
 * entry survives a crash. After a crash, entries may be delivered a second time, so the receiver must be idempotent.
 */
export class Spool {
  readonly #options: Options
  /** The segments, oldest first. New entries are appended to the last segment. */
  readonly #segments: Segment[]
  #cursor: { segment: number; offset: number }
  #appended = 0
  #delivered = 0
  #waitingBytes = 0
  #writing: Promise<void> = Promise.resolve()
  #waiters: Waiter[] = []
  #isDiskFull = false
  readonly #closing = new AbortController()

  private constructor(options: Options, stored: { segments: Segment[]; cursor: { segment: number; offset: number } }) {
    this.#options = options
    this.#segments = stored.segments
    this.#cursor = stored.cursor
  }

  static async open(options: Options): Promise<Spool> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 })
    const numbers = (await readdir(options.folder))
      .flatMap((name) => segmentNumber(name) ?? [])
      .toSorted((a, b) => a - b)
    const written = await readIfExists(join(options.folder, 'delivered.json'))
    const cursor = cursorFrom(written)
    const segments: Segment[] = []
    for (const number of numbers) segments.push(await Segment.open(options.folder, number))
    if (segments.length === 0) segments.push(await Segment.create(options.folder, cursor.segment + 1))
    const spool = new Spool(options, { segments, cursor })
    await spool.#recover()
    return spool
  }

  /** Returns the size of the entries that are not delivered. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Returns the number of entries that are not delivered. */
  get waiting(): number {
    return this.#appended - this.#delivered
  }

  /** Returns true while an entry waits for free disk space. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  /**
   * Appends an entry. Resolves when the entry is on disk. Waits while the spool or the disk is full, which slows down
   * the producer. If the signal is aborted, the wait ends with an error.
   */
  append(entry: string, signal?: AbortSignal): Promise<void> {
    const record = recordOf(entry)
    const appended = this.#writing.then(async () => {
      await this.#when(() => this.#hasRoomFor(record.length), signal)
      if (this.#closing.signal.aborted) throw new Error('The spool is closed')
      if (!this.#hasRoomFor(record.length)) throw new Error('The spool is full')
      await this.#writeWhenPossible(record, signal)
    })
    this.#writing = appended.catch(() => undefined)
    return appended
  }

  /** Resolves when all entries that the spool contains at the time of the call are delivered. */
  async settled(signal: AbortSignal): Promise<void> {
    const end = this.#appended
    await this.#when(() => this.#delivered >= end, signal)
  }

  /**
   * Delivers the entries in order until the signal is aborted. When `deliver` throws, the same entry is retried with
   * back-off, and later entries wait. `deliver` receives the number of the attempt.
   */
  async deliver(deliver: (entry: string, attempt: number) => Promise<void>, signal: AbortSignal): Promise<void> {
    let attempt = 1
    const backOff = new BackOff({ longestMs: 30_000 })
    while (!signal.aborted) {
      await this.#when(() => this.waiting > 0, signal)
      if (signal.aborted || this.#closing.signal.aborted) return
      const entry = await this.#next()
      if (entry === undefined) {
        // The entries cannot be read, because another program changed the files. They are skipped.
        this.#delivered = this.#appended
        this.#waitingBytes = 0
        continue
      }
      try {
        await deliver(entry.entry, attempt)
      } catch {
        attempt += 1
        await pause(backOff.nextMs(), signal)
        continue
      }
      attempt = 1
      backOff.reset()
      await this.#advance(entry.next)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#wake()
    await this.#writing
    for (const segment of this.#segments) await segment.close()
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#waitingBytes === 0 || this.#waitingBytes + bytes <= this.#options.limitBytes
  }

  /**
   * Writes a record and retries while the disk is full. Space becomes free when entries are delivered or other files
   * are deleted.
   */
  async #writeWhenPossible(record: Buffer, signal?: AbortSignal): Promise<void> {
    const backOff = new BackOff({ longestMs: 15_000 })
    const ending = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])])
    for (;;) {
      try {
        await this.#write(record)
        this.#isDiskFull = false
        return
      } catch (error) {
        if (!isOutOfSpace(error) || ending.aborted) throw error
        if (!this.#isDiskFull) this.#options.log?.error('the disk is full: scans pause until space is free')
        this.#isDiskFull = true
        await pause(backOff.nextMs(), ending)
      }
    }
  }

  async #write(record: Buffer): Promise<void> {
    let last = this.#last()
    const isFull = last.size > 0 && last.size + record.length > segmentBytes
    if (isFull || (this.waiting === 0 && last.size > reusedWhenEmptyBytes)) {
      last = await Segment.create(this.#options.folder, last.number + 1)
      this.#segments.push(last)
    }
    await last.append(record)
    this.#appended += 1
    this.#waitingBytes += record.length
    this.#wake()
  }

  #last(): Segment {
    const last = this.#segments.at(-1)
    if (last === undefined) throw new Error('The spool has no segment')
    return last
  }

  /** Returns the entry at the cursor. At the end of a file, the cursor moves to the next file. */
  async #next(): Promise<{ entry: string; next: number } | undefined> {
    for (;;) {
      const [segment, after] = this.#segments
      if (segment === undefined) return undefined
      const entry = await segment.entryAt(this.#cursor.offset)
      if (entry !== undefined) return entry
      if (after === undefined) return undefined
      this.#segments.shift()
      await segment.remove()
      this.#cursor = { segment: after.number, offset: 0 }
    }
  }

  async #advance(next: number): Promise<void> {
    this.#waitingBytes -= next - this.#cursor.offset
    this.#cursor.offset = next
    this.#delivered += 1
    await this.#writeCursor()
    this.#wake()
  }

  /**
   * Writes the cursor. A failure is only logged, so that the delivery continues and frees space. In this case, the last
   * entries are delivered a second time after a restart.
   */
  async #writeCursor(): Promise<void> {
    const file = join(this.#options.folder, 'delivered.json')
    try {
      await writeFile(`${file}.new`, JSON.stringify(this.#cursor), { mode: 0o600 })
      await rename(`${file}.new`, file)
    } catch (error) {
      this.#options.log?.warn({ error }, 'the cursor of the spool could not be written')
    }
  }

  /** Deletes delivered files after a start, and counts the entries that wait. */
  async #recover(): Promise<void> {
    while (this.#segments.length > 1 && (this.#segments[0]?.number ?? 0) < this.#cursor.segment) {
      await this.#segments.shift()?.remove()
    }
    const [first] = this.#segments
    const isKnown = first?.number === this.#cursor.segment && this.#cursor.offset <= first.size
    if (!isKnown) this.#cursor = { segment: first?.number ?? 1, offset: 0 }
    for (const segment of this.#segments) {
      let position = segment === first ? this.#cursor.offset : 0
      this.#waitingBytes += segment.size - position
      for (let entry = await segment.entryAt(position); entry !== undefined; entry = await segment.entryAt(position)) {
        position = entry.next
        this.#appended += 1
      }
    }
  }

  #when(until: () => boolean, signal?: AbortSignal): Promise<void> {
    if (until() || this.#closing.signal.aborted || signal?.aborted === true) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        signal?.removeEventListener('abort', done)
        this.#waiters = this.#waiters.filter((waiter) => waiter.resolve !== done)
        resolve()
      }
      signal?.addEventListener('abort', done)
      this.#waiters.push({ until, resolve: done })
    })
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) if (this.#closing.signal.aborted || waiter.until()) waiter.resolve()
  }
}

function isOutOfSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
}

function cursorFrom(written: string | undefined): { segment: number; offset: number } {
  try {
    const { segment, offset } = JSON.parse(written ?? '{}')
    if (Number.isSafeInteger(segment) && Number.isSafeInteger(offset) && offset >= 0) return { segment, offset }
  } catch {
    // If the cursor cannot be read, the delivery starts with the first remaining entry. Some entries are then delivered
    // a second time.
  }
  return { segment: 0, offset: 0 }
}
