import { type ExportRequest, exportFiles, exportLimits, exportPermissions } from '@millwright/api/exports.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/transient.ts'
import { emit } from '../../platform/events/events.ts'
import { fileJobStates, putPlatformJob } from '../../platform/platform-job.ts'
import type { Context } from '../../platform/service.ts'
import type { Task, TaskKinds } from '../../platform/tasks/tasks.ts'
import { exportContent } from './export-content.ts'
import type { ExportRow, Progress } from './export-store.ts'
import * as store from './export-store.ts'
import { PartWriter } from './part-writer.ts'
import { addReadRights, noReadRights } from './read-rights.ts'

/**
 * Runs exports. Each export has one task. A run reads pages of the other services in the name of the principal that
 * started the export, with its current rights, and stores the content in parts. Pages and parts have a limited size, so
 * the memory of a run does not grow with the export.
 *
 * A run stores each part only while its attempt is current. If its process dies, another process starts a new attempt: it
 * deletes all parts, and reads everything again from the beginning. A canceled export ends at once: the run reads the state
 * at an interval and stops. The job of the export gets its state after the export, so a run of an ended export reports the
 * state again.
 */

export const exportTask = 'exports.run'
/** The topic that wakes the task that deletes content. */
export const obsoleteTopic = 'exports.obsolete'
/** A topic with this prefix and the id of an export is signalled when the export was canceled. */
export const canceledTopic = 'exports.canceled/'
/** After this many attempts, the export fails. An outage of the database does not count. */
const maxAttempts = 5
/** After this time without a renewal, another process starts the export again. */
const leaseMs = 5_000
/** The interval at which a run reads whether its export was canceled. */
const checkMs = 300
/** The interval at which a run stores and reports its progress. */
const reportMs = 1_000
/** The pause after which a task tries again to get one of the places of its process. */
const fullMs = 300
/** The number of parts that one transaction deletes. */
const partsPerDeletion = 32
const pruneMs = 60_000

/** The runs of this process, by the id of their export. Other processes find a cancellation at an interval. */
const running = new Map<string, AbortController>()

const places = new Semaphore({
  capacity: exportLimits.concurrent,
  perKey: exportLimits.concurrentOfTenant,
  waitingPerKey: 0,
})

export function exportTasks(context: Context): TaskKinds {
  const { database } = context
  database.onCommit(({ topics }) => {
    for (const topic of topics)
      if (topic.startsWith(canceledTopic)) running.get(topic.slice(canceledTopic.length))?.abort(new NotCurrent())
  })
  return {
    [exportTask]: {
      maxAttempts: Number.POSITIVE_INFINITY,
      leaseMs,
      async run(task) {
        const leave = await places.enter(task.tenantId).catch(() => undefined)
        // Another process may have a free place.
        if (leave === undefined) return { runAgainAt: new Date(Date.now() + fullMs) }
        try {
          await runExport(context, task)
        } finally {
          leave()
        }
        return undefined
      },
    },
    'exports.prune': {
      periodic: { everyMs: pruneMs, wakeOn: obsoleteTopic, pending: store.anyObsolete },
      async run({ tenantId, signal }) {
        for (;;) {
          const obsolete = await database.read({ tenantId }, (handle) => store.nextObsolete(handle, now()))
          if (obsolete === undefined || signal.aborted) return
          const { isExpired, row } = obsolete
          const isEmpty = await database.transaction({ tenantId }, (tx) =>
            store.deleteParts(tx, row.id, partsPerDeletion),
          )
          if (!isEmpty || !isExpired) continue
          // The process that ended the export may have died before it ended the job.
          await reportJob(context, { tenantId }, row)
          await database.transaction({ tenantId }, (tx) => store.deleteExport(tx, row.id))
        }
      },
    },
  }
}

function now(): string {
  return new Date().toISOString()
}

/** Returns the time at which an export that ends now is deleted. */
export function expiryOf(endedAt: string): string {
  return new Date(Date.parse(endedAt) + exportLimits.retentionHours * 3_600_000).toISOString()
}

type RunTask = Pick<Task, 'tenantId' | 'key' | 'signal' | 'attempt'>

async function runExport(context: Context, task: RunTask): Promise<void> {
  const { database } = context
  const { tenantId, key: id, attempt } = task
  const scope = { tenantId }
  const row = await database.transaction(scope, (tx) => store.startAttempt(tx, id, now()))
  if (row === undefined) return reportEnded(context, scope, id)
  try {
    if (attempt > maxAttempts) throw new Error('The worker stopped during the last attempt')
    await tryReportJob(context, scope, row)
    for (let isEmpty = false; !isEmpty; ) {
      const deleted = await database.transaction(scope, (tx) => store.deleteEarlierParts(tx, row, partsPerDeletion))
      if (deleted === undefined) throw new NotCurrent()
      isEmpty = deleted.isEmpty
    }
    await writeExport(context, task, row)
  } catch (error) {
    if (!(error instanceof NotCurrent)) await endFailed(context, task, { row, error })
  }
  await reportEnded(context, scope, id)
}

/** The export was canceled or deleted, or another worker has started it again. */
class NotCurrent extends Error {}

/** Writes the content of an export, and ends it. */
async function writeExport(context: Context, { tenantId, signal }: RunTask, row: ExportRow): Promise<void> {
  const { database } = context
  const scope = { tenantId }
  const stopped = new AbortController()
  running.set(row.id, stopped)
  const check = setInterval(() => {
    database
      .lookup(scope, (handle) => store.isCurrent(handle, row))
      .then(
        (isCurrent) => isCurrent || stopped.abort(new NotCurrent()),
        // An outage of the database ends the run when it stores its next part.
        () => undefined,
      )
  }, checkMs)
  const stop = AbortSignal.any([signal, stopped.signal])
  const progress: Progress = { rows: 0, total: null }
  let readRights = noReadRights
  const parts = new PartWriter({
    isCompressed: isCompressed(row.request),
    async store(part) {
      await database.transaction(scope, async (tx) => {
        if (!(await store.addPart(tx, row, part, now()))) throw new NotCurrent()
        await requireSpace(tx)
      })
    },
  })
  try {
    let reportedAt = performance.now()
    const content = exportContent(context, {
      request: row.request,
      progress,
      signal: stop,
      async caller() {
        const caller = await exportingCaller(context, tenantId, row)
        readRights = addReadRights(readRights, row.request.what, caller)
        return caller
      },
    })
    for await (const chunk of content) {
      stop.throwIfAborted()
      await parts.write(chunk)
      if (parts.bytes > exportLimits.fileBytes) throw tooLarge()
      if (performance.now() - reportedAt < reportMs) continue
      await reportProgress(context, scope, { row, progress })
      reportedAt = performance.now()
    }
    await parts.end()
    stop.throwIfAborted()
    await database.transaction(scope, async (tx) => {
      const endedAt = now()
      const end = { id: row.id, attempt: row.attempt, progress, readRights, now: endedAt, expiresAt: expiryOf(endedAt) }
      const ended = await store.endExport(tx, { ...end, state: 'finished' })
      if (ended === undefined) throw new NotCurrent()
      await recordEnd(context, tx, ended)
    })
  } finally {
    clearInterval(check)
    running.delete(row.id)
    await parts.abandon()
  }
}

/** Returns whether the format is compressed, so that its parts are stored as they are. */
function isCompressed({ format }: ExportRequest): boolean {
  return format === 'xlsx' || format === 'aasx'
}

/** Throws if the caller must not export this content. */
export function requireExport(caller: Caller, { what }: ExportRequest): void {
  requirePermission(caller, 'glb_file_export')
  const permission = exportPermissions[what]
  if (permission !== undefined) requirePermission(caller, permission)
}

/** Returns the principal of an export with its current rights. */
async function exportingCaller(context: Context, tenantId: string, row: ExportRow): Promise<Caller> {
  const caller = await currentCaller(context, tenantId, row)
  requireExport(caller, row.request)
  return caller
}

async function requireSpace(tx: Transaction): Promise<void> {
  if ((await store.storedBytes(tx)) > exportLimits.storedBytes)
    throw new Problem(
      'conflict',
      `The stored exports of the tenant have more than ${inGibibytes(exportLimits.storedBytes)}, which is the limit. Delete exports, or wait until they expire`,
    )
}

function tooLarge(): Problem {
  const detail = `The export has more than ${inGibibytes(exportLimits.fileBytes)}, which is the limit of one export. Use a filter that selects fewer objects`
  return new Problem('conflict', detail)
}

export function inGibibytes(bytes: number): string {
  return `${bytes / 2 ** 30} GiB`
}

type FailedRun = { row: ExportRow; error: unknown }

/** Ends an export after an error. Throws the error if another attempt follows. */
async function endFailed(context: Context, task: RunTask, { row, error }: FailedRun): Promise<void> {
  const { tenantId, signal, attempt } = task
  const isRefused = error instanceof Problem && error.status < 500
  if (!isRefused && (signal.aborted || isTransient(error) || attempt < maxAttempts)) throw error
  if (!isRefused) context.log.warn({ error, export: row.id }, 'An export stopped after repeated errors')
  const problem = isRefused
    ? { code: error.code, detail: error.message }
    : { code: 'unavailable', detail: 'The export stopped after repeated errors. Start it again' }
  await context.database.transaction({ tenantId }, async (tx) => {
    const endedAt = now()
    const end = { id: row.id, attempt: row.attempt, problem, now: endedAt, expiresAt: expiryOf(endedAt) }
    const ended = await store.endExport(tx, { ...end, state: 'failed' })
    if (ended === undefined) return
    tx.signal(obsoleteTopic)
    await recordEnd(context, tx, ended)
  })
}

async function recordEnd({ tenants }: Context, tx: Transaction, row: ExportRow): Promise<void> {
  const caller = systemCaller({ tenantId: tx.tenantId, tenantName: (await tenants.byId(tx.tenantId))?.name ?? '' })
  await reportExport(tx, { ...caller, request: { id: row.id, address: undefined } }, { row, action: 'finishExport' })
}

/** Writes the audit entry and the event of an export. */
export async function reportExport(
  tx: Transaction,
  caller: Caller,
  { row, action }: { row: ExportRow; action: string },
): Promise<void> {
  const { id, request, state, rows, bytes } = row
  const { what, format } = request
  const detail = { what, format, state, rows, bytes, principal: row.principalId }
  await record(tx, caller, { action: `exports.${action}`, target: `export/${id}`, detail })
  await emitExport(tx, row)
}

export async function emitExport(tx: Transaction, row: ExportRow): Promise<void> {
  const { id, jobId, request, state, rows, total, bytes, principalId } = row
  const { what, format } = request
  const data = { what, format, state, rows, total, bytes, progress: progressOf(row), jobId, principalId }
  await emit(tx, { type: 'exports.file.changed', subject: `export/${id}`, data })
}

async function reportProgress(
  context: Context,
  scope: { tenantId: string },
  { row, progress }: { row: ExportRow; progress: Progress },
): Promise<void> {
  const current = await context.database.transaction(scope, async (tx) => {
    const updated = await store.setProgress(tx, row, progress, now())
    if (updated !== undefined) await emitExport(tx, updated)
    return updated
  })
  if (current === undefined) throw new NotCurrent()
  await tryReportJob(context, scope, current)
}

export function progressOf({ state, rows, total }: Pick<ExportRow, 'state' | 'rows' | 'total'>): number {
  if (state === 'finished') return 100
  return total === null ? 0 : Math.min(99, Math.floor((100 * rows) / Math.max(1, total)))
}

/** Reports the state of an export as its job. */
export async function reportJob(
  context: Pick<Context, 'peers' | 'tenants'>,
  scope: { tenantId: string },
  row: ExportRow,
): Promise<void> {
  const { id, jobId, principalId, principalName, request, state, problem, rows, fileName } = row
  const { what, format } = request
  const message = state === 'finished' ? `${fileName}: ${rows} rows` : problem?.detail.slice(0, 1_000)
  await putPlatformJob(context, scope, {
    id: jobId,
    workflow: 'file-export',
    principalId,
    definition: { exportId: id, what, format, mediaType: exportFiles[format].mediaType, askedBy: principalName },
    state: fileJobStates[state],
    progress: progressOf(row),
    ...(message === undefined ? {} : { message }),
  })
}

/** Reports the state of a running export as its job. If this fails, a later report follows. */
async function tryReportJob(context: Context, scope: { tenantId: string }, row: ExportRow): Promise<void> {
  await reportJob(context, scope, row).catch((error: unknown) =>
    context.log.warn({ error, export: row.id, job: row.jobId }, 'The job of an export could not be written'),
  )
}

async function reportEnded(context: Context, scope: { tenantId: string }, id: string): Promise<void> {
  const row = await context.database.read(scope, (handle) => store.findExport(handle, id))
  if (row !== undefined) await reportJob(context, scope, row)
}
