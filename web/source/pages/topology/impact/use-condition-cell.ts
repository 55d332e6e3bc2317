import { useQueries } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useLanguage } from '../../../app/language/language-context.tsx'
import type { Asset } from '../../assets/model/asset.ts'
import { conditionCell } from '../../assets/table/asset-cells.tsx'
import { conditionFields, fieldsFor } from '../../assets/table/asset-list.ts'
import { useMonitoredStates } from '../../assets/table/asset-states.ts'
import { useNewestVersion } from '../../start/newest-version.ts'

/** Returns the cell with the condition of an asset, by its id. The assets of a page are loaded with one request. */
export function useConditionCell(pages: readonly string[][]): (id: string) => ReactNode {
  const query = useOperationQuery()
  const newestVersion = useNewestVersion()
  const stateOf = useMonitoredStates(pages.map((ids) => ids.map((id) => ({ id }))))
  const assets = useQueries({
    queries: pages.map((ids) =>
      query(
        ['inventory', 'listAssets'],
        {
          query: {
            limit: ids.length,
            count: false,
            fields: fieldsFor(conditionFields).join(','),
            filter: `id in (${ids.map((id) => `'${id}'`).join(',')})`,
          },
        },
        { live: ['inventory.asset'] },
      ),
    ),
    combine: assetsById,
  })
  const cell = conditionCell({ newestVersion, stateOf }, useLanguage())
  return (id) => {
    const asset = assets.get(id)
    return asset === undefined ? null : cell(asset)
  }
}

type AssetPages = readonly { data?: { data: readonly unknown[] } | undefined }[]

function assetsById(pages: AssetPages): ReadonlyMap<string, Asset> {
  const assets = pages.flatMap(({ data }) => (data?.data ?? []) as readonly Asset[])
  return new Map(assets.map((asset) => [asset.id, asset]))
}
