import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import type { Asset } from '../../assets/model/asset.ts'
import type { AssetPages } from '../../assets/table/asset-pages.ts'
import { type PageRange, visiblePages } from '../../assets/table/page-range.ts'
import { hierarchyMessages } from '../messages.ts'
import { PathName } from '../node/path-name.tsx'

type NodeColumnOptions = {
  hierarchyId: string
  /** The node whose assets are listed. The paths start at this node. */
  nodeId: string | undefined
  pages: AssetPages
  range: PageRange
  isShown: boolean
}

/** Returns the column with the node of each asset. The nodes of a page are loaded with one request. */
export function useNodeColumn({ hierarchyId, nodeId, pages, range, isShown }: NodeColumnOptions) {
  const text = useText(hierarchyMessages)
  const query = useOperationQuery()
  const paths = useQueries({
    queries: (isShown ? visiblePages(pages, range) : []).map((assets) =>
      query(['hierarchy', 'listPathsOfAssets'], { body: { data: { assetIds: assets.map(({ id }) => id) } } }),
    ),
    combine: (results) => results.flatMap(({ data }) => data?.data ?? []),
  })
  return useMemo((): GridColumn<Asset> | undefined => {
    if (!isShown) return undefined
    const names = new Map(
      paths.map((asset) => {
        const path = asset.paths.find((each) => each.hierarchyId === hierarchyId)?.path ?? []
        const start = path.findIndex(({ id }) => id === nodeId)
        return [asset.assetId, path.slice(Math.max(0, start)).map(({ name }) => name)]
      }),
    )
    return {
      id: 'hierarchy-node',
      header: text.node,
      width: 300,
      minWidth: 150,
      cell: ({ id }) => {
        const path = names.get(id)
        return path === undefined || path.length === 0 ? path && '–' : <PathName names={path} />
      },
    }
  }, [paths, isShown, hierarchyId, nodeId, text])
}
