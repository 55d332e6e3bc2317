import { Problem } from '@millwright/api/problem.ts'
import type { Retrieval } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import { insertArtefact } from './artefact-store.ts'
import { reportArtefact } from './artefacts.ts'
import { deleteUpload, findUpload, insertContent, insertDeletion, lockContent } from './content-row-store.ts'
import { partsOf } from './parts.ts'
import type { RetrievalRow } from './retrieval-store.ts'
import * as store from './retrieval-store.ts'
import type { UploadedContent } from './uploads.ts'

/** The states of retrievals. They follow the states of their jobs, except the end, which follows the content. */

/** What a gateway reported for the job of a retrieval. */
export type RetrievalNote = {
  jobId: string
  /** The state of the job. */
  state: string
  progress?: number | undefined
  message?: string | undefined
  result?: Record<string, unknown> | undefined
}

/**
 * Stores what a gateway reported. Returns false if the job is not the job of a retrieval. A repeated or late note has no
 * effect.
 */
export async function noteRetrieval(context: Context, caller: Caller, note: RetrievalNote): Promise<boolean> {
  const { database } = context
  const row = await database.read(caller, (handle) => store.findRetrieval(handle, note.jobId))
  if (row === undefined) return false
  if (note.state === 'FINISHED') await finishRetrieval(context, caller, { row, note })
  else if (note.state === 'FAILED' || note.state === 'CANCELED')
    await failRetrieval(
      context,
      caller,
      row,
      note.message ?? (note.state === 'CANCELED' ? 'The retrieval was canceled' : 'The gateway reported no reason'),
    )
  else if (note.state !== 'CREATED')
    await database.transaction(caller, (tx) => {
      const progress = note.progress ?? row.progress
      const state = { state: 'running', progress, reason: note.message ?? null, artefactId: null } as const
      return changeRetrieval(tx, row, state)
    })
  return true
}

/** Completes the upload of a finished job if the platform was stopped after the last byte was received. */
async function finishRetrieval(
  context: Context,
  caller: Caller,
  { row, note }: { row: RetrievalRow; note: RetrievalNote },
): Promise<void> {
  if (row.state === 'finished' || row.state === 'failed') return
  const upload = await context.database.read(caller, (handle) => findUpload(handle, row.id))
  const size = note.result?.size
  if (upload === undefined || (typeof size === 'number' && size !== upload.receivedBytes)) {
    const received = upload?.receivedBytes ?? 0
    await failRetrieval(context, caller, row, `The gateway did not send the whole content (${received} bytes arrived)`)
    return
  }
  await partsOf(context).uploads.use(caller, row.id, async (open) =>
    completeRetrieval(context, caller, { row, content: await open.finish() }),
  )
}

export async function failRetrieval(
  context: Context,
  caller: Caller,
  row: RetrievalRow,
  reason: string,
): Promise<void> {
  await context.database.transaction(caller, async (tx) => {
    const state = { state: 'failed', progress: row.progress, reason: reason.slice(0, 1_000), artefactId: null } as const
    const failed = await changeRetrieval(tx, row, state)
    if (failed === undefined) return
    await deleteUpload(tx, row.id, { now: new Date().toISOString() })
    await record(tx, caller, {
      action: 'updates.endRetrieval',
      target: `asset/${row.assetId}`,
      outcome: 'failed',
      detail: { retrievalId: row.id, kind: row.kind, reason: failed.reason },
    })
  })
}

/** Stores the content that a gateway has read from a device as an artefact. */
export async function completeRetrieval(
  context: Context,
  caller: Caller,
  { row, content }: { row: RetrievalRow; content: UploadedContent },
): Promise<void> {
  const sha256 = content.digests.sha256.toString('hex')
  const now = new Date().toISOString()
  await context.database.transaction(caller, async (tx) => {
    const current = await store.lockRetrieval(tx, row.jobId)
    if (current === undefined || current.state === 'finished') return
    if (current.state === 'failed') throw new Problem('conflict', 'The retrieval has failed. Start a new one')
    const { store: place, location, size, digests } = content
    const isNew = await insertContent(tx, { ...digests, sha256, size, store: place, location }, now)
    if (!isNew) {
      await lockContent(tx, sha256)
      await insertDeletion(tx, { store: place, location, uploadId: null, parts: null }, now)
    }
    const artefactId = newId()
    await insertArtefact(
      tx,
      {
        id: artefactId,
        name: `${row.assetName.slice(0, 100)} ${row.kind}`,
        manufacturer: row.manufacturer,
        products: [row.product],
        hardwareVersions: null,
        requires: null,
        releaseNotes: null,
        version: now,
        kind: row.kind,
        sha256,
        size,
        isComplete: true,
        signature: null,
        signatureFormat: null,
        signatureState: 'missing',
        sourceAssetId: row.assetId,
        sourceAccessGroupId: row.accessGroupId,
        createdById: row.principalId,
        createdByName: row.principalName,
      },
      now,
    )
    await deleteUpload(tx, row.id, { now, keepsBytes: true })
    await changeRetrieval(tx, row, { state: 'finished', progress: 100, reason: null, artefactId })
    await reportArtefact(tx, caller, { id: artefactId, action: 'endRetrieval', event: 'created' })
  })
}

async function changeRetrieval(
  tx: Transaction,
  row: RetrievalRow,
  state: store.RetrievalState,
): Promise<RetrievalRow | undefined> {
  const changed = await store.setRetrievalState(tx, row.id, state, new Date().toISOString())
  if (changed !== undefined && (changed.state !== row.state || changed.artefactId !== null))
    await emitRetrieval(tx, changed)
  return changed
}

export async function emitRetrieval(tx: Transaction, row: RetrievalRow): Promise<void> {
  const { id, assetId, accessGroupId, kind, state, artefactId } = row
  await emit(tx, {
    type: state === 'waiting' ? 'updates.retrieval.created' : 'updates.retrieval.changed',
    subject: `asset/${assetId}`,
    data: { retrievalId: id, assetId, accessGroupId, kind, state, ...(artefactId === null ? {} : { artefactId }) },
  })
}

export function showRetrieval(row: RetrievalRow): Retrieval {
  const { id, assetId, kind, state, progress, reason, artefactId, jobId, principalId, principalName, createdAt } = row
  return {
    id,
    assetId,
    kind,
    state,
    progress,
    ...(reason === null ? {} : { reason }),
    ...(artefactId === null ? {} : { artefactId }),
    jobId,
    createdBy: { id: principalId, name: principalName },
    createdTimestamp: createdAt,
  }
}
