import { Readable } from 'node:stream'
import {
  type ExportFile,
  type ExportRequest,
  exportFiles,
  exportLimits,
  type exports,
  formatsOf,
  selectionFieldsOf,
} from '@millwright/api/exports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { limits } from '../../platform/limits.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { checkSelection } from './export-content.ts'
import {
  canceledTopic,
  expiryOf,
  exportTask,
  inGibibytes,
  obsoleteTopic,
  progressOf,
  reportExport,
  reportJob,
  requireExport,
} from './export-run.ts'
import type { ExportRow } from './export-store.ts'
import * as store from './export-store.ts'
import { partContent } from './part-writer.ts'
import { hasReadRights } from './read-rights.ts'

/** The operations that start, list, read, cancel and delete exports. `export-run.ts` describes how exports run. */
export function exportHandlers(context: Context): Handlers<typeof exports> {
  const { database, tasks } = context
  return {
    async createExport({ body: { data: request } }, caller) {
      requireSensible(request)
      requireExport(caller, request)
      await checkSelection(context, caller, request)
      const now = new Date().toISOString()
      const row = { id: newId(), jobId: newId(), request, fileName: fileNameOf(request, now) }
      const created = await database.transaction(caller, async (tx) => {
        await requireCapacity(tx, caller)
        await store.insertExport(tx, caller, row, now)
        await tasks.enqueue(tx, { kind: exportTask, key: row.id })
        const inserted = requireFound(await store.findExport(tx, row.id), row.id)
        await reportExport(tx, caller, { row: inserted, action: 'createExport' })
        return inserted
      })
      // The task reports the job too, so a failure here has no effect.
      await reportJob(context, caller, created).catch((error: unknown) =>
        context.log.warn({ error, export: row.id }, 'The job of an export could not be created yet'),
      )
      return answer(202, { data: { exportId: row.id, jobId: row.jobId } }, { location: `/exports/v1/files/${row.id}` })
    },

    async listExports({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listExports(handle, caller.principal.id, { limit, offset }),
      )
      return { data: rows.map(showExport), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readExport({ params: { exportId } }, caller) {
      const found = await database.read(caller, (handle) => store.findExport(handle, exportId))
      return { data: showExport(requireAccess(caller, exportId, found)) }
    },

    async readExportContent({ params: { exportId } }, caller) {
      const found = await database.read(caller, (handle) => store.findExport(handle, exportId))
      const row = requireAccess(caller, exportId, found)
      const { request, fileName, state, parts, bytes, principalId, readRights } = row
      // The content has what this principal may read, so no other principal reads it.
      if (principalId !== caller.principal.id) throw missingExport(exportId)
      if (state !== 'finished')
        throw new Problem('conflict', `The export has the state ${state}. Only a finished export has content`)
      if (readRights === null || !hasReadRights(caller, readRights))
        throw new Problem(
          'forbidden',
          'The export contains data that you were allowed to read when it ran, but not now. Start the export again',
        )
      const content = Readable.from(partsOf(context, caller, { id: exportId, parts }), {
        objectMode: false,
        highWaterMark: limits.streamBytes,
      })
      return answer(200, limitedStream(content, context), {
        'content-type': contentTypeOf(request),
        'content-length': String(bytes),
        'content-disposition': attachment(fileName),
      })
    },

    async cancelExport({ params: { exportId } }, caller) {
      const row = await database.transaction(caller, async (tx) => {
        const current = requireAccess(caller, exportId, await store.lockExport(tx, exportId))
        if (!isUnfinished(current))
          throw new Problem('conflict', `The export has already ended with the state ${current.state}`)
        const canceled = await end(tx, exportId)
        await reportExport(tx, caller, { row: canceled, action: 'cancelExport' })
        tx.signal(obsoleteTopic)
        return canceled
      })
      await reportJob(context, caller, row)
      return { data: showExport(row) }
    },

    async deleteExport({ params: { exportId } }, caller) {
      const ended = await database.transaction(caller, async (tx) => {
        const current = requireAccess(caller, exportId, await store.lockExport(tx, exportId))
        const row = isUnfinished(current) ? await end(tx, exportId) : current
        await reportExport(tx, caller, { row, action: 'deleteExport' })
        await store.markDeleted(tx, exportId, new Date().toISOString())
        tx.signal(obsoleteTopic)
        return row
      })
      await reportJob(context, caller, ended)
      return answer(204)
    },
  }
}

/** Refuses a combination of content, format and selection that has no meaning. */
function requireSensible(request: ExportRequest): void {
  const { what, format } = request
  const formats = formatsOf[what]
  if (!formats.includes(format))
    throw fieldProblem(
      'invalid_body',
      '/data/format',
      `${what} cannot be exported as ${format}. Use one of ${formats.join(', ')}`,
    )
  const fields = selectionFieldsOf[what]
  for (const name of Object.keys(request))
    if (name !== 'what' && name !== 'format' && !fields.includes(name))
      throw fieldProblem('invalid_body', `/data/${name}`, `${name} does not apply to ${what}. Use ${fields.join(', ')}`)
  if (request.columns !== undefined && format !== 'xlsx' && format !== 'csv')
    throw fieldProblem('invalid_body', '/data/columns', `columns does not apply to ${format}. Use xlsx or csv`)
  if (what === 'graph' && request.depth !== undefined && request.assetId === undefined)
    throw fieldProblem('invalid_body', '/data/depth', 'depth requires assetId in the export of a graph')
}

async function requireCapacity(tx: Transaction, { principal }: Caller): Promise<void> {
  const { unfinished, unfinishedOfUser, storedBytes } = exportLimits
  const { ofTenant, ofUser } = await store.countUnfinished(tx, principal.id)
  const wait = 'Wait until an export ends, or cancel one'
  if (ofUser >= unfinishedOfUser)
    throw new Problem('conflict', `You have ${ofUser} unfinished exports. The limit is ${unfinishedOfUser}. ${wait}`)
  if (ofTenant >= unfinished)
    throw new Problem('conflict', `The tenant has ${ofTenant} unfinished exports. The limit is ${unfinished}. ${wait}`)
  if ((await store.storedBytes(tx)) >= storedBytes)
    throw new Problem(
      'conflict',
      `The stored exports of the tenant have reached ${inGibibytes(storedBytes)}, which is the limit. Delete exports, or wait until they expire`,
    )
}

/** Returns the name of the file: the content and the time, for example `assets-20261117-083000.csv`. */
function fileNameOf({ what, format }: ExportRequest, now: string): string {
  const time = now.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  return `${what}-${time}.${exportFiles[format].extension}`
}

function contentTypeOf({ format }: ExportRequest): string {
  const { mediaType } = exportFiles[format]
  return mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType
}

async function* partsOf(
  { database }: Context,
  caller: Caller,
  { id, parts }: { id: string; parts: number },
): AsyncGenerator<Uint8Array> {
  for (let number = 0; number < parts; number++) {
    const part = await database.read(caller, (handle) => store.findPart(handle, id, number))
    if (part === undefined) throw new Error(`The export ${id} was deleted while its content was sent`)
    yield await partContent(part)
  }
}

/** Ends the stream if the client has not read it completely after the time limit. */
function limitedStream(content: Readable, { log }: Context): Readable {
  const { contentSeconds } = exportLimits
  const timer = setTimeout(
    () => content.destroy(new Error(`The client has not read the export within ${contentSeconds} seconds`)),
    contentSeconds * 1_000,
  ).unref()
  content.once('close', () => clearTimeout(timer))
  return content.on('error', (error) => log.warn({ error }, 'The content of an export was not sent completely'))
}

function isUnfinished({ state }: ExportRow): boolean {
  return state === 'queued' || state === 'running'
}

/** Ends an unfinished export as canceled. */
async function end(tx: Transaction, id: string): Promise<ExportRow> {
  const now = new Date().toISOString()
  tx.signal(canceledTopic + id)
  return requireFound(await store.endExport(tx, { id, state: 'canceled', now, expiresAt: expiryOf(now) }), id)
}

/** Returns the export if the caller started it, or manages access. */
function requireAccess(caller: Caller, id: string, row: ExportRow | undefined): ExportRow {
  const found = requireFound(row, id)
  if (found.principalId === caller.principal.id || may(caller, 'glb_access_manage')) return found
  throw missingExport(id)
}

function requireFound(row: ExportRow | undefined, id: string): ExportRow {
  if (row === undefined) throw missingExport(id)
  return row
}

function missingExport(id: string): Problem {
  return new Problem('not_found', `Export ${id} does not exist or has expired`)
}

function showExport(row: ExportRow): ExportFile {
  const { id, jobId, state, request, fileName, rows, total, bytes, problem, principalName } = row
  const { createdAt, startedAt, finishedAt, expiresAt, modifiedAt } = row
  return {
    id,
    jobId,
    state,
    request,
    fileName,
    mediaType: exportFiles[request.format].mediaType,
    progress: progressOf(row),
    rows,
    ...(total === null ? {} : { total }),
    bytes,
    ...(problem === null ? {} : { problem }),
    principalName,
    createdTimestamp: createdAt,
    ...(startedAt === null ? {} : { startedTimestamp: startedAt }),
    ...(finishedAt === null ? {} : { finishedTimestamp: finishedAt }),
    ...(expiresAt === null ? {} : { expiresTimestamp: expiresAt }),
    lastModifiedTimestamp: modifiedAt,
  }
}
