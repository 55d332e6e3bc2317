import { importLimits } from '@millwright/api/imports.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { deleteFile, findAbandoned } from './file-store.ts'
import { removeImport } from './files.ts'
import { anyImport, findExpired } from './import-store.ts'

/** Deletes imports whose retention has ended, and the parts of uploads that did not end. */

const everyMs = 3_600_000
const dayMs = 24 * 3_600_000
/** An upload ends long before this time. */
const abandonedMs = 3_600_000

export function retentionTasks(context: Context): TaskKinds {
  return {
    'imports.prune': {
      periodic: { everyMs, pending: anyImport },
      run: ({ tenantId, signal }) => deleteExpired(context, { tenantId, now: new Date(), signal }),
    },
  }
}

/** Deletes everything whose retention has ended, one import at a time. */
export async function deleteExpired(
  { database }: Context,
  { tenantId, now, signal }: { tenantId: string; now: Date; signal: AbortSignal },
): Promise<void> {
  const time = (ageMs: number) => new Date(now.getTime() - ageMs).toISOString()
  for (;;) {
    const id = await database.read({ tenantId }, (handle) =>
      findExpired(handle, time(importLimits.retentionDays * dayMs)),
    )
    if (id === undefined || signal.aborted) break
    await database.transaction({ tenantId }, (tx) => removeImport(tx, id))
  }
  for (;;) {
    const id = await database.read({ tenantId }, (handle) => findAbandoned(handle, time(abandonedMs)))
    if (id === undefined || signal.aborted) break
    await database.transaction({ tenantId }, (tx) => deleteFile(tx, id))
  }
}
