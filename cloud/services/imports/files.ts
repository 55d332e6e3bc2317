import { type Import, importLimits, type imports } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { storedPrincipal } from '../../platform/access/current-caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { may } from '../../platform/access/rights.ts'
import { readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import * as files from './file-store.ts'
import { emitChange, shownState } from './import-event.ts'
import { enqueueRuns } from './import-run.ts'
import * as store from './import-store.ts'
import { reportJob } from './job.ts'
import { findMapping } from './mapping-store.ts'
import { progressOf } from './progress.ts'
import { writeReport } from './report.ts'
import { deleteRows, type ListedRow, listRows, resetResults } from './row-store.ts'

/** The operations that upload, list, cancel, run and delete imports. `import-run.ts` describes how imports run. */

type Names =
  | 'uploadFile'
  | 'listImports'
  | 'readImport'
  | 'deleteImport'
  | 'listRows'
  | 'readReport'
  | 'cancelImport'
  | 'runImport'

const defaultName = 'import'
const nameCharacters = 256

export function fileHandlers(context: Context): Pick<Handlers<typeof imports>, Names> {
  const { database } = context
  return {
    async uploadFile({ query: { dryRun = false, mapping: mappingId, fileName }, body }, caller) {
      const mapping = mappingId === undefined ? null : await requireMapping(context, caller, mappingId)
      // The limits are checked before the file is stored, and again with the lock.
      await database.transaction(scopeOf(caller), (tx) => requireRoom(tx, body.bytes ?? 0))
      const { name, content } = await body.open()
      const id = newId()
      const shownName = shownNameOf(fileName ?? name ?? '')
      const start = async (bytes: number) =>
        database.transaction(scopeOf(caller), async (tx) => {
          await requireRoom(tx)
          const settings = { fileName: shownName, bytes, dryRun, mappingId: mappingId ?? null, mapping, jobId: newId() }
          await store.insertImport(tx, { id, ...settings }, { principal: storedPrincipal(caller), now: now() })
          await enqueueRuns(context, tx)
          return reportImport(tx, caller, { id, action: 'uploadFile' })
        })
      let row: store.ImportRow
      try {
        row = await start(await files.storeFile(database, caller, { importId: id, content }))
      } catch (error) {
        // If this fails too, the retention deletes the parts later.
        await database.transaction(scopeOf(caller), (tx) => removeUpload(tx, id)).catch(() => {})
        throw error
      }
      await reportJob(context, caller, row)
      const location = `/imports/v1/files/${id}`
      return answer(202, { data: { importId: id, jobId: row.jobId } }, { location })
    },

    async listImports({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listImports(handle, visiblePrincipal(caller), { limit, offset }),
      )
      const data = rows.map((row) => showImport(caller, row))
      return { data, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readImport({ params: { importId } }, caller) {
      const row = await database.read(caller, (handle) => store.findImport(handle, importId))
      return { data: showImport(caller, requireVisible(caller, importId, row)) }
    },

    async deleteImport({ params: { importId } }, caller) {
      const found = await database.read(caller, (handle) => store.findImport(handle, importId))
      const ended = requireOwn(caller, importId, found)
      // Without its import, the job would never end.
      if (!isUnfinished(ended) && !ended.isReported) await reportJob(context, caller, ended)
      await database.transaction(caller, async (tx) => {
        const row = requireOwn(caller, importId, await store.lockImport(tx, importId))
        if (isUnfinished(row))
          throw new Problem('conflict', 'The import has not ended. Cancel it or wait for its end, then delete it')
        await removeImport(tx, importId)
        const target = `import/${importId}`
        await record(tx, caller, { action: 'imports.deleteImport', target, detail: { fileName: row.fileName } })
        await emit(tx, {
          type: 'imports.import.deleted',
          subject: target,
          data: { id: importId, principalId: row.principalId },
        })
      })
      return answer(204)
    },

    async listRows({ params: { importId }, query: { limit = 50, offset = 0, outcome, cursor } }, caller) {
      if (!/^\d{1,9}$/.test(cursor ?? '0'))
        throw new Problem('invalid_cursor', 'The cursor does not belong to this list. Start again without a cursor')
      const {
        rows: found,
        total,
        columns,
      } = await database.read(caller, async (handle) => {
        const row = requireVisible(caller, importId, await store.findImport(handle, importId))
        const page = { after: Number(cursor ?? 0), outcome, limit: limit + 1, offset }
        return { ...(await listRows(handle, importId, page)), columns: row.columns.length }
      })
      const rows = found.slice(0, limit)
      // A row shows an asset only to callers that can read it now.
      const assetIds = rows.flatMap(({ assetId }) => assetId ?? [])
      const readable = await readableAssets(context, caller, assetIds)
      const last = found.length > limit ? rows.at(-1)?.row : undefined
      const meta = { totalElements: total, elements: rows.length, offset }
      return {
        data: rows.map((row) => showRow(row, { columns, readable })),
        meta: { ...meta, ...(last === undefined ? {} : { nextCursor: String(last) }) },
      }
    },

    async readReport({ params: { importId } }, caller) {
      const found = await database.read(caller, (handle) => store.findImport(handle, importId))
      return writeReport(context, caller, requireVisible(caller, importId, found))
    },

    async cancelImport({ params: { importId } }, caller) {
      const row = await database.transaction(caller, async (tx) => {
        const found = requireOwn(caller, importId, await store.lockImport(tx, importId))
        if (found.state !== 'queued' && found.state !== 'running')
          throw new Problem('conflict', `The import has already ended with the state ${found.state}`)
        await store.endImport(tx, { id: importId, state: 'canceled' }, now())
        await enqueueRuns(context, tx)
        return reportImport(tx, caller, { id: importId, action: 'cancelImport' })
      })
      await reportJob(context, caller, row)
      return { data: showImport(caller, row) }
    },

    async runImport({ params: { importId } }, caller) {
      const row = await database.transaction(caller, async (tx) => {
        const found = requireOwn(caller, importId, await store.lockImport(tx, importId))
        if (!found.dryRun || found.state !== 'finished')
          throw new Problem('conflict', 'Only a finished dry run can be run. Upload the file again')
        await requireRoom(tx)
        const repeated = await resetResults(tx, importId)
        const started = { principal: storedPrincipal(caller), now: now() }
        await store.restartImport(tx, { id: importId, jobId: newId() }, started)
        const none = { created: 0, updated: 0, unchanged: 0 }
        await store.addResults(tx, importId, { ...none, failed: repeated }, 0)
        await enqueueRuns(context, tx)
        return reportImport(tx, caller, { id: importId, action: 'runImport' })
      })
      await reportJob(context, caller, row)
      return answer(202, { data: { importId, jobId: row.jobId } }, { location: `/imports/v1/files/${importId}` })
    },
  }
}

/** Returns the name of a file without folders and control characters, which the database and file systems refuse. */
function shownNameOf(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? ''
  const plain = base
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, nameCharacters)
    .toWellFormed()
  return plain === '' ? defaultName : plain
}

function now(): string {
  return new Date().toISOString()
}

/** Returns the tenant of a caller. An upload takes longer than a transaction of a request with an Idempotency-Key may last. */
function scopeOf({ tenantId }: Caller) {
  return { tenantId }
}

async function requireMapping({ database }: Context, caller: Caller, id: string) {
  const mapping = await database.read(caller, (handle) => findMapping(handle, id))
  if (mapping !== undefined) return mapping.columns
  throw new Problem(
    'mapping_not_found',
    `Mapping ${id} does not exist. List the mappings with GET /imports/v1/mappings`,
  )
}

/** Requires that the tenant can store and queue one more import, with this many bytes that are not stored yet. */
async function requireRoom(tx: Transaction, bytes = 0): Promise<void> {
  const size = await store.lockImportCounts(tx)
  const { unfinished } = importLimits
  if (size.unfinished >= unfinished)
    throw new Problem(
      'conflict',
      `${size.unfinished} imports of the tenant wait or run. The limit is ${unfinished}. Wait until an import ends, or cancel one`,
    )
  store.requireStorage(size, { imports: 1, bytes })
}

/** Deletes the parts of an upload that failed. If only the answer of the database was lost, the import exists and keeps them. */
async function removeUpload(tx: Transaction, id: string): Promise<void> {
  if ((await store.findImport(tx, id)) === undefined) await files.deleteFile(tx, id)
}

/** Deletes an import with its file and its rows. */
export async function removeImport(tx: Transaction, id: string): Promise<void> {
  await deleteRows(tx, id)
  await files.deleteFile(tx, id)
  await store.deleteImport(tx, id)
}

/** Writes the audit entry and the event of an import. Returns its current row. */
async function reportImport(
  tx: Transaction,
  caller: Caller,
  { id, action }: { id: string; action: string },
): Promise<store.ImportRow> {
  const row = await store.lockImport(tx, id)
  if (row === undefined) throw missing(id)
  const { fileName, dryRun, state } = row
  await record(tx, caller, { action: `imports.${action}`, target: `import/${id}`, detail: { fileName, dryRun, state } })
  await emitChange(tx, row)
  return row
}

function missing(id: string): Problem {
  return new Problem('not_found', `Import ${id} does not exist`)
}

/** Returns the principal whose imports the caller sees. Null means all: a caller that reads all assets. */
function visiblePrincipal(caller: Caller): string | null {
  return readsAllAssets(caller) ? null : caller.principal.id
}

function requireVisible(caller: Caller, id: string, row: store.ImportRow | undefined): store.ImportRow {
  const principalId = visiblePrincipal(caller)
  if (row === undefined || (principalId !== null && row.principalId !== principalId)) throw missing(id)
  return row
}

/** Returns an import that the caller can change: its own, or any as an administrator. */
function requireOwn(caller: Caller, id: string, found: store.ImportRow | undefined): store.ImportRow {
  const row = requireVisible(caller, id, found)
  if (!isOwn(caller, row)) requirePermission(caller, 'glb_access_manage')
  return row
}

function isOwn(caller: Caller, { principalId }: store.ImportRow): boolean {
  return principalId === caller.principal.id || may(caller, 'glb_access_manage')
}

/** Returns whether an import waits, runs, or has rows whose results are not stored yet. */
function isUnfinished({ state, portion }: store.ImportRow): boolean {
  return state === 'queued' || state === 'running' || portion !== null
}

function showImport(caller: Caller, row: store.ImportRow): Import {
  const { id, fileName, bytes, format, dryRun, rows, created, updated, unchanged, failed, columns, mappingId } = row
  const { problem, jobId, principalName, createdAt, startedAt, finishedAt } = row
  const state = shownState(row)
  return {
    id,
    fileName,
    format,
    bytes,
    state,
    dryRun,
    progress: progressOf(row),
    rows,
    created,
    updated,
    unchanged,
    failed,
    columns,
    ...(mappingId === null ? {} : { mappingId }),
    ...(problem === null ? {} : { problem }),
    jobId,
    principalName,
    canCancel: (state === 'queued' || state === 'running') && isOwn(caller, row),
    canRun: dryRun && state === 'finished' && isOwn(caller, row),
    createdTimestamp: createdAt,
    ...(startedAt === null ? {} : { startedTimestamp: startedAt }),
    ...(finishedAt === null ? {} : { finishedTimestamp: finishedAt }),
  }
}

function showRow(
  { row, content, outcome, assetId, matchedBy, errors }: ListedRow,
  { columns, readable }: { columns: number; readable: { has(id: string): boolean } },
) {
  const cells = Array.isArray(content)
    ? Array.from({ length: columns }, (_, index) => content[index] ?? '')
    : [typeof content === 'string' ? content : JSON.stringify(content)]
  const isHidden = assetId !== null && !readable.has(assetId)
  return {
    row,
    outcome: outcome ?? 'failed',
    ...(assetId === null || isHidden ? {} : { assetId }),
    ...(matchedBy === null || isHidden ? {} : { matchedBy }),
    ...(errors === null ? {} : { errors }),
    cells,
  }
}
