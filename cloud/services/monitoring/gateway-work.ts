import { discovery } from '@millwright/api/discovery.ts'
import { type MonitoringTarget, type monitoring, monitoringLimits } from '@millwright/api/monitoring.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { recordReported } from './checks.ts'
import { findMonitoring, type MonitoringRow } from './monitoring-store.ts'
import { findPending, listPending, type ResultRow } from './result-store.ts'
import { isActive, runsTopic } from './run-start.ts'
import { findJob, findRun, type JobRow, type RunRow, setDue, touchJob } from './run-store.ts'

type Operations = 'listRunTargets' | 'recordRunResults' | 'findRunTargets'

type Work = { job: JobRow; run: RunRow; row: MonitoringRow }

/** The operations with which the gatekeeper passes the targets and results of a job between a gateway and its run. */
export function gatewayWorkHandlers(context: Context): Pick<Handlers<typeof monitoring>, Operations> {
  const { database } = context
  return {
    async listRunTargets({ params: { jobId }, body: { data } }, caller) {
      const work = await workOf(context, caller, { jobId, gatewayId: data.gatewayId })
      if (work === undefined) return { data: [] }
      const { limit = monitoringLimits.targetsPerPage, after } = data
      const rows = await database.transaction(caller, async (tx) => {
        await touchJob(tx, jobId, new Date().toISOString())
        return listPending(tx, { runId: work.run.id, gatewayId: data.gatewayId }, { after, limit })
      })
      return { data: await targetsOf(context, caller, { gatewayId: data.gatewayId, rows }) }
    },

    /** A result of a run that has ended, or of an asset that already has a result, is ignored. */
    async recordRunResults({ params: { jobId }, body: { data } }, caller) {
      const work = await workOf(context, caller, { jobId, gatewayId: data.gatewayId })
      if (work === undefined) return { data: { isOpen: false } }
      await recordReported(context, caller, { ...work, devices: data.results })
      await database.transaction(caller, async (tx) => {
        const { run } = work
        const [next] = await listPending(tx, { runId: run.id, gatewayId: data.gatewayId }, { limit: 1 })
        if (next !== undefined) return
        await setDue(tx, run.id, new Date().toISOString())
        tx.signal(runsTopic)
      })
      return { data: { isOpen: true } }
    },

    async findRunTargets({ params: { jobId }, body: { data } }, caller) {
      const work = await workOf(context, caller, { jobId, gatewayId: data.gatewayId })
      if (work === undefined) return { data: { assetIds: [] } }
      const { row, run } = work
      const rows = await database.read(caller, (handle) =>
        findPending(handle, { monitoringId: row.id, runId: run.id }, data.assetIds),
      )
      const own = rows.filter(({ gatewayId, routes }) => {
        return gatewayId === data.gatewayId && routes[0]?.links.includes(data.assetLinkId) === true
      })
      return {
        data: {
          ...(row.templateId === null ? {} : { instancesTemplateId: row.templateId }),
          assetIds: own.map(({ assetId }) => assetId),
        },
      }
    },
  }
}

/** Returns the run of a job. Returns undefined if the run has ended, or the job belongs to another gateway. */
async function workOf(
  { database }: Context,
  caller: Caller,
  { jobId, gatewayId }: { jobId: string; gatewayId: string },
): Promise<Work | undefined> {
  return database.read(caller, async (handle) => {
    const job = await findJob(handle, jobId)
    if (job === undefined || job.gatewayId !== gatewayId || !job.isOpen) return undefined
    const run = await findRun(handle, job.runId)
    if (run === undefined || !isActive(run) || run.cancelAt !== null) return undefined
    const row = await findMonitoring(handle, run.monitoringId)
    return row === undefined ? undefined : { job, run, row }
  })
}

/** Returns targets with the identifiers and addresses that their assets have now. */
async function targetsOf(
  { peers }: Context,
  caller: Caller,
  { gatewayId, rows }: { gatewayId: string; rows: readonly ResultRow[] },
): Promise<MonitoringTarget[]> {
  if (rows.length === 0) return []
  const { data } = await peers(discovery, systemCaller(caller)).readDeviceTargets({
    params: { gatewayId },
    body: { data: { assetIds: rows.map(({ assetId }) => assetId) } },
  })
  const devices = new Map(data.map((device) => [device.assetId, device]))
  return rows.map(({ assetId, routes, instanceId }) => {
    const { assetIdentifiers = [], addresses = [], links = [] } = devices.get(assetId) ?? {}
    const found = new Map(links.map((link) => [link.assetLinkId, link.foundAddresses]))
    const wanted = routes[0]?.links ?? []
    return {
      assetId,
      assetIdentifiers,
      addresses,
      links: wanted.map((assetLinkId) => ({ assetLinkId, foundAddresses: found.get(assetLinkId) ?? [] })),
      isProtected: instanceId !== null,
    }
  })
}
