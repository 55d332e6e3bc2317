import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { hiddenAssets, isReadableGateway, readableGateways, readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import { findLink, linkAssetsOf } from './link-store.ts'
import type { DiscoveryRow, Scope } from './store.ts'

/**
 * A discovery is readable when its gateway is readable and its link is not hidden. Starting, changing, running and canceling
 * one needs the permission to run discoveries besides; what the gateway finds is written with the rights of the gateway.
 */
export async function isReadable(
  context: Context,
  caller: Caller,
  { gatewayId, assetLinkId }: Pick<DiscoveryRow, 'gatewayId' | 'assetLinkId'>,
): Promise<boolean> {
  if (readsAllAssets(caller)) return true
  if (!(await isReadableGateway(context, caller, gatewayId))) return false
  const link = await context.database.read(caller, (handle) => findLink(handle, gatewayId, assetLinkId))
  return link === undefined || (await hiddenAssets(context, caller, [link.assetId])).size === 0
}

/** The same for lists; undefined is everything. */
export async function readableScope(context: Context, caller: Caller): Promise<Scope | undefined> {
  const gateways = await readableGateways(context, caller)
  if (gateways === null) return undefined
  const links = await context.database.read(caller, (handle) => linkAssetsOf(handle, gateways))
  return { gateways, hiddenLinks: [...(await hiddenAssets(context, caller, links))] }
}

export async function requireReadableGateway(context: Context, caller: Caller, gatewayId: string): Promise<void> {
  if (await isReadableGateway(context, caller, gatewayId)) return
  throw new Problem('not_found', `There is no gateway ${gatewayId}`)
}
