import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { type AssetProperty, assetProperties, customProperty } from './asset-property.ts'

/** Returns all properties of assets in this tenant, including custom properties. */
export function useAssetProperties(): readonly AssetProperty[] {
  const query = useOperationQuery()
  const { data } = useQuery(
    query(['inventory', 'listCustomProperties'], { query: { limit: 100 } }, { live: ['inventory.custom-property'] }),
  )
  return useMemo(() => [...assetProperties, ...(data?.data ?? []).map(customProperty)], [data])
}
