import { Problem } from '@millwright/api/problem.ts'
import { type Entry, open, type ZipFile } from 'yauzl'

/**
 * Reading of zip archives from hostile sources. The sizes in the directory of the archive are checked before anything is
 * decompressed, and an entry with another size is refused.
 */

export type ZipLimits = { entries: number; unpackedBytes: number }

export class ZipArchive {
  readonly #file: ZipFile
  readonly #entries: ReadonlyMap<string, Entry>

  private constructor(file: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#file = file
    this.#entries = entries
  }

  static async open(path: string, limits: ZipLimits): Promise<ZipArchive> {
    const file = await new Promise<ZipFile>((resolve, reject) => {
      open(path, { lazyEntries: true, autoClose: false, validateEntrySizes: true }, (error, opened) =>
        error === null ? resolve(opened) : reject(damagedZip(error)),
      )
    })
    return new ZipArchive(file, await directoryOf(file, limits))
  }

  get names(): string[] {
    return [...this.#entries.keys()]
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  /** Returns the chunks of an entry. */
  async *read(name: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(name)
    if (entry === undefined) throw damagedZip(new Error(`the part ${name} is missing`))
    const stream = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
      this.#file.openReadStream(entry, (error, opened) =>
        error === null ? resolve(opened) : reject(damagedZip(error)),
      )
    })
    try {
      yield* stream
    } catch (error) {
      throw error instanceof Problem ? error : damagedZip(error)
    }
  }

  /** Returns the chunks of an entry as text. */
  async *text(name: string): AsyncGenerator<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const chunk of this.read(name)) yield decoder.decode(chunk, { stream: true })
      yield decoder.decode()
    } catch (error) {
      throw error instanceof TypeError ? damagedZip(new Error(`the part ${name} is not valid UTF-8`)) : error
    }
  }

  close(): void {
    this.#file.close()
  }
}

function directoryOf(file: ZipFile, { entries: most, unpackedBytes }: ZipLimits): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>()
    let bytes = 0
    file.on('error', (error) => reject(damagedZip(error)))
    file.on('end', () => resolve(entries))
    file.on('entry', (entry: Entry) => {
      bytes += entry.uncompressedSize
      if (bytes > unpackedBytes)
        return reject(tooLarge(`The decompressed content has more than ${unpackedBytes} bytes, which is the limit`))
      if (entries.size >= most) return reject(tooLarge(`The file has more than ${most} parts, which is the limit`))
      if (entry.isEncrypted()) return reject(encrypted())
      entries.set(entry.fileName, entry)
      file.readEntry()
    })
    file.readEntry()
  })
}

function tooLarge(detail: string): Problem {
  return new Problem(
    'file_too_large',
    `${detail}. Split the data into several files, for example with one export for each access group`,
  )
}

export function encrypted(): Problem {
  return new Problem('encrypted_file', 'The file is protected by a password. Save it without a password')
}

export function damagedZip(cause: unknown): Problem {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Problem(
    'damaged_file',
    `The file cannot be read: ${reason}. Open it, save it again, and upload it again`,
    {
      cause,
    },
  )
}
