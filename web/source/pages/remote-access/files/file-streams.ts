import { Failure } from '../../../app/api/failure.ts'
import type { OpenStream, SessionStream } from '../streams/session-stream.ts'
import { closeCodes, type EntriesMessage, type StreamClose } from '../streams/stream-message.ts'

/** This file lists folders of a device and transfers files. Each operation is one stream of the session. */

/** The maximum size of a downloaded file. The browser keeps the file until the download is complete. */
export const maxDownloadBytes = 1_000_000_000
/** The size of the parts of an upload. */
const partBytes = 128 * 1024
/** The maximum number of bytes of an upload that wait for the network. */
const maxBufferedBytes = 1024 * 1024
const bufferPollMs = 20

/** The codes of failures that the console itself detects. */
export const transferCodes = { lost: 'connection_lost', tooLarge: 'file_too_large' } as const

type TransferOptions = { signal: AbortSignal; onProgress: (bytes: number, total: number | undefined) => void }

export function listFolder(openStream: OpenStream, path: string): Promise<EntriesMessage> {
  return new Promise((resolve, reject) => {
    let folder: EntriesMessage | undefined
    const opening = openStream(
      { kind: 'file-list', path },
      {
        // The entries of a large folder arrive in several messages.
        onMessage(message) {
          if (message.type !== 'entries') return
          folder = { ...message, entries: [...(folder?.entries ?? []), ...message.entries] }
        },
        onClose(close) {
          if (isNormalEnd(close) && folder !== undefined) resolve(folder)
          else reject(failureOfClose(close))
        },
      },
    )
    opening.catch(reject)
  })
}

export async function downloadFile(openStream: OpenStream, path: string, options: TransferOptions): Promise<Blob> {
  const { promise, resolve, reject } = Promise.withResolvers<Blob>()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let [received, total] = [0, undefined as number | undefined]
  const stream = await openStream(
    { kind: 'file-download', path },
    {
      onMessage(message) {
        if (message.type !== 'file') return
        total = message.size
        if (total > maxDownloadBytes) reject(tooLarge())
        options.onProgress(0, total)
      },
      onBytes(bytes) {
        received += bytes.length
        if (received > maxDownloadBytes) return reject(tooLarge())
        parts.push(bytes)
        options.onProgress(received, total)
      },
      onClose(close) {
        if (isNormalEnd(close)) resolve(new Blob(parts, { type: 'application/octet-stream' }))
        else reject(failureOfClose(close))
      },
    },
  )
  return settled(stream, promise, options.signal)
}

export async function uploadFile(
  openStream: OpenStream,
  path: string,
  { file, ...options }: TransferOptions & { file: File },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const stream = await openStream(
    { kind: 'file-upload', path },
    {
      onOpen: opened.resolve,
      onMessage(message) {
        if (message.type === 'stored') resolve()
      },
      onClose: (close) => reject(failureOfClose(close)),
    },
  )
  const state = { isOver: false }
  promise.then(
    () => {
      state.isOver = true
    },
    () => {
      state.isOver = true
      opened.resolve()
    },
  )
  const sending = opened.promise.then(() => sendFile(stream, { file, ...options }, state))
  sending.catch(reject)
  return settled(stream, promise, options.signal)
}

/** Sends a file in parts, and waits while the network is slower than the disk. */
async function sendFile(
  stream: SessionStream,
  { file, signal, onProgress }: TransferOptions & { file: File },
  state: { readonly isOver: boolean },
): Promise<void> {
  for (let offset = 0; offset < file.size; offset += partBytes) {
    const part = await file.slice(offset, offset + partBytes).arrayBuffer()
    while (stream.bufferedBytes > maxBufferedBytes && !signal.aborted && !state.isOver) {
      await new Promise((resolve) => setTimeout(resolve, bufferPollMs))
    }
    if (signal.aborted || state.isOver) return
    stream.sendBytes(new Uint8Array(part))
    onProgress(Math.max(0, offset + part.byteLength - stream.bufferedBytes), file.size)
  }
  stream.sendMessage({ type: 'end' })
}

/** Closes the stream when the operation is over or the user cancels it. */
async function settled<Result>(stream: SessionStream, result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const canceled = Promise.withResolvers<never>()
  const onAbort = () => canceled.reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([result, canceled.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
    result.catch(() => {})
    stream.close()
  }
}

function isNormalEnd({ code, error }: StreamClose): boolean {
  return code === closeCodes.normal && error === undefined
}

function failureOfClose({ error }: StreamClose): Failure {
  if (error !== undefined) return new Failure({ title: error.detail, code: error.code, detail: error.detail })
  return new Failure({ title: 'Connection lost', code: transferCodes.lost })
}

function tooLarge(): Failure {
  return new Failure({ title: 'File too large', code: transferCodes.tooLarge })
}
