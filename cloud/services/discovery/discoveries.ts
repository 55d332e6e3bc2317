import { isDeepStrictEqual } from 'node:util'
import type { discovery, NewDiscovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { hiddenAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { cancelRun } from './cancellation.ts'
import { isActive, type PlannedRuns, showDiscovery, showRun } from './discovery.ts'
import { canDiscover, incompatibility } from './link.ts'
import { findLink, type LinkRow } from './link-store.ts'
import { requireSupported } from './parameter.ts'
import { scheduleKind } from './run-schedule.ts'
import { settleRun } from './run-settlement.ts'
import { beginRun } from './run-start.ts'
import * as store from './store.ts'
import { isReadable, readableRuns, readableScope, requireReadableGateway } from './visibility.ts'

type Operations =
  | 'createDiscovery'
  | 'listDiscoveries'
  | 'getDiscovery'
  | 'updateDiscovery'
  | 'deleteDiscovery'
  | 'cancelDiscovery'
  | 'runDiscovery'
  | 'listRuns'

export function discoveryHandlers(context: Context): Pick<Handlers<typeof discovery>, Operations> {
  const { database, tasks } = context

  const plannedRuns = async (handle: Handle): Promise<Map<string, PlannedRuns>> => {
    const schedules = await tasks.listSchedules(handle, scheduleKind)
    return new Map(schedules.map(({ key, nextRuns, lastRunAt }) => [key, { nextRuns, lastDue: lastRunAt }]))
  }

  /**
   * Returns the response for a discovery. This function calls the inventory service, so it must run outside of
   * transactions.
   */
  const show = async (caller: Caller, row: store.DiscoveryRow) => {
    const { latest, planned } = await database.read(caller, async (handle) => ({
      latest: row.latestRunId === null ? undefined : await store.findRun(handle, row.latestRunId),
      planned: row.cron === null ? undefined : (await plannedRuns(handle)).get(row.id),
    }))
    const [run] = (await readableRuns(context, caller, latest === undefined ? [] : [latest])).runs
    return answer(200, { data: showDiscovery(row, { run, planned }) }, { etag: etagOf(row.version) })
  }

  return {
    async createDiscovery({ params: { gatewayId }, body }, caller) {
      const input: NewDiscovery = 'data' in body ? body.data : body
      const gateway = await requireEnrolled(context, caller, gatewayId)
      const pointer = 'data' in body ? '/data' : ''
      const { assetLinkId } = input
      const link = await requireLink(context, caller, { gateway, assetLinkId, pointer: `${pointer}/assetLinkId` })
      const filters = checkedParameters('filter', input.discoveryFilters ?? [], { link, pointer })
      const options = checkedParameters('option', input.discoveryOptions ?? [], { link, pointer })
      const id = newId()
      return database.transaction(caller, async (tx) => {
        const row = await store.insertDiscovery(tx, {
          id,
          gatewayId,
          assetLinkId,
          // The device class decides which values of a scan win, so only the link sets it.
          deviceClass: link.report.deviceClass ?? null,
          filters,
          options,
          cron: input.schedule?.cron ?? null,
          timezone: input.schedule === undefined ? null : (input.schedule.timezone ?? 'UTC'),
          createdBy: caller.principal.name,
        })
        if (input.schedule === undefined)
          await beginRun(context, tx, { discoveryId: id, cause: 'person', startedBy: caller.principal.name })
        else
          await tasks.schedule(tx, { kind: scheduleKind, key: id, ...input.schedule, pointer: `${pointer}/schedule` })
        await reportChange(tx, caller, { action: 'createDiscovery', event: 'created', row })
        const location = `/discovery/v1/discoveries/${id}`
        return answer(201, { jobId: id, id, data: { jobId: id, id } }, { location })
      })
    },

    async listDiscoveries({ query: { limit = 50, offset = 0, sort, gatewayId, assetLinkId, scheduled } }, caller) {
      const selection = { gatewayId, assetLinkId, scheduled, scope: await readableScope(context, caller) }
      const { rows, total, latest, planned } = await database.read(caller, async (handle) => {
        const listed = await store.listDiscoveries(handle, selection, { limit, offset, sort })
        const ids = listed.rows.flatMap(({ latestRunId }) => latestRunId ?? [])
        return {
          ...listed,
          latest: await store.findRuns(handle, ids),
          planned: listed.rows.some(({ cron }) => cron !== null) ? await plannedRuns(handle) : undefined,
        }
      })
      const { runs } = await readableRuns(context, caller, latest)
      const byId = new Map(runs.map((run) => [run.id, run]))
      const data = rows.map((row) =>
        showDiscovery(row, { run: byId.get(row.latestRunId ?? ''), planned: planned?.get(row.id) }),
      )
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async getDiscovery({ params: { jobId } }, caller) {
      return show(caller, await find(context, caller, jobId))
    },

    async updateDiscovery({ params: { jobId }, headers, body: { data } }, caller) {
      const before = await find(context, caller, jobId)
      const parameters = await changedParameters(context, caller, { before, data })
      const changed = await database.transaction(caller, async (tx) => {
        const locked = await lock(tx, jobId)
        requireMatch(headers['if-match'], locked.version)
        const schedule = data.schedule === undefined ? timingOf(locked) : data.schedule
        const paused = schedule === null ? false : (data.paused ?? locked.paused)
        if (schedule === null) await tasks.unschedule(tx, { kind: scheduleKind, key: jobId })
        else {
          if (data.schedule !== undefined)
            await tasks.schedule(tx, { kind: scheduleKind, key: jobId, ...schedule, pointer: '/data/schedule' })
          if (data.schedule !== undefined || data.paused !== undefined)
            await tasks.pause(tx, { kind: scheduleKind, key: jobId, paused })
        }
        if (schedule === null && data.paused !== undefined)
          throw new Problem('conflict', 'The discovery has no schedule to pause. Set a schedule first.')
        const row = await store.updateDiscovery(tx, {
          id: jobId,
          filters: parameters.filters ?? locked.filters,
          options: parameters.options ?? locked.options,
          cron: schedule?.cron ?? null,
          timezone: schedule === null ? null : (schedule.timezone ?? 'UTC'),
          paused,
        })
        if (row === undefined) throw missing(jobId)
        const changed = changedFields(locked, row)
        await reportChange(tx, caller, { action: 'updateDiscovery', event: 'updated', row, detail: { changed } })
        return row
      })
      return show(caller, changed)
    },

    async deleteDiscovery({ params: { jobId } }, caller) {
      const row = await find(context, caller, jobId)
      if (row.latestRunId !== null) await cancelRun(context, caller, row.latestRunId)
      return database.transaction(caller, async (tx) => {
        await lock(tx, jobId)
        await tasks.unschedule(tx, { kind: scheduleKind, key: jobId })
        await store.deleteDiscovery(tx, jobId)
        await reportChange(tx, caller, { action: 'deleteDiscovery', event: 'deleted', row })
        return answer(204)
      })
    },

    async cancelDiscovery({ params: { jobId } }, caller) {
      const row = await find(context, caller, jobId)
      const { latestRunId } = row
      if (latestRunId === null || !(await cancelRun(context, caller, latestRunId)))
        throw new Problem('conflict', 'This discovery has no active run to cancel')
      await database.transaction(caller, (tx) =>
        record(tx, caller, {
          action: 'discovery.cancelDiscovery',
          target: `discovery/${jobId}`,
          detail: shownScan(row),
        }),
      )
      return answer(202, { data: { runId: latestRunId } })
    },

    async runDiscovery({ params: { jobId } }, caller) {
      const { gatewayId, assetLinkId, latestRunId: before } = await find(context, caller, jobId)
      const gateway = await requireEnrolled(context, caller, gatewayId)
      await requireLink(context, caller, { gateway, assetLinkId })
      const isSettled = await settleLatest(context, caller, before)
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, jobId)
        const { latestRunId } = row
        const latest = latestRunId === null ? undefined : await store.findRun(tx, latestRunId)
        if (isActive(latest) && !(isSettled && latestRunId === before))
          throw new Problem('conflict', 'A run of this discovery is active. Wait until it ends, or cancel it.')
        const run = await beginRun(context, tx, {
          discoveryId: jobId,
          cause: 'person',
          startedBy: caller.principal.name,
        })
        await record(tx, caller, {
          action: 'discovery.runDiscovery',
          target: `discovery/${jobId}`,
          detail: { runId: run.id, ...shownScan(row) },
        })
        return answer(202, { data: { runId: run.id } })
      })
    },

    async listRuns({ params: { jobId }, query: { limit = 50, offset = 0 } }, caller) {
      const row = await find(context, caller, jobId)
      const { page, next } = await database.read(caller, async (handle) => ({
        page: await store.listRuns(handle, jobId, { limit, offset }),
        next: row.cron === null ? [] : ((await plannedRuns(handle)).get(jobId)?.nextRuns ?? []),
      }))
      const data = (await readableRuns(context, caller, page)).runs.map(showRun)
      return { data, meta: { totalElements: row.runs, elements: data.length, offset, nextRuns: next } }
    },
  }
}

/** Returns a discovery. Hidden and missing discoveries return the same error. */
async function find(context: Context, caller: Caller, id: string): Promise<store.DiscoveryRow> {
  const row = await context.database.read(caller, (handle) => store.findDiscovery(handle, id))
  if (row === undefined || !(await isReadable(context, caller, row))) throw missing(id)
  return row
}

async function settleLatest(context: Context, caller: Caller, runId: string | null): Promise<boolean> {
  if (runId === null) return false
  const run = await context.database.read(caller, (handle) => store.findRun(handle, runId))
  return settleRun(context, systemCaller(caller), run)
}

async function lock(tx: Transaction, id: string): Promise<store.DiscoveryRow> {
  const row = await store.lockDiscovery(tx, id)
  if (row === undefined) throw missing(id)
  return row
}

type GatewayVersion = { id: string; version?: string }

async function gatewayOf(context: Context, caller: Caller, id: string) {
  return (await context.peers(onboarding, systemCaller(caller)).resolveGateway({ params: { id } })).data
}

/** Requires that a gateway has enrolled and is not revoked. The gateway may be offline, because it can get jobs later. */
export async function requireEnrolled(context: Context, caller: Caller, gatewayId: string): Promise<GatewayVersion> {
  await requireReadableGateway(context, caller, gatewayId)
  const gateway = await gatewayOf(context, caller, gatewayId)
  if (gateway.state === 'online' || gateway.state === 'offline') return gateway
  throw new Problem(
    'gateway_not_ready',
    gateway.state === 'revoked'
      ? `Gateway ${gateway.name} is revoked. Choose another gateway.`
      : `Gateway ${gateway.name} has not enrolled yet. Start the gateway with its gateway-config.json.`,
  )
}

/**
 * A link that must be registered with the gateway. `pointer` points to the field of the request body that names the
 * link. It is absent if the link is not named in the request body.
 */
type LinkReference = { gateway: GatewayVersion; assetLinkId: string; pointer?: string }

export async function requireLink(
  context: Context,
  caller: Caller,
  { gateway, assetLinkId, pointer }: LinkReference,
): Promise<LinkRow> {
  const link = await context.database.read(caller, (handle) => findLink(handle, gateway.id, assetLinkId))
  const refuse = (detail: string) =>
    new Problem(
      'link_not_found',
      detail,
      pointer === undefined ? {} : { errors: [{ pointer, code: 'link_not_found', detail }] },
    )
  const isHidden = link !== undefined && (await hiddenAssets(context, caller, [link.assetId])).size > 0
  if (link === undefined || isHidden) throw refuse(`The gateway has no asset link ${assetLinkId}`)
  if (link.state === 'gone')
    throw refuse(`Asset link ${assetLinkId} is no longer registered with the gateway. Start the asset link again.`)
  const reason = incompatibility(link.report.interfaces, gateway.version)
  if (reason !== undefined)
    throw new Problem('link_not_compatible', `The gateway cannot use asset link ${assetLinkId}. ${reason}`)
  if (!canDiscover(link.report.interfaces)) throw refuse(`Asset link ${assetLinkId} does not support discovery`)
  return link
}

function checkedParameters(
  kind: 'filter' | 'option',
  input: NonNullable<NewDiscovery['discoveryFilters']>,
  { link, pointer }: { link: LinkRow; pointer: string },
) {
  const supported = kind === 'filter' ? link.report.filters : link.report.options
  const field = kind === 'filter' ? 'discoveryFilters' : 'discoveryOptions'
  return requireSupported({ kind, input, supported, pointer: `${pointer}/${field}` })
}

type DiscoveryUpdate = {
  before: store.DiscoveryRow
  data: Pick<NewDiscovery, 'discoveryFilters' | 'discoveryOptions'>
}

async function changedParameters(context: Context, caller: Caller, { before, data }: DiscoveryUpdate) {
  const { discoveryFilters, discoveryOptions } = data
  if (discoveryFilters === undefined && discoveryOptions === undefined) return {}
  const gateway = await gatewayOf(context, caller, before.gatewayId)
  const link = await requireLink(context, caller, { gateway, assetLinkId: before.assetLinkId })
  return {
    ...(discoveryFilters === undefined
      ? {}
      : { filters: checkedParameters('filter', discoveryFilters, { link, pointer: '/data' }) }),
    ...(discoveryOptions === undefined
      ? {}
      : { options: checkedParameters('option', discoveryOptions, { link, pointer: '/data' }) }),
  }
}

function timingOf({ cron, timezone }: store.DiscoveryRow): { cron: string; timezone?: string } | null {
  return cron === null ? null : { cron, timezone: timezone ?? 'UTC' }
}

type DiscoveryEvent = {
  action: string
  event: 'created' | 'updated' | 'deleted'
  row: store.DiscoveryRow
  /** Further details of the audit entry. */
  detail?: Readonly<Record<string, unknown>>
}

/** Returns the parts of a discovery that differ between two versions, for the audit entry. */
function changedFields(before: store.DiscoveryRow, after: store.DiscoveryRow): string[] {
  const timing = ({ cron, timezone, paused }: store.DiscoveryRow) => [cron, timezone, paused]
  return [
    ...(isDeepStrictEqual(timing(before), timing(after)) ? [] : ['schedule']),
    ...(isDeepStrictEqual(before.filters, after.filters) ? [] : ['range']),
    ...(isDeepStrictEqual(before.options, after.options) ? [] : ['settings']),
  ]
}

async function reportChange(tx: Transaction, caller: Caller, change: DiscoveryEvent): Promise<void> {
  const { action, event, row, detail: further } = change
  const { id, gatewayId, assetLinkId, cron, timezone, paused } = row
  const detail = { gatewayId, assetLinkId, ...(cron === null ? {} : { cron, timezone, paused }) }
  await record(tx, caller, {
    action: `discovery.${action}`,
    target: `discovery/${id}`,
    detail: { ...detail, ...shownScan(row), ...further },
  })
  const link = await findLink(tx, gatewayId, assetLinkId)
  const data = link === undefined ? detail : { ...detail, linkAssetId: link.assetId }
  await emit(tx, { type: `discovery.discovery.${event}`, subject: `discovery/${id}`, data })
}

/** Returns what names a scan to people: its link and the values of its filters, for example IP ranges. */
function shownScan({ assetLinkId, filters }: store.DiscoveryRow) {
  return { assetLinkId, scope: filters.map(({ value }) => String(value)) }
}

function missing(id: string): Problem {
  return new Problem('not_found', `Discovery ${id} does not exist`)
}
