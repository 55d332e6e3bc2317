import type { Entity, RelationChange } from '@millwright/api/inventory.ts'
import { useQuery } from '@tanstack/react-query'
import { type Paged, usePaged } from '../../app/paged.ts'
import { keyOf } from '../../app/queries.ts'
import { useApi } from '../../app/visit.tsx'
import { labelOf } from '../../components/graph/graph-data.ts'
import { quoted } from '../assets/filter-conditions.ts'
import { seenFrom } from './around.ts'
import { assetEvents, relationEvents } from './asset-data.ts'

/** A relation of an asset that began or ended, seen from it; what has no name, may not be read or is gone has its id. */
export type ChangeRow = RelationChange & { way: 'out' | 'in'; other: Entity; label: string }

/** What became of the relations of an asset, the latest first. */
export function useRelationChanges(id: string): Paged<ChangeRow> {
  const paged = usePaged(['inventory', 'readRelationHistory'], { params: { id } }, { live: relationEvents })
  const seen = paged.rows.map((change) => ({ ...change, ...seenFrom({ type: 'asset', id }, change.relation) }))
  const names = useAssetNames(seen.map(({ other }) => other))
  return {
    ...paged,
    isWaiting: paged.isWaiting || names.isLoading,
    rows: seen.map((row) => ({ ...row, label: labelOf({ ...row.other, name: names.data?.[row.other.id] ?? '' }) })),
  }
}

/** How many ids one filter may name: as many as one answer holds. */
const atOnce = 100

/** The names of assets by their ids. While there are more to ask for, those that are known stay. */
function useAssetNames(things: readonly Entity[]) {
  const api = useApi()
  const ids = [...new Set(things.filter(({ type }) => type === 'asset').map(({ id }) => id))]
  const ask = async (some: readonly string[], signal: AbortSignal) => {
    const filter = `id in (${some.map(quoted).join(', ')})`
    const given = { query: { filter, fields: 'id,name', limit: atOnce, count: false }, signal }
    const { data } = await api.inventory.listAssets(given)
    return data.map(({ id, name }) => [String(id), String(name ?? '')] as const)
  }
  return useQuery({
    queryKey: [...keyOf('inventory', 'listAssets'), 'names', ids],
    queryFn: async ({ signal }) => {
      const parts = Array.from({ length: Math.ceil(ids.length / atOnce) }, (_, part) =>
        ask(ids.slice(part * atOnce, (part + 1) * atOnce), signal),
      )
      return Object.fromEntries((await Promise.all(parts)).flat())
    },
    enabled: ids.length > 0,
    placeholderData: (before) => before,
    meta: { live: assetEvents },
  })
}
