import {
  type MonitoringUpdate,
  type monitoring,
  monitoringLimits,
  type NewMonitoring,
} from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { storedPrincipal } from '../../platform/access/current-caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { endStates } from './availability-store.ts'
import { missingMonitoring, requireAssignment, requireTargets, requireTemplate } from './monitoring-access.ts'
import type { MonitoringFields, MonitoringRow } from './monitoring-store.ts'
import * as store from './monitoring-store.ts'
import { showMonitorings, showRun } from './monitoring-view.ts'
import { forgetInstances, lastChecks, monitoredAssets } from './result-store.ts'
import { cancelJobs } from './run-jobs.ts'
import { scheduleKind } from './run-schedule.ts'
import { beginRun, isActive, runsTopic } from './run-start.ts'
import { findRun, listJobs, listRuns, requestCancellation } from './run-store.ts'
import { resolveTargets } from './run-targets.ts'

type Operations =
  | 'createMonitoring'
  | 'countTargets'
  | 'listUnmonitoredTargets'
  | 'listMonitorings'
  | 'readMonitoring'
  | 'updateMonitoring'
  | 'deleteMonitoring'
  | 'runMonitoring'
  | 'cancelMonitoring'
  | 'listMonitoringRuns'

type TargetSelection = Pick<NewMonitoring, 'targets' | 'assetLinkIds'>

export function monitoringHandlers(context: Context): Pick<Handlers<typeof monitoring>, Operations> {
  const { database, tasks } = context

  /** Returns the response for a monitoring task. It calls other services, so it runs outside of transactions. */
  const show = async (caller: Caller, row: MonitoringRow) => {
    const [shown] = await showMonitorings(context, caller, [row])
    if (shown === undefined) throw missingMonitoring(row.id)
    return answer(200, { data: shown }, { etag: etagOf(row.version) })
  }

  /** Returns the assets that the targets select and links can check, and those of them that a monitoring checks already. */
  const checkableTargets = async (caller: Caller, { targets, assetLinkIds = [] }: TargetSelection) => {
    await requireTargets(context, caller, targets)
    const { targets: selected, matching } = await resolveTargets(context, caller, { targets, assetLinkIds })
    const checkable = selected.flatMap(({ assetId, routes }) => (routes.length > 0 ? [assetId] : []))
    const monitored = await database.read(caller, (handle) => monitoredAssets(handle, checkable))
    return { matching, checkable, monitored: new Set(monitored.map(({ assetId }) => assetId)) }
  }

  return {
    async createMonitoring({ body: { data } }, caller) {
      const fields = newFields(data, caller)
      await requireTargets(context, caller, fields.targets)
      if (fields.templateId !== null) await requireTemplate(context, caller, fields.templateId)
      if (fields.assignWorking) await requireAssignment(context, caller, fields.templateId)
      const id = newId()
      return database.transaction(caller, async (tx) => {
        await requireRoom(tx)
        const row = await store.insertMonitoring(tx, id, fields, new Date().toISOString())
        if (data.schedule === undefined)
          await beginRun(tx, { monitoringId: id, cause: 'person', startedBy: caller.principal.name })
        else await tasks.schedule(tx, { kind: scheduleKind, key: id, ...data.schedule, pointer: '/data/schedule' })
        await reportChange(tx, caller, { action: 'createMonitoring', event: 'created', row })
        return answer(201, { data: { jobId: id, id } }, { location: `/monitoring/v1/monitorings/${id}` })
      })
    },

    async countTargets({ body: { data } }, caller) {
      const { matching, checkable, monitored } = await checkableTargets(caller, data)
      return { data: { matching, checkable: checkable.length, monitored: monitored.size } }
    },

    async listUnmonitoredTargets({ body: { data } }, caller) {
      const { checkable, monitored } = await checkableTargets(caller, data)
      const unmonitored = checkable.filter((id) => !monitored.has(id))
      return { data: { assetIds: unmonitored.slice(0, monitoringLimits.assetIds), total: unmonitored.length } }
    },

    async listMonitorings({ query: { limit = 50, offset = 0, scheduled } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listMonitorings(handle, { scheduled, limit, offset }),
      )
      const data = await showMonitorings(context, caller, rows)
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async readMonitoring({ params: { id } }, caller) {
      return show(caller, await requireMonitoring(context, caller, id))
    },

    async updateMonitoring({ params: { id }, headers, body: { data } }, caller) {
      const before = await requireMonitoring(context, caller, id)
      if (data.targets !== undefined) await requireTargets(context, caller, data.targets)
      if (typeof data.instancesTemplateId === 'string') await requireTemplate(context, caller, data.instancesTemplateId)
      const wanted = changedFields(before, data, caller)
      // A caller that becomes the owner of a monitoring task that assigns credentials needs the rights to assign them.
      if (wanted.assignWorking && changesOwner(data)) await requireAssignment(context, caller, wanted.templateId)
      const changed = await database.transaction(caller, async (tx) => {
        const locked = await lock(tx, id)
        requireMatch(headers['if-match'], locked.version)
        if (locked.version !== before.version)
          throw new Problem(
            'conflict',
            'Another request changed the monitoring task at the same time. Retry the request',
          )
        await changeSchedule(tx, id, { data, fields: wanted })
        // Credentials that worked before count as new, so that the next run assigns them.
        if (wanted.assignWorking && changesOwner(data)) await forgetInstances(tx, id)
        const row = await store.updateMonitoring(tx, id, wanted, new Date().toISOString())
        if (row === undefined) throw missingMonitoring(id)
        const detail = { changed: Object.keys(data), ...ownerChange(before, row) }
        await reportChange(tx, caller, { action: 'updateMonitoring', event: 'updated', row, detail })
        return row
      })
      return show(caller, changed)
    },

    async deleteMonitoring({ params: { id }, headers }, caller) {
      const before = await requireMonitoring(context, caller, id)
      requireMatch(headers['if-match'], before.version)
      const jobs = await database.transaction(caller, async (tx) => {
        const row = await lock(tx, id)
        requireMatch(headers['if-match'], row.version)
        const checked = await lastChecks(tx, id)
        const open = row.latestRunId === null ? [] : await listJobs(tx, [row.latestRunId])
        await tasks.unschedule(tx, { kind: scheduleKind, key: id })
        await store.deleteMonitoring(tx, id)
        await endStates(tx, checked, new Date().toISOString())
        await reportChange(tx, caller, { action: 'deleteMonitoring', event: 'deleted', row })
        return open.filter(({ isOpen }) => isOpen)
      })
      // If the process ends here, the gateways end the jobs themselves, because a deleted run has no targets.
      await cancelJobs(context, caller, jobs)
      return answer(204)
    },

    async runMonitoring({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        const { name, latestRunId } = await lock(tx, id)
        if (isActive(latestRunId === null ? undefined : await findRun(tx, latestRunId)))
          throw new Problem('conflict', 'A run of this monitoring task is active. Wait until it ends, or cancel it')
        const run = await beginRun(tx, { monitoringId: id, cause: 'person', startedBy: caller.principal.name })
        const target = `monitoring/${id}`
        await record(tx, caller, { action: 'monitoring.runMonitoring', target, detail: { name, runId: run.id } })
        return answer(202, { data: { runId: run.id } })
      })
    },

    async cancelMonitoring({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        const { name, latestRunId } = await lock(tx, id)
        const run = latestRunId === null ? undefined : await findRun(tx, latestRunId)
        if (run === undefined || !isActive(run))
          throw new Problem('conflict', 'This monitoring task has no active run to cancel')
        await requestCancellation(tx, run.id, { now: new Date().toISOString(), by: caller.principal.name })
        tx.signal(runsTopic)
        const target = `monitoring/${id}`
        await record(tx, caller, { action: 'monitoring.cancelMonitoring', target, detail: { name, runId: run.id } })
        return answer(202, { data: { runId: run.id } })
      })
    },

    async listMonitoringRuns({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      await requireMonitoring(context, caller, id)
      const { rows, total, jobs } = await database.read(caller, async (handle) => {
        const listed = await listRuns(handle, id, { limit, offset })
        const ids = listed.rows.map((run) => run.id)
        return { ...listed, jobs: await listJobs(handle, ids) }
      })
      const data = rows.map((run) => showRun(run, { jobs, caller }))
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },
  }

  async function changeSchedule(
    tx: Transaction,
    id: string,
    { data, fields }: { data: MonitoringUpdate; fields: MonitoringFields },
  ): Promise<void> {
    const name = { kind: scheduleKind, key: id }
    if (fields.cron === null) {
      if (data.paused === true)
        throw new Problem('conflict', 'The monitoring task has no schedule to pause. Set a schedule first')
      await tasks.unschedule(tx, name)
      return
    }
    if (data.schedule !== undefined && data.schedule !== null)
      await tasks.schedule(tx, { ...name, ...data.schedule, pointer: '/data/schedule' })
    if (data.schedule !== undefined || data.paused !== undefined)
      await tasks.pause(tx, { ...name, paused: fields.paused })
  }
}

export async function requireMonitoring({ database }: Context, caller: Caller, id: string): Promise<MonitoringRow> {
  const row = await database.read(caller, (handle) => store.findMonitoring(handle, id))
  if (row === undefined) throw missingMonitoring(id)
  return row
}

async function lock(tx: Transaction, id: string): Promise<MonitoringRow> {
  const row = await store.lockMonitoring(tx, id)
  if (row === undefined) throw missingMonitoring(id)
  return row
}

async function requireRoom(tx: Transaction): Promise<void> {
  if ((await store.countMonitorings(tx)) < monitoringLimits.monitorings) return
  throw new Problem(
    'too_many_monitorings',
    `A tenant can have ${monitoringLimits.monitorings} monitoring tasks. Delete one first`,
  )
}

function newFields(data: NewMonitoring, caller: Caller): MonitoringFields {
  const { name, instancesTemplateId = null, assetLinkIds = [], targets, keys = [], assignWorking = false } = data
  return {
    ...storedPrincipal(caller),
    ...{ name, templateId: instancesTemplateId, assetLinkIds, targets, keys, assignWorking },
    cron: data.schedule?.cron ?? null,
    timezone: data.schedule === undefined ? null : (data.schedule.timezone ?? 'UTC'),
    paused: false,
  }
}

/**
 * Returns whether a request sets what is monitored or how. The caller then becomes the owner. Otherwise a caller could
 * monitor assets and use credentials with the rights of the former owner.
 */
function changesOwner(data: MonitoringUpdate): boolean {
  return Object.keys(data).some((field) => !['name', 'schedule', 'paused'].includes(field))
}

function changedFields(before: MonitoringRow, data: MonitoringUpdate, caller: Caller): MonitoringFields {
  const { name, instancesTemplateId, assetLinkIds, targets, keys, assignWorking, schedule } = data
  const timing =
    schedule === undefined
      ? { cron: before.cron, timezone: before.timezone }
      : { cron: schedule?.cron ?? null, timezone: schedule === null ? null : (schedule.timezone ?? 'UTC') }
  return {
    ...(changesOwner(data) ? storedPrincipal(caller) : ownerOf(before)),
    name: name ?? before.name,
    templateId: instancesTemplateId === undefined ? before.templateId : instancesTemplateId,
    assetLinkIds: assetLinkIds ?? before.assetLinkIds,
    targets: targets ?? before.targets,
    keys: keys ?? before.keys,
    assignWorking: assignWorking ?? before.assignWorking,
    ...timing,
    paused: timing.cron === null ? false : (data.paused ?? before.paused),
  }
}

function ownerOf({ principalId, principalKind, principalName, roles }: MonitoringRow) {
  return { principalId, principalKind, principalName, roles }
}

function ownerChange(before: MonitoringRow, after: MonitoringRow) {
  return before.principalId === after.principalId ? {} : { ownerBefore: before.principalId, owner: after.principalId }
}

type MonitoringChange = {
  action: string
  event: 'created' | 'updated' | 'deleted'
  row: MonitoringRow
  detail?: Record<string, unknown>
}

/** Writes the audit entry and the event of a change, in the transaction of the change. */
async function reportChange(
  tx: Transaction,
  caller: Caller,
  { action, event, row, detail = {} }: MonitoringChange,
): Promise<void> {
  const { id, name, cron, timezone, paused, assignWorking, templateId } = row
  const subject = `monitoring/${id}`
  const described = { name, ...(cron === null ? {} : { cron, timezone, paused }) }
  const rights = { assignWorking, ...(templateId === null ? {} : { instancesTemplateId: templateId }) }
  await record(tx, caller, {
    action: `monitoring.${action}`,
    target: subject,
    detail: { ...described, ...rights, ...detail },
  })
  await emit(tx, { type: `monitoring.monitoring.${event}`, subject, data: described })
}
