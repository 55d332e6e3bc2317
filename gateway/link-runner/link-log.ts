import { appendFile, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * `LinkLog` stores the output of a link: all lines in a file, and the latest lines in memory. When the file is full, it
 * becomes the previous file, which replaces the one before. A write error, such as a full disk, loses lines of the file,
 * but does not stop the link.
 */

const logLimits = {
  /** The size at which a new file begins. */
  fileBytes: 1024 * 1024,
  /** The number of lines in memory. */
  lines: 200,
  lineCharacters: 2_000,
} as const

type Options = { file: string; fileBytes?: number; onLine?: (line: string) => void }

export class LinkLog {
  readonly #options: Required<Options>
  readonly #lines: string[] = []
  #bytes: number | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(options: Options) {
    this.#options = { fileBytes: logLimits.fileBytes, onLine: () => undefined, ...options }
  }

  /** Returns the latest lines in readable form, oldest first. */
  latest(count: number): string[] {
    return this.#lines.slice(-count).map(readableLine)
  }

  /**
   * Reads a stream of the link until its end. The stream is not read faster than the file is written, so a link with much
   * output does not fill the memory of the gateway.
   */
  async follow(stream: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of stream) {
      const [last = '', ...reversed] = (rest + decoder.decode(chunk, { stream: true })).split('\n').reverse()
      // A line without an end is cut, so that it does not fill the memory.
      rest = last.slice(0, logLimits.lineCharacters)
      await this.append(reversed.reverse())
    }
    if (rest !== '') await this.append([rest])
  }

  async append(texts: readonly string[]): Promise<void> {
    const lines = texts.map((text) => text.slice(0, logLimits.lineCharacters)).filter((text) => text.trim() !== '')
    if (lines.length === 0) return
    this.#lines.push(...lines)
    this.#lines.splice(0, this.#lines.length - logLimits.lines)
    for (const line of lines) this.#options.onLine(line)
    const text = `${lines.join('\n')}\n`
    this.#writing = this.#writing.then(() => this.#write(text)).catch(() => undefined)
    await this.#writing
  }

  async #write(text: string): Promise<void> {
    const { file, fileBytes } = this.#options
    this.#bytes ??= await sizeOf(file)
    const bytes = Buffer.byteLength(text)
    if (this.#bytes > 0 && this.#bytes + bytes > fileBytes) {
      await rename(file, previousFile(file))
      this.#bytes = 0
    }
    await appendFile(file, text, { mode: 0o600 })
    this.#bytes += bytes
  }
}

export function previousFile(file: string): string {
  return `${file}.1`
}

async function sizeOf(file: string): Promise<number> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

/** Returns the last lines of a log file and its previous file in readable form, oldest first. */
export async function readLog(file: string, count: number): Promise<string[]> {
  const lines: string[] = []
  for (const path of [file, previousFile(file)]) {
    if (lines.length < count) lines.unshift(...(await linesIn(path)).slice(lines.length - count))
  }
  return lines.map(readableLine)
}

async function linesIn(path: string): Promise<string[]> {
  const handle = await open(path).catch(() => undefined)
  if (handle === undefined) return []
  await using _ = handle
  return (await handle.readFile('utf8')).split('\n').filter((line) => line !== '')
}

/** `LinkLogEntry` is a line that the link SDK wrote. */
type LinkLogEntry = { time: string; level: string; message: string } & Record<string, unknown>

/** Returns the entry in a line of the link SDK. Returns undefined for other text. */
export function entryIn(line: string): LinkLogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const entry = JSON.parse(line) as Partial<LinkLogEntry>
    const isEntry = [entry.time, entry.level, entry.message].every((field) => typeof field === 'string')
    return isEntry ? (entry as LinkLogEntry) : undefined
  } catch {
    return undefined
  }
}

/** Returns a line as text for people. Lines of other formats are unchanged, without control and format characters. */
export function readableLine(line: string): string {
  const entry = entryIn(line)
  if (entry === undefined) return plain(line)
  const { time, level, link: _, notice: __, message, ...details } = entry
  const fields = Object.entries(details).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  return plain([time, level, message, ...fields].join(' '))
}

function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, logLimits.lineCharacters)
}
