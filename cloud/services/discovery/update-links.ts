import type { discovery, UpdateLink } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { addressesOfAsset } from './device-address-store.ts'
import { canRetrieve, updatableKinds } from './link.ts'
import { findLinksByAsset, type LinkRow } from './link-store.ts'
import { mostAddresses, reportedAddresses } from './properties.ts'

/** The links through which the update hub installs artefacts on devices and reads artefacts from them. */
export function updateLinkHandlers(
  context: Context,
): Pick<Handlers<typeof discovery>, 'findUpdateLinks' | 'readDeviceTarget'> {
  const { database, peers } = context
  return {
    async findUpdateLinks({ body: { data } }, caller) {
      const found = await linksByAsset(context, caller, data.assetIds)
      return { data: data.assetIds.map((assetId) => updateLinkOf(assetId, found.get(assetId) ?? [])) }
    },

    async readDeviceTarget({ params: { id: assetId }, query: { gatewayId, assetLinkId } }, caller) {
      const system = systemCaller(caller)
      const [{ data: asset }, { data: assetIdentifiers }, found] = await Promise.all([
        peers(inventory, system).readAsset({ params: { id: assetId }, query: { fields: 'id,connection_points' } }),
        peers(inventory, system).readIdentifiers({ params: { id: assetId } }),
        database.read(caller, (handle) => addressesOfAsset(handle, { gatewayId, assetLinkId, assetId }, mostAddresses)),
      ])
      const addresses = [...new Set([...found, ...reportedAddresses(asset)])].slice(0, mostAddresses)
      return { data: { addresses, foundAddresses: found, assetIdentifiers } }
    },
  }
}

/** Returns the links that found each asset. */
export async function linksByAsset(
  context: Context,
  caller: Caller,
  assetIds: readonly string[],
): Promise<Map<string, LinkRow[]>> {
  const { data } = await context
    .peers(inventory, systemCaller(caller))
    .readConnections({ body: { data: { ids: [...assetIds], outgoing: ['found_by_asset_link'], incoming: [] } } })
  const linkAssets = [...new Set(data.relations.map(({ object }) => object))]
  const links = await context.database.read(caller, (handle) => findLinksByAsset(handle, linkAssets))
  const byLinkAsset = Map.groupBy(links, ({ assetId }) => assetId)
  const found = new Map<string, LinkRow[]>()
  for (const { subject, object } of data.relations) {
    found.set(subject, [...(found.get(subject) ?? []), ...(byLinkAsset.get(object) ?? [])])
  }
  return found
}

/** Returns the link of an asset that can install most kinds of artefacts. */
function updateLinkOf(assetId: string, links: readonly LinkRow[]): UpdateLink {
  const able = links
    .filter(({ state, report }) => state === 'running' && updatableKinds(report.interfaces) !== 'none')
    .toSorted((one, other) => rankOf(one) - rankOf(other) || (keyOf(one) < keyOf(other) ? -1 : 1))
  const [link] = able
  if (link === undefined) return { assetId, problem: problemOf(links) }
  const { gatewayId, appInstanceId, assetId: linkAssetId, report } = link
  return {
    assetId,
    link: {
      gatewayId,
      assetLinkId: appInstanceId,
      linkAssetId,
      kinds: updatableKinds(report.interfaces) === 'all' ? 'all' : 'firmware',
      canRetrieve: canRetrieve(report.interfaces),
    },
  }
}

function rankOf({ report: { interfaces } }: LinkRow): number {
  return (updatableKinds(interfaces) === 'all' ? 0 : 2) + (canRetrieve(interfaces) ? 0 : 1)
}

function keyOf({ gatewayId, appInstanceId }: LinkRow): string {
  return `${gatewayId} ${appInstanceId}`
}

function problemOf(links: readonly LinkRow[]): string {
  if (links.length === 0) return 'No asset link has discovered this asset. Run a discovery that finds the asset.'
  if (links.some(({ report }) => updatableKinds(report.interfaces) !== 'none')) {
    return 'The asset link that can update this asset is not running. Start the asset link and its gateway.'
  }
  return 'No asset link that discovered this asset can update devices. Install an asset link with an update interface.'
}
