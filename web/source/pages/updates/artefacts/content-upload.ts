import { BackOff, pause } from '@millwright/api/back-off.ts'
import { isTransientCode } from '@millwright/api/transient.ts'
import type { Artefact } from '@millwright/api/updates.ts'
import { consoleCodes, Failure } from '../../../app/api/failure.ts'

/** This file uploads the content of an artefact in parts. After a lost connection, it continues at the stored offset. */

export type ContentPart = { content: Blob; range: string }

export type ContentApi = {
  /** Returns the number of stored bytes. */
  readOffset(): Promise<number>
  putPart(part: ContentPart): Promise<Artefact>
  readArtefact(): Promise<Artefact>
}

type UploadOptions = {
  signal: AbortSignal
  onProgress: (bytes: number) => void
  /** Is called with true when the upload waits for the connection, and with false when it continues. */
  onInterrupted: (isInterrupted: boolean) => void
  partBytes?: number
  backOff?: BackOff
}

const defaultPartBytes = 8 * 1024 * 1024
/** The number of attempts without progress after which the upload fails. With the pauses, this takes several minutes. */
const maxAttempts = 20

/** Uploads a file, or the rest of it, and returns the artefact. */
export async function uploadContent(file: Blob, api: ContentApi, options: UploadOptions): Promise<Artefact> {
  const { signal, onProgress, onInterrupted, partBytes = defaultPartBytes } = options
  const backOff = options.backOff ?? new BackOff({ firstMs: 500, longestMs: 20_000 })
  let stored = -1
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      let offset = await api.readOffset()
      if (offset >= file.size) {
        const artefact = await api.readArtefact()
        if (artefact.content.state === 'complete') return artefact
      }
      if (offset > stored) attempt = 1
      stored = offset
      onInterrupted(false)
      for (;;) {
        onProgress(offset)
        const part = partOf(file, offset, partBytes)
        const artefact = await api.putPart(part)
        backOff.reset()
        attempt = 1
        offset = artefact.content.receivedBytes
        stored = offset
        onProgress(offset)
        if (artefact.content.state === 'complete') return artefact
      }
    } catch (error) {
      if (signal.aborted || !canContinue(error) || attempt >= maxAttempts) throw error
      onInterrupted(true)
      await pause(backOff.nextMs(), signal)
    }
  }
}

/**
 * Returns the part of a file that starts at an offset, with its `Content-Range`. If all bytes are stored, the part is empty
 * and only completes the upload.
 */
export function partOf(file: Blob, offset: number, partBytes: number): ContentPart {
  if (offset >= file.size) return { content: new Blob(), range: `bytes */${file.size}` }
  const end = Math.min(offset + partBytes, file.size)
  return { content: file.slice(offset, end), range: `bytes ${offset}-${end - 1}/${file.size}` }
}

/**
 * The problems after which the stored offset is read again: the part does not start there, the part did not arrive in time, or
 * another request writes or has completed the content.
 */
const repeatedCodes: readonly string[] = [consoleCodes.noAnswer, 'offset_mismatch', 'request_timeout', 'conflict']

function canContinue(error: unknown): boolean {
  return error instanceof Failure && (repeatedCodes.includes(error.code) || isTransientCode(error.code))
}
