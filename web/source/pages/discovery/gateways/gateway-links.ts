import type { AssetLink } from '@millwright/api/discovery.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useGateways } from '../../../app/api/gateways.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'

export type GatewayLink = { gatewayId: string; gatewayName: string; link: AssetLink }

const live = ['discovery.link', 'onboarding.gateway', 'inventory.relation']

export function useLinksOf(gatewayId: string | undefined) {
  const query = useOperationQuery()
  const gateways = { params: { gatewayId: gatewayId ?? '' } }
  return useQuery({ ...query(['discovery', 'listAssetLinks'], gateways, { live }), enabled: gatewayId !== undefined })
}

/** Returns the asset links of all online gateways, without the links that cannot start a scan. */
export function useReadyLinks(): { links: GatewayLink[]; isLoading: boolean } {
  const query = useOperationQuery()
  const gateways = useGateways()
  const connected = gateways.data?.data.filter(({ state }) => state === 'online') ?? []
  const answers = useQueries({
    queries: connected.map(({ id }) => query(['discovery', 'listAssetLinks'], { params: { gatewayId: id } }, { live })),
  })
  const links = connected.flatMap(({ id, name }, index) =>
    (answers[index]?.data?.data ?? []).filter(isReady).map((link) => ({ gatewayId: id, gatewayName: name, link })),
  )
  return { links, isLoading: gateways.isPending || answers.some(({ isPending }) => isPending) }
}

/**
 * Returns a function that returns the product name of an asset link. If the link has no product name, the function
 * returns its id.
 */
export function useLinkNames(gatewayIds: readonly string[]): (gatewayId: string, assetLinkId: string) => string {
  const query = useOperationQuery()
  const gateways = [...new Set(gatewayIds)]
  const answers = useQueries({
    queries: gateways.map((gatewayId) => query(['discovery', 'listAssetLinks'], { params: { gatewayId } }, { live })),
  })
  return (gatewayId, assetLinkId) => {
    const links = answers[gateways.indexOf(gatewayId)]?.data?.data
    return links?.find((link) => link.assetLinkId === assetLinkId)?.product?.name ?? assetLinkId
  }
}

/** Returns the product names of the asset links of all gateways, by link id. Links without a product name have their id. */
export function useLinkNamesOfAll(): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const gateways = useGateways().data?.data ?? []
  return useQueries({
    queries: gateways.map(({ id }) => query(['discovery', 'listAssetLinks'], { params: { gatewayId: id } }, { live })),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => data?.data ?? []).map((link) => [link.assetLinkId, nameOf(link)])),
  })
}

export function isReady({ compatible, reachable, state }: AssetLink): boolean {
  return compatible && reachable && state === 'running'
}

export function nameOf({ product, assetLinkId }: AssetLink): string {
  return product?.name ?? assetLinkId
}
