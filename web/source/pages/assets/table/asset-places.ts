import { useQueries } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { type AssetPages, pageSize } from './asset-pages.ts'

/** The names on the path from the top of a hierarchy to the node of an asset. */
export type PlaceOf = (assetId: string) => readonly string[]

/**
 * Returns a function that returns the place of an asset, and a function that receives the visible rows. The places of a page are
 * loaded with one request, after the assets. If an asset has nodes in several hierarchies, the first one is its place.
 */
export function usePlaces(
  pages: AssetPages,
  isShown: boolean,
): { placeOf: PlaceOf; setRange: (first: number, last: number) => void } {
  const query = useOperationQuery()
  const canRead = usePermission('glb_hierarchy_read')
  const [range, setPages] = useState({ first: 0, last: 0 })
  const setRange = useCallback((first: number, last: number) => {
    const next = { first: Math.floor(first / pageSize), last: Math.floor(last / pageSize) }
    setPages((before) => (before.first === next.first && before.last === next.last ? before : next))
  }, [])
  const numbers = Array.from({ length: range.last - range.first + 1 }, (_, index) => range.first + index)
  const placeOf = useQueries({
    queries: numbers
      .map((page) => [...pages.loaded(page * pageSize, (page + 1) * pageSize - 1)].map(({ id }) => id))
      .filter((assetIds) => isShown && canRead && assetIds.length > 0)
      .map((assetIds) =>
        query(
          ['hierarchy', 'listPathsOfAssets'],
          { body: { data: { assetIds } } },
          { live: ['hierarchy', 'inventory.relation'] },
        ),
      ),
    combine: placesOf,
  })
  return { placeOf, setRange }
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
