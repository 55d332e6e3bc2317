import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { BackOff } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type Artefact, updateLimits, updates } from '@millwright/api/updates.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { formatBytes } from '../output/text.ts'
import type { Session } from '../session/session.ts'

/** This file uploads the content of artefacts in parts. A lost connection costs at most one part. */

/** The size of one part. It is small enough that a part is sent again quickly, and large enough that requests are few. */
const partBytes = Math.min(8 * 1024 * 1024, updateLimits.contentBytesPerRequest)
/** The number of failures in a row after which the upload stops. */
const maxFailures = 6

export type LocalFile = { path: string; size: number; sha256: string }

/** Returns the size and the SHA-256 of a file. */
export async function describeFile({ terminal }: Session, path: string): Promise<LocalFile> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw usageError(`${path} cannot be read.`, 'check the name of the file and its permissions')
  if (!found.isFile()) throw usageError(`${path} is not a file.`, 'pass the name of a file')
  if (found.size === 0) throw usageError(`${path} is empty.`, 'pass a file with content')
  const hash = createHash('sha256')
  let read = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk)
    read += chunk.length
    terminal.progress(`Computing SHA-256: ${Math.floor((read / found.size) * 100)} %`)
  }
  if (read !== found.size)
    throw usageError(`${path} changes while it is read.`, 'repeat the command when it is complete')
  return { path, size: found.size, sha256: hash.digest('hex') }
}

/** Uploads the content that the platform does not have yet. Returns the artefact with its checked signature. */
export async function uploadContent(session: Session, artefact: Artefact, file: LocalFile): Promise<Artefact> {
  const { id } = artefact
  if (artefact.content.state === 'complete') return artefact
  await using content = await open(file.path)
  const backOff = new BackOff({ firstMs: 500, longestMs: 10_000 })
  let offset = await storedBytes(session, id)
  let failures = 0
  for (;;) {
    session.terminal.progress(`Uploading: ${Math.floor((offset / file.size) * 100)} % of ${formatBytes(file.size)}`)
    const end = Math.min(offset + partBytes, file.size)
    try {
      const { data } = await session.api(updates).putContent({
        params: { id },
        headers: { 'content-range': `bytes ${offset}-${end - 1}/${file.size}` },
        body: { mediaType: 'application/octet-stream', content: await partOf(content, offset, end) },
      })
      failures = 0
      backOff.reset()
      if (data.content.state === 'complete') return data
      offset = data.content.receivedBytes
    } catch (error) {
      if (!isTemporary(error)) throw error
      failures += 1
      if (failures > maxFailures)
        throw new CommandError(`The upload stopped at ${formatBytes(offset)} of ${formatBytes(file.size)}.`, {
          next: 'repeat the command to continue the upload',
          cause: error,
        })
      await delay(backOff.nextMs())
      offset = await storedBytes(session, id).catch(() => offset)
    }
  }
}

/** Reads a part of a file. */
async function partOf(file: FileHandle, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const part = new Uint8Array(end - start)
  const { bytesRead } = await file.read(part, 0, part.length, start)
  return part.subarray(0, bytesRead)
}

async function storedBytes(session: Session, id: string): Promise<number> {
  let offset = 0
  await session.api(updates).readUploadOffset({ params: { id } }, ({ headers }) => {
    offset = Number(headers.get('upload-offset') ?? 0)
  })
  return offset
}

/** Returns true when the upload can continue after the error. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof Problem)) return true
  return error.code === 'offset_mismatch' || error.status >= 500 || error.status === 408 || error.status === 429
}
