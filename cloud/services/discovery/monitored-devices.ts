import type { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { monitoringLimits, type ReportError } from '@millwright/api/monitoring-shapes.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { addressesOfAssets } from './device-address-store.ts'
import { gatewayCaller } from './gateway-caller.ts'
import { descriptionOf, type RefusedAsset, writeAssets } from './inventory-writes.ts'
import { canReadProperties, compareLinks } from './link.ts'
import { findLink, type LinkRow } from './link-store.ts'
import { linksByAsset } from './update-links.ts'

type Operations = 'findReadingLinks' | 'readDeviceTargets' | 'recordDevices'

/** The handlers with which the monitoring service finds the links of devices, and writes what devices report. */
export function monitoredDeviceHandlers(context: Context): Pick<Handlers<typeof discovery>, Operations> {
  const { database, peers } = context
  return {
    async findReadingLinks({ body: { data } }, caller) {
      const found = await linksByAsset(context, caller, data.assetIds)
      const readable = [...found].map(([assetId, links]) => ({
        assetId,
        links: readingLinksOf(links)
          .toSorted(compareLinks)
          .map(({ gatewayId, appInstanceId }) => ({ gatewayId, assetLinkId: appInstanceId })),
      }))
      return { data: readable.filter(({ links }) => links.length > 0) }
    },

    async readDeviceTargets({ params: { gatewayId }, body: { data } }, caller) {
      const { data: places } = await peers(inventory, systemCaller(caller)).readDevicePlaces({
        body: { data: { ids: data.assetIds } },
      })
      const found = await database.read(caller, (handle) => addressesOfAssets(handle, gatewayId, data.assetIds))
      const byAsset = Map.groupBy(found, ({ assetId }) => assetId)
      return {
        data: places.map(({ id, identifiers, addresses }) => {
          const byLink = Map.groupBy(byAsset.get(id) ?? [], ({ assetLinkId }) => assetLinkId)
          return {
            assetId: id,
            assetIdentifiers: identifiers.slice(0, monitoringLimits.identifiersPerTarget),
            addresses: addresses.slice(0, monitoringLimits.addressesPerLink),
            links: [...byLink].map(([assetLinkId, own]) => ({
              assetLinkId,
              foundAddresses: own.map(({ address }) => address).slice(0, monitoringLimits.addressesPerLink),
            })),
          }
        }),
      }
    },

    /** Writes the reports with the rights of the gateway and the source of its link, as an upload of a scan. */
    async recordDevices({ params: { gatewayId }, body: { data } }, caller) {
      const system = systemCaller(caller)
      const { data: gateway } = await peers(onboarding, system).resolveGateway({ params: { id: gatewayId } })
      const link = await database.read(caller, (handle) => findLink(handle, gatewayId, data.assetLinkId))
      // A device does not change its access group.
      const assets = data.assets.map(({ access_group: _, ...asset }) => asset)
      const written = await writeAssets(context, await gatewayCaller(context, system, gateway), {
        assets,
        source: { type: 'discovery', value: link?.report.deviceClass ?? data.assetLinkId },
        key: `monitored.${data.key}`,
      })
      return { data: written.map((one) => ('assetId' in one ? {} : { error: reportError(one) })) }
    },
  }
}

/**
 * Returns the links that can read a device. A link that is no longer registered is used only if there is no other link, so that the
 * device stays in the results, with an unknown state and the reason.
 */
function readingLinksOf(links: readonly LinkRow[]): LinkRow[] {
  const able = links.filter(({ report }) => canReadProperties(report.interfaces))
  const registered = able.filter(({ state }) => state !== 'gone')
  return registered.length > 0 ? registered : able
}

/** Returns why the inventory refused a report. The detail names the first invalid field. */
function reportError(refused: RefusedAsset): ReportError {
  const [field] = refused.fields ?? []
  const detail = descriptionOf(refused) + (field === undefined ? '' : `: ${field.pointer} ${field.detail}`)
  return { code: refused.code ?? 'internal', detail: detail.slice(0, monitoringLimits.message) }
}
