import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useRights } from '../../../app/session/app-context.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { relationEvents } from '../asset-data.ts'
import { statusMessages } from './status-messages.ts'

/** The maximum number of asset links of an asset that are considered. */
const maxLinks = 20

/**
 * Returns a function that runs the latest scan of an asset link that found the asset, and opens the scan. Returns undefined if
 * no link found the asset or the user cannot run scans.
 */
export function useScanAgain(assetId: string): (() => Promise<void>) | undefined {
  const text = useText(statusMessages)
  const api = useApi()
  const rights = useRights()
  const navigate = useNavigate()
  const query = useOperationQuery()
  const canScan =
    rights.has('glb_discovery_run') && rights.has('glb_jobs_read') && rights.has('glb_inventory_read_relation_data')
  const filter = `subject.id eq '${assetId}' and predicate eq 'found_by_asset_link'`
  const input = { query: { filter, limit: maxLinks } }
  const found = useQuery({
    ...query(['inventory', 'listRelations'], input, { live: relationEvents }),
    enabled: canScan,
  })
  const linkAssets = found.data?.data.map(({ object }) => object.id) ?? []
  if (!canScan || linkAssets.length === 0) return undefined
  return async () => {
    for (const linkAsset of linkAssets) {
      const scanId = await latestScanOf(linkAsset)
      if (scanId === undefined) continue
      await api.discovery.runDiscovery({ params: { jobId: scanId } })
      showSuccess(text.scanStarted)
      return navigate({ to: `/discovery/scans/${scanId}` })
    }
    await navigate({ to: '/discovery', search: { scan: 'any' } as never })
  }

  async function latestScanOf(linkAsset: string): Promise<string | undefined> {
    const running = `subject.id eq '${linkAsset}' and predicate eq 'is_running_on'`
    const { data: gateways } = await api.inventory.listRelations({ query: { filter: running, limit: 1 } })
    const gatewayId = gateways[0]?.object.id
    if (gatewayId === undefined) return undefined
    const { data: links } = await api.discovery.listAssetLinks({ params: { gatewayId } })
    const link = links.find(({ assetId: id, reachable }) => id === linkAsset && reachable)
    if (link === undefined) return undefined
    const { assetLinkId } = link
    const latest = { gatewayId, assetLinkId, sort: '-latestRun', limit: 1 } as const
    const { data: scans } = await api.discovery.listDiscoveries({ query: latest })
    return scans[0]?.jobId
  }
}
