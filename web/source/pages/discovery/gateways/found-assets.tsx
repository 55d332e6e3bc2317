import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { discoveryMessages } from '../messages.ts'
import { useLinksOf } from './gateway-links.ts'

/** `FoundAssets` shows how many assets the asset links of a gateway have found. */
export function FoundAssets({ gatewayId }: { gatewayId: string }) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const links = useLinksOf(gatewayId).data?.data
  const ids = (links ?? []).map(({ assetId }) => `'${assetId}'`).join(', ')
  const found = useQuery({
    ...query(
      ['inventory', 'listAssets'],
      {
        query: {
          limit: 1,
          fields: 'id',
          relationsFilter: `object.id in (${ids}) and predicate eq 'found_by_asset_link'`,
        },
      },
      { live: ['discovery'] },
    ),
    enabled: canRead && ids !== '',
  })
  const count = links?.length === 0 ? 0 : found.data?.meta.totalElements
  return count === undefined ? '–' : <span title={text.assetsFoundHint}>{formats.number(count)}</span>
}
