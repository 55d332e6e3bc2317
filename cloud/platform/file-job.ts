import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from './access/system.ts'
import type { Context } from './service.ts'

/** The jobs of imports and exports, which users see in the list of jobs. */

const jobStates = {
  queued: 'CREATED',
  running: 'RUNNING',
  finished: 'FINISHED',
  failed: 'FAILED',
  canceled: 'CANCELED',
} as const

export type FileJob = {
  id: string
  workflow: 'file-import' | 'file-export'
  principalId: string
  definition: Record<string, unknown>
  state: keyof typeof jobStates
  progress: number
  message?: string
}

/** Creates or updates the job of an import or export. */
export async function putFileJob(
  { peers, tenants }: Pick<Context, 'peers' | 'tenants'>,
  { tenantId }: { tenantId: string },
  { id, state, ...job }: FileJob,
): Promise<void> {
  const system = systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
  const data = { ...job, state: jobStates[state] }
  await peers(workflows, system).putFileJob({ params: { id }, body: { data } })
}
