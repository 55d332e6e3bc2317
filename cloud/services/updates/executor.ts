import { discovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import { workflowLimits, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { may } from '../../platform/access/rights.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import { readUsableArtefact } from './artefact-view.ts'
import { mayUpdate } from './campaign-access.ts'
import { platformCaller, reportCampaign, reportJob } from './campaign-report.ts'
import { currentWave, isEnded, stoppedWave } from './campaign-state.ts'
import {
  type CampaignRow,
  countDevices,
  findCampaign,
  lockCampaign,
  type StateChange,
  scheduleNext,
  setState,
} from './campaign-store.ts'
import { type DescribedAsset, describeAssets } from './described-assets.ts'
import { afterLostJob, deviceAfter, ended, isFinalState, type JobReport } from './device-state.ts'
import type { DeviceRow } from './device-store.ts'
import * as store from './device-store.ts'
import {
  abandon,
  activate,
  applyJob,
  cancelJob,
  changeDevice,
  createJob,
  type DeviceContext,
  endDevice,
  startStep,
} from './device-work.ts'
import { windowsOfAssets } from './node-windows.ts'
import { conflictsWith } from './other-campaigns.ts'
import { readyDevices, type WaitCause, windowStarts } from './ready-devices.ts'

/**
 * `advanceCampaign` continues one campaign. The task of campaigns calls it when a device or the campaign has changed, when
 * a window opens, and at an interval while devices are updated. It
 * 1. applies the states of jobs to devices, so that a lost report has no effect,
 * 2. writes what updated devices reported to their assets,
 * 3. cancels devices, and ends those whose gateway or asset no longer exists,
 * 4. stops the campaign if too many devices of a wave have failed,
 * 5. requests the activation of prepared devices and starts waiting ones, if their windows are open,
 * 6. finishes the campaign when all devices are final.
 *
 * One process runs the task of a tenant at a time. Each step is stored before the next one, and each can be repeated.
 */

/** The interval at which a campaign is continued whose devices are being updated, or wait for another campaign. */
const superviseMs = 5_000
/** The interval at which a campaign with devices that cannot start yet is continued. */
const waitMs = 30_000
const parallelDevices = 4
const reportsPerRun = 200

type GatewayState = { name: string; state: 'online' | 'offline' | 'gone' }

/** The data of one run of the executor for one campaign. */
type CampaignRun = DeviceContext & {
  row: CampaignRow
  at: Date
  signal: AbortSignal
  /** The person who started the campaign, with the current rights. */
  starter: Caller
  gateways: Map<string, GatewayState>
  /** The current windows of the nodes of assets. A window can change after the start of the campaign. */
  windows: Map<string, readonly MaintenanceWindow[]>
  /** Returns the next start of a closed window in milliseconds, and 0 for an open one. */
  startOf: (window: MaintenanceWindow) => number
  /** The states of the jobs of started devices, by their id. */
  jobs: Map<string, JobReport>
  /** The next time at which a window opens for a device that waits for it. */
  nextAt: Date | undefined
  /** Whether a device waits for a device of another campaign. */
  waitsForOthers: boolean
}

type CampaignKey = { tenantId: string; id: string; signal: AbortSignal }

export async function advanceCampaign(context: Context, { tenantId, id, signal }: CampaignKey): Promise<void> {
  const system = await platformCaller(context, tenantId)
  const row = await context.database.read(system, (handle) => findCampaign(handle, id))
  if (row === undefined) return
  const starter = await starterOf(context, tenantId, row)
  const at = new Date()
  const run: CampaignRun = {
    ...{ context, system, row, signal, starter, at },
    startOf: windowStarts(at),
    gateways: new Map(),
    windows: new Map(),
    jobs: new Map(),
    nextAt: undefined,
    waitsForOthers: false,
  }
  if (row.startedAt !== null && row.state !== 'pending-approval') {
    await settleDevices(run)
    await writeReports(run)
    await superviseDevices(run)
    if (row.state === 'running' && !(await stop(run))) await proceed(run)
  }
  if (!signal.aborted) await conclude(run)
}

async function starterOf(context: Context, tenantId: string, row: CampaignRow): Promise<Caller> {
  const { id, principalId, principalKind, principalName, roles } = row
  return currentCaller(context, tenantId, {
    id,
    principalId: principalId ?? id,
    principalKind: principalKind ?? 'user',
    principalName: principalName ?? '',
    roles: roles ?? { roles: [] },
  })
}

async function startedDevices({ context, system, row }: CampaignRun): Promise<DeviceRow[]> {
  return context.database.read(system, (handle) => store.listStarted(handle, row.id))
}

/** Runs work for devices, some at the same time. The error of one device does not prevent the work for the others. */
async function forEachDevice(
  { context, row, signal }: CampaignRun,
  devices: readonly DeviceRow[],
  work: (device: DeviceRow) => Promise<void>,
): Promise<void> {
  const queue = devices.values()
  const worker = async () => {
    for (const device of queue) {
      if (signal.aborted) return
      await work(device).catch((error: unknown) =>
        context.log.error(
          { error, campaign: row.id, device: device.id },
          'A device of a campaign could not be continued',
        ),
      )
    }
  }
  await Promise.all(Array.from({ length: parallelDevices }, worker))
}

/** Applies the states of jobs to their devices, and creates the jobs that a killed process has not created. */
async function settleDevices(run: CampaignRun): Promise<void> {
  const devices = (await startedDevices(run)).filter(({ jobId }) => jobId !== null)
  await readJobs(
    run,
    devices.map(({ jobId }) => jobId ?? ''),
  )
  await forEachDevice(run, devices, async (device) => {
    const job = run.jobs.get(device.jobId ?? '')
    if (job !== undefined) {
      if (!device.isJobCreated)
        await changeDevice(run, device, (row) =>
          row.jobId === device.jobId ? { change: { isJobCreated: true } } : undefined,
        )
      if (deviceAfter(device, job) !== undefined) await applyJob(run, device, job)
    } else if (device.isJobCreated) await endDevice(run, device, afterLostJob(device))
    else if (device.cancelAt === null) await createJob(run, run.row, device)
  })
}

async function readJobs({ context, system, jobs }: CampaignRun, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += workflowLimits.jobsPerRead) {
    const part = ids.slice(start, start + workflowLimits.jobsPerRead)
    const { data } = await context.peers(workflows, system).readJobs({ body: { data: { ids: part } } })
    for (const { id, status } of data) {
      const { state, progress, message, context: result } = status
      jobs.set(id, { state, progress, message, result })
    }
  }
}

/** Writes the reports of updated devices to their assets. A report that cannot be written now is written later. */
async function writeReports(run: CampaignRun): Promise<void> {
  const { context, system, row: campaign } = run
  const devices = await context.database.read(system, (handle) =>
    store.listReported(handle, campaign.id, reportsPerRun),
  )
  await forEachDevice(run, devices, async (device) => {
    const { report, gatewayId, assetId, assetLinkId } = device
    if (report?.asset !== undefined && gatewayId !== null && assetLinkId !== null) {
      const written = await context
        .peers(discovery, system)
        .recordDevice({
          params: { gatewayId, assetId },
          body: {
            data: {
              assetLinkId,
              key: report.jobId,
              asset: report.asset,
              campaign: { id: campaign.id, name: campaign.name },
            },
          },
        })
        .catch((error: unknown) => {
          if (error instanceof Problem && error.status < 500) return { data: { problem: error.message } }
          throw error
        })
      if (written.data.problem !== undefined)
        context.log.warn(
          { device: device.id, asset: assetId, problem: written.data.problem },
          'The inventory refused what an updated device reported',
        )
    }
    await changeDevice(run, device, (row) =>
      row.report?.jobId === report?.jobId ? { change: { report: null } } : undefined,
    )
  })
}

/** Cancels devices, ends those whose gateway or asset no longer exists, and continues those with several steps. */
async function superviseDevices(run: CampaignRun): Promise<void> {
  const devices = await startedDevices(run)
  if (devices.length === 0) return
  await readGateways(run, devices)
  await readWindows(run, devices)
  const ids = devices.map(({ assetId }) => assetId)
  const assets = await describeAssets(run.context, run.system, ids)
  await forEachDevice(run, devices, (device) => supervise(run, device, assets.get(device.assetId)))
}

async function supervise(run: CampaignRun, device: DeviceRow, asset: DescribedAsset | undefined): Promise<void> {
  const gateway = run.gateways.get(device.gatewayId ?? '')
  if (gateway === undefined || gateway.state === 'gone')
    return abandon(run, device, 'The gateway was revoked or deleted')
  if (device.cancelAt !== null) return cancelJob(run, device)
  const isActivated = device.state === 'activating' || device.state === 'verifying'
  if ((asset === undefined || asset.isDeleted) && !isActivated)
    return requestCancellation(run, device, 'The asset was deleted')
  // The gateway went offline after the activation was requested. It must not activate the artefact outside the window.
  if (run.jobs.get(device.jobId ?? '')?.state === 'ACTIVATE' && !areOpen(run, device))
    return requestCancellation(run, device, 'The maintenance window closed before the gateway began the activation')
  const obstacle = waitReason(run, device, gateway)
  if (device.jobId === null && obstacle === undefined && asset !== undefined) {
    const refusal = refusalOf(run, asset)
    if (refusal === undefined) await startStep(run, run.row, device, asset.accessGroupId)
    else await endDevice(run, device, ended('failed', refusal))
    return undefined
  }
  // The request of the activation decides the reason of a prepared device that nothing else prevents.
  const isRequested = device.state === 'prepared' && run.row.state === 'running'
  if (obstacle !== undefined || !isRequested) await setReason(run, device, obstacle ?? null)
}

/** Stores that a device is canceled, and cancels its job. */
async function requestCancellation(run: CampaignRun, device: DeviceRow, reason: string): Promise<void> {
  const canceled = await changeDevice(run, device, (row) =>
    row.cancelAt === null && !isFinalState(row.state)
      ? { change: { cancelAt: new Date().toISOString(), reason } }
      : undefined,
  )
  if (canceled !== undefined) await cancelJob(run, canceled)
}

/** Returns why a started device does not continue. */
function waitReason(run: CampaignRun, device: DeviceRow, gateway: GatewayState): string | undefined {
  if (gateway.state === 'offline') return offlineReason(gateway)
  const needsWindow = device.jobId === null || device.state === 'prepared'
  return !needsWindow || areOpen(run, device) ? undefined : waitReasons.window
}

/** Why a device does not start, although its gateway is online and no other campaign prevents it. */
const waitReasons: Readonly<Record<WaitCause, string>> = {
  order: 'Waits until the devices downstream are updated',
  exclusion: 'Waits until a device of this campaign is updated that must not be updated at the same time',
  window: 'Waits for the next maintenance window',
  place: 'Waits until another device is updated, because the campaign limits the number of devices at the same time',
}

function offlineReason({ name }: GatewayState): string {
  return `The gateway ${name} is offline`
}

async function setReason(run: CampaignRun, device: DeviceRow, reason: string | null): Promise<void> {
  if (device.reason === reason) return
  await changeDevice(run, device, (row) =>
    row.state === device.state && row.jobId === device.jobId && row.cancelAt === null
      ? { change: { reason } }
      : undefined,
  )
}

/** Returns whether the windows of a device are open. Notes the time before which one of them stays closed. */
function areOpen(run: CampaignRun, device: DeviceRow): boolean {
  const windows = run.windows.get(device.assetId) ?? device.windows
  const all = run.row.window === null ? windows : [run.row.window, ...windows]
  const opening = Math.max(0, ...all.map(run.startOf))
  if (opening > 0 && Number.isFinite(opening)) noteNext(run, new Date(opening))
  return opening === 0
}

async function readWindows({ context, system, windows }: CampaignRun, devices: readonly DeviceRow[]): Promise<void> {
  const ids = devices.map(({ assetId }) => assetId).filter((id) => !windows.has(id))
  const found = await windowsOfAssets(context, system, ids)
  for (const id of ids) windows.set(id, found.get(id) ?? [])
}

function noteNext(run: CampaignRun, at: Date | undefined): void {
  if (at !== undefined && (run.nextAt === undefined || at < run.nextAt)) run.nextAt = at
}

/** Returns why the platform does not update a device in the name of the person who started the campaign. */
function refusalOf({ starter, row }: CampaignRun, asset: DescribedAsset): string | undefined {
  if (may(starter, 'glb_update_manage') && mayUpdate(starter, asset)) return undefined
  return `${row.principalName} started the campaign, but can no longer update devices in the access group of the asset`
}

async function readGateways({ context, system, gateways }: CampaignRun, devices: readonly DeviceRow[]): Promise<void> {
  const ids = new Set(devices.map(({ gatewayId }) => gatewayId))
  for (const id of ids) {
    if (id === null || gateways.has(id)) continue
    gateways.set(id, await readGateway(context, system, id))
  }
}

async function readGateway({ peers }: Context, system: Caller, id: string): Promise<GatewayState> {
  try {
    const { name, state } = (await peers(onboarding, system).resolveGateway({ params: { id } })).data
    if (state === 'revoked') return { name, state: 'gone' }
    return { name, state: state === 'online' ? 'online' : 'offline' }
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return { name: '', state: 'gone' }
    throw error
  }
}

/** Stops the campaign if too many devices of a wave have failed. Returns whether it was stopped. */
async function stop(run: CampaignRun): Promise<boolean> {
  const counts = await countsOf(run)
  const stopped = stoppedWave(run.row, counts)
  if (stopped === undefined || currentWave(counts) === undefined) return false
  // The reason contains no counts, because readers may not be able to read all devices.
  const stateReason = `More than ${run.row.stopOnFailurePercent} % of the devices of wave ${stopped} failed or are unknown`
  await changeCampaign(run, { change: { state: 'stopped', stateReason }, action: 'stopCampaign', event: 'stopped' })
  return true
}

function countsOf({ context, system, row }: CampaignRun) {
  return context.database.read(system, (handle) => countDevices(handle, [row.id], null))
}

type PlatformChange = {
  change: StateChange
  action: string
  event: 'stopped' | 'finished'
  /** Whether the change also depends on the devices. It is checked again in the transaction. */
  onlyIf?: (tx: Transaction) => Promise<boolean>
}

/** Changes the state of the campaign, unless a person has changed it in the meantime. */
async function changeCampaign(run: CampaignRun, { change, action, event, onlyIf }: PlatformChange): Promise<void> {
  const { context, system, row } = run
  await context.database.transaction(system, async (tx) => {
    const current = await lockCampaign(tx, row.id)
    if (current === undefined || current.state !== row.state) return
    if (onlyIf !== undefined && !(await onlyIf(tx))) return
    const after = await setState(tx, current, change, new Date().toISOString())
    const detail = change.stateReason === undefined ? {} : { reason: change.stateReason }
    await reportCampaign(tx, system, { row: after, action, event, detail })
  })
}

/** Requests the activation of prepared devices, and starts waiting devices. */
async function proceed(run: CampaignRun): Promise<void> {
  const started = await startedDevices(run)
  const prepared = started.filter(({ state, cancelAt }) => state === 'prepared' && cancelAt === null)
  // A device can be prepared for a long time, in which the trust in its artefact can end.
  if (!(await hasUsableArtefacts(run, prepared))) return
  await activatePrepared(run, prepared)
  if (started.length >= run.row.concurrentDevices) return
  await startWaiting(run, await run.context.database.read(run.system, (handle) => store.listOpen(handle, run.row.id)))
}

async function activatePrepared(run: CampaignRun, devices: readonly DeviceRow[]): Promise<void> {
  if (devices.length === 0) return
  const ids = devices.map(({ assetId }) => assetId)
  const assets = await describeAssets(run.context, run.system, ids)
  await forEachDevice(run, devices, async (device) => {
    const asset = assets.get(device.assetId)
    if (asset === undefined || asset.isDeleted) return
    const refusal = refusalOf(run, asset)
    if (refusal !== undefined) return requestCancellation(run, device, refusal)
    // An offline gateway could activate the artefact after the window has closed.
    const isOnline = run.gateways.get(device.gatewayId ?? '')?.state === 'online'
    if (isOnline && areOpen(run, device)) await activate(run, device)
  })
}

async function startWaiting(run: CampaignRun, devices: readonly DeviceRow[]): Promise<void> {
  const { row, at, context, system } = run
  const wave = currentWave(devices.map((device) => ({ wave: device.wave, state: device.state, devices: 1 })))
  if (wave === undefined) return
  const waiting = devices.filter((device) => device.wave === wave && device.state === 'waiting' && !device.isStarted)
  await readGateways(run, waiting)
  await readWindows(run, waiting)
  const obstacles = await readObstacles(run, waiting)
  const { ready, causes, nextAt } = readyDevices(
    devices.map((device) => ({
      ...device,
      order: device.position,
      isBlocked: obstacles.has(device.id),
      windows: run.windows.get(device.assetId) ?? device.windows,
    })),
    { at, wave, concurrentDevices: row.concurrentDevices, window: row.window ?? undefined },
  )
  noteNext(run, nextAt)
  for (const [id, cause] of causes) obstacles.set(id, waitReasons[cause])
  await noteObstacles(run, waiting, obstacles)
  const byId = new Map(waiting.map((device) => [device.id, device]))
  const chosen = ready.flatMap((id) => byId.get(id) ?? [])
  if (chosen.length === 0 || !(await hasUsableArtefacts(run, chosen))) return
  const assets = await describeAssets(
    context,
    system,
    chosen.map(({ assetId }) => assetId),
  )
  await forEachDevice(run, chosen, (device) => startOrSkip(run, device, assets.get(device.assetId)))
}

async function startOrSkip(run: CampaignRun, device: DeviceRow, asset: DescribedAsset | undefined): Promise<void> {
  const skip = async (reason: string) => {
    await endDevice(run, device, ended('skipped', reason))
    // The place of this device is free for another one.
    run.nextAt = run.at
  }
  if (asset === undefined || asset.isDeleted) return skip('The asset was deleted')
  const gateway = run.gateways.get(device.gatewayId ?? '')
  if (gateway === undefined || gateway.state === 'gone') return skip('The gateway was revoked or deleted')
  const refusal = refusalOf(run, asset)
  if (refusal !== undefined) return skip(refusal)
  if (!(await startStep(run, run.row, device, asset.accessGroupId))) run.waitsForOthers = true
}

/** Returns why devices cannot start: their gateway is offline, or another campaign updates a device that excludes them. */
async function readObstacles(run: CampaignRun, waiting: readonly DeviceRow[]): Promise<Map<string, string>> {
  const { context, system, row, gateways } = run
  const others = await context.database.read(system, (handle) => store.listStartedElsewhere(handle, row.id, waiting))
  const conflictOf = conflictsWith(others)
  const obstacles = new Map<string, string>()
  for (const device of waiting) {
    const conflict = conflictOf(device)
    if (conflict !== undefined) run.waitsForOthers = true
    const gateway = gateways.get(device.gatewayId ?? '')
    const reason = gateway?.state === 'offline' ? offlineReason(gateway) : conflict
    if (reason !== undefined) obstacles.set(device.id, reason)
  }
  return obstacles
}

/** Shows at the waiting devices why they do not start. Devices without an obstacle start now. */
async function noteObstacles(
  { context, system, row }: CampaignRun,
  waiting: readonly DeviceRow[],
  obstacles: ReadonlyMap<string, string>,
): Promise<void> {
  const changed = waiting.filter(({ id, reason }) => obstacles.has(id) && obstacles.get(id) !== reason)
  for (const [reason, devices] of Map.groupBy(changed, ({ id }) => obstacles.get(id) ?? null)) {
    const ids = devices.map(({ id }) => id)
    await context.database.transaction(system, (tx) =>
      store.setWaitingReason(tx, { campaignId: row.id, ids, reason }, new Date().toISOString()),
    )
  }
}

/** Stops the campaign if an artefact that it would install now is no longer usable. */
async function hasUsableArtefacts(run: CampaignRun, devices: readonly DeviceRow[]): Promise<boolean> {
  const { context, system, row } = run
  const ids = new Set(devices.map(({ steps, step }) => steps[step]?.artefactId ?? row.artefactId))
  for (const id of ids) {
    const problem = await readUsableArtefact(context, system, id).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) continue
    if (!(problem instanceof Problem) || problem.status >= 500) throw problem
    const change: StateChange = { state: 'stopped', stateReason: problem.message }
    await changeCampaign(run, { change, action: 'stopCampaign', event: 'stopped' })
    return false
  }
  return true
}

/** Finishes the campaign if all devices are final, reports its job, and stores when it is continued. */
async function conclude(run: CampaignRun): Promise<void> {
  const { context, system, row } = run
  const counts = await countsOf(run)
  const isOpen = currentWave(counts) !== undefined
  if (!isOpen && row.finishedAt === null && row.state !== 'draft' && row.state !== 'pending-approval') {
    const finishedAt = new Date().toISOString()
    const state = row.state === 'canceled' ? 'canceled' : 'finished'
    // A stopped or paused campaign whose last device has ended has nothing to continue.
    const onlyIf = async (tx: Transaction) => currentWave(await countDevices(tx, [row.id], null)) === undefined
    await changeCampaign(run, { change: { state, finishedAt }, action: 'finishCampaign', event: 'finished', onlyIf })
  }
  const current = await context.database.read(system, (handle) => findCampaign(handle, row.id))
  if (current === undefined) return
  if (isEnded(current.state)) await context.database.transaction(system, (tx) => store.releaseAssets(tx, row.id))
  const isWaiting = current.state === 'running' && run.nextAt !== undefined && run.nextAt > run.at
  const waits = isWaiting ? `Waits for the maintenance window that opens at ${run.nextAt?.toISOString()}` : null
  const stateReason = current.state === 'running' ? waits : current.stateReason
  await reportJob(context, system, { ...current, stateReason }, counts)
  const dueAt = await nextTime(run, isOpen)
  await context.database.transaction(system, (tx) => scheduleNext(tx, row, { dueAt, stateReason }))
}

async function nextTime(run: CampaignRun, isOpen: boolean): Promise<string | null> {
  const { context, system, row, at, nextAt } = run
  const later = (ms: number) => new Date(at.getTime() + ms)
  const hasReports = await context.database.read(system, (handle) => store.listReported(handle, row.id, 1))
  const times: Date[] = []
  if (hasReports.length > 0) times.push(later(superviseMs))
  if (isOpen && row.state !== 'pending-approval') {
    const started = await startedDevices(run)
    if (started.length > 0) times.push(later(superviseMs))
    else if (row.state === 'running') times.push(later(run.waitsForOthers ? superviseMs : waitMs))
    if (nextAt !== undefined) times.push(nextAt)
  }
  return times.length === 0 ? null : new Date(Math.min(...times.map((time) => time.getTime()))).toISOString()
}
