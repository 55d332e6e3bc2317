import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { readIfThere } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { recordOf } from './record.ts'
import { Segment, segmentNumber } from './segment.ts'

type Options = { folder: string; limitBytes: number; log?: Log }

/** A new file is begun after so many bytes: what was delivered is deleted by whole files. */
const segmentBytes = 8 * 1024 * 1024

/** Where nothing waits, a large file is not written on: it goes with the next entry. */
const keptWhenEmptyBytes = 256 * 1024

type Waiter = { until: () => boolean; resolve: () => void }

/**
 * What waits for the cloud: on disk, in order, bounded. An entry is any text; one that was appended survives a crash; it may be delivered
 * a second time after one, so whoever takes it must not mind.
 */
export class Spool {
  readonly #options: Options
  /** The oldest first; the last one is written to. */
  readonly #segments: Segment[]
  #cursor: { segment: number; offset: number }
  #appended = 0
  #delivered = 0
  #waitingBytes = 0
  #writing: Promise<void> = Promise.resolve()
  #waiters: Waiter[] = []
  #isDiskFull = false
  readonly #closing = new AbortController()

  private constructor(options: Options, found: { segments: Segment[]; cursor: { segment: number; offset: number } }) {
    this.#options = options
    this.#segments = found.segments
    this.#cursor = found.cursor
  }

  static async open(options: Options): Promise<Spool> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 })
    const numbers = (await readdir(options.folder))
      .flatMap((name) => segmentNumber(name) ?? [])
      .toSorted((a, b) => a - b)
    const written = await readIfThere(join(options.folder, 'delivered.json'))
    const cursor = cursorFrom(written)
    const segments: Segment[] = []
    for (const number of numbers) segments.push(await Segment.open(options.folder, number))
    if (segments.length === 0) segments.push(await Segment.create(options.folder, cursor.segment + 1))
    const spool = new Spool(options, { segments, cursor })
    await spool.#takeUp()
    return spool
  }

  /** Bytes that wait for the cloud. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Entries that wait for the cloud. */
  get waiting(): number {
    return this.#appended - this.#delivered
  }

  /** Whether something could not be written, and waits for room on the disk. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  /**
   * Back when the entry is on the disk; waits while the spool or the disk is full, so whoever fills it is held up. The
   * signal ends that wait, with an error.
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

  /** Back when everything that waits now was delivered. */
  async settled(signal: AbortSignal): Promise<void> {
    const end = this.#appended
    await this.#when(() => this.#delivered >= end, signal)
  }

  /**
   * Hands entries over, one after the other, until the signal ends it. An entry for which `deliver` throws is tried
   * again, with growing pauses and the number of the attempt; the others wait behind it.
   */
  async deliver(deliver: (entry: string, attempt: number) => Promise<void>, signal: AbortSignal): Promise<void> {
    let attempt = 1
    const backOff = new BackOff({ longestMs: 30_000 })
    while (!signal.aborted) {
      await this.#when(() => this.waiting > 0, signal)
      if (signal.aborted || this.#closing.signal.aborted) return
      const found = await this.#next()
      if (found === undefined) {
        // The files were changed from outside: what cannot be read any more does not wait.
        this.#delivered = this.#appended
        this.#waitingBytes = 0
        continue
      }
      try {
        await deliver(found.entry, attempt)
      } catch {
        attempt += 1
        await pause(backOff.nextMs(), signal)
        continue
      }
      attempt = 1
      backOff.reset()
      await this.#advance(found.next)
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

  /** What is delivered meanwhile, and whatever else is deleted, makes room again. */
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
        if (!this.#isDiskFull) this.#options.log?.error('the disk is full: scans pause until there is room')
        this.#isDiskFull = true
        await pause(backOff.nextMs(), ending)
      }
    }
  }

  async #write(record: Buffer): Promise<void> {
    let last = this.#last()
    const isFull = last.size > 0 && last.size + record.length > segmentBytes
    if (isFull || (this.waiting === 0 && last.size > keptWhenEmptyBytes)) {
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
    if (last === undefined) throw new Error('The spool has no file')
    return last
  }

  /** The entry at the cursor, moving to the next file where one has ended. */
  async #next(): Promise<{ entry: string; next: number } | undefined> {
    for (;;) {
      const [segment, after] = this.#segments
      if (segment === undefined) return undefined
      const found = await segment.entryAt(this.#cursor.offset)
      if (found !== undefined) return found
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
    await this.#keepCursor()
    this.#wake()
  }

  /**
   * Lost with the power, or not written to a disk that is full: then the last entries are delivered a second time. That is
   * no reason to deliver no more, which is what makes room.
   */
  async #keepCursor(): Promise<void> {
    const file = join(this.#options.folder, 'delivered.json')
    try {
      await writeFile(`${file}.new`, JSON.stringify(this.#cursor), { mode: 0o600 })
      await rename(`${file}.new`, file)
    } catch (error) {
      this.#options.log?.warn({ error }, 'how far was delivered could not be written down')
    }
  }

  /** After a start: forgets files that were delivered, and counts what waits. */
  async #takeUp(): Promise<void> {
    while (this.#segments.length > 1 && (this.#segments[0]?.number ?? 0) < this.#cursor.segment) {
      await this.#segments.shift()?.remove()
    }
    const [first] = this.#segments
    const isKnown = first?.number === this.#cursor.segment && this.#cursor.offset <= first.size
    if (!isKnown) this.#cursor = { segment: first?.number ?? 1, offset: 0 }
    for (const segment of this.#segments) {
      let position = segment === first ? this.#cursor.offset : 0
      this.#waitingBytes += segment.size - position
      for (let found = await segment.entryAt(position); found !== undefined; found = await segment.entryAt(position)) {
        position = found.next
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
    // A torn cursor means that all that is still there is delivered, some of it a second time.
  }
  return { segment: 0, offset: 0 }
}
