import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../log.ts'
import { cacheVariable } from '../settings.ts'
import {
  AbandonedDownloadError,
  type ArtefactContent,
  ArtefactDownload,
  type ArtefactSource,
  chunkBytes,
} from './artefact-download.ts'
import { UpdateError } from './update-error.ts'

/**
 * The artefact cache is a folder with the content of artefacts, by SHA-256. A content is downloaded once, although many
 * devices need it at the same time. A download that was interrupted continues at its last byte, also after a restart. The
 * cache has a size limit: the content that was not used for the longest time is deleted. Content in use is never deleted;
 * a download for which there is no space waits.
 */

export type DigestAlgorithm = 'sha256' | 'sha384' | 'sha512' | 'blake2b512'

type Options = { folder: string; limitBytes: number; log: Log }

/** `Entry` is one content in the folder, complete or in part. */
type Entry = {
  sha256: string
  /** The space that the content has or will have. */
  bytes: number
  usedAtMs: number
  users: number
  /** The state of the file when its hash was checked. A changed file is checked again. */
  checked?: string
  digests: Map<DigestAlgorithm, Promise<Buffer>>
  download?: ArtefactDownload
}

export class ArtefactCache {
  readonly #options: Options
  readonly #entries = new Map<string, Entry>()
  readonly #waitingForSpace = new Set<() => void>()

  private constructor(options: Options) {
    this.#options = options
  }

  static async open(options: Options): Promise<ArtefactCache> {
    const cache = new ArtefactCache(options)
    await mkdir(options.folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(options.folder)) {
      const [, sha256, part] = /^([0-9a-f]{64})(\.part)?$/.exec(name) ?? []
      if (sha256 === undefined) continue
      const { size, atimeMs } = await stat(join(options.folder, name))
      // A complete content and its part exist together only if the gateway was killed during the check of the content.
      if (cache.#entries.has(sha256)) await rm(cache.#pathOf(sha256, '.part'), { force: true })
      if (part === undefined || !cache.#entries.has(sha256))
        cache.#entries.set(sha256, { sha256, bytes: size, usedAtMs: atimeMs, users: 0, digests: new Map() })
    }
    await cache.#removeUnused(0)
    return cache
  }

  get status(): { artefacts: number; bytes: number; limitBytes: number; downloads: number } {
    const downloads = [...this.#entries.values()].filter(({ download }) => download !== undefined).length
    return { artefacts: this.#entries.size, bytes: this.#bytes, limitBytes: this.#options.limitBytes, downloads }
  }

  /**
   * Returns the content of an artefact, with a correct SHA-256. Downloads it if necessary. The caller disposes the content
   * after its use. Throws an `UpdateError` if the content cannot be stored or has another hash.
   */
  async use(content: ArtefactContent, source: ArtefactSource): Promise<CachedArtefact> {
    const { limitBytes } = this.#options
    if (content.size > limitBytes)
      throw new UpdateError(
        'artefact_too_large',
        `The artefact has ${content.size} bytes, and the artefact cache of the gateway has ${limitBytes} bytes. Increase ${cacheVariable}`,
      )
    const { sha256 } = content
    const entry: Entry = this.#entries.get(sha256) ?? { sha256, bytes: 0, usedAtMs: 0, users: 0, digests: new Map() }
    this.#entries.set(sha256, entry)
    entry.users += 1
    const path = this.#pathOf(sha256)
    try {
      if (entry.checked === undefined || entry.checked !== (await stateOf(path)))
        await this.#load(entry, content, source)
      entry.usedAtMs = Date.now()
      const { mtime } = await stat(path)
      await utimes(path, new Date(entry.usedAtMs), mtime)
    } catch (error) {
      this.#release(entry)
      throw error
    }
    return new CachedArtefact({
      path,
      size: content.size,
      digest: (algorithm) => digestOf(entry, path, algorithm),
      release: () => this.#release(entry),
    })
  }

  /** Checks the file or downloads the content. Concurrent callers share one download. */
  async #load(entry: Entry, content: ArtefactContent, source: ArtefactSource): Promise<void> {
    for (;;) {
      entry.download ??= this.#start(entry, content)
      try {
        return await entry.download.join(source)
      } catch (error) {
        // The jobs that started the download ended at the time at which this one joined it.
        if (!(error instanceof AbandonedDownloadError) || source.signal.aborted) throw error
      }
    }
  }

  #start(entry: Entry, content: ArtefactContent): ArtefactDownload {
    const { log } = this.#options
    entry.digests.clear()
    delete entry.checked
    const download = new ArtefactDownload({
      content,
      path: this.#pathOf(entry.sha256),
      partPath: this.#pathOf(entry.sha256, '.part'),
      log,
      reserve: (signal) => this.#reserve(entry, content.size, signal),
      freeSpace: () => this.#removeOne(),
      onEnd: async () => {
        const checked = await stateOf(download.path)
        if (checked !== undefined) entry.checked = checked
        entry.bytes = (await sizeOf(download.path)) ?? (await sizeOf(download.partPath)) ?? 0
        delete entry.download
        if (entry.users === 0 && entry.bytes === 0) this.#entries.delete(entry.sha256)
        this.#wake()
      },
    })
    void download.run()
    return download
  }

  /** Reserves space for a content. Deletes unused content, and waits while content in use needs the space. */
  async #reserve(entry: Entry, bytes: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      entry.bytes = 0
      await this.#removeUnused(bytes)
      if (this.#bytes + bytes <= this.#options.limitBytes || signal.aborted) {
        entry.bytes = bytes
        return
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#waitingForSpace.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        this.#waitingForSpace.add(done)
        signal.addEventListener('abort', done)
      })
    }
  }

  get #bytes(): number {
    return this.#entries.values().reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #release(entry: Entry): void {
    entry.users -= 1
    if (entry.users === 0 && entry.bytes === 0 && entry.download === undefined) this.#entries.delete(entry.sha256)
    this.#wake()
  }

  #wake(): void {
    for (const done of [...this.#waitingForSpace]) done()
  }

  async #removeUnused(neededBytes: number): Promise<void> {
    while (this.#bytes + neededBytes > this.#options.limitBytes) if (!(await this.#removeOne())) return
  }

  /** Deletes the content that was not used for the longest time. Returns false if all content is in use. */
  async #removeOne(): Promise<boolean> {
    const unused = [...this.#entries.values()].filter(({ users, download }) => users === 0 && download === undefined)
    const [oldest] = unused.toSorted((one, other) => one.usedAtMs - other.usedAtMs)
    if (oldest === undefined) return false
    this.#entries.delete(oldest.sha256)
    await rm(this.#pathOf(oldest.sha256), { force: true })
    await rm(this.#pathOf(oldest.sha256, '.part'), { force: true })
    return true
  }

  #pathOf(sha256: string, suffix = ''): string {
    return join(this.#options.folder, `${sha256}${suffix}`)
  }
}

type CachedOptions = {
  path: string
  size: number
  digest: (algorithm: DigestAlgorithm) => Promise<Buffer>
  release: () => void
}

/** `CachedArtefact` is content that stays in the cache until it is disposed. */
export class CachedArtefact implements Disposable {
  readonly path: string
  readonly size: number
  /** Returns the digest of the content. The cache computes each digest once. */
  readonly digest: (algorithm: DigestAlgorithm) => Promise<Buffer>
  #release: (() => void) | undefined

  constructor({ path, size, digest, release }: CachedOptions) {
    this.path = path
    this.size = size
    this.digest = digest
    this.#release = release
  }

  /**
   * Yields the content in chunks. All chunks share one buffer, so a chunk is valid until the next one is read. Many
   * transfers at the same time then need less memory.
   */
  async *content(): AsyncGenerator<Buffer> {
    await using file = await open(this.path)
    const buffer = Buffer.allocUnsafeSlow(chunkBytes)
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  }

  [Symbol.dispose](): void {
    this.#release?.()
    this.#release = undefined
  }
}

/** Returns a text that changes when a file changes. Returns undefined when the file does not exist. */
async function stateOf(path: string): Promise<string | undefined> {
  const file = await stat(path).catch(() => undefined)
  return file && `${file.ino} ${file.size} ${file.mtimeMs}`
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}

function digestOf(entry: Entry, path: string, algorithm: DigestAlgorithm): Promise<Buffer> {
  const known = entry.digests.get(algorithm)
  if (known !== undefined) return known
  const computing = computeDigest(path, algorithm)
  entry.digests.set(algorithm, computing)
  computing.catch(() => entry.digests.delete(algorithm))
  return computing
}

async function computeDigest(path: string, algorithm: DigestAlgorithm): Promise<Buffer> {
  const hash = createHash(algorithm)
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) hash.update(chunk as Buffer)
  return hash.digest()
}
