import { workflowLimits } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit, emitAll } from '../../platform/events/events.ts'
import { putPlatformJob } from '../../platform/platform-job.ts'
import type { Context } from '../../platform/service.ts'
import { progressOf, type WaveCount } from './campaign-state.ts'
import { type CampaignRow, setReported } from './campaign-store.ts'
import type { DeviceRow } from './device-store.ts'

/** The audit entries, the events and the jobs of campaigns. */

/** The topic that is signalled when the executor has work. */
export const campaignsTopic = 'updates.campaigns'

type CampaignEvent =
  | 'created'
  | 'changed'
  | 'started'
  | 'approved'
  | 'paused'
  | 'resumed'
  | 'stopped'
  | 'canceled'
  | 'retried'
  | 'finished'
  | 'deleted'

export type CampaignReport = {
  row: CampaignRow
  /** The operation in the audit entry. */
  action: string
  event: CampaignEvent
  detail?: Record<string, unknown>
}

/** Writes the audit entry and the event of a change of a campaign, in the transaction of the change. */
export async function reportCampaign(
  tx: Transaction,
  caller: Pick<Caller, 'principal' | 'request'>,
  { row, action, event, detail = {} }: CampaignReport,
): Promise<void> {
  const { id, name, state, artefactId, artefact } = row
  const subject = `update-campaign/${id}`
  const described = { name, state, artefactId, version: artefact.version }
  await record(tx, caller, { action: `updates.${action}`, target: subject, detail: { ...described, ...detail } })
  await emit(tx, { type: `updates.campaign.${event}`, subject, data: described })
  tx.signal(campaignsTopic)
}

/** Writes the events of devices whose state has changed. */
export async function reportDevices(tx: Transaction, rows: readonly DeviceRow[]): Promise<void> {
  await emitAll(
    tx,
    rows.map(({ id, campaignId, assetId, wave, state, attempt, step, jobId }) => ({
      type: 'updates.device.changed',
      subject: `update-device/${id}`,
      data: { campaignId, assetId, wave, state, attempt, step, ...(jobId === null ? {} : { jobId }) },
    })),
  )
}

/** Writes the audit entry of a step that the platform takes with a device. */
export async function recordDevice(
  tx: Transaction,
  caller: Pick<Caller, 'principal' | 'request'>,
  { row, action, detail = {} }: { row: DeviceRow; action: string; detail?: Record<string, unknown> },
): Promise<void> {
  const { id, campaignId, assetId, attempt, step, steps, fromVersion, jobId, state } = row
  const version = steps[step]?.version ?? row.toVersion
  await record(tx, caller, {
    action: `updates.${action}`,
    target: `asset/${assetId}`,
    detail: { campaignId, deviceId: id, jobId, state, attempt, step, fromVersion, version, ...detail },
  })
}

/** Returns the caller of changes that the platform makes itself. */
export async function platformCaller({ tenants }: Pick<Context, 'tenants'>, tenantId: string): Promise<Caller> {
  return systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
}

const jobStates: Readonly<Partial<Record<CampaignRow['state'], string>>> = {
  'pending-approval': 'CREATED',
  running: 'RUNNING',
  paused: 'RUNNING',
  stopped: 'RUNNING',
  finished: 'FINISHED',
  canceled: 'CANCELED',
}

/** Reports the state of a campaign as its job, if the job has another status. */
export async function reportJob(
  context: Context,
  scope: { tenantId: string },
  row: CampaignRow,
  counts: readonly WaveCount[],
): Promise<void> {
  const { id, jobId, principalId, principalName, name, artefactId, state, stateReason } = row
  const jobState = jobStates[state]
  if (jobId === null || principalId === null || jobState === undefined) return
  const halted = state === 'paused' || state === 'stopped' ? [`The campaign is ${state}`] : []
  const message = [...halted, ...(stateReason === null ? [] : [stateReason])]
    .join('. ')
    .slice(0, workflowLimits.message)
  const status = {
    state: jobState,
    ...(jobState === 'CREATED' ? {} : { progress: progressOf(counts) }),
    ...(message === '' ? {} : { message }),
  }
  const reported = JSON.stringify([jobId, status])
  if (reported === row.reported) return
  const definition = { campaignId: id, name, artefactId, askedBy: principalName }
  await putPlatformJob(context, scope, { id: jobId, workflow: 'update-campaign', principalId, definition, ...status })
  await context.database.transaction(scope, (tx) => setReported(tx, id, reported))
}
