import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import type { Asset } from '../../assets/model/asset.ts'
import { type AssetPages, pageSize } from '../../assets/table/asset-pages.ts'
import { hierarchyMessages } from '../messages.ts'
import { PathName } from '../node/path-name.tsx'

/** `PageRange` contains the numbers of the first and the last visible page. */
export type PageRange = { first: number; last: number }

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
  const numbers = Array.from({ length: range.last - range.first + 1 }, (_, index) => range.first + index)
  const loaded = numbers.map((page) =>
    [...pages.loaded(page * pageSize, (page + 1) * pageSize - 1)].map(({ id }) => id),
  )
  const paths = useQueries({
    queries: loaded
      .filter((assetIds) => isShown && assetIds.length > 0)
      .map((assetIds) => query(['hierarchy', 'listPathsOfAssets'], { body: { data: { assetIds } } })),
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
