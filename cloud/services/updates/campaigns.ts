import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import {
  type CampaignTargets,
  type Plan,
  type PlannedDevice,
  type PlanOutcome,
  planOutcomes,
  updateLimits,
  type updates,
} from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { newId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { readUsableArtefact, requireArtefact } from './artefact-view.ts'
import { showCampaign, showCampaigns } from './campaign.ts'
import { missingCampaign } from './campaign-access.ts'
import { reportCampaign } from './campaign-report.ts'
import { possibleActions, totalCounts } from './campaign-state.ts'
import type { CampaignDraft, CampaignRow } from './campaign-store.ts'
import * as store from './campaign-store.ts'
import { describeAssets } from './described-assets.ts'
import { deleteDevices } from './device-store.ts'
import { requireWindow } from './open-window.ts'
import { computePlan, type PlanRow } from './plan.ts'

type Operations =
  | 'createCampaign'
  | 'listCampaigns'
  | 'readCampaign'
  | 'updateCampaign'
  | 'deleteCampaign'
  | 'planCampaign'

/** The operations on drafts and on the list of campaigns. `campaign-actions.ts` starts and controls campaigns. */
export function campaignHandlers(context: Context): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context
  return {
    async createCampaign({ body: { data } }, caller) {
      const artefact = await requireArtefact(context, caller, data.artefactId).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== 'not_found') throw error
        const detail = `Artefact ${data.artefactId} does not exist`
        throw fieldProblem('artefact_not_found', '/data/artefactId', detail)
      })
      const draft: CampaignDraft = {
        name: data.name,
        targets: data.targets,
        waves: data.waves ?? [],
        stopOnFailurePercent: data.stopOnFailurePercent ?? 10,
        window: data.window ?? null,
        approval: data.approval ?? 'none',
        concurrentDevices: data.concurrentDevices ?? 20,
        verifyMinutes: data.verifyMinutes ?? updateLimits.verifyMinutes.default,
        allowsDowngrade: data.allowsDowngrade ?? false,
      }
      if (draft.window !== null) requireWindow(draft.window, '/data/window')
      await requireTargets(context, caller, draft.targets)
      const { name, version, kind } = artefact
      const row = await database.transaction(caller, async (tx) => {
        const open = await store.countOpen(tx)
        if (open >= updateLimits.openCampaigns)
          throw new Problem(
            'too_many_campaigns',
            `The tenant has ${open} campaigns that have not ended. The limit is ${updateLimits.openCampaigns}. Delete a draft, or cancel a campaign`,
          )
        const campaign = { ...draft, id: newId(), artefactId: artefact.id, artefact: { name, version, kind } }
        const created = await store.insertCampaign(tx, caller, campaign, new Date().toISOString())
        await reportCampaign(tx, caller, { row: created, action: 'createCampaign', event: 'created' })
        return created
      })
      const location = `/updates/v1/campaigns/${row.id}`
      return answer(201, { data: await showCampaign(context, caller, row) }, { location })
    },

    async listCampaigns({ query: { limit = 50, offset = 0, state, open, artefactId } }, caller) {
      const { rows, total } = await database.read(caller, (handle) =>
        store.listCampaigns(handle, { state, isOpen: open, artefactId, page: { limit, offset } }),
      )
      const data = await showCampaigns(context, caller, rows)
      return { data, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readCampaign({ params: { id } }, caller) {
      return { data: await showCampaign(context, caller, await requireCampaign(context, caller, id)) }
    },

    async updateCampaign({ params: { id }, body: { data } }, caller) {
      const before = await requireCampaign(context, caller, id)
      requireDraft(before)
      const { window, ...fields } = data
      const draft: CampaignDraft = { ...before, ...fields, window: window === undefined ? before.window : window }
      if (draft.window !== null) requireWindow(draft.window, '/data/window')
      // The stored targets of a draft can contain assets that no longer exist. The plan leaves them out.
      if (data.targets !== undefined) await requireTargets(context, caller, data.targets)
      const row = await database.transaction(caller, async (tx) => {
        const current = await store.lockCampaign(tx, id)
        if (current === undefined) throw missingCampaign(id)
        requireDraft(current)
        if (current.changes !== before.changes)
          throw new Problem('conflict', 'Another request changed the campaign at the same time. Retry the request')
        const changed = await store.changeDraft(tx, id, draft, new Date().toISOString())
        if (changed === undefined) throw missingCampaign(id)
        const detail = { fields: Object.keys(data) }
        await reportCampaign(tx, caller, { row: changed, action: 'updateCampaign', event: 'changed', detail })
        return changed
      })
      return { data: await showCampaign(context, caller, row) }
    },

    async deleteCampaign({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        const row = await store.lockCampaign(tx, id)
        if (row === undefined) throw missingCampaign(id)
        const counts = totalCounts(await store.countDevices(tx, [id], null))
        if (!possibleActions(row.state, counts).includes('delete'))
          throw new Problem(
            'conflict',
            `The campaign is ${row.state}. Cancel it, and delete it when the updates of all devices have ended`,
          )
        await deleteDevices(tx, id)
        await store.deleteCampaign(tx, id)
        await reportCampaign(tx, caller, { row, action: 'deleteCampaign', event: 'deleted' })
      })
      return answer(204)
    },

    async planCampaign({ params: { id }, query: { limit = 100, offset = 0, outcome } }, caller) {
      const row = await requireCampaign(context, caller, id)
      if (row.state !== 'draft')
        throw new Problem('conflict', `The campaign is ${row.state}, so its plan is fixed. Read its devices instead`)
      const rows = await planOf(context, caller, row)
      const chosen = outcome === undefined ? rows : rows.filter((one) => one.outcome === outcome)
      const page = chosen.slice(offset, offset + limit)
      return {
        data: {
          summary: summaryOf(rows),
          devices: page.map(plannedDevice),
          ...(offset + limit < chosen.length ? { nextOffset: offset + limit } : {}),
        },
      }
    },
  }
}

/** Computes the plan of a draft with the current artefact and assets. */
export async function planOf(context: Context, caller: Caller, row: CampaignRow): Promise<PlanRow[]> {
  const artefact = await readUsableArtefact(context, caller, row.artefactId)
  return computePlan(context, caller, {
    artefact,
    targets: row.targets,
    waves: row.waves,
    window: row.window ?? undefined,
    allowsDowngrade: row.allowsDowngrade,
    campaignId: row.id,
  })
}

export async function requireCampaign({ database }: Context, caller: Caller, id: string): Promise<CampaignRow> {
  const row = await database.read(caller, (handle) => store.findCampaign(handle, id))
  if (row === undefined) throw missingCampaign(id)
  return row
}

export function requireDraft({ state }: CampaignRow): void {
  if (state !== 'draft')
    throw new Problem('conflict', `The campaign is ${state}. Only a draft can be changed or started`)
}

/** The maximum number of missing targets that an error names. */
const namedTargets = 20

/** Requires that a filter is valid, and that the caller can read all listed assets. */
async function requireTargets(context: Context, caller: Caller, targets: CampaignTargets): Promise<void> {
  if ('filter' in targets) {
    await context.peers(inventory, caller).listAssets({ query: { filter: targets.filter, limit: 1, fields: 'id' } })
    return
  }
  const assets = await describeAssets(context, caller, targets.assetIds)
  const errors = targets.assetIds.flatMap((id, index) => {
    const asset = assets.get(id)
    if (asset !== undefined && !asset.isDeleted && mayIn(caller, 'inventory_read_asset_data', asset.accessGroupId))
      return []
    const detail = `Asset ${id} does not exist`
    return [{ pointer: `/data/targets/assetIds/${index}`, code: 'asset_not_found', detail }]
  })
  const [first] = errors
  if (first === undefined) return
  const detail = `${first.detail}. Remove the ${errors.length} targets that do not exist`
  throw new Problem('asset_not_found', errors.length === 1 ? first.detail : detail, {
    errors: errors.slice(0, namedTargets),
  })
}

function plannedDevice(row: PlanRow): PlannedDevice {
  const { assetId, assetName, fromVersion, toVersion, steps, wave, outcome, reason, order, after, notWith } = row
  return {
    assetId,
    ...(assetName === undefined ? {} : { assetName }),
    ...(fromVersion === undefined ? {} : { fromVersion }),
    toVersion,
    steps,
    wave,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    order,
    after,
    notWith,
    ...(row.nextWindow === undefined ? {} : { nextWindow: row.nextWindow }),
  }
}

function summaryOf(rows: readonly PlanRow[]): Plan['summary'] {
  const outcomes = Object.fromEntries(planOutcomes.map((one) => [one, 0])) as Record<PlanOutcome, number>
  for (const { outcome } of rows) outcomes[outcome] += 1
  const updated = rows.filter(({ outcome }) => outcome === 'update')
  const waves = [...Map.groupBy(updated, ({ wave }) => wave)]
    .toSorted(([one], [other]) => one - other)
    .map(([wave, ofWave]) => ({ wave, devices: ofWave.length }))
  const refused = rows.filter(({ outcome, reason }) => outcome !== 'update' && reason !== undefined)
  const reasons = [...Map.groupBy(refused, ({ outcome, reason }) => JSON.stringify([outcome, reason])).values()]
    .map((group) => ({
      outcome: group[0]?.outcome ?? 'incompatible',
      reason: group[0]?.reason ?? '',
      devices: group.length,
    }))
    .toSorted((one, other) => other.devices - one.devices)
    .slice(0, updateLimits.failureGroups)
  return { targets: rows.length, outcomes, waves, reasons }
}
