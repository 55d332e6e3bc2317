import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { nextRunNumber } from './monitoring-store.ts'
import { insertRun, type RunRow } from './run-store.ts'

/** The topic that is signalled when the background task has work. */
export const runsTopic = 'monitoring.runs'

/** Creates a run in the transaction of the caller. The background task executes it after the commit. */
export async function beginRun(
  tx: Transaction,
  { monitoringId, cause, startedBy }: Pick<RunRow, 'monitoringId' | 'cause' | 'startedBy'>,
): Promise<RunRow> {
  const id = newId()
  const number = await nextRunNumber(tx, monitoringId, id)
  const run = await insertRun(tx, { id, monitoringId, number, cause, startedBy, createdAt: new Date().toISOString() })
  await emitRunEvent(tx, 'started', run)
  tx.signal(runsTopic)
  return run
}

/** Emits an event of a run. It contains no counts, because its readers may not be able to read all assets. */
export async function emitRunEvent(tx: Transaction, event: 'started' | 'finished', run: RunRow): Promise<void> {
  const { id, monitoringId, number, cause, state } = run
  await emit(tx, {
    type: `monitoring.run.${event}`,
    subject: `monitoring/${monitoringId}`,
    data: { runId: id, number, trigger: cause, state },
  })
}

export function isActive(run: Pick<RunRow, 'state'> | undefined): boolean {
  return run !== undefined && (run.state === 'created' || run.state === 'running')
}
