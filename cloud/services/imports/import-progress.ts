import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import { emitChange } from './import-event.ts'
import * as store from './import-store.ts'
import { reportJob } from './job.ts'
import type { KnownPlaces } from './known-places.ts'

/** An import that runs in this process. */
export type RunningImport = {
  row: store.ImportRow
  caller: Caller
  signal: AbortSignal
  /** The parents and nodes that the rows of the file name, as far as they are known. */
  places: KnownPlaces
  /** The time at which the progress was last reported. */
  reported: { at: number }
}

/** The shortest time between two reports of progress. An event and a job for each portion of rows would slow the import down. */
const reportMs = 500

/** `CanceledImport` means that the import was canceled or deleted, or that another process runs it. */
export class CanceledImport extends Error {
  constructor() {
    super('The import was canceled')
    this.name = 'CanceledImport'
  }
}

/**
 * Stores a step of an import in one transaction with its event, then updates its job. The progress is reported at most twice
 * per second, and the end of an import always. Throws `CanceledImport` if the import
 * was canceled. The results of rows that were already sent are stored even then (`isSettling`).
 */
export async function progressed(
  context: Context,
  { row: before, caller, reported }: RunningImport,
  step: (tx: Transaction, current: store.ImportRow) => Promise<void>,
  { isSettling = false }: { isSettling?: boolean } = {},
): Promise<store.ImportRow> {
  const isDue = ({ state }: store.ImportRow) => state !== 'running' || performance.now() - reported.at >= reportMs
  const row = await context.database.transaction(caller, async (tx) => {
    const current = await store.lockImport(tx, before.id)
    if (current === undefined || (current.state !== 'running' && !isSettling)) throw new CanceledImport()
    // A process that was suspended must not repeat a step that another process has already stored.
    if (current.jobId !== before.jobId || current.phase !== before.phase || current.nextRow !== before.nextRow)
      throw new CanceledImport()
    await step(tx, current)
    const after = await store.lockImport(tx, before.id)
    if (after === undefined) throw new CanceledImport()
    if (isDue(after)) await emitChange(tx, after)
    if (after.state !== 'running') await recordEnd(tx, caller, after)
    return after
  })
  if (!isDue(row)) return row
  reported.at = performance.now()
  await reportJob(context, caller, row)
  return row
}

async function recordEnd(tx: Transaction, caller: Caller, row: store.ImportRow): Promise<void> {
  const { id, fileName, state, dryRun, created, updated, unchanged, failed } = row
  const detail = { fileName, state, dryRun, created, updated, unchanged, failed }
  await record(tx, caller, { action: 'imports.finishImport', target: `import/${id}`, detail })
}
