import { useQueries, useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { placeNames } from './place-names.ts'

/** The names on the path from the top of a hierarchy to the node of an asset. */
export type PlaceOf = (assetId: string) => readonly string[]

/**
 * Returns a function that returns the place of an asset. The places of a chunk of assets are loaded with one request, so that a chunk
 * has at most `hierarchyLimits.assetsWithPaths` assets. If an asset has nodes in several hierarchies, the first one is its place.
 */
export function usePlaces(chunks: readonly (readonly { id: string }[])[]): PlaceOf {
  const query = useOperationQuery()
  const canRead = usePermission('glb_hierarchy_read')
  return useQueries({
    queries: (canRead ? chunks : []).map((assets) =>
      query(
        ['hierarchy', 'listPathsOfAssets'],
        { body: { data: { assetIds: assets.map(({ id }) => id) } } },
        { live: ['hierarchy', 'inventory.relation'] },
      ),
    ),
    combine: placesOf,
  })
}

type PathsOfAssets = Parameters<typeof placeNames>[0][number]

function placesOf(results: readonly { data?: PathsOfAssets }[]): PlaceOf {
  const names = placeNames(results.map(({ data }) => data))
  return (assetId) => names.get(assetId) ?? []
}

/**
 * Returns the places of at most `hierarchyLimits.assetsWithPaths` assets by id, without those that are not loaded. If the list of assets
 * changes, the places of the assets before stay until the new ones are loaded.
 */
export function useLoadedPlaces(assetIds: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const query = useOperationQuery()
  const canRead = usePermission('glb_hierarchy_read')
  const places = useQuery({
    ...query(
      ['hierarchy', 'listPathsOfAssets'],
      { body: { data: { assetIds: [...assetIds] } } },
      { live: ['hierarchy', 'inventory.relation'] },
    ),
    enabled: canRead && assetIds.length > 0,
    placeholderData: (before) => before,
  })
  return placeNames([places.data])
}
