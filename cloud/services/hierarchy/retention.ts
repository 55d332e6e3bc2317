import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { lowestId, lowestIdAt } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { anyProjection } from './count-store.ts'
import { relationsOf } from './hierarchies.ts'
import { tenantCaller } from './projection.ts'
import * as store from './retention-store.ts'

/**
 * Deletes old moves, ended assignments with their results, and deleted nodes. A deleted node stays while assets have a
 * relation to it, because `cleanup` needs it.
 */

const everyMs = 3_600_000
const dayMs = 24 * 3_600_000
/** The maximum number of rows of one transaction. */
const batch = 1_000

export function retentionTasks(context: Context): TaskKinds {
  return {
    'hierarchy.prune': {
      periodic: { everyMs, pending: anyProjection },
      async run({ tenantId, signal }) {
        await deleteExpired(context, await tenantCaller(context, tenantId), { now: new Date(), signal })
      },
    },
  }
}

/** Deletes everything that is older than the retention, in small transactions. */
export async function deleteExpired(
  context: Context,
  caller: Caller,
  { now, signal }: { now: Date; signal: AbortSignal },
): Promise<void> {
  const { database } = context
  const until = now.getTime() - hierarchyLimits.retentionDays * dayMs
  const range = { before: lowestIdAt(until), limit: batch }
  const repeat = async (step: () => Promise<boolean>) => {
    while (!signal.aborted && (await step()));
  }
  await repeat(async () => (await database.transaction(caller, (tx) => store.deleteMoves(tx, range))) === batch)
  await repeat(() => database.transaction(caller, (tx) => store.deleteAssignment(tx, range)))
  let after = { id: lowestId, deletedAt: new Date(0).toISOString() }
  await repeat(async () => {
    const page = { after, before: new Date(until).toISOString(), limit: batch }
    const nodes = await database.read(caller, (handle) => store.listDeletedNodes(handle, page))
    const ids = nodes.map(({ id }) => id)
    const related = new Set((await relationsOf(context, caller, ids)).map(({ nodeId }) => nodeId))
    const unrelated = ids.filter((id) => !related.has(id))
    await database.transaction(caller, (tx) => store.forgetNodes(tx, unrelated))
    after = nodes.at(-1) ?? after
    return nodes.length === batch
  })
}
