import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { syncFolder } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { UpdateError } from './update-error.ts'

export type ArtefactContent = { sha256: string; size: number }

/** The size of the chunks in which content is read. */
export const chunkBytes = 64 * 1024

/** `AbandonedDownloadError` means that no job waits for the content. */
export class AbandonedDownloadError extends Error {
  override readonly name = 'AbandonedDownloadError'
}

/** `ArtefactSource` is a job that needs the content of an artefact and can download it. */
export type ArtefactSource = {
  /** Opens the content at an offset. The content may start earlier, if the platform does not send a range. */
  open: (offset: number, signal: AbortSignal) => Promise<{ offset: number; content: AsyncIterable<Uint8Array> }>
  /** Aborts when the job no longer needs the content. */
  signal: AbortSignal
  onProgress?: (receivedBytes: number) => void
}

type Options = {
  content: ArtefactContent
  path: string
  partPath: string
  log: Log
  /** Resolves when the cache has space for the content. */
  reserve: (signal: AbortSignal) => Promise<void>
  /** Deletes other content because the disk is full. Returns false when there is none. */
  freeSpace: () => Promise<boolean>
  /** Is called at the end, before the waiting jobs continue. */
  onEnd: () => Promise<void>
}

type Waiter = ArtefactSource & { resolve: () => void; reject: (error: unknown) => void }

const pauses = { firstMs: 250, longestMs: 30_000 } as const

/**
 * `ArtefactDownload` downloads one content for several jobs. It uses the lease of one of the jobs, and the lease of another
 * job if the first one ends. Received bytes stay on disk when all jobs end, and the next download continues there.
 */
export class ArtefactDownload {
  readonly path: string
  readonly partPath: string
  readonly #options: Options
  readonly #waiters = new Set<Waiter>()
  /** Aborts when no job waits for the content. */
  readonly #idle = new AbortController()
  readonly #backOff = new BackOff(pauses)
  #hash: Hash = createHash('sha256')
  #bytes = 0

  constructor(options: Options) {
    this.#options = options
    this.path = options.path
    this.partPath = options.partPath
  }

  /** Resolves when the content is complete. Rejects when the download fails, or when the signal of the source aborts. */
  join(source: ArtefactSource): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => this.#remove(waiter, new Error('The job has ended'))
      const waiter: Waiter = {
        ...source,
        resolve: () => {
          source.signal.removeEventListener('abort', leave)
          resolve()
        },
        reject: (error) => {
          source.signal.removeEventListener('abort', leave)
          reject(error)
        },
      }
      this.#waiters.add(waiter)
      source.signal.addEventListener('abort', leave)
      if (source.signal.aborted) leave()
    })
  }

  /** Downloads the content. The jobs receive the result. */
  async run(): Promise<void> {
    const { log, content, onEnd } = this.#options
    let failure: unknown
    try {
      await this.#load()
    } catch (error) {
      failure = error
      log.warn({ artefact: content.sha256, error }, 'the artefact was not downloaded')
    }
    await onEnd()
    for (const waiter of this.#waiters) {
      if (failure === undefined) waiter.resolve()
      else waiter.reject(failure)
    }
    this.#waiters.clear()
  }

  #remove(waiter: Waiter, error: unknown): void {
    if (!this.#waiters.delete(waiter)) return
    waiter.reject(error)
    if (this.#waiters.size === 0) this.#idle.abort()
  }

  async #load(): Promise<void> {
    const { sha256, size } = this.#options.content
    if (await this.#isComplete()) return
    await rm(this.path, { force: true })
    if (this.#idle.signal.aborted) throw new AbandonedDownloadError('No job waits for the artefact')
    await this.#options.reserve(this.#idle.signal)
    for (let isContinued = true; ; isContinued = false) {
      const file = await openPart(this.partPath, isContinued)
      const startedAt = isContinued ? await this.#readPart(file) : 0
      try {
        await this.#receive(file, size)
        await file.sync()
      } finally {
        await file.close()
      }
      if (this.#hash.digest('hex') === sha256) break
      await rm(this.partPath, { force: true })
      this.#restart()
      // The bytes of an earlier download can be damaged, for example by a power failure. They are downloaded again once.
      if (startedAt === 0)
        throw new UpdateError('hash_mismatch', 'The downloaded content does not have the SHA-256 of the artefact')
    }
    await rename(this.partPath, this.path)
    await syncFolder(dirname(this.path))
  }

  /** Returns whether the complete file exists and has the correct hash. */
  async #isComplete(): Promise<boolean> {
    const { sha256, size } = this.#options.content
    const hash = createHash('sha256')
    let bytes = 0
    try {
      for await (const chunk of createReadStream(this.path, { highWaterMark: chunkBytes, end: size })) {
        hash.update(chunk as Buffer)
        bytes += (chunk as Buffer).length
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
    if (bytes === size && hash.digest('hex') === sha256) return true
    this.#options.log.warn({ artefact: sha256 }, 'the content of an artefact is damaged, and is downloaded again')
    return false
  }

  /** Reads the bytes of an earlier download into the hash. Returns their number. */
  async #readPart(file: FileHandle): Promise<number> {
    const { size } = this.#options.content
    this.#restart()
    const stored = file.createReadStream({ start: 0, end: size, highWaterMark: chunkBytes, autoClose: false })
    for await (const chunk of stored) {
      this.#hash.update(chunk as Buffer)
      this.#bytes += (chunk as Buffer).length
    }
    if (this.#bytes > size) {
      await file.truncate(0)
      this.#restart()
    }
    return this.#bytes
  }

  #restart(): void {
    this.#hash = createHash('sha256')
    this.#bytes = 0
  }

  /** Receives bytes until the content is complete. Retries while a job waits for it. */
  async #receive(file: FileHandle, size: number): Promise<void> {
    while (this.#bytes < size) {
      const [waiter] = this.#waiters
      if (waiter === undefined) throw new AbandonedDownloadError('No job waits for the artefact')
      try {
        await this.#receiveFrom(waiter, file)
      } catch (error) {
        await this.#handle(error, { waiter, file })
      }
    }
  }

  async #receiveFrom(waiter: Waiter, file: FileHandle): Promise<void> {
    const { size } = this.#options.content
    const signal = AbortSignal.any([waiter.signal, this.#idle.signal])
    const { offset, content } = await waiter.open(this.#bytes, signal)
    if (offset !== this.#bytes) {
      if (offset !== 0) throw new Error(`The platform sent the content from byte ${offset}`)
      await file.truncate(0)
      this.#restart()
    }
    for await (const chunk of content) {
      if (this.#bytes + chunk.length > size)
        throw new UpdateError('hash_mismatch', 'The platform sent more bytes than the artefact has')
      await writeAll(file, chunk, this.#bytes)
      this.#hash.update(chunk)
      this.#bytes += chunk.length
      this.#backOff.reset()
      for (const one of this.#waiters) one.onProgress?.(this.#bytes)
    }
    if (this.#bytes < size) throw new Error('The connection ended before the content was complete')
  }

  /** Decides whether the download continues after an error: with the same job, with another one, or not at all. */
  async #handle(error: unknown, { waiter, file }: { waiter: Waiter; file: FileHandle }): Promise<void> {
    if (error instanceof UpdateError) throw error
    if (isOutOfSpace(error)) {
      if (await this.#options.freeSpace()) return
      await rm(this.partPath, { force: true })
      throw new UpdateError('storage_full', 'The disk of the gateway is full. Free space on the disk')
    }
    if (error instanceof Problem && error.code === 'range_not_satisfiable') {
      await file.truncate(0)
      this.#restart()
    }
    if (error instanceof Problem && error.code === 'not_found') {
      this.#remove(waiter, new UpdateError('artefact_not_found', 'The platform no longer has the artefact of the job'))
      return
    }
    // The next attempt uses the lease of another job, because this one may be lost.
    if (this.#waiters.delete(waiter)) this.#waiters.add(waiter)
    const { log, content } = this.#options
    log.debug({ artefact: content.sha256, bytes: this.#bytes, error }, 'the download of an artefact is retried')
    await pause(this.#backOff.nextMs(), this.#idle.signal)
  }
}

async function openPart(path: string, isContinued: boolean): Promise<FileHandle> {
  if (!isContinued) return open(path, 'w+', 0o600)
  try {
    return await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return open(path, 'w+', 0o600)
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < chunk.length) {
    const { bytesWritten } = await file.write(chunk, written, chunk.length - written, position + written)
    written += bytesWritten
  }
}

export function isOutOfSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
}
