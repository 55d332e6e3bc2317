import type { platformWorkflowNames } from '@millwright/api/built-in-workflows.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from './access/system.ts'
import type { Context } from './service.ts'

/** The jobs that the platform runs itself, which users see in the list of jobs. */

/** The states of the jobs of imports and exports. */
export const fileJobStates = {
  queued: 'CREATED',
  running: 'RUNNING',
  finished: 'FINISHED',
  failed: 'FAILED',
  canceled: 'CANCELED',
} as const

export type PlatformJob = {
  id: string
  workflow: (typeof platformWorkflowNames)[number]
  principalId: string
  definition: Record<string, unknown>
  /** A state of the workflow. */
  state: string
  progress?: number
  message?: string
}

/** Creates or updates a job that the platform runs itself. */
export async function putPlatformJob(
  { peers, tenants }: Pick<Context, 'peers' | 'tenants'>,
  { tenantId }: { tenantId: string },
  { id, ...data }: PlatformJob,
): Promise<void> {
  const system = systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
  await peers(workflows, system).putPlatformJob({ params: { id }, body: { data } })
}
