import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { noRights } from '../../platform/access/rights.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { endStates } from './availability-store.ts'
import { storeChecks } from './checks.ts'
import { findMonitoring, type MonitoringRow } from './monitoring-store.ts'
import {
  countPending,
  deleteStale,
  dropPending,
  listPending,
  listPendingWithoutGateway,
  putTargets,
  type ResultRow,
} from './result-store.ts'
import { cancelJobs, type JobStatus, monitoringWorkflow, readJobs, stopJob } from './run-jobs.ts'
import { emitRunEvent } from './run-start.ts'
import type { JobRow, RunEnd, RunRow } from './run-store.ts'
import * as store from './run-store.ts'
import { resolveTargets } from './run-targets.ts'

/**
 * `advanceRun` continues one run. The task of runs calls it when a run was created, canceled or completed by a gateway, and at an
 * interval. It
 * 1. stores the targets of a new run,
 * 2. creates one job for each gateway that has targets without a result,
 * 3. ends the targets of gateways that are offline or whose job has ended: their state is unknown, not failed,
 * 4. finishes the run when all targets have a result.
 *
 * One process runs the task of a tenant at a time. Each step is stored before the next one, and each can be repeated.
 */

export const runTiming = {
  /** The interval at which an active run is continued. */
  superviseMs: 2_000,
  /** The time after the last sign of an offline gateway at which its targets end. */
  offlineMs: 60_000,
  /** The time in which a gateway must begin its job. */
  startMs: 10 * 60_000,
  /** The time in which a gateway must confirm the cancellation of its job. */
  cancelMs: 60_000,
  /** The longest time of a run. */
  runMs: 6 * 60 * 60_000,
} as const

const ownerGone =
  'The owner of the monitoring task was disabled or deleted. To become the owner, change the targets of the monitoring task'

const targetsPerWrite = 1_000
/** The maximum number of jobs that one gateway gets in a run. */
const jobsPerGateway = 3

type ActiveRun = { context: Context; system: Caller; run: RunRow; row: MonitoringRow; signal: AbortSignal }

export async function advanceRun(
  context: Context,
  system: Caller,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<void> {
  const { run, row } = await context.database.read(system, async (handle) => {
    const found = await store.findRun(handle, id)
    return { run: found, row: found === undefined ? undefined : await findMonitoring(handle, found.monitoringId) }
  })
  if (run === undefined || row === undefined) return
  const active = { context, system, run, row, signal }
  if (run.cancelAt !== null) return cancel(active, run.cancelAt)
  if (Date.now() - Date.parse(run.createdAt) > runTiming.runMs) return endEarly(active, 'The run took too long')
  const owner = await currentCaller(context, system.tenantId, row)
  if (owner.rights === noRights) return endEarly(active, ownerGone)
  const started = run.state === 'created' ? await start(active, owner) : run
  if (started !== undefined && !signal.aborted) await supervise({ ...active, run: started })
}

/** Stores the targets of a run. Returns undefined if the run has ended. */
async function start(active: ActiveRun, owner: Caller): Promise<RunRow | undefined> {
  const { context, system, run, row, signal } = active
  const resolved = await resolveTargets(context, owner, row).catch((error: unknown) => {
    if (error instanceof Problem && error.status < 500) return error
    throw error
  })
  if (resolved instanceof Problem) {
    await end(active, { state: 'failed', message: resolved.message })
    return undefined
  }
  const { targets, leftOut } = resolved
  const now = new Date().toISOString()
  for (let from = 0; from < targets.length && !signal.aborted; from += targetsPerWrite) {
    const some = targets.slice(from, from + targetsPerWrite)
    await context.database.transaction(system, (tx) =>
      putTargets(tx, { monitoringId: row.id, runId: run.id, now }, some),
    )
  }
  if (signal.aborted) return undefined
  return context.database.transaction(system, (tx) =>
    store.startRun(tx, run.id, { targets: targets.length, leftOut, now }),
  )
}

async function supervise(active: ActiveRun): Promise<void> {
  const { context, system, run } = active
  await endUnreadable(active)
  const { jobs, pending } = await context.database.read(system, async (handle) => ({
    jobs: await store.listJobs(handle, [run.id]),
    pending: await countPending(handle, run.id),
  }))
  if (pending.length === 0) return end(active, { state: 'finished', message: leftOutText(run) })
  const waiting = new Set(pending.flatMap(({ gatewayId }) => gatewayId ?? []))
  const open = jobs.filter(({ isOpen }) => isOpen)
  const statuses = await readJobs(context, system, open)
  const byId = new Map(statuses.map((status) => [status.id, status]))
  for (const job of open) await superviseJob(active, job, byId.get(job.jobId))
  for (const gatewayId of waiting) {
    if (open.some((job) => job.gatewayId === gatewayId)) continue
    if (jobs.filter((job) => job.gatewayId === gatewayId).length < jobsPerGateway) await createJob(active, gatewayId)
    else await endTargets(active, gatewayId, 'The gateway ended its jobs without a result for this asset')
  }
  const dueAt = new Date(Date.now() + runTiming.superviseMs).toISOString()
  await context.database.transaction(system, (tx) => store.setDue(tx, run.id, dueAt))
}

/** Ends the targets that no link can read. */
async function endUnreadable(active: ActiveRun): Promise<void> {
  const { context, system, run } = active
  for (;;) {
    const rows = await context.database.read(system, (handle) =>
      listPendingWithoutGateway(handle, run.id, targetsPerWrite),
    )
    if (rows.length === 0) return
    await endRows(active, rows, 'None of the chosen asset links has found this asset and can read it. Run a discovery')
  }
}

/** Ends the remaining targets of a gateway with the state unknown, or passes them to the next gateway. */
async function endTargets(active: ActiveRun, gatewayId: string, message: string): Promise<void> {
  const { context, system, run, signal } = active
  while (!signal.aborted) {
    const rows = await context.database.read(system, (handle) =>
      listPending(handle, { runId: run.id, gatewayId }, { limit: targetsPerWrite }),
    )
    if (rows.length === 0) return
    await endRows(active, rows, message)
  }
}

async function endRows(active: ActiveRun, rows: readonly ResultRow[], message: string): Promise<void> {
  const { context, system, run, row } = active
  const checks = new Map(
    rows.map(({ assetId, gatewayId }) => [
      assetId,
      { state: 'unknown' as const, message, gatewayId, instanceId: null },
    ]),
  )
  await storeChecks(context, system, { run, row, checks })
}

async function superviseJob(active: ActiveRun, job: JobRow, status: JobStatus | undefined): Promise<void> {
  const { context, system } = active
  const { gatewayId, jobId } = job
  const silentMs = Date.now() - Date.parse(job.activeAt)
  if (status === undefined) {
    if (silentMs < runTiming.offlineMs) return putJob(active, job)
    return closeJob(active, job, 'The job of the gateway was deleted')
  }
  if (status.isFinal) {
    const { state, message = '' } = status.status
    if (state === 'FINISHED') return closeJob(active, job)
    return closeJob(active, job, `The job of the gateway was ${state.toLowerCase()}. ${message}`.trim())
  }
  if (status.isLeased) return undefined
  const gateway = await gatewayOf(active, gatewayId)
  const isGone = gateway.state === 'gone'
  const isOffline = gateway.state === 'offline' && silentMs >= runTiming.offlineMs
  if (!isGone && !isOffline && silentMs < runTiming.startMs) return undefined
  await stopJob(context, system, jobId)
  const reason = isGone ? 'was revoked or deleted' : isOffline ? 'is offline' : 'did not begin the job'
  return closeJob(active, job, `The gateway ${gateway.name} ${reason}`)
}

/** Closes an ended job. With a reason, the targets of its gateway end too. */
async function closeJob(active: ActiveRun, job: JobRow, reason?: string): Promise<void> {
  const { context, system } = active
  await context.database.transaction(system, (tx) => store.closeJob(tx, job.jobId))
  if (reason !== undefined) await endTargets(active, job.gatewayId, reason)
}

type GatewayState = { name: string; state: 'online' | 'offline' | 'gone' }

async function gatewayOf({ context, system }: ActiveRun, id: string): Promise<GatewayState> {
  try {
    const { data } = await context.peers(onboarding, system).resolveGateway({ params: { id } })
    const { name, state } = data
    return { name, state: state === 'online' || state === 'offline' ? state : 'gone' }
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return { name: id, state: 'gone' }
    throw error
  }
}

/** Creates the job of a gateway. Its id is stored first, so that a repeated creation has no effect. */
async function createJob(active: ActiveRun, gatewayId: string): Promise<void> {
  const { context, system, run } = active
  const gateway = await gatewayOf(active, gatewayId)
  if (gateway.state === 'gone')
    return endTargets(active, gatewayId, `The gateway ${gateway.name} was revoked or deleted`)
  const job = await context.database.transaction(system, (tx) =>
    store.insertJob(tx, { jobId: newId(), runId: run.id, gatewayId, createdAt: new Date().toISOString() }),
  )
  return putJob(active, job)
}

async function putJob({ context, system, run, row }: ActiveRun, { jobId, gatewayId }: JobRow): Promise<void> {
  await context.peers(workflows, system).putClientJob({
    params: { id: jobId },
    body: {
      data: {
        workflow: monitoringWorkflow,
        clientId: gatewayId,
        tags: [monitoringWorkflow, `monitoring/${row.id}`],
        definition: {
          monitoringId: row.id,
          runId: run.id,
          name: row.name,
          keys: row.keys,
          hasCredentials: row.templateId !== null,
          askedBy: authorOf({ run, row }),
          trigger: run.cause,
        },
      },
    },
  })
}

/** Returns the name of the user that started the run, or that created the monitoring whose schedule started it. */
function authorOf({ run, row }: Pick<ActiveRun, 'run' | 'row'>): string | undefined {
  return run.startedBy ?? (run.cause === 'schedule' ? row.principalName : undefined)
}

function leftOutText({ leftOut }: RunRow): string | null {
  if (leftOut === 0) return null
  return `${leftOut === 1 ? '1 asset was' : `${leftOut} assets were`} left out, because the owner cannot write them`
}

/** Cancels a run: first the jobs of the gateways, and then the run when all of them have ended. */
async function cancel(active: ActiveRun, cancelAt: string): Promise<void> {
  const { context, system, run } = active
  const jobs = await context.database.read(system, (handle) => store.listJobs(handle, [run.id]))
  const open = jobs.filter(({ isOpen }) => isOpen)
  await cancelJobs(context, system, open)
  const statuses = await readJobs(context, system, open)
  const isDue = Date.now() - Date.parse(cancelAt) > runTiming.cancelMs
  if (!isDue && statuses.some(({ isFinal }) => !isFinal)) {
    const dueAt = new Date(Date.now() + runTiming.superviseMs).toISOString()
    await context.database.transaction(system, (tx) => store.setDue(tx, run.id, dueAt))
    return
  }
  for (const { jobId } of open) await stopJob(context, system, jobId)
  await end(active, { state: 'canceled', message: `Canceled by ${run.canceledBy ?? 'a user'}` })
}

/** Ends a run as failed, with its jobs. */
async function endEarly(active: ActiveRun, message: string): Promise<void> {
  const { context, system, run } = active
  const jobs = await context.database.read(system, (handle) => store.listJobs(handle, [run.id]))
  for (const { jobId, isOpen } of jobs) if (isOpen) await stopJob(context, system, jobId)
  await end(active, { state: 'failed', message })
}

/** Ends a run. A finished run deletes the results of assets that are no longer targets. */
async function end({ context, system, run, row }: ActiveRun, ending: Omit<RunEnd, 'now'>): Promise<void> {
  const now = new Date().toISOString()
  await context.database.transaction(system, async (tx) => {
    const ended = await store.endRun(tx, run.id, { ...ending, now })
    if (ended === undefined) return
    await dropPending(tx, run.id)
    if (ended.state === 'finished') {
      await endStates(tx, await deleteStale(tx, row.id, run.id), now)
    }
    await store.deleteRuns(tx, row.id, ended.number - monitoringLimits.runs)
    await emitRunEvent(tx, 'finished', ended)
  })
}
