import { type FileHandle, mkdir, open, readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from './log.ts'

/**
 * Writes a file atomically. A reader sees either the old or the new content, even after a power failure. A file that root
 * writes gets the owner of its folder, so that a gateway of another user can still read it.
 */
export async function writeDurably(path: string, content: string, { mode = 0o600 } = {}): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.new`
  const file = await open(temporary, 'w', mode)
  try {
    if (process.getuid?.() === 0) await giveToOwnerOf(dirname(path), file)
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncFolder(dirname(path))
}

async function giveToOwnerOf(folder: string, file: FileHandle): Promise<void> {
  const { uid, gid } = await stat(folder)
  await file.chown(uid, gid)
}

/** Syncs a folder, so that created, renamed and removed files survive a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  // The error is ignored, because some systems do not support syncing a folder and do not need it.
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}

/** Reads a file. Returns undefined when it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The delay before a `DelayedFile` is written. A scan reports many devices in a short time. */
const writeAfterMs = 2_000

type DelayedFileOptions = {
  file: string
  log: Log
  /** Returns the text to write. */
  content: () => string
  /** The log message for a failed write. */
  failure: string
}

/** `DelayedFile` writes the current content to a file, at most once in two seconds. Changes of this time are written together. */
export class DelayedFile {
  readonly #options: DelayedFileOptions
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(options: DelayedFileOptions) {
    this.#options = options
  }

  /** Writes the content soon. */
  change(): void {
    this.#timer ??= setTimeout(() => void this.#write(), writeAfterMs).unref()
  }

  /** Writes a change that was not written yet, and waits for the end of all writes. */
  async close(): Promise<void> {
    if (this.#timer === undefined) return this.#writing
    clearTimeout(this.#timer)
    await this.#write()
  }

  #write(): Promise<void> {
    this.#timer = undefined
    const { file, log, content, failure } = this.#options
    const text = content()
    this.#writing = this.#writing
      .then(() => writeDurably(file, text))
      .catch((error: unknown) => log.error({ error }, failure))
    return this.#writing
  }
}

/**
 * Returns the valid items of a list in the text of a file. Text that cannot be parsed counts as empty. This is for lists that
 * the next scan reports again.
 */
export function storedItems<Item>(
  text: string | undefined,
  isItem: (value: Partial<Item> | null) => value is Item & Partial<Item>,
): Item[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(stored) ? stored.filter(isItem) : []
  } catch {
    return []
  }
}
