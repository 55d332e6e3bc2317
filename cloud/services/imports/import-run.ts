import { importLimits } from '@millwright/api/imports.ts'
import { Problem } from '@millwright/api/problem.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import type { Rights } from '../../platform/access/rights.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/transient.ts'
import type { Context } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { CanceledImport, progressed, type RunningImport } from './import-progress.ts'
import * as store from './import-store.ts'
import { reportJob } from './job.ts'
import type { KnownPlaces } from './known-places.ts'
import { placeRows } from './placing.ts'
import { readRows } from './reading.ts'
import { setResults } from './row-store.ts'
import { writeRows } from './writing.ts'

/**
 * Runs imports in the background. A tenant has one task for each of its slots, and each slot runs one import at a time, so
 * that the imports start in the order of their upload.
 *
 * An import goes through three phases. `reading`: a process with limits reads the file, and its rows are stored. `writing`:
 * the inventory writes the assets of up to 200 rows at a time. `placing`: the written assets get their parents and nodes,
 * after all assets of the file exist. A dry run goes through the same phases, and the inventory only decides.
 *
 * Each portion of rows is stored with the id of its write before the inventory gets it, and its results are stored in one
 * transaction with the next place. If the process dies in between, the next process asks for the results of the same write,
 * so no row is written twice and none is left out. The rights of the principal are read again for each portion.
 */

const runTask = 'imports.run'
/** After this time without a renewal, another process continues the import. */
const leaseMs = 5_000
/** After this many attempts without progress, the import fails. */
const maxAttempts = 10

export function importTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    [runTask]: {
      // The task never fails, because other imports of the tenant wait for it. The import fails instead.
      maxAttempts: Number.POSITIVE_INFINITY,
      leaseMs,
      async run({ tenantId, key, signal }) {
        const slot = Number(key)
        const now = new Date().toISOString()
        const taken = await database.transaction({ tenantId }, (tx) => store.takeImport(tx, { slot, now }))
        if (taken === undefined) return undefined
        await runImport(context, { tenantId, id: taken.id, signal })
        return { runAgainAt: new Date() }
      },
    },
    // The tasks of the slots are enqueued again, in case they were lost with a restored backup. A process that died may have
    // left jobs without their end.
    'imports.recover': {
      periodic: { everyMs: takeoverMs, pending: store.anyUnfinished },
      async run({ tenantId }) {
        await database.transaction({ tenantId }, (tx) => enqueueRuns(context, tx))
        const unreported = await database.read({ tenantId }, store.findUnreported)
        for (const row of unreported) await reportJob(context, { tenantId }, row)
      },
    },
  }
}

/** Enqueues the tasks that run the imports of the tenant. */
export async function enqueueRuns({ tasks }: Context, tx: Transaction): Promise<void> {
  const slots = Array.from({ length: importLimits.running }, (_, slot) => ({ kind: runTask, key: String(slot) }))
  await tasks.enqueueAll(tx, slots)
}

type ImportRun = { tenantId: string; id: string; signal: AbortSignal }

const phases = { reading: readRows, writing: writeRows, placing: placeRows } as const

/** Runs an import to its end: reads the file, then one portion of rows after the other. */
async function runImport(context: Context, { tenantId, id, signal }: ImportRun): Promise<void> {
  const { database } = context
  const reported = { at: 0 }
  let known: { places: KnownPlaces; rights: Rights } | undefined
  for (;;) {
    signal.throwIfAborted()
    const row = await database.read({ tenantId }, (handle) => store.findImport(handle, id))
    if (row === undefined) return
    const isRunning = row.state === 'running'
    if (!isRunning && row.portion === null) return
    const caller = await currentCaller(context, tenantId, row)
    // Parents and nodes that were found with other rights are searched again.
    if (known?.rights !== caller.rights)
      known = { places: { parents: new Map(), nodes: new Map() }, rights: caller.rights }
    const running: RunningImport = { row, caller, signal, places: known.places, reported }
    try {
      // The results of rows that were already sent are stored even if the principal has lost its permission.
      if (row.portion === null) requirePermission(caller, 'glb_file_import')
      await phases[row.phase](context, running)
      if (!isRunning) return
    } catch (error) {
      if (error instanceof CanceledImport) continue
      if (signal.aborted) throw error
      await failOrRetry(context, running, error)
    }
  }
}

/** Ends an import that cannot continue. Throws the error if another attempt follows. */
async function failOrRetry(context: Context, running: RunningImport, error: unknown): Promise<void> {
  const { row, caller } = running
  const isRefused = error instanceof Problem && error.status < 500 && error.code !== 'request_in_progress'
  if (!isRefused) {
    // An outage does not count as an attempt. An accepted import waits until the outage ends.
    if (isTransient(error)) throw error
    const attempts = await context.database.transaction(caller, (tx) => store.countAttempt(tx, row.id))
    if (attempts < maxAttempts) throw error
    context.log.warn({ error, import: row.id }, 'An import stopped after repeated errors')
  }
  const problem = isRefused
    ? { code: error.code, detail: error.message }
    : { code: 'unavailable', detail: 'The import stopped after repeated errors. Upload the file again' }
  await progressed(
    context,
    running,
    async (tx, current) => {
      // Without an end of the portion, the import would block its slot.
      if (current.portion !== null) await failPortion(tx, row.id, { portion: current.portion, problem })
      if (current.state === 'running')
        await store.endImport(tx, { id: row.id, state: 'failed', problem }, new Date().toISOString())
    },
    { isSettling: true },
  )
}

/** Ends the portion that is being written. Its results are not known. */
async function failPortion(
  tx: Transaction,
  id: string,
  { portion, problem }: { portion: store.Portion; problem: { code: string; detail: string } },
): Promise<void> {
  const detail = `It is not known whether the row was written. Import the file again. ${problem.detail}`
  const errors = [{ column: null, code: problem.code, detail }]
  await setResults(
    tx,
    id,
    portion.rows.map((row) => ({ row, outcome: 'failed' as const, errors })),
  )
  const counts = { created: 0, updated: 0, unchanged: 0, failed: portion.rows.length }
  await store.addResults(tx, id, counts, portion.lastRow)
}
