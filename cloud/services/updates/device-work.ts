import { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { readUsableArtefact } from './artefact-view.ts'
import { recordDevice, reportDevices } from './campaign-report.ts'
import { type CampaignRow, lockState } from './campaign-store.ts'
import { deviceAfter, ended, isFinalState, type JobReport } from './device-state.ts'
import {
  type DeviceChange,
  type DeviceRow,
  listStartedElsewhere,
  lockDevice,
  lockStarts,
  type StartedElsewhere,
  updateDevice,
} from './device-store.ts'
import { conflictsWith } from './other-campaigns.ts'
import { listTrustAnchors, readSettings } from './trust-anchor-store.ts'

/**
 * The steps that the platform takes with one device: it creates the job of a step, requests the activation, cancels, and
 * ends the device. Every step stores its intention before it changes the job, and can be repeated: a job has a fixed id, and
 * a job changes its state only once. So a process can be killed between any two writes.
 */

export const updateWorkflow = 'artefact-update'

/** The platform as caller, for work in a tenant. */
export type DeviceContext = { context: Context; system: Caller }

type Decision = { change: DeviceChange; action?: string; detail?: Record<string, unknown> } | undefined

/**
 * Changes a device in a transaction. `decide` gets the locked device, and returns the change or undefined. The state of the
 * campaign cannot change during the transaction. Events and audit entries follow from the change.
 */
export async function changeDevice(
  { context, system }: DeviceContext,
  { id, campaignId }: Pick<DeviceRow, 'id' | 'campaignId'>,
  decide: (row: DeviceRow, state: CampaignRow['state']) => Decision,
): Promise<DeviceRow | undefined> {
  return context.database.transaction(system, async (tx) => {
    const state = await lockState(tx, campaignId)
    const row = state === undefined ? undefined : await lockDevice(tx, id)
    if (row === undefined || state === undefined) return undefined
    return storeDecision(tx, system, { row, decision: decide(row, state) })
  })
}

/**
 * Changes a device as `changeDevice` does, and no other device of the tenant starts or is activated at the same time, in any
 * process. `decide` also gets the devices of other campaigns that are being updated.
 */
async function changeAlone(
  { context, system }: DeviceContext,
  { id, campaignId }: Pick<DeviceRow, 'id' | 'campaignId'>,
  decide: (row: DeviceRow, state: CampaignRow['state'], others: readonly StartedElsewhere[]) => Decision,
): Promise<DeviceRow | undefined> {
  return context.database.transaction(system, async (tx) => {
    await lockStarts(tx)
    const state = await lockState(tx, campaignId)
    const row = state === undefined ? undefined : await lockDevice(tx, id)
    if (row === undefined || state === undefined) return undefined
    const others = await listStartedElsewhere(tx, campaignId, [row])
    return storeDecision(tx, system, { row, decision: decide(row, state, others) })
  })
}

async function storeDecision(
  tx: Transaction,
  system: Caller,
  { row, decision }: { row: DeviceRow; decision: Decision },
): Promise<DeviceRow | undefined> {
  if (decision === undefined) return undefined
  const { change, action, detail } = decision
  const after = await storeChange(tx, system, { row, change })
  if (action !== undefined) await recordDevice(tx, system, { row: after, action, ...(detail ? { detail } : {}) })
  return after
}

/** Stores a change of a locked device, with its event, and with an audit entry if the device is final now. */
export async function storeChange(
  tx: Transaction,
  system: Caller,
  { row, change }: { row: DeviceRow; change: DeviceChange },
): Promise<DeviceRow> {
  const after = await updateDevice(tx, row, change, new Date().toISOString())
  if (after.state === row.state && after.step === row.step) return after
  await reportDevices(tx, [after])
  if (isFinalState(after.state)) {
    const detail = { reason: after.reason, reportedVersion: after.reportedVersion }
    await recordDevice(tx, system, { row: after, action: 'endDevice', detail })
  }
  return after
}

/** Applies the status of the current job to its device. */
export async function applyJob(work: DeviceContext, device: DeviceRow, job: JobReport): Promise<DeviceRow | undefined> {
  return changeDevice(work, device, (row) => {
    const change = row.jobId === device.jobId ? deviceAfter(row, job) : undefined
    return change === undefined ? undefined : { change }
  })
}

/** Ends a device that has no job, or whose job has ended. */
export async function endDevice(
  work: DeviceContext,
  device: DeviceRow,
  change: DeviceChange,
): Promise<DeviceRow | undefined> {
  return changeDevice(work, device, (row) =>
    row.jobId === device.jobId && row.state === device.state && !isFinalState(row.state) ? { change } : undefined,
  )
}

/**
 * Starts the next step of a device: stores the id of its job, then creates the job. A device that waits starts only in a
 * running campaign, and not while another campaign updates a device that must not be updated at the same time. A device whose
 * previous step is done continues also in a paused or stopped campaign. Returns false if the device waits for another campaign.
 */
export async function startStep(
  work: DeviceContext,
  campaign: CampaignRow,
  device: DeviceRow,
  accessGroupId: string,
): Promise<boolean> {
  const started = await changeAlone(work, device, (row, state, others) => {
    const canStart = row.isStarted ? state !== 'canceled' : state === 'running'
    if (!canStart || row.state !== 'waiting' || row.jobId !== null || row.cancelAt !== null) return undefined
    const conflict = row.isStarted ? undefined : conflictsWith(others)(row)
    if (conflict !== undefined) return { change: { reason: conflict } }
    const change = { isStarted: true, jobId: newId(), isJobCreated: false, reason: null, progress: 0, accessGroupId }
    return { change, action: 'startDevice', detail: { startedBy: campaign.principalName } }
  })
  if (started === undefined) return true
  if (!started.isStarted) return false
  await createJob(work, campaign, started)
  return true
}

/** Creates the job of a started device. The request can be repeated after a crash. */
export async function createJob(work: DeviceContext, campaign: CampaignRow, device: DeviceRow): Promise<void> {
  const { context, system } = work
  const { jobId, gatewayId, assetId, linkAssetId, campaignId } = device
  if (jobId === null || gatewayId === null) return
  const definition = await definitionOf(work, campaign, device).catch((error: unknown) => {
    if (error instanceof Problem && error.status < 500) return error
    throw error
  })
  if (definition instanceof Problem) {
    await endDevice(work, device, ended('failed', definition.message))
    return
  }
  const tags = [updateWorkflow, `campaign/${campaignId}`, `asset/${assetId}`]
  await context.peers(workflows, system).putClientJob({
    params: { id: jobId },
    body: {
      data: {
        workflow: updateWorkflow,
        clientId: gatewayId,
        tags: [...tags, ...(linkAssetId === null ? [] : [`asset/${linkAssetId}`])],
        definition,
      },
    },
  })
  await changeDevice(work, device, (row) => (row.jobId === jobId ? { change: { isJobCreated: true } } : undefined))
}

async function definitionOf(
  { context, system }: DeviceContext,
  campaign: CampaignRow,
  device: DeviceRow,
): Promise<Record<string, unknown>> {
  const { assetId, assetLinkId, gatewayId, steps, step, reportedVersion, fromVersion } = device
  const artefact = await readUsableArtefact(context, system, steps[step]?.artefactId ?? campaign.artefactId)
  const { data: access } = await context.peers(discovery, system).readDeviceTarget({
    params: { id: assetId },
    query: { gatewayId: gatewayId ?? '', assetLinkId: assetLinkId ?? '' },
  })
  const [anchors, settings] = await context.database.read(system, async (handle) => [
    await listTrustAnchors(handle),
    await readSettings(handle),
  ])
  const installed = step === 0 ? fromVersion : (reportedVersion ?? steps[step - 1]?.version ?? null)
  return {
    campaignId: campaign.id,
    deviceId: device.id,
    assetId,
    assetLinkId,
    linkAssetId: device.linkAssetId,
    assetIdentifiers: access.assetIdentifiers,
    addresses: access.addresses,
    foundAddresses: access.foundAddresses,
    artefact: {
      id: artefact.id,
      kind: artefact.kind,
      name: artefact.name,
      version: artefact.version,
      sha256: artefact.sha256,
      size: artefact.size,
      ...(artefact.signature === null ? {} : { signature: artefact.signature }),
      products: artefact.products,
      manufacturer: artefact.manufacturer,
    },
    trustAnchors: anchors.map(({ id, format, publicKey }) => ({ id, format, publicKey })),
    allowsUnsigned: settings.allowsUnsigned,
    ...(installed === null ? {} : { fromVersion: installed }),
    verifyMinutes: campaign.verifyMinutes,
    ...(campaign.principalName === null ? {} : { askedBy: campaign.principalName }),
  }
}

/**
 * Requests the activation of a prepared device. The request is stored first: if the job is lost afterwards, the device
 * counts as unknown, because it may have activated the artefact. The device waits while a device of another campaign is activated
 * that must not be updated at the same time. It does not wait for one that is only prepared, so two devices never wait for each
 * other.
 */
export async function activate(work: DeviceContext, device: DeviceRow): Promise<void> {
  const allowed = await changeAlone(work, device, (row, state, others) => {
    if (state !== 'running' || row.state !== 'prepared' || row.cancelAt !== null || row.jobId !== device.jobId)
      return undefined
    if (row.activationAt !== null) return { change: {} }
    const conflict = conflictsWith(others.filter(({ activationAt }) => activationAt !== null))(row)
    if (conflict !== undefined) return conflict === row.reason ? undefined : { change: { reason: conflict } }
    return { change: { activationAt: new Date().toISOString(), reason: null }, action: 'activateDevice' }
  })
  if (allowed === undefined || allowed.activationAt === null) return
  const job = await moveJob(work, allowed, 'ACTIVATE')
  if (job !== undefined) await applyJob(work, allowed, reportOf(job))
}

/** After this time, a cancellation takes effect without the confirmation of the gateway. */
const confirmationMs = 10 * 60_000

/**
 * Cancels the job of a device whose cancellation is stored. An activation is never canceled: the device is completed. The
 * gateway confirms the cancellation when the device has discarded the artefact.
 */
export async function cancelJob(work: DeviceContext, device: DeviceRow): Promise<void> {
  const { jobId, isJobCreated, reason, cancelAt } = device
  if (jobId === null || !isJobCreated) {
    await endDevice(work, device, ended('canceled', reason))
    return
  }
  const isDue = cancelAt !== null && Date.now() - Date.parse(cancelAt) > confirmationMs
  // A job that the gateway has not leased is canceled at once. A prepared device must discard its artefact first.
  const isUntouched = device.state === 'waiting'
  const job =
    (isUntouched || isDue ? await moveJob(work, device, 'CANCELED', reason) : undefined) ??
    (await moveJob(work, device, 'CANCELING', reason))
  if (job !== undefined) await applyJob(work, device, reportOf(job))
}

/**
 * Ends a device whose gateway was revoked or deleted. The gateway can no longer report. If the activation has begun, the
 * version of the device is unknown.
 */
export async function abandon(work: DeviceContext, device: DeviceRow, reason: string): Promise<void> {
  const end = async (state: 'failed' | 'unknown') => {
    await endDevice(work, device, device.cancelAt === null ? ended(state, reason) : ended('canceled', device.reason))
  }
  if (device.jobId === null || !device.isJobCreated) return end('failed')
  const isCanceled = async () => (await moveJob(work, device, 'CANCELED', reason)) !== undefined
  if (await isCanceled()) return end('failed')
  await moveJob(work, device, 'CANCELING', reason)
  if (await isCanceled()) return end('failed')
  if ((await moveJob(work, device, 'UNKNOWN', reason)) === undefined) return
  await endDevice(work, device, ended('unknown', reason))
}

/** Moves the job of a device as the platform. Returns undefined if the job cannot be moved to this state. */
async function moveJob(
  { context, system }: DeviceContext,
  { jobId }: DeviceRow,
  state: string,
  message: string | null = null,
): Promise<WorkflowJob | undefined> {
  if (jobId === null) return undefined
  try {
    const text = message === null ? {} : { message }
    return await context.peers(workflows, system).moveJob({
      params: { id: jobId },
      body: { data: { state, as: 'WFX', ...text } },
    })
  } catch (error) {
    if (error instanceof Problem && (error.code === 'invalid_transition' || error.code === 'not_found'))
      return undefined
    throw error
  }
}

export function reportOf({ status }: Pick<WorkflowJob, 'status'>): JobReport {
  const { state, progress, message, context: result } = status
  return { state, progress, message, result }
}
