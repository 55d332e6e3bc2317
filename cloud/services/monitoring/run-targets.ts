import { discovery } from '@millwright/api/discovery.ts'
import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ReadingLink } from '@millwright/api/monitored-devices.ts'
import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { mayMonitor } from './monitoring-access.ts'
import type { MonitoringRow } from './monitoring-store.ts'
import type { NewTarget, Route } from './result-store.ts'

/** The maximum number of gateways through which a run tries to read one asset. */
const mostRoutes = 4

export type RunTargets = {
  targets: NewTarget[]
  /** The number of selected assets that the owner can read. */
  matching: number
  /** The number of assets that the owner can read, but not write. */
  leftOut: number
}

type Selection = Pick<MonitoringRow, 'targets' | 'assetLinkIds'>

/**
 * Returns the assets that a run monitors, with the gateways and links that can read them. A filter selects only assets that a
 * link has found.
 */
export async function resolveTargets(context: Context, owner: Caller, row: Selection): Promise<RunTargets> {
  const selected = await selectedDevices(context, owner, row)
  const monitored = selected.filter(({ accessGroupId }) => mayMonitor(owner, accessGroupId))
  const links = await linksOf(context, owner, monitored)
  const isNamed = 'assetIds' in row.targets
  const targets = monitored.flatMap(({ id, name }): NewTarget[] => {
    const found = links.get(id) ?? []
    if (found.length === 0 && !isNamed) return []
    return [{ assetId: id, assetName: name ?? null, routes: routesOf(found, row.assetLinkIds) }]
  })
  return { targets, matching: selected.length, leftOut: selected.length - monitored.length }
}

async function selectedDevices({ peers }: Context, owner: Caller, row: Selection): Promise<InventoryDevice[]> {
  const { targets } = row
  const selection = 'filter' in targets ? { filter: targets.filter } : { ids: targets.assetIds }
  const devices: InventoryDevice[] = []
  for (;;) {
    const last = devices.at(-1)?.id
    const page = { ...selection, ...(last === undefined ? {} : { after: last }) }
    const { data } = await peers(inventory, owner).selectDevices({ body: { data: page } })
    devices.push(...data.devices)
    if (devices.length > monitoringLimits.targets)
      throw new Problem(
        'too_many_targets',
        `The filter selects more than ${monitoringLimits.targets} assets. Use a filter that selects fewer assets, and create several monitoring tasks`,
      )
    if (!data.isTruncated) return devices
  }
}

/** Returns the links that found each asset and can read its device, the best link first. */
async function linksOf(
  { peers }: Context,
  owner: Caller,
  devices: readonly InventoryDevice[],
): Promise<Map<string, ReadingLink[]>> {
  const client = peers(discovery, systemCaller(owner))
  const links = new Map<string, ReadingLink[]>()
  for (let start = 0; start < devices.length; start += inventoryLimits.devices) {
    const assetIds = devices.slice(start, start + inventoryLimits.devices).map(({ id }) => id)
    const { data } = await client.findReadingLinks({ body: { data: { assetIds } } })
    for (const { assetId, links: found } of data) links.set(assetId, found)
  }
  return links
}

/** Groups the links of an asset by gateway. The gateway with the best link comes first. */
function routesOf(links: readonly ReadingLink[], chosen: readonly string[]): Route[] {
  const usable = links.filter(({ assetLinkId }) => chosen.length === 0 || chosen.includes(assetLinkId))
  const byGateway = Map.groupBy(usable, ({ gatewayId }) => gatewayId)
  return [...byGateway]
    .map(([gatewayId, own]) => ({
      gatewayId,
      links: own.map(({ assetLinkId }) => assetLinkId).slice(0, monitoringLimits.linksPerTarget),
    }))
    .slice(0, mostRoutes)
}
