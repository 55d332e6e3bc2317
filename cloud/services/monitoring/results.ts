import { inventory } from '@millwright/api/inventory/inventory.ts'
import {
  type Availability,
  type MonitoredState,
  type monitoring,
  monitoringLimits,
} from '@millwright/api/monitoring.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { matchingAssets, readableAssets, readsAllAssets } from '../../platform/asset-visibility.ts'
import { bytesOfId } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { availabilityOf } from './availability.ts'
import { listStates } from './availability-store.ts'
import { findMonitorings } from './monitoring-store.ts'
import { showResults } from './monitoring-view.ts'
import { requireMonitoring } from './monitorings.ts'
import { assetsOf, failedAssets, failedChecks, listResults, monitoredAssets, resultsOfAsset } from './result-store.ts'

type Operations =
  | 'listMonitoringResults'
  | 'readAvailability'
  | 'readCoverage'
  | 'listUnreachableDevices'
  | 'listMonitoredStates'
  | 'listMonitoredAssets'

const dayMs = 86_400_000

/** The filter that selects devices. Gateways and asset links are assets too, but they are not monitored. */
const devices = "functional_object_type eq 'Device'"

/** The operations that read results. */
export function resultHandlers(context: Context): Pick<Handlers<typeof monitoring>, Operations> {
  const { database } = context
  return {
    async listMonitoringResults({ params: { id }, query: { limit = 50, offset = 0, state, changed } }, caller) {
      await requireMonitoring(context, caller, id)
      const assetIds = await readableOf(context, caller, id)
      const { rows, total } = await database.read(caller, (handle) =>
        listResults(handle, { monitoringId: id, state, changed, assetIds, limit, offset }),
      )
      const shown = await showResults(context, caller, rows)
      const data = shown.map(({ row: { assetId, assetName }, result }) => ({
        assetId,
        ...(assetName === null ? {} : { assetName }),
        ...result,
      }))
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async readAvailability({ params: { id }, query: { days = 30 } }, caller) {
      await context.peers(inventory, caller).readAsset({ params: { id }, query: { fields: 'id' } })
      const to = new Date()
      const from = new Date(to.getTime() - days * dayMs)
      const { states, results, monitorings } = await database.read(caller, async (handle) => {
        const rows = await resultsOfAsset(handle, id)
        const ids = rows.map(({ monitoringId }) => monitoringId)
        return {
          states: await listStates(handle, id, from.toISOString(), monitoringLimits.changes),
          results: rows,
          monitorings: await findMonitorings(handle, ids),
        }
      })
      const shown = await showResults(context, caller, results)
      const ofMonitorings = monitorings.flatMap((row): Availability['results'] => {
        const own = shown.find((one) => one.row.monitoringId === row.id)
        return own === undefined ? [] : [{ monitoringId: row.id, monitoringName: row.name, ...own.result }]
      })
      const checkedAt = results
        .flatMap((row) => row.checkedAt ?? [])
        .toSorted()
        .at(-1)
      return { data: { ...availabilityOf(states, { from, to, checkedAt }), results: ofMonitorings } }
    },

    async readCoverage(_request, caller) {
      const { meta } = await context
        .peers(inventory, caller)
        .listAssets({ query: { filter: devices, limit: 1, fields: 'id' } })
      const checked = await database.read(caller, (handle) => monitoredAssets(handle))
      const ids = checked.map(({ assetId }) => assetId)
      // Leaves out deleted assets too, whose results stay until the next run.
      const matching = await matchingAssets(context, caller, { filter: devices, ids })
      const monitored = checked.filter(({ assetId }) => matching.has(assetId))
      const countOf = (state: MonitoredState) => monitored.filter((one) => one.state === state).length
      const [failedSince] = monitored
        .flatMap(({ state, sinceAt }) => (state === 'failed' && sinceAt !== null ? [sinceAt] : []))
        .toSorted()
      // A device that was created between the two reads must not make the sum wrong.
      const total = Math.max(meta.totalElements ?? 0, monitored.length)
      return {
        data: {
          devices: total,
          monitored: monitored.length,
          reached: countOf('reached'),
          failed: countOf('failed'),
          ...(failedSince === undefined ? {} : { failedSinceTimestamp: failedSince }),
          unknown: countOf('unknown'),
          unmonitored: total - monitored.length,
        },
      }
    },

    async listUnreachableDevices({ query: { limit = 50, offset = 0 } }, caller) {
      const failed = await database.read(caller, (handle) => failedAssets(handle))
      const ids = failed.map(({ assetId }) => assetId)
      const matching = await matchingAssets(context, caller, { filter: devices, ids })
      const readable = failed.filter(({ assetId }) => matching.has(assetId))
      const listed = readable.slice(offset, offset + limit)
      const checks = await database.read(caller, (handle) =>
        failedChecks(
          handle,
          listed.map(({ assetId }) => assetId),
        ),
      )
      const checksOf = Map.groupBy(checks, ({ assetId }) => assetId)
      const data = listed.map(({ assetId, sinceAt }) => {
        const own = checksOf.get(assetId) ?? []
        const assetName = own.find((check) => check.assetName !== null)?.assetName
        return {
          assetId,
          ...(assetName == null ? {} : { assetName }),
          sinceTimestamp: sinceAt,
          monitorings: own.map(({ monitoringId, monitoringName }) => ({ id: monitoringId, name: monitoringName })),
        }
      })
      return { data, meta: { totalElements: readable.length, elements: data.length, offset } }
    },

    async listMonitoredAssets(_request, caller) {
      const rows = await database.read(caller, (handle) => monitoredAssets(handle))
      const [unchecked, checked] = [true, false].map((isUnknown) =>
        rows.filter(({ state }) => (state === 'unknown') === isUnknown).map(({ assetId }) => bytesOfId(assetId)),
      )
      const packed = (ids: Buffer[] = []) => Buffer.concat(ids).toString('base64')
      return { data: { checked: packed(checked), unchecked: packed(unchecked) } }
    },

    async listMonitoredStates({ body: { data } }, caller) {
      const readable = await readableAssets(context, caller, data.assetIds)
      const rows = await database.read(caller, (handle) => monitoredAssets(handle, [...readable]))
      return {
        data: rows.map(({ assetId, state, sinceAt }) => ({
          assetId,
          state,
          ...(sinceAt === null ? {} : { sinceTimestamp: sinceAt }),
        })),
      }
    },
  }
}

/** Returns the assets of a monitoring that the caller can read. Returns undefined if the caller can read all assets. */
async function readableOf(context: Context, caller: Caller, id: string): Promise<string[] | undefined> {
  if (readsAllAssets(caller)) return undefined
  const ids = await context.database.read(caller, (handle) => assetsOf(handle, [id]))
  return [...(await readableAssets(context, caller, ids))]
}
