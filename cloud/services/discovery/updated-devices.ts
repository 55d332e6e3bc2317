import type { discovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { gatewayCaller } from './gateway-caller.ts'
import { writeAssets } from './inventory-writes.ts'
import { findLink } from './link-store.ts'

/** The handler with which the update hub writes what an updated device reports. */
export function updatedDeviceHandlers(context: Context): Pick<Handlers<typeof discovery>, 'recordDevice'> {
  const { database, peers } = context
  return {
    /**
     * Writes the report with the rights of the gateway and with the source of a discovery, so that the fields of the asset
     * have the same priorities as after a scan.
     */
    async recordDevice({ params: { gatewayId }, body: { data } }, caller) {
      const system = systemCaller(caller)
      const { data: gateway } = await peers(onboarding, system).resolveGateway({ params: { id: gatewayId } })
      const link = await database.read(caller, (handle) => findLink(handle, gatewayId, data.assetLinkId))
      // A device does not change its access group.
      const { access_group: _, ...asset } = data.asset
      const [written] = await writeAssets(context, await gatewayCaller(context, system, gateway), {
        assets: [asset],
        source: { type: 'discovery', value: link?.report.deviceClass ?? data.assetLinkId },
        key: `updated.${data.key}`,
        ...(data.campaign === undefined ? {} : { campaign: data.campaign }),
      })
      if (written === undefined) return { data: {} }
      return { data: 'assetId' in written ? { assetId: written.assetId } : { problem: written.problem } }
    },
  }
}
