import { useState } from 'react'
import { useApi } from '../../../app/session/app-context.tsx'
import type { GridSelection } from '../../../components/tables/grid-column.ts'
import type { Asset } from '../model/asset.ts'
import { maxSelected } from '../model/limits.ts'
import type { NodeScope } from './asset-list.ts'
import type { AssetPages } from './asset-pages.ts'

export type AssetSelection = {
  ids: ReadonlySet<string>
  grid: GridSelection
  clear: () => void
  /** Loads the ids of all assets that match the filter, selects them, and returns them. */
  selectMatching: () => Promise<ReadonlySet<string>>
}

type SelectionFilter = {
  filter: string
  q: string
  caseInsensitive?: boolean
  scope?: NodeScope | undefined
  /** An onboarding rule, see `AssetListOptions`. */
  proposedBy?: string | undefined
}

/**
 * Manages the selection of rows. The user selects single rows, a range of rows with the shift key, or all matching
 * assets.
 */
export function useAssetSelection(
  pages: AssetPages,
  { filter, q, caseInsensitive, scope, proposedBy }: SelectionFilter,
): AssetSelection {
  const api = useApi()
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [last, setLast] = useState(0)
  const total = pages.total ?? 0
  const toggle = (index: number, isRange: boolean) => {
    const row = pages.rowAt(index)
    if (row === undefined) return
    const next = new Set(ids)
    const rows = isRange ? [...pages.loaded(last, index)] : [row]
    const isOn = !ids.has(row.id)
    for (const { id } of rows) isOn ? next.add(id) : next.delete(id)
    setIds(next)
    setLast(index)
  }
  const selectProposed = async (ruleId: string) => {
    const ids = new Set<string>()
    for (let all = 1; ids.size < Math.min(all, maxSelected); ) {
      const query = { limit: 100, offset: ids.size }
      const { data, meta } = await api.inbox.listProposedAssets({ params: { id: ruleId }, query })
      for (const { id } of data) ids.add(id)
      all = data.length === 0 ? 0 : (meta.totalElements ?? 0)
    }
    setIds(ids)
    return ids
  }
  const selectMatching = async () => {
    if (proposedBy !== undefined) return selectProposed(proposedBy)
    const ids = new Set<string>()
    let cursor: string | undefined
    do {
      const query = {
        limit: 100,
        count: false,
        fields: 'id',
        ...(cursor !== undefined && { cursor }),
        ...(filter !== '' && { filter }),
        ...(caseInsensitive && { caseInsensitive }),
        ...(q !== '' && { q }),
        ...scope,
      }
      const { data, meta } = await api.inventory.listAssets({ query })
      for (const { id } of data as Asset[]) ids.add(id)
      cursor = meta.nextCursor
    } while (cursor !== undefined && ids.size < maxSelected)
    setIds(ids)
    return ids
  }
  const isAll = total > 0 && ids.size >= Math.min(total, maxSelected)
  const loaded = () => [...pages.loaded(0, Math.min(total, maxSelected) - 1)]
  return {
    ids,
    clear: () => setIds(new Set()),
    selectMatching,
    grid: {
      isSelected: (id) => ids.has(id),
      onToggle: toggle,
      isAll,
      isPartial: ids.size > 0 && !isAll,
      onAll: () => setIds(ids.size > 0 ? new Set() : new Set(loaded().map(({ id }) => id))),
    },
  }
}
