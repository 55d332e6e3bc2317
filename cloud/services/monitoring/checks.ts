import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type MonitoredDevice, monitoringLimits, type ReportError } from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import { type NewState, putStates } from './availability-store.ts'
import { mayAssign, mayMonitor } from './monitoring-access.ts'
import type { MonitoringRow } from './monitoring-store.ts'
import { type Check, digestOf, digestOfText, endOfResult, rowAfter } from './result.ts'
import { checksByOthers, findPending, lockPending, type ResultRow, updateResults } from './result-store.ts'
import { addCounts, type JobRow, type RunRow, touchJob } from './run-store.ts'

/**
 * This file stores what gateways found out about devices. The inventory gets the reports first, then the results are stored. If
 * the process ends between the two steps, the gateway sends the results again, and the repeated reports change nothing.
 */

type Checks = { run: RunRow; row: MonitoringRow; checks: ReadonlyMap<string, Check> }

/** `now` is the time of the checks. */
type StoreOptions = { job?: JobRow; digests?: ReadonlyMap<string, string>; now?: string }

/** Stores the results of checks. Results of assets that already have a result in the run are ignored. */
export async function storeChecks(
  { database }: Context,
  caller: Pick<Caller, 'tenantId'>,
  { run, row, checks, job, digests, now = new Date().toISOString() }: Checks & StoreOptions,
): Promise<void> {
  await database.transaction(caller, async (tx) => {
    const pending = await lockPending(tx, { monitoringId: row.id, runId: run.id }, [...checks.keys()])
    const after = pending.flatMap((target) => {
      const check = checks.get(target.assetId)
      // Another gateway reads the asset meanwhile, because the results of this one were late.
      if (check === undefined || (check.gatewayId !== null && check.gatewayId !== target.gatewayId)) return []
      const next = rowAfter(target, check, now)
      return [{ ...next, reportDigest: digests?.get(target.assetId) ?? next.reportDigest }]
    })
    await updateResults(tx, row.id, after)
    const done = after.filter(({ isPending }) => !isPending)
    await putStates(tx, await statesOf(tx, { monitoringId: row.id, pending, done, now }), now)
    const counted = (state: ResultRow['state']) => done.filter((one) => one.state === state).length
    const counts = { reached: counted('reached'), failed: counted('failed'), unknown: counted('unknown') }
    const changed = done.filter(({ isChanged }) => isChanged).length
    if (done.length > 0) await addCounts(tx, run.id, { ...counts, changed })
    if (job !== undefined) await touchJob(tx, job.jobId, now)
  })
}

type Stored = { monitoringId: string; pending: readonly ResultRow[]; done: readonly ResultRow[]; now: string }

/**
 * Returns the states of assets for their availability, each with the time of the result before. A state that another monitoring
 * knows is not replaced by `unknown`. Other monitoring tasks are read only for assets whose own last result is missing or old.
 */
async function statesOf(tx: Transaction, { monitoringId, pending, done, now }: Stored): Promise<NewState[]> {
  const own = new Map(pending.map(({ assetId, checkedAt }) => [assetId, checkedAt]))
  const isOld = (at: string | null | undefined) => at === null || at === undefined || endOfResult(at) < now
  const asked = done.filter(({ assetId, state }) => state === 'unknown' || isOld(own.get(assetId)))
  const others = await checksByOthers(
    tx,
    monitoringId,
    asked.map(({ assetId }) => assetId),
  )
  return done.flatMap(({ assetId, state }) => {
    const other = others.get(assetId)
    if (state === 'unknown' && !isOld(other)) return []
    const times = [own.get(assetId) ?? [], other ?? []].flat().toSorted()
    return [{ assetId, state, lastAt: times.at(-1) ?? null }]
  })
}

type Reported = { run: RunRow; row: MonitoringRow; job: JobRow; devices: readonly MonitoredDevice[] }

/** Writes what a gateway reported to the inventory and the credentials service, and stores the results. */
export async function recordReported(context: Context, caller: Caller, reported: Reported): Promise<void> {
  const { run, row, job } = reported
  const now = new Date().toISOString()
  const owner = await currentCaller(context, caller.tenantId, row)
  const ids = reported.devices.map(({ assetId }) => assetId)
  const pending = await context.database.read(caller, (handle) =>
    findPending(handle, { monitoringId: row.id, runId: run.id }, ids),
  )
  const targets = new Map(pending.map((target) => [target.assetId, target]))
  const devices = reported.devices.filter(({ assetId }) => targets.get(assetId)?.gatewayId === job.gatewayId)
  if (devices.length === 0) return
  const current = await devicesOf(context, owner, devices)
  const worked = await recordUses(context, caller, { job, devices, targets })
  const checks = new Map<string, Check>()
  for (const { uses: _, assetId, ...device } of devices) {
    const asset = current.get(assetId)
    const mayWrite = asset !== undefined && mayMonitor(owner, asset.accessGroupId)
    const instanceId = worked.get(assetId) ?? null
    const links = targets.get(assetId)?.routes[0]?.links ?? []
    const check = { ...allowedReport(device, { links, keys: row.keys }), gatewayId: job.gatewayId, instanceId }
    checks.set(assetId, mayWrite ? check : notAllowed(job.gatewayId, asset))
  }
  const { digests, errors } = await writeReports(context, caller, { job, checks, targets })
  for (const [assetId, check] of checks) {
    const error = errors.get(assetId)
    if (error !== undefined) checks.set(assetId, { ...check, error })
  }
  await writeReachability(context, owner, { checks, targets, now })
  if (row.assignWorking && mayAssign(owner)) await assignCopies(context, owner, { worked, targets })
  await storeChecks(context, caller, { run, row, checks, job, digests, now })
}

type Report = Omit<MonitoredDevice, 'assetId' | 'uses'>

/**
 * Returns a report with the properties of the monitoring task only. Assets and values that are too large are left out. An asset that
 * another link than those of the target reports is left out too, because the link decides which fields of the asset win.
 */
function allowedReport(
  { assetLinkId, asset, values, ...rest }: Report,
  { links, keys }: { links: readonly string[]; keys: readonly string[] },
): Report {
  const isOfLink = assetLinkId !== undefined && links.includes(assetLinkId)
  const isFirst = ({ key }: { key: string }, index: number) => values?.findIndex((one) => one.key === key) === index
  const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value ?? null))
  return {
    ...rest,
    ...(isOfLink ? { assetLinkId } : {}),
    ...(isOfLink && asset !== undefined && bytesOf(asset) <= monitoringLimits.reportBytes ? { asset } : {}),
    ...(values === undefined
      ? {}
      : {
          values: values
            .filter(isFirst)
            .filter(({ key, value }) => keys.includes(key) && bytesOf(value) <= monitoringLimits.valueBytes),
        }),
  }
}

function notAllowed(gatewayId: string, asset: InventoryDevice | undefined): Check {
  const message =
    asset === undefined
      ? 'The asset was deleted or merged during the run, or the owner of the monitoring task can no longer read it'
      : 'The owner of the monitoring task can no longer write this asset'
  return { state: 'unknown', message, gatewayId, instanceId: null }
}

/** Returns the devices that the owner can read now. */
async function devicesOf(
  { peers }: Context,
  owner: Caller,
  devices: readonly MonitoredDevice[],
): Promise<Map<string, InventoryDevice>> {
  const ids = devices.map(({ assetId }) => assetId)
  const { data } = await peers(inventory, owner).selectDevices({ body: { data: { ids } } })
  return new Map(data.devices.map((device) => [device.id, device]))
}

type Targets = { targets: ReadonlyMap<string, ResultRow> }

/**
 * Records which credentials worked, if something changed since the last result. Returns the instance that worked for each
 * asset. An instance that was not delivered to the gateway does not count.
 */
async function recordUses(
  context: Context,
  caller: Caller,
  { job, devices, targets }: Targets & { job: JobRow; devices: readonly MonitoredDevice[] },
): Promise<Map<string, string>> {
  const { gatewayId, jobId } = job
  const worked = new Map<string, string>()
  const uses = devices.flatMap(({ assetId, uses: tried = [] }) => tried.map((use) => ({ assetId, ...use })))
  const isKnown = ({ assetId, instanceId, worked: hasWorked }: (typeof uses)[number]) =>
    hasWorked && targets.get(assetId)?.instanceId === instanceId
  for (const use of uses) if (isKnown(use)) worked.set(use.assetId, use.instanceId)
  const news = uses.filter((use) => !isKnown(use))
  const client = context.peers(credentials, systemCaller(caller))
  for (let start = 0; start < news.length; start += credentialLimits.usesPerReport) {
    const some = news.slice(start, start + credentialLimits.usesPerReport)
    const { data } = await client.recordUse({ body: { data: { gatewayId, jobId, uses: some } } })
    for (const { assetId, instanceId, worked: hasWorked } of data.recorded)
      if (hasWorked && assetId !== undefined) worked.set(assetId, instanceId)
  }
  return worked
}

type CheckedTargets = Targets & { checks: ReadonlyMap<string, Check> }

/**
 * Writes the reports of devices that differ from their last reports, in the same way as a scan of the link. Returns the digests
 * of the written reports, and why the inventory refused others. A refused report has no digest, so the next run writes it again.
 */
async function writeReports(
  context: Context,
  caller: Caller,
  { job, checks, targets }: CheckedTargets & { job: JobRow },
): Promise<{ digests: Map<string, string>; errors: Map<string, ReportError> }> {
  const digests = new Map<string, string>()
  const errors = new Map<string, ReportError>()
  const reports = [...checks].flatMap(([assetId, check]) => {
    const { assetLinkId, asset, state } = check
    const digest = digestOf(check)
    if (state !== 'reached' || assetLinkId === undefined || asset === undefined || digest === null) return []
    return targets.get(assetId)?.reportDigest === digest ? [] : [{ assetId, assetLinkId, asset, digest }]
  })
  const client = context.peers(discovery, systemCaller(caller))
  for (const [assetLinkId, ofLink] of Map.groupBy(reports, (report) => report.assetLinkId)) {
    const assets = ofLink.map(({ asset }) => asset)
    const key = `${job.jobId}.${digestOfText(ofLink.map(({ digest }) => digest).join())}`
    const { data } = await client.recordDevices({
      params: { gatewayId: job.gatewayId },
      body: { data: { assetLinkId, assets, key } },
    })
    for (const [index, { assetId, digest }] of ofLink.entries()) {
      const error = data[index]?.error
      if (error === undefined) digests.set(assetId, digest)
      else errors.set(assetId, error)
    }
  }
  return { digests, errors }
}

/**
 * Writes the reachability states. If the state of an asset is the same, only its time changes. A report that was written before
 * has already set `reached`.
 */
async function writeReachability(
  { peers }: Context,
  owner: Caller,
  { checks, targets, now }: CheckedTargets & { now: string },
): Promise<void> {
  const states = [...checks].flatMap(([assetId, check]) => {
    const target = targets.get(assetId)
    const after = target === undefined ? undefined : rowAfter(target, check, now)
    return after === undefined || after.isPending || after.state === 'unknown' ? [] : [{ assetId, state: after.state }]
  })
  if (states.length > 0)
    await peers(inventory, owner).recordReachability({ body: { data: { states, checkedAt: now } } })
}

/** Assigns copies of credential instances that worked for the first time. An asset has at most one copy of an instance. */
async function assignCopies(
  { peers, log }: Context,
  owner: Caller,
  { worked, targets }: Targets & { worked: ReadonlyMap<string, string> },
): Promise<void> {
  for (const [assetId, instanceId] of worked) {
    if (targets.get(assetId)?.instanceId === instanceId) continue
    await peers(credentials, owner)
      .assignInstance({ params: { assetId, instanceId } })
      .catch((error: unknown) => {
        // The asset or the instance was deleted meanwhile, or the owner lost the permission.
        if (!(error instanceof Problem) || error.status >= 500) throw error
        log.warn({ asset: assetId, code: error.code }, 'A credential that worked could not be assigned')
      })
  }
}
