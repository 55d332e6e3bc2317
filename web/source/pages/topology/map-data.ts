import type { Grouping, TopologyGroups, TopologyMap } from '@millwright/api/inventory/topology-groups.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Failure } from '../../app/api/failure.ts'
import { operationQuery } from '../../app/api/queries.ts'
import { useLiveEvents } from '../../app/live/live-queries.ts'
import { useApi } from '../../app/session/app-context.tsx'
import type { Grid } from './map/arrangement.ts'
import type { ArrangementRequest, ArrangementResponse } from './map/arrangement-worker.ts'
import { cellAspects } from './map/scene.ts'
import { rootKey } from './map/scene-keys.ts'
import { isNetworkKey, withNetworks } from './map/switch-networks.ts'

export type MapQuery = {
  by: Grouping
  hierarchy: string | undefined
  /** The displayed time. If undefined, the current topology is displayed. */
  at: string | undefined
  /** Changes after this time are counted. */
  since: string | undefined
  q: string | undefined
  /** Whether all groups are open, and all assets are loaded at once. */
  isAll: boolean
  /** Whether the changed assets are counted by kind of change. */
  hasChangeKinds: boolean
}

export type MapData = {
  /** The loaded groups by key. The key of the whole map is `''`. */
  loaded: ReadonlyMap<string, TopologyGroups>
  isLoading: boolean
  error: Failure | null
  /** Whether changes have occurred since the map was loaded. */
  isStale: boolean
  refresh: () => void
}

/** At most this many open groups are loaded. The groups that were opened first are closed. */
export const maxOpenGroups = 60

/**
 * Loads the top groups and the open groups. Events only mark the map as stale, and the user refreshes it, because a scan
 * changes the topology very often.
 */
export function useMapData(
  { by, hierarchy, at, since, q, isAll, hasChangeKinds }: MapQuery,
  open: readonly string[],
): MapData {
  const api = useApi()
  const [changedAt, setChangedAt] = useState(0)
  const isEnabled = by !== 'hierarchy' || hierarchy !== undefined
  const keys = isAll ? [] : [rootKey, ...open.filter((key) => !isNetworkKey(key))]
  const selection = {
    by,
    // Other groups than those of the hierarchy name their place in it.
    ...(hierarchy !== undefined && { hierarchy }),
    ...(at !== undefined && { at }),
    ...(since !== undefined && { since }),
    ...(q !== undefined && q !== '' && { q }),
  }
  const whole = useQuery({
    ...operationQuery(api, ['inventory', 'readTopologyMap'], { query: selection }),
    enabled: isEnabled && isAll,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const results = useQueries({
    queries: keys.map((parent) => ({
      ...operationQuery(api, ['inventory', 'readTopologyGroups'], {
        query: {
          ...selection,
          ...(hasChangeKinds && { changeKinds: true }),
          ...(parent !== rootKey && { parent }),
          ...(parent === rootKey && by === 'switch' && { allSwitches: true }),
        },
      }),
      enabled: isEnabled,
      staleTime: Number.POSITIVE_INFINITY,
      notifyOnChangeProps: 'all' as const,
    })),
  })
  useLiveEvents(['inventory.relation', 'inventory.asset'], () => {
    if (at === undefined && Date.now() - changedAt > 1_000) setChangedAt(Date.now())
  })
  const everything = whole.data?.data
  const stamp = results.map(({ dataUpdatedAt }, index) => `${keys[index]} ${dataUpdatedAt}`).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp changes with every loaded group
  const loaded = useMemo(() => {
    if (isAll && everything !== undefined) {
      return groupsOfMap(everything)
    }
    const found = new Map<string, TopologyGroups>()
    results.forEach(({ data }, index) => {
      if (data !== undefined) found.set(keys[index] ?? rootKey, data.data)
    })
    return withNetworks(found)
  }, [stamp, isAll, everything])
  const top = isAll ? whole : results[0]
  return {
    loaded,
    isLoading: top === undefined || (isAll ? top.isPending : results.some(({ isPending }) => isPending)),
    error: top?.error ?? null,
    isStale: changedAt > (top?.dataUpdatedAt ?? 0) && top?.dataUpdatedAt !== 0,
    refresh: () => {
      for (const result of isAll ? [whole] : results) result.refetch()
    },
  }
}

/** Returns the groups of a complete map by their keys. */
export function groupsOfMap({ inside, ...top }: TopologyMap): Map<string, TopologyGroups> {
  const { unavailable } = top
  const groups = Object.entries(inside).map(([key, content]) => [key, { ...content, unavailable }] as const)
  return new Map<string, TopologyGroups>([[rootKey, top], ...groups])
}

/**
 * Computes force layouts in a worker. Returns a function that returns the layout of a group, or undefined while it is
 * computed.
 */
export function useForceLayout() {
  const [grids, setGrids] = useState<ReadonlyMap<string, Grid>>(new Map())
  const requested = useRef(new Set<string>())
  const worker = useRef<Worker>(undefined)
  // Results that arrive together are shown together, because each change draws the whole map again.
  const arrived = useRef(new Map<string, Grid>())
  const flush = useRef(0)
  useEffect(
    () => () => {
      worker.current?.terminate()
      worker.current = undefined
      requested.current.clear()
      cancelAnimationFrame(flush.current)
    },
    [],
  )
  return useMemo(
    () => (key: string, data: TopologyGroups, aspect: number) => {
      const id = `${key} ${aspect.toFixed(2)} ${data.groups.length} ${data.assets.length} ${data.edges.length}`
      const known = grids.get(id)
      if (known !== undefined || requested.current.has(id)) return known
      requested.current.add(id)
      if (worker.current === undefined) {
        worker.current = new Worker(new URL('./map/arrangement-worker.ts', import.meta.url), { type: 'module' })
        worker.current.addEventListener('message', ({ data: response }: MessageEvent<ArrangementResponse>) => {
          arrived.current.set(response.id, response.grid)
          cancelAnimationFrame(flush.current)
          flush.current = requestAnimationFrame(() => setGrids((before) => new Map([...before, ...arrived.current])))
        })
      }
      worker.current.postMessage({
        id,
        keys: [...data.groups.map((group) => group.key), ...data.assets.map((asset) => asset.id)],
        edges: data.edges,
        aspect,
        cellAspect: cellAspects.group,
      } satisfies ArrangementRequest)
      return undefined
    },
    [grids],
  )
}
