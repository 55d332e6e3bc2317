import type { TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { unreachableFilter } from '../start/plant-queries.ts'
import { mostNames, nameableUnreachable } from './map/problems.ts'
import type { MapQuery } from './map-data.ts'

/** Returns the names of the unreachable assets without a switch, if they are few, and if no other asset is unreachable. */
export function useUnreachableNames({ by, at, q }: MapQuery, top: TopologyGroups | undefined): readonly string[] {
  const query = useOperationQuery()
  const count = by === 'switch' && at === undefined ? nameableUnreachable(top) : 0
  const input = { query: { filter: unreachableFilter, fields: 'id,name', limit: mostNames, ...(q && { q }) } }
  const found = useQuery({
    ...query(['inventory', 'listAssets'], input, { live: ['inventory.asset'] }),
    enabled: count > 0,
  }).data
  return useMemo(() => {
    const names = (found?.data ?? []).flatMap(({ name }) => (typeof name === 'string' && name !== '' ? name : []))
    // The map and the list can have different times.
    return count > 0 && found?.meta.totalElements === count && names.length === count ? names : []
  }, [found, count])
}
