import { workflowLimits, workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { failRetrieval, noteRetrieval } from './retrieval-state.ts'
import type { RetrievalRow } from './retrieval-store.ts'
import * as store from './retrieval-store.ts'

/**
 * The background work on retrievals. It creates jobs that a stopped process did not create, repairs states whose notes were
 * lost, and deletes old retrievals.
 */

const pruneMs = 24 * 3_600_000
const rowsPerDeletion = 500
const keptDays = 400
const nilId = '00000000-0000-0000-0000-000000000000'

export function retrievalTasks(context: Context): TaskKinds {
  const { database, tenants } = context
  return {
    'updates.retrievals': {
      periodic: { everyMs: takeoverMs, pending: store.anyOpenRetrieval },
      async run({ tenantId, signal }) {
        const system = systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
        for (let after = nilId; !signal.aborted; ) {
          const rows = await database.read({ tenantId }, (handle) =>
            store.listOpenRetrievals(handle, after, workflowLimits.jobsPerRead),
          )
          const last = rows.at(-1)
          if (last === undefined) return
          await repair(context, system, rows)
          after = last.id
        }
      },
    },
    'updates.retrieval-pruning': {
      periodic: { everyMs: pruneMs },
      async run({ tenantId, signal }) {
        const before = new Date(Date.now() - keptDays * 86_400_000).toISOString()
        const remove = () =>
          database.transaction({ tenantId }, (tx) => store.deleteOldRetrievals(tx, before, rowsPerDeletion))
        while (!signal.aborted && (await remove()) === rowsPerDeletion);
      },
    },
  }
}

type System = ReturnType<typeof systemCaller>

async function repair(context: Context, system: System, rows: readonly RetrievalRow[]): Promise<void> {
  const { data } = await context
    .peers(workflows, system)
    .readJobs({ body: { data: { ids: rows.map(({ jobId }) => jobId) } } })
  const jobs = new Map(data.map((job) => [job.id, job]))
  for (const row of rows) {
    const job = jobs.get(row.jobId)
    if (job !== undefined) {
      const { state, progress, message, context: result } = job.status
      await noteRetrieval(context, system, { jobId: row.jobId, state, progress, message, result })
    } else if (row.isJobCreated) await failRetrieval(context, system, row, 'The job was deleted')
    else await createJob(context, system, row)
  }
}

/** Creates the job of a retrieval. A repeated call has no effect. */
export async function createJob(context: Context, system: System, row: RetrievalRow): Promise<void> {
  await context.peers(workflows, system).putClientJob({
    params: { id: row.jobId },
    body: {
      data: {
        workflow: 'artefact-retrieval',
        clientId: row.gatewayId,
        tags: ['artefact-retrieval', `asset/${row.assetId}`],
        definition: row.definition,
      },
    },
  })
  await context.database.transaction(system, (tx) => store.noteCreatedJob(tx, row.id))
}
