import { updateLimits, type updates } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { showDevice } from './campaign.ts'
import { campaignsTopic, platformCaller } from './campaign-report.ts'
import { touchCampaign } from './campaign-store.ts'
import { requireCampaign } from './campaigns.ts'
import { deviceAfter } from './device-state.ts'
import * as store from './device-store.ts'
import { storeChange } from './device-work.ts'
import { noteRetrieval } from './retrieval-state.ts'

type Operations = 'listDevices' | 'listFailures' | 'noteJob'

/** The operations on the devices of campaigns, and the reports of gateways about their jobs. */
export function campaignDeviceHandlers(context: Context): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context
  return {
    async listDevices({ params: { id }, query: { limit = 50, offset = 0, state, wave, reason } }, caller) {
      await requireCampaign(context, caller, id)
      const assetIds = await readableOf(context, caller, id)
      const { rows, total } = await database.read(caller, (handle) =>
        store.listDevices(handle, id, { filter: { state, wave, reason, assetIds }, page: { limit, offset } }),
      )
      return { data: rows.map(showDevice), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async listFailures({ params: { id } }, caller) {
      await requireCampaign(context, caller, id)
      const assetIds = await readableOf(context, caller, id)
      const data = await database.read(caller, (handle) =>
        store.groupFailures(handle, id, {
          filter: { assetIds },
          limit: updateLimits.failureGroups,
          assets: updateLimits.failureAssets,
        }),
      )
      return {
        data: data.map((group) => ({
          ...group,
          assets: group.assets.map((one) => ({ id: one.id, ...(one.name === null ? {} : { name: one.name }) })),
        })),
      }
    },

    /**
     * Records what a gateway reported about a job of a device or of a retrieval. The executor reads the jobs of running
     * devices too, so a lost report has no effect. Progress is stored without a lock on the campaign, because it is frequent.
     */
    async noteJob({ params: { jobId }, body: { data } }, caller) {
      const device = await database.read(caller, (handle) => store.findDeviceOfJob(handle, jobId))
      if (device === undefined) {
        await noteRetrieval(context, caller, { jobId, ...data })
        return answer(204)
      }
      const change = deviceAfter(device, data)
      if (change === undefined) return answer(204)
      const now = new Date().toISOString()
      const { state = device.state, progress = device.progress } = change
      if (isPreparing(device.state) && isPreparing(state)) {
        await database.transaction(caller, (tx) => store.setProgress(tx, { ...device, state, progress }, now))
        return answer(204)
      }
      const system = await platformCaller(context, caller.tenantId)
      await database.transaction(caller, async (tx) => {
        await touchCampaign(tx, device.campaignId, now)
        const row = await store.lockDevice(tx, device.id)
        const current = row === undefined || row.jobId !== jobId ? undefined : deviceAfter(row, data)
        if (row !== undefined && current !== undefined) await storeChange(tx, system, { row, change: current })
        tx.signal(campaignsTopic)
      })
      return answer(204)
    },
  }
}

function isPreparing(state: string): boolean {
  return state === 'downloading' || state === 'transferring'
}

/** Returns the assets of a campaign that the caller can read. Returns undefined if the caller can read all assets. */
async function readableOf(context: Context, caller: Caller, id: string): Promise<string[] | undefined> {
  if (readsAllAssets(caller)) return undefined
  const ids = await context.database.read(caller, (handle) => store.assetsOfCampaign(handle, id))
  return [...(await readableAssets(context, caller, ids))]
}
