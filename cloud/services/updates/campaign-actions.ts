import { Problem } from '@millwright/api/problem.ts'
import { type CampaignAction, updateLimits, type updates } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showCampaign } from './campaign.ts'
import { missingCampaign, requireApprover, requireWritable } from './campaign-access.ts'
import { type CampaignReport, reportCampaign, reportDevices } from './campaign-report.ts'
import { failuresByWave, possibleActions, totalCounts } from './campaign-state.ts'
import type { CampaignRow, StateChange } from './campaign-store.ts'
import * as store from './campaign-store.ts'
import { planOf, requireCampaign, requireDraft } from './campaigns.ts'
import type { NewDevice } from './device-store.ts'
import * as devices from './device-store.ts'
import type { PlanRow } from './plan.ts'

type Operations =
  | 'startCampaign'
  | 'approveCampaign'
  | 'pauseCampaign'
  | 'resumeCampaign'
  | 'cancelCampaign'
  | 'retryCampaign'

/** The operations with which persons start and control campaigns. `executor.ts` describes how campaigns proceed. */
export function campaignActionHandlers(context: Context): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context

  /** Changes a campaign in a transaction, and returns it as clients see it. */
  const change = async (
    caller: Caller,
    { id, action }: { id: string; action: CampaignAction },
    work: (tx: Transaction, row: CampaignRow, now: string) => Promise<CampaignRow>,
  ) => {
    const row = await database.transaction(caller, async (tx) => {
      const current = await store.lockCampaign(tx, id)
      if (current === undefined) throw missingCampaign(id)
      await requirePossible(tx, current, action)
      return work(tx, current, new Date().toISOString())
    })
    return { data: await showCampaign(context, caller, row) }
  }

  return {
    async startCampaign({ params: { id } }, caller) {
      const draft = await requireCampaign(context, caller, id)
      requireDraft(draft)
      const plan = await planOf(context, caller, draft)
      requireUpdates(plan)
      return change(caller, { id, action: 'start' }, async (tx, row, now) => {
        if (row.changes !== draft.changes)
          throw new Problem('conflict', 'Another request changed the campaign at the same time. Retry the request')
        const rows = plan.map(newDevice)
        // Devices that another campaign holds since the plan was computed are not stored.
        if ((await devices.insertDevices(tx, id, rows, now)) < rows.length) throw inProgress()
        const state = row.approval === 'required' ? 'pending-approval' : 'running'
        const started = await store.startCampaign(tx, caller, id, { state, jobId: newId(), now })
        const updated = rows.filter((device) => device.state === 'waiting').length
        const detail = { devices: updated, skipped: rows.length - updated }
        return reported(tx, caller, { row: started, action: 'startCampaign', event: 'started', detail })
      })
    },

    async approveCampaign({ params: { id } }, caller) {
      requireApprover(caller, await requireCampaign(context, caller, id))
      await requireOpenWritable(caller, id)
      return change(caller, { id, action: 'approve' }, async (tx, row, now) => {
        requireApprover(caller, row)
        const approvedBy = { id: caller.principal.id, name: caller.principal.name }
        const approved = await store.setState(tx, row, { state: 'running', approvedBy }, now)
        return reported(tx, caller, { row: approved, action: 'approveCampaign', event: 'approved' })
      })
    },

    async pauseCampaign({ params: { id } }, caller) {
      return change(caller, { id, action: 'pause' }, async (tx, row, now) => {
        const paused = await store.setState(
          tx,
          row,
          { state: 'paused', stateReason: `Paused by ${nameOf(caller)}` },
          now,
        )
        return reported(tx, caller, { row: paused, action: 'pauseCampaign', event: 'paused' })
      })
    },

    async resumeCampaign({ params: { id } }, caller) {
      await requireOpenWritable(caller, id)
      return change(caller, { id, action: 'resume' }, async (tx, row, now) => {
        const tolerated = failuresByWave(await store.countDevices(tx, [id], null))
        const resumed = await store.setState(tx, row, { state: 'running', tolerated }, now)
        return reported(tx, caller, { row: resumed, action: 'resumeCampaign', event: 'resumed' })
      })
    },

    async cancelCampaign({ params: { id } }, caller) {
      return change(caller, { id, action: 'cancel' }, async (tx, row, now) => {
        const reason = `Canceled by ${nameOf(caller)}`
        await reportDevices(tx, await devices.cancelDevices(tx, { campaignId: id, reason }, now))
        const canceled = await store.setState(tx, row, { state: 'canceled', stateReason: reason }, now)
        return reported(tx, caller, { row: canceled, action: 'cancelCampaign', event: 'canceled' })
      })
    },

    async retryCampaign({ params: { id }, body }, caller) {
      const named = body?.data.assetIds
      const checked = named ?? (await failedAssets(caller, id))
      await requireWritable(context, caller, checked)
      return change(caller, { id, action: 'retry' }, async (tx, row, now) => {
        // A device that failed after the check of the rights is not retried.
        const writable = new Set(checked)
        const retried = (await devices.lockRetryable(tx, id, named)).filter(({ assetId }) => writable.has(assetId))
        requireRetryable(retried, named)
        const assetIds = retried.map(({ assetId }) => assetId)
        if ((await devices.findHeldElsewhere(tx, id, assetIds)) !== undefined) throw inProgress()
        const ids = retried.map((device) => device.id)
        await devices.retryDevices(tx, ids, now)
        const running = await store.setState(tx, row, await stateAfterRetry(tx, row), now)
        const detail = { devices: retried.length }
        return reported(tx, caller, { row: running, action: 'retryCampaign', event: 'retried', detail })
      })
    },
  }

  /** Requires that the caller can write the assets of the devices that are not final. */
  async function requireOpenWritable(caller: Caller, id: string): Promise<void> {
    const ids = await database.read(caller, (handle) => devices.assetsOfCampaign(handle, id, { states: 'open' }))
    await requireWritable(context, caller, ids)
  }

  async function failedAssets(caller: Caller, id: string): Promise<string[]> {
    return database.read(caller, (handle) => devices.assetsOfCampaign(handle, id, { states: 'failed' }))
  }
}

async function reported(tx: Transaction, caller: Caller, report: CampaignReport): Promise<CampaignRow> {
  await reportCampaign(tx, caller, report)
  return report.row
}

async function requirePossible(tx: Transaction, row: CampaignRow, action: CampaignAction): Promise<void> {
  const counts = totalCounts(await store.countDevices(tx, [row.id], null))
  const possible = possibleActions(row.state, counts)
  if (possible.includes(action)) return
  const others = possible.length === 0 ? 'No action is possible now' : `Possible now: ${possible.join(', ')}`
  const detail = action === 'retry' ? 'The campaign has no failed, unknown or canceled devices, or was canceled' : ''
  throw new Problem(
    'conflict',
    `The action "${action}" is not possible, because the campaign is ${row.state}. ${detail || others}`,
  )
}

/**
 * Returns the state of a campaign whose devices are retried. A finished campaign runs again, with a new job, because its
 * former job has ended. Failures that were accepted before count again if the devices fail again.
 */
async function stateAfterRetry(tx: Transaction, row: CampaignRow): Promise<StateChange> {
  const failures = failuresByWave(await store.countDevices(tx, [row.id], null))
  const tolerated = Object.fromEntries(
    Object.entries(row.tolerated).map(([wave, accepted]) => [wave, Math.min(accepted, failures[wave] ?? 0)]),
  )
  if (row.state === 'finished') return { state: 'running', tolerated, jobId: newId(), finishedAt: null }
  return { state: row.state, stateReason: row.stateReason ?? undefined, tolerated }
}

function requireRetryable(retried: readonly { assetId: string }[], named: readonly string[] | undefined): void {
  const found = new Set(retried.map(({ assetId }) => assetId))
  const missing = named?.filter((assetId) => !found.has(assetId)) ?? []
  if (missing.length > 0)
    throw new Problem(
      'conflict',
      `${missing.length} of the assets are not failed, unknown or canceled devices of the campaign, for example ${missing[0]}. Remove these assets from \`assetIds\``,
    )
  if (retried.length === 0)
    throw new Problem('conflict', 'No device has failed. To retry unknown or canceled devices, select these devices')
}

/** Requires that the plan updates at least one device. */
function requireUpdates(plan: readonly PlanRow[]): void {
  if (plan.some(({ outcome }) => outcome === 'update')) return
  if (plan.length > updateLimits.targets)
    throw new Problem(
      'too_many_targets',
      `The campaign has ${plan.length} targets. The limit is ${updateLimits.targets}. Use a filter that selects fewer assets`,
    )
  if (plan.some(({ outcome }) => outcome === 'busy')) throw inProgress()
  const [reason] = plan.flatMap((row) => row.reason ?? [])
  throw new Problem(
    'conflict',
    plan.length === 0
      ? 'The campaign has no targets that you can read. Change its targets'
      : `The campaign would update none of its ${plan.length} targets${reason === undefined ? '' : `, for example: ${reason}`}. Compute the plan to read all reasons`,
  )
}

function inProgress(): Problem {
  return new Problem(
    'update_in_progress',
    'Another campaign that has not ended contains one of the devices. Wait until it has ended, cancel it, or remove the device from the targets',
  )
}

const skipReasons = {
  current: 'The device already has this version',
  incompatible: 'The artefact cannot be installed on the device',
  'no-link': 'No running asset link can update the device',
  forbidden: 'The person who started the campaign cannot write the asset',
  busy: 'Another campaign updates the device',
} as const

/** Returns the device of a plan as it is stored. Targets that are not updated are stored with their reason. */
function newDevice(row: PlanRow): NewDevice {
  const { outcome } = row
  return {
    id: newId(),
    assetId: row.assetId,
    assetName: row.assetName ?? null,
    accessGroupId: row.accessGroupId,
    gatewayId: row.gatewayId ?? null,
    assetLinkId: row.assetLinkId ?? null,
    linkAssetId: row.linkAssetId ?? null,
    fromVersion: row.fromVersion ?? null,
    toVersion: row.toVersion,
    steps: row.steps,
    wave: row.wave,
    position: row.order,
    group: row.group,
    after: row.after,
    notWith: row.redundant,
    windows: row.windows,
    state: outcome === 'update' ? 'waiting' : 'skipped',
    reason: outcome === 'update' ? null : (row.reason ?? skipReasons[outcome]),
  }
}

function nameOf({ principal }: Caller): string {
  return principal.name
}
