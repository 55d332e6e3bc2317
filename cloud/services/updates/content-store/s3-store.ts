import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../platform/http/byte-ranges.ts'
import type { Outbound } from '../../../platform/outbound.ts'
import type { S3Settings } from '../../../platform/service.ts'
import type { ContentStore, StoredContent, StoredUpload, UploadWriter } from './content-store.ts'
import { onDisk, requireSpace, syncFolder } from './disk.ts'
import { S3Client } from './s3-client.ts'

/** The size of the parts of a multipart upload. S3 requires at least 5 MiB for all parts except the last one. */
const partBytes = 8 * 1024 * 1024

/** The parts that the store has. They are stored with the upload when its bytes are confirmed. */
type S3Parts = { multipartId: string; etags: string[] }

type Options = { s3: S3Settings; folder: string; outbound: Outbound }

/**
 * `S3Store` stores contents as objects `<prefix>/<tenant>/<id>` of an S3-compatible store. An upload is a multipart upload.
 * Bytes that do not fill a part wait in a file below the folder, so that confirmed bytes survive a stop of the platform. One
 * part of each running upload is in memory.
 */
export class S3Store implements ContentStore {
  readonly name = 's3'
  readonly #client: S3Client
  readonly #folder: string

  constructor({ s3, folder, outbound }: Options) {
    this.#client = new S3Client(s3, outbound)
    this.#folder = folder
  }

  async storedBytes(upload: StoredUpload): Promise<number> {
    const { receivedBytes } = upload
    const inParts = (partsOf(upload)?.etags.length ?? 0) * partBytes
    if (inParts >= receivedBytes) return receivedBytes
    const tail = await this.#tails(upload).read(inParts / partBytes)
    if (inParts + tail.length >= receivedBytes) return receivedBytes
    // The upload was finished before, and the platform was stopped before it was noted.
    if ((await this.#client.sizeOf(keyOf(upload))) === receivedBytes) return receivedBytes
    return inParts + tail.length
  }

  async openUpload(upload: StoredUpload): Promise<UploadWriter> {
    const parts = upload.receivedBytes === 0 ? undefined : partsOf(upload)
    if (upload.receivedBytes === 0 && upload.parts !== null) await this.deleteUpload(upload)
    const tails = this.#tails(upload)
    await tails.prepare()
    const inParts = (parts?.etags.length ?? 0) * partBytes
    const tail = await tails.read(inParts / partBytes)
    const kept = tail.subarray(0, upload.receivedBytes - inParts)
    await tails.truncate(inParts / partBytes, kept.length)
    return new PartWriter({ client: this.#client, key: keyOf(upload), tails, parts, tail: kept })
  }

  async finishUpload(upload: StoredUpload): Promise<string> {
    const key = keyOf(upload)
    const tails = this.#tails(upload)
    const parts = partsOf(upload)
    const inParts = (parts?.etags.length ?? 0) * partBytes
    const tail = (await tails.read(inParts / partBytes)).subarray(0, upload.receivedBytes - inParts)
    const isTailMissing = inParts + tail.length < upload.receivedBytes
    if (!isTailMissing) await this.#complete(key, { parts, tail })
    if ((await this.#client.sizeOf(key)) !== upload.receivedBytes)
      throw new Error('The object in the store is not complete')
    await tails.delete()
    return upload.uploadId
  }

  async read(content: StoredContent, range: ByteRange): Promise<Readable> {
    return this.#client.read(objectOf(content.tenantId, content.location), range)
  }

  async deleteContent({ tenantId, location }: StoredContent): Promise<void> {
    await this.#client.delete(objectOf(tenantId, location))
  }

  async deleteUpload(upload: Omit<StoredUpload, 'receivedBytes'>): Promise<void> {
    const multipartId = partsOf(upload)?.multipartId
    if (multipartId !== undefined) await this.#client.abort(keyOf(upload), multipartId)
    await this.#client.delete(keyOf(upload))
    await this.#tails(upload).delete()
  }

  async #complete(
    key: string,
    { parts, tail }: { parts: S3Parts | undefined; tail: Buffer<ArrayBuffer> },
  ): Promise<void> {
    if (parts === undefined) {
      await this.#client.put(key, tail)
      return
    }
    const { multipartId, etags } = parts
    const last = { multipartId, number: etags.length + 1, bytes: tail }
    const etag = tail.length === 0 ? '' : await this.#client.putPart(key, last)
    // A multipart upload that does not exist was completed before.
    if (etag === undefined) return
    await this.#client.complete(key, { multipartId, etags: etag === '' ? etags : [...etags, etag] })
  }

  #tails({ tenantId, uploadId }: Pick<StoredUpload, 'tenantId' | 'uploadId'>): TailFiles {
    return new TailFiles(join(this.#folder, tenantId, 'uploads'), uploadId)
  }
}

function partsOf({ parts }: Pick<StoredUpload, 'parts'>): S3Parts | undefined {
  return (parts as S3Parts | null) ?? undefined
}

function keyOf({ tenantId, uploadId }: Pick<StoredUpload, 'tenantId' | 'uploadId'>): string {
  return objectOf(tenantId, uploadId)
}

function objectOf(tenantId: string, location: string): string {
  return `${tenantId}/${location}`
}

/** `TailFiles` are the files with the bytes of an upload that do not fill a part. The name contains the number of full parts. */
class TailFiles {
  readonly #folder: string
  readonly #name: string

  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#name = name
  }

  async prepare(): Promise<void> {
    await onDisk(() => mkdir(this.#folder, { recursive: true, mode: 0o700 }))
  }

  async read(number: number): Promise<Buffer<ArrayBuffer>> {
    return readFile(this.#path(number)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0)
      throw error
    })
  }

  async truncate(number: number, length: number): Promise<void> {
    const handle = await onDisk(() => open(this.#path(number), 'a', 0o600))
    try {
      await handle.truncate(length)
    } finally {
      await handle.close()
    }
  }

  /** Appends bytes at a position and makes them durable. */
  async write(number: number, position: number, chunks: readonly Uint8Array[]): Promise<void> {
    const bytes = Buffer.concat(chunks)
    await requireSpace(this.#folder, bytes.length)
    const handle = await onDisk(() => open(this.#path(number), position === 0 ? 'w' : 'r+', 0o600))
    try {
      for (let written = 0; written < bytes.length; ) {
        const rest = bytes.length - written
        written += (await onDisk(() => handle.write(bytes, written, rest, position + written))).bytesWritten
      }
      await onDisk(() => handle.datasync())
    } finally {
      await handle.close()
    }
    if (position === 0) await syncFolder(this.#folder)
  }

  async remove(number: number): Promise<void> {
    await rm(this.#path(number), { force: true })
  }

  async delete(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    for (const name of names) if (name.startsWith(`${this.#name}.`)) await rm(join(this.#folder, name), { force: true })
  }

  #path(number: number): string {
    return join(this.#folder, `${this.#name}.${number}`)
  }
}

type PartWriterOptions = {
  client: S3Client
  key: string
  tails: TailFiles
  parts: S3Parts | undefined
  tail: Buffer<ArrayBuffer>
}

class PartWriter implements UploadWriter {
  readonly #client: S3Client
  readonly #key: string
  readonly #tails: TailFiles
  #parts: S3Parts | undefined
  /** The bytes that do not fill a part. */
  #chunks: Uint8Array[]
  #bytes: number
  /** How many of these bytes are in the file. */
  #written: number
  /** The files of full parts, which are deleted when the parts are confirmed. */
  #obsolete: number[] = []
  #flushed: number[] = []

  constructor({ client, key, tails, parts, tail }: PartWriterOptions) {
    this.#client = client
    this.#key = key
    this.#tails = tails
    this.#parts = parts
    this.#chunks = tail.length === 0 ? [] : [tail]
    this.#bytes = tail.length
    this.#written = tail.length
  }

  get durableBytes(): number {
    return (this.#parts?.etags.length ?? 0) * partBytes + this.#written
  }

  get durableParts(): S3Parts | null {
    return this.#parts ?? null
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      const taken = rest.subarray(0, partBytes - this.#bytes)
      this.#chunks.push(taken)
      this.#bytes += taken.length
      rest = rest.subarray(taken.length)
      if (this.#bytes === partBytes) await this.#sendPart()
    }
  }

  async flush(): Promise<S3Parts | null> {
    // The parts of the flush before are confirmed now.
    for (const number of this.#flushed) await this.#tails.remove(number)
    this.#flushed = this.#obsolete
    this.#obsolete = []
    if (this.#bytes > this.#written) {
      const all = Buffer.concat(this.#chunks)
      await this.#tails.write(this.#number, this.#written, [all.subarray(this.#written)])
      this.#chunks = [all]
      this.#written = all.length
    }
    return this.durableParts
  }

  async close(): Promise<void> {
    this.#chunks = []
  }

  get #number(): number {
    return this.#parts?.etags.length ?? 0
  }

  async #sendPart(): Promise<void> {
    const { multipartId, etags } = this.#parts ?? { multipartId: await this.#client.start(this.#key), etags: [] }
    const part = { multipartId, number: etags.length + 1, bytes: Buffer.concat(this.#chunks) }
    const etag = await this.#client.putPart(this.#key, part)
    if (etag === undefined) throw new Error('The multipart upload does not exist in the store')
    this.#obsolete.push(etags.length)
    this.#parts = { multipartId, etags: [...etags, etag] }
    this.#chunks = []
    this.#bytes = 0
    this.#written = 0
  }
}
