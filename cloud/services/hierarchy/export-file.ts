import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { newId } from '../../platform/database/id.ts'
import { limits } from '../../platform/limits.ts'
import type { Log } from '../../platform/log.ts'

/**
 * Files with the text of exports. An export is printed completely before its response starts, so a slow client occupies no
 * tree in memory and does not delay the exports of other users. The file has no name, so the operating system deletes it
 * when it is closed, also if the process is killed.
 */

/** The smallest size that counts for a file, because the number of open files is limited too. */
const smallestBytes = 1024 * 1024

/** Limits the bytes of the files that a user has not read completely. */
const unreadFiles = new Semaphore({
  capacity: Number.POSITIVE_INFINITY,
  perKey: hierarchyLimits.unreadExportBytes,
  waitingPerKey: 0,
  refusal: `Your exports that are not completely read have more than ${inMebibytes(hierarchyLimits.unreadExportBytes)}. Read or close them first`,
})

function inMebibytes(bytes: number): string {
  return `${bytes / 2 ** 20} MiB`
}

export type PrintedFile = { handle: FileHandle; bytes: number }

/** Writes the parts of an export to a temporary file. */
export async function printToFile(
  parts: AsyncIterable<string>,
  { maxBytes = hierarchyLimits.exportBytes }: { maxBytes?: number } = {},
): Promise<PrintedFile> {
  const path = join(tmpdir(), `millwright-export-${newId()}`)
  const handle = await open(path, 'wx+', 0o600)
  let bytes = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const part of parts) {
      const content = Buffer.from(part)
      bytes += content.length
      if (bytes > maxBytes)
        throw new Problem(
          'conflict',
          `The export has more than ${inMebibytes(maxBytes)}, which is the limit of an export`,
        )
      yield content
    }
  }
  try {
    await unlink(path)
    await handle.writeFile(counted())
    return { handle, bytes }
  } catch (error) {
    await handle.close()
    throw isFull(error) ? noSpace(error) : error
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

function noSpace(cause: unknown): Problem {
  const detail =
    'The folder for temporary files has no space left for the export. Free space there, or set TMPDIR to another folder'
  return new Problem('unavailable', detail, { retryAfter: 10, cause })
}

type SendOptions = { caller: Caller; log: Log; hierarchyId: string; sendMs?: number }

/** Returns the content of a file as a stream. If the client has not read it completely after `sendMs`, the stream ends. */
export async function fileStream(
  { handle, bytes }: PrintedFile,
  { caller: { tenantId, principal }, log, hierarchyId, sendMs = hierarchyLimits.exportSeconds * 1_000 }: SendOptions,
): Promise<Readable> {
  const leave = await unreadFiles
    .enter(`${tenantId} ${principal.id}`, Math.max(bytes, smallestBytes))
    .catch(async (error: unknown) => {
      await handle.close()
      throw error
    })
  const stream = handle.createReadStream({ start: 0, highWaterMark: limits.streamBytes })
  const timer = setTimeout(
    () => stream.destroy(new Error(`The client has not read the export within ${sendMs / 1_000} seconds`)),
    sendMs,
  ).unref()
  stream.once('close', () => {
    clearTimeout(timer)
    leave()
  })
  return stream.on('error', (error) => {
    const place = { tenant: tenantId, principal: principal.id, hierarchy: hierarchyId, bytes, read: stream.bytesRead }
    log.warn({ error, ...place }, 'An export was ended before its client has read it')
  })
}
