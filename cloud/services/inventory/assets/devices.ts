import { type inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { connectionsOf, gatewaysAmong } from '../graph/connection-store.ts'
import { listFoundVersions, listProductVersions } from '../search/facet-store.ts'
import { readableGroups } from '../visibility.ts'
import { identifiersOf } from './asset-store.ts'
import { devicesById, reportedAddresses, selectedDevices } from './device-store.ts'
import { selectionOf } from './selection.ts'

/** The operations for the update hub and monitoring: products and versions of devices, and their connections. */
export function deviceHandlers({
  database,
}: Context): Pick<
  Handlers<typeof inventory>,
  'selectDevices' | 'readConnections' | 'readDevicePlaces' | 'countProductVersions' | 'countFoundVersions'
> {
  return {
    async selectDevices({ body: { data } }, caller) {
      const { filter, ids, after, withSoftware = false } = data
      return database.read(caller, async (handle) => {
        if (ids !== undefined) {
          const devices = await devicesById(handle, ids, { groups: readableGroups(caller), withSoftware })
          return { data: { devices, isTruncated: false } }
        }
        const selection = await selectionOf(handle, filter === undefined ? {} : { filter }, caller)
        const limit = inventoryLimits.devices + 1
        const devices = await selectedDevices(handle, selection, { withSoftware, limit, after })
        return { data: { devices: devices.slice(0, inventoryLimits.devices), isTruncated: devices.length === limit } }
      })
    },

    async readConnections({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const { relations, assets, unexplored } = await connectionsOf(handle, data)
        return { data: { relations, gateways: await gatewaysAmong(handle, assets), unexplored } }
      })
    },

    async readDevicePlaces({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const identifiers = await identifiersOf(handle, data.ids)
        const addresses = await reportedAddresses(handle, data.ids)
        return {
          data: [...addresses].map(([id, own]) => ({ id, identifiers: identifiers.get(id) ?? [], addresses: own })),
        }
      })
    },

    async countProductVersions(_request, caller) {
      const groups = readableGroups(caller)
      return {
        data: await database.read(caller, (handle) =>
          listProductVersions(handle, groups, inventoryLimits.productVersions),
        ),
      }
    },

    async countFoundVersions(_request, caller) {
      const groups = readableGroups(caller)
      return {
        data: await database.read(caller, (handle) =>
          listFoundVersions(handle, groups, inventoryLimits.productVersions),
        ),
      }
    },
  }
}
