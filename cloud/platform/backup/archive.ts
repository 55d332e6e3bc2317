import { StartError } from '../start-error.ts'

/**
 * An entry in the file of a backup. The file is a tar archive, so that standard tools can read it. It is written and
 * read as a stream: entries are small, and only one entry is in memory.
 */
export type Entry = { name: string; content: Buffer }

const block = 512
/**
 * The maximum size of an entry in bytes. Every entry of a backup is smaller, so a larger size means that the file is
 * damaged.
 */
export const largestPart = 64 * 1024 * 1024

export async function* writeArchive(entries: AsyncIterable<Entry>): AsyncGenerator<Buffer> {
  for await (const { name, content } of entries) {
    yield header(name, content.length)
    yield content
    yield Buffer.alloc((block - (content.length % block)) % block)
  }
  yield Buffer.alloc(2 * block)
}

function header(name: string, size: number): Buffer {
  const bytes = Buffer.alloc(block)
  const put = (text: string, at: number) => bytes.write(text, at, 'ascii')
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  put(name, 0)
  put(octal(0o600, 7), 100)
  put(octal(0, 7), 108)
  put(octal(0, 7), 116)
  put(octal(size, 11), 124)
  put(octal(0, 11), 136)
  put(' '.repeat(8), 148)
  put('0', 156)
  put('ustar\u000000', 257)
  put(`${octal(sumOf(bytes), 6)} `, 148)
  return bytes
}

function sumOf(bytes: Buffer): number {
  return bytes.reduce((sum, byte) => sum + byte, 0)
}

export async function* readArchive(source: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const reader = new Reader(source)
  for (;;) {
    const head = await reader.take(block)
    if (head.every((byte) => byte === 0)) return
    const { name, size } = described(head)
    const content = await reader.take(size)
    await reader.take((block - (size % block)) % block)
    yield { name, content }
  }
}

function described(head: Buffer): { name: string; size: number } {
  const text = (from: number, to: number) => head.toString('ascii', from, to).replace(/\0.*$/s, '').trim()
  const size = Number.parseInt(text(124, 136), 8)
  const blank = Buffer.from(head)
  blank.fill(' ', 148, 156)
  const isSound = Number.parseInt(text(148, 156), 8) === sumOf(blank) && size >= 0 && size <= largestPart
  if (!isSound) throw broken()
  return { name: text(0, 100), size }
}

export function broken(): StartError {
  return new StartError('The backup is damaged or incomplete: use another backup. Nothing was restored.')
}

/** `Reader` reads an exact number of bytes from chunks of any size. */
class Reader {
  readonly #source: AsyncIterator<Buffer>
  #held: Buffer[] = []
  #bytes = 0

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  async take(length: number): Promise<Buffer> {
    while (this.#bytes < length) {
      const { done, value } = await this.#source.next()
      if (done) throw broken()
      this.#held.push(value)
      this.#bytes += value.length
    }
    const all = this.#held.length === 1 && this.#held[0] !== undefined ? this.#held[0] : Buffer.concat(this.#held)
    const rest = all.subarray(length)
    this.#held = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
    return all.subarray(0, length)
  }
}
