import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { Problem } from '@millwright/api/problem.ts'
import type { ContentStore, StoredContent, StoredUpload, UploadWriter } from './content-store.ts'
import { onDisk, requireSpace, syncFolder } from './disk.ts'

/** The number of bytes that are written to the disk with one call. */
const writeBytes = 1024 * 1024
const readBytes = 256 * 1024

/**
 * `HomeStore` stores contents in files: `<folder>/<tenant>/<id>`, and `<folder>/<tenant>/uploads/<id>` until they are
 * complete. A confirmed byte was written to the disk before (`fdatasync`).
 */
export class HomeStore implements ContentStore {
  readonly name = 'home'
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async storedBytes(upload: StoredUpload): Promise<number> {
    const size = (await sizeOf(this.#pathOfUpload(upload))) ?? (await sizeOf(this.#pathOf(contentOf(upload)))) ?? 0
    return Math.min(size, upload.receivedBytes)
  }

  async openUpload(upload: StoredUpload): Promise<UploadWriter> {
    const path = this.#pathOfUpload(upload)
    const made = await onDisk(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
    const handle = await onDisk(() => open(path, upload.receivedBytes === 0 ? 'w' : 'r+', 0o600))
    try {
      await onDisk(() => handle.truncate(upload.receivedBytes))
      if (upload.receivedBytes === 0) await syncFolder(dirname(path))
      if (made !== undefined) await syncFolder(dirname(made))
      return new FileWriter(handle, { folder: dirname(path), position: upload.receivedBytes })
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async finishUpload(upload: StoredUpload): Promise<string> {
    const { location, ...owner } = contentOf(upload)
    const path = this.#pathOf({ ...owner, location })
    await onDisk(() => rename(this.#pathOfUpload(upload), path)).catch(async (error: NodeJS.ErrnoException) => {
      // The upload was finished before, and the platform was stopped before it was noted.
      if (error.code !== 'ENOENT' || (await sizeOf(path)) === undefined) throw error
    })
    await syncFolder(dirname(path))
    return location
  }

  async read(content: StoredContent, { first, last }: { first: number; last: number }): Promise<Readable> {
    const handle = await open(this.#pathOf(content)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      throw new Problem('not_found', 'The file of the content is missing in the home. Restore it from a backup')
    })
    if (last < first) {
      await handle.close()
      return Readable.from([])
    }
    return createReadStream('', { fd: handle, start: first, end: last, highWaterMark: readBytes })
  }

  async deleteContent(content: StoredContent): Promise<void> {
    await rm(this.#pathOf(content), { force: true })
  }

  async deleteUpload(upload: Pick<StoredUpload, 'tenantId' | 'uploadId'>): Promise<void> {
    await rm(this.#pathOfUpload(upload), { force: true })
    await rm(this.#pathOf(contentOf(upload)), { force: true })
  }

  #pathOf({ tenantId, location }: StoredContent): string {
    return join(this.#folder, checked(tenantId), checked(location))
  }

  #pathOfUpload({ tenantId, uploadId }: Pick<StoredUpload, 'tenantId' | 'uploadId'>): string {
    return join(this.#folder, checked(tenantId), 'uploads', checked(uploadId))
  }
}

function contentOf({ tenantId, uploadId }: Pick<StoredUpload, 'tenantId' | 'uploadId'>): StoredContent {
  return { tenantId, location: uploadId }
}

/** Returns a part of a path. It contains only the characters of UUIDs, so that it cannot leave the folder. */
function checked(part: string): string {
  if (!/^[0-9a-f-]{36}$/.test(part)) throw new TypeError('A part of the path of a content is a UUID')
  return part
}

class FileWriter implements UploadWriter {
  readonly #handle: FileHandle
  readonly #folder: string
  #position: number
  #durable: number
  #pending: Uint8Array[] = []
  #pendingBytes = 0

  constructor(handle: FileHandle, { folder, position }: { folder: string; position: number }) {
    this.#handle = handle
    this.#folder = folder
    this.#position = position
    this.#durable = position
  }

  get durableBytes(): number {
    return this.#durable
  }

  get durableParts(): null {
    return null
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    if (this.#pendingBytes >= writeBytes) await this.#writePending()
  }

  async flush(): Promise<null> {
    await this.#writePending()
    await onDisk(() => this.#handle.datasync())
    this.#durable = this.#position
    return null
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  async #writePending(): Promise<void> {
    const chunks = this.#pending
    const bytes = this.#pendingBytes
    if (bytes === 0) return
    this.#pending = []
    this.#pendingBytes = 0
    await requireSpace(this.#folder, bytes)
    // One call can write fewer bytes than requested.
    let rest = Buffer.concat(chunks)
    while (rest.length > 0) {
      const { bytesWritten } = await onDisk(() => this.#handle.write(rest, 0, rest.length, this.#position))
      this.#position += bytesWritten
      rest = rest.subarray(bytesWritten)
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}
