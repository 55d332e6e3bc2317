import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '@millwright/api/back-off.ts'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { readIfExists, writeDurably } from '../durable-file.ts'
import type { Log } from '../log.ts'

/**
 * The journal of a scan is a file with the receipt of the scan so far, and the lease under which it runs. It is written
 * every few seconds and removed at the end of the scan. After a crash, the gateway sends the receipts of the files that are
 * left.
 */

/** `JournalEntry` is the content of a file: the receipt if the scan is interrupted now. */
export type JournalEntry = { jobId: string; lease: string; receipt: Omit<SignedReceipt, 'signature'> }

/** The pause between two writes, and its minimum as a multiple of the time that a write takes. */
const timing = { everyMs: 2_000, writes: 10 } as const

type ReceiptState = SignedReceipt['state']

type Options = {
  folder: string
  log: Log
  /** Returns the receipt with this state. */
  entry: (state: ReceiptState) => JournalEntry
  deliver: (entry: JournalEntry) => Promise<void>
}

/** `ScanJournal` writes the journal of one running scan. */
export class ScanJournal {
  readonly #options: Options
  readonly #file: string
  readonly #ended = new AbortController()
  #writing: Promise<void> = Promise.resolve()

  private constructor(options: Options) {
    this.#options = options
    this.#file = join(options.folder, `${randomUUID()}.json`)
  }

  /** Starts the journal of a scan. Resolves when the file is on disk, so that a scan sends nothing before. */
  static async start(options: Options): Promise<ScanJournal> {
    const journal = new ScanJournal(options)
    await journal.#write()
    journal.#writing = journal.#writeUntilEnd()
    return journal
  }

  /** Delivers the receipt and removes the file. If that fails, the file stays, and the gateway sends it at its next start. */
  async end(state: ReceiptState): Promise<void> {
    this.#ended.abort()
    await this.#writing
    const { entry, deliver } = this.#options
    const last = entry(state)
    try {
      await deliver(last)
    } catch (error) {
      await this.#write(last)
      throw error
    }
    await rm(this.#file, { force: true })
  }

  async #writeUntilEnd(): Promise<void> {
    const { signal } = this.#ended
    let waitMs: number = timing.everyMs
    for (;;) {
      await pause(waitMs, signal)
      if (signal.aborted) return
      const startedAtMs = performance.now()
      await this.#write().catch((error: unknown) =>
        this.#options.log.warn({ error, file: this.#file }, 'the counts of a scan could not be written'),
      )
      waitMs = Math.max(timing.everyMs, timing.writes * (performance.now() - startedAtMs))
    }
  }

  #write(entry = this.#options.entry('interrupted')): Promise<void> {
    return writeDurably(this.#file, JSON.stringify(entry))
  }
}

/** Calls `send` for each journal of a scan that a crash interrupted, and then removes the journal. */
export async function sendInterrupted(
  { folder, log }: { folder: string; log: Log },
  send: (entry: JournalEntry) => Promise<void>,
): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const file = join(folder, name)
    const entry = name.endsWith('.json') ? entryOf(await readIfExists(file)) : undefined
    if (entry === undefined) log.warn({ file }, 'removed a file that is not the journal of a scan')
    else await send(entry)
    await rm(file, { force: true })
  }
}

function entryOf(text = ''): JournalEntry | undefined {
  try {
    const { jobId, lease, receipt } = JSON.parse(text) as Partial<JournalEntry>
    return jobId === undefined || lease === undefined || receipt === undefined ? undefined : { jobId, lease, receipt }
  } catch {
    return undefined
  }
}
