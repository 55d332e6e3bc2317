import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type { Part } from './export-store.ts'

/** The size of a part before its compression. A compressed part has about one megabyte. */
const partBytes = 4 * 1024 * 1024
/** The size of a part of a format that is compressed already. */
const compressedPartBytes = 1024 * 1024

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

type PartWriterOptions = {
  /** Whether the content is compressed already. */
  isCompressed: boolean
  store: (part: Part) => Promise<void>
}

/** `PartWriter` collects content and stores it in parts. One part is compressed and stored while the next one is collected. */
export class PartWriter {
  /** The size of the content that was written. */
  bytes = 0
  readonly #options: PartWriterOptions
  readonly #partBytes: number
  #chunks: Uint8Array[] = []
  #collected = 0
  #storing: Promise<void> = Promise.resolve()

  constructor(options: PartWriterOptions) {
    this.#options = options
    this.#partBytes = options.isCompressed ? compressedPartBytes : partBytes
  }

  async write(content: string | Uint8Array): Promise<void> {
    const chunk = typeof content === 'string' ? Buffer.from(content) : content
    this.#chunks.push(chunk)
    this.#collected += chunk.length
    this.bytes += chunk.length
    if (this.#collected >= this.#partBytes) await this.#storeNext()
  }

  /** Stores the last part. */
  async end(): Promise<void> {
    if (this.#collected > 0) await this.#storeNext()
    await this.#storing
  }

  /** Waits for the part that is being stored. Its error has no effect, because the export has ended already. */
  async abandon(): Promise<void> {
    this.#chunks = []
    await this.#storing.catch(() => undefined)
  }

  async #storeNext(): Promise<void> {
    const content = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#collected = 0
    await this.#storing
    this.#storing = this.#store(content)
    // The error is thrown when the next part is stored.
    this.#storing.catch(() => undefined)
  }

  async #store(content: Buffer): Promise<void> {
    const { isCompressed, store } = this.#options
    const stored = isCompressed
      ? content
      : await compress(content, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
    await store({ content: stored, bytes: content.length, isCompressed: !isCompressed })
  }
}

/** Returns the content of a stored part. */
export async function partContent({ content, isCompressed }: Pick<Part, 'content' | 'isCompressed'>) {
  return isCompressed ? decompress(content) : content
}
