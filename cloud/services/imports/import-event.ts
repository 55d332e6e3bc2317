import type { Import } from '@millwright/api/imports.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import type { ImportRow } from './import-store.ts'
import { progressOf } from './progress.ts'

/** Emits the state and the progress of an import, so that clients can show them without polling. */
export async function emitChange(tx: Transaction, row: ImportRow): Promise<void> {
  const { id, fileName, dryRun, principalId, jobId, rows, created, updated, unchanged, failed } = row
  const counts = { rows, created, updated, unchanged, failed }
  const data = {
    id,
    fileName,
    dryRun,
    principalId,
    jobId,
    state: shownState(row),
    progress: progressOf(row),
    ...counts,
  }
  await emit(tx, { type: 'imports.import.changed', subject: `import/${id}`, data })
}

/** Returns the state that clients see. A canceled import ends when the results of its last rows are stored. */
export function shownState({ state, portion }: Pick<ImportRow, 'state' | 'portion'>): Import['state'] {
  return state === 'canceled' && portion !== null ? 'canceling' : state
}
