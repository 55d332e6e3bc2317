import { useQueries } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'

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

type PathsOfAssets = { data: { assetId: string; paths: { path: { name: string }[] }[] }[] }

function placesOf(results: readonly { data?: PathsOfAssets | undefined }[]): PlaceOf {
  const names = new Map(
    results
      .flatMap(({ data }) => data?.data ?? [])
      .map(({ assetId, paths }) => [assetId, (paths[0]?.path ?? []).map(({ name }) => name)]),
  )
  return (assetId) => names.get(assetId) ?? []
}
