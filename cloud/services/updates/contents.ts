import type { ReceivedFile } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import { type WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { parseContentRange, requestedRange, type SentPart } from '../../platform/http/byte-ranges.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import type { ArtefactRow } from './artefact-store.ts'
import * as store from './artefact-store.ts'
import { missingArtefact, requireArtefact, showArtefact } from './artefact-view.ts'
import { reportArtefact, storeSignatureState } from './artefacts.ts'
import { type ContentRow, deleteUpload, findContent, insertContent, insertDeletion } from './content-row-store.ts'
import type { Downloads } from './downloads.ts'
import { lockTrustAnchors, readSettings } from './trust-anchor-store.ts'
import type { OpenUpload, UploadedContent, Uploads } from './uploads.ts'

type Operations = 'readUploadOffset' | 'putContent' | 'readContent' | 'readJobContent'
type Parts = { uploads: Uploads; downloads: Downloads }

/** The upload and the download of contents, for users and for gateways. */
export function contentHandlers(
  context: Context,
  { uploads, downloads }: Parts,
): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context
  return {
    async readUploadOffset({ params: { id } }, caller) {
      const row = await requireArtefact(context, caller, id)
      const offset = row.isComplete ? row.size : await uploads.offsetOf(caller, id)
      return answer(204, undefined, { 'upload-offset': String(offset), 'upload-length': String(row.size) })
    },

    async putContent({ params: { id }, headers, body: file }, caller) {
      const row = await requireArtefact(context, caller, id)
      if (row.isComplete) throw nothingToUpload()
      const part = sentPart(headers['content-range'], file, row)
      return uploads.use(caller, id, async (upload) => {
        await requireUnfinished(context, caller, id)
        await receivePart(upload, part, file)
        if (upload.receivedBytes < row.size)
          return answer(202, { data: await readShown(context, caller, id) }, offsetHeader(upload))
        const content = await upload.finish()
        await completeContent(context, caller, { row, content })
        return answer(200, { data: await readShown(context, caller, id) }, offsetHeader(upload))
      })
    },

    async readContent({ params: { id }, headers }, caller) {
      const row = await requireArtefact(context, caller, id)
      if (!row.isComplete)
        throw new Problem('conflict', 'The content is not complete yet. Upload all of its bytes first')
      const content = await requireContent(context, caller, row.sha256)
      const range = requestedRange(headers.range, row.size)
      if (range === undefined || range.first === 0)
        await database.transaction(caller, (tx) =>
          record(tx, caller, {
            action: 'updates.readContent',
            target: `artefact/${id}`,
            detail: { name: row.name, version: row.version, sha256: row.sha256 },
          }),
        )
      return downloads.send(caller, content, { range, disposition: attachment(fileNameOf(row)) })
    },

    async readJobContent({ params: { jobId }, query: { lease }, headers }, caller) {
      const { workflow, definition } = await leasedJob(context, caller, { jobId, lease })
      const { sha256 } = (definition.artefact ?? {}) as { sha256?: unknown }
      if (workflow.name !== 'artefact-update' || typeof sha256 !== 'string')
        throw new Problem('not_found', `Job ${jobId} has no artefact`)
      const content = await requireContent(context, caller, sha256)
      return downloads.send(caller, content, { range: requestedRange(headers.range, content.size) })
    },
  }
}

/**
 * Returns a job whose lease the gateway holds. Missing jobs and jobs of other gateways return the same error. The artefact
 * of a job is not delivered to other gateways, and not after the lease has ended.
 */
export async function leasedJob(
  { peers }: Context,
  caller: Caller,
  { jobId, lease }: { jobId: string; lease: string },
): Promise<WorkflowJob> {
  // Only gateways hold leases.
  if (caller.principal.kind !== 'gateway') throw new Problem('not_found', `Job ${jobId} does not exist`)
  const job = await peers(workflows, caller).getJob({ params: { id: jobId }, query: {} })
  const { data: current } = await peers(workflows, systemCaller(caller)).readLease({
    params: { id: jobId },
    query: { clientId: caller.principal.id },
  })
  if (current === null || current.id !== lease)
    throw new Problem('lease_lost', `The lease of job ${jobId} has expired or was replaced. Stop working on the job.`)
  return job
}

async function requireContent({ database }: Context, caller: Caller, sha256: string): Promise<ContentRow> {
  const content = await database.read(caller, (handle) => findContent(handle, sha256))
  if (content === undefined)
    throw new Problem('not_found', 'The content of the artefact was deleted. Upload the artefact again')
  return content
}

function fileNameOf({ name, version, kind }: ArtefactRow): string {
  return `${name}-${version}.${kind === 'logfile' ? 'log' : 'bin'}`.replaceAll(/[/\\:*?"<>|]/g, '_')
}

function nothingToUpload(): Problem {
  return new Problem('conflict', 'The content is complete. There is nothing to upload')
}

/** Ends an upload whose artefact was completed or deleted while the request waited for the lease. */
async function requireUnfinished({ database }: Context, caller: Caller, id: string): Promise<void> {
  const row = await database.transaction(caller, async (tx) => {
    const current = await store.lockArtefact(tx, id)
    if (current === undefined || current.isComplete) await deleteUpload(tx, id, { now: new Date().toISOString() })
    return current
  })
  if (row === undefined) throw missingArtefact(id)
  if (row.isComplete) throw nothingToUpload()
}

/** Returns the part that a request sends. Without `Content-Range`, it sends all bytes. */
function sentPart(text: string | undefined, { bytes }: ReceivedFile, { size }: { size: number }): SentPart {
  const part = text === undefined ? { first: 0, last: size - 1, size } : parseContentRange(text)
  if (part.size !== size)
    throw new Problem(
      'invalid_header',
      `The artefact has ${size} bytes, but Content-Range contains another size. Send the size of the artefact`,
    )
  requireLength(part, bytes)
  return part
}

/** Throws if the length of the body is known and is not the length of the part. */
export function requireLength({ first, last }: SentPart, bytes: number | undefined): void {
  const expected = last === undefined ? 0 : last - first + 1
  if (bytes === undefined || bytes === expected) return
  throw new Problem(
    'invalid_header',
    `The body has ${bytes} bytes, but Content-Range describes ${expected} bytes. Send exactly these bytes`,
  )
}

/** Appends the part that a request sends to the upload. */
export async function receivePart(upload: OpenUpload, { first, last }: SentPart, file: ReceivedFile): Promise<void> {
  const isRestart = first === 0 && last !== undefined
  if (!isRestart && first !== upload.receivedBytes) throw wrongOffset(upload)
  if (last === undefined) return
  if (isRestart) upload.restart()
  const bytes = last - first + 1
  const { content } = await file.open()
  await upload.append(content, bytes)
  if (upload.receivedBytes === last + 1) return
  throw new Problem(
    'invalid_body',
    `The request ended before the part was complete. ${upload.receivedBytes} bytes are stored. Continue the upload at this offset`,
    { headers: offsetHeader(upload) },
  )
}

function wrongOffset(upload: OpenUpload): Problem {
  const detail = `The part must start at byte ${upload.receivedBytes}. Send the bytes from this offset`
  return new Problem('offset_mismatch', detail, { headers: offsetHeader(upload) })
}

export function offsetHeader({ receivedBytes }: OpenUpload): { 'upload-offset': string } {
  return { 'upload-offset': String(receivedBytes) }
}

async function readShown({ database }: Context, caller: Caller, id: string) {
  return database.read(caller, async (handle) => {
    const row = await store.findArtefact(handle, id)
    if (row === undefined) throw new Problem('not_found', 'The artefact was deleted during its upload')
    return showArtefact(row, await readSettings(handle))
  })
}

type CompletedUpload = { row: ArtefactRow; content: UploadedContent }

/** Stores an uploaded content for all artefacts that wait for it. A content with another hash is discarded. */
async function completeContent(context: Context, caller: Caller, { row, content }: CompletedUpload): Promise<void> {
  const sha256 = content.digests.sha256.toString('hex')
  const now = new Date().toISOString()
  if (sha256 !== row.sha256) {
    await context.database.transaction(caller, async (tx) => {
      await deleteUpload(tx, row.id, { now })
      const detail = { expected: row.sha256, actual: sha256 }
      const target = `artefact/${row.id}`
      await record(tx, caller, { action: 'updates.putContent', target, outcome: 'failed', detail })
    })
    throw new Problem(
      'hash_mismatch',
      `The SHA-256 of the content is ${sha256}, but the artefact requires ${row.sha256}. The content was discarded. Check the file, then upload it again`,
    )
  }
  await context.database.transaction(caller, async (tx) => {
    await lockTrustAnchors(tx)
    const { store: place, location, size, digests } = content
    const isNew = await insertContent(tx, { ...digests, sha256, size, store: place, location }, now)
    // Another upload of the same content was faster. Its bytes are kept.
    if (!isNew) await insertDeletion(tx, { store: place, location, uploadId: null, parts: null }, now)
    for (const id of await store.completeArtefacts(tx, { sha256, size }, now)) {
      await deleteUpload(tx, id, { now, keepsBytes: id === row.id })
      const completed = await store.lockArtefact(tx, id)
      if (completed === undefined) continue
      await storeSignatureState(tx, completed)
      await reportArtefact(tx, caller, { id, action: 'putContent', event: 'completed' })
    }
  })
}
