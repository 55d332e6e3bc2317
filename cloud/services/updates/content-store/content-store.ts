import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../platform/http/byte-ranges.ts'

/**
 * The interface of the places in which the contents of artefacts are stored. An upload is a sequence of bytes that grows. It
 * becomes a content when it is finished. A content does not change. Contents are bytes only: they are never executed or
 * unpacked.
 */

export type StoreName = 'home' | 's3'

/** An upload in a store. */
export type StoredUpload = {
  tenantId: string
  uploadId: string
  /** The bytes that the platform has confirmed. */
  receivedBytes: number
  /** The description of the bytes that the store returned with the last confirmed bytes. */
  parts: unknown
}

export type StoredContent = { tenantId: string; location: string }

/** `UploadWriter` appends bytes to an upload. One request writes at a time. */
export type UploadWriter = {
  write(chunk: Uint8Array): Promise<void>
  /** Makes the written bytes durable. Returns their description, which is stored with the upload. */
  flush(): Promise<unknown>
  /** The number of durable bytes. */
  readonly durableBytes: number
  /** The description of the durable bytes. */
  readonly durableParts: unknown
  /** Releases the files. Bytes that were not flushed can be lost. */
  close(): Promise<void>
}

export type ContentStore = {
  readonly name: StoreName
  /** Returns the number of confirmed bytes that the store still has. It is smaller if the files were lost. */
  storedBytes(upload: StoredUpload): Promise<number>
  /** Opens an upload after its confirmed bytes. Bytes behind them are discarded. */
  openUpload(upload: StoredUpload): Promise<UploadWriter>
  /** Turns an upload into a content. Returns its location. A repeated call has no effect. */
  finishUpload(upload: StoredUpload): Promise<string>
  read(content: StoredContent, range: ByteRange): Promise<Readable>
  /** Deletes the bytes of a content. It has no effect if they do not exist. */
  deleteContent(content: StoredContent): Promise<void>
  /** Deletes the bytes of an upload, also if it was finished. It has no effect if they do not exist. */
  deleteUpload(upload: Omit<StoredUpload, 'receivedBytes'>): Promise<void>
}
