import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { Output } from '../../app/api/client.ts'
import { type Failure, isFailure } from '../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useLiveEvents } from '../../app/live/live-queries.ts'
import { usePreference } from '../../app/preferences/preference.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { hierarchyLimits } from './limits.ts'

/** The prefix of the event types that report changes of hierarchies and nodes. */
const hierarchyEvents = ['hierarchy']

/**
 * The delay between a change and the reload of the counts. It is longer than the time that the server needs to update
 * the counts.
 */
const refreshDelayMs = hierarchyLimits.lagMs + 500

/** The number of children that are loaded with one request. */
const childrenPerPage = 100

export function useHierarchies({ isEnabled = true }: { isEnabled?: boolean } = {}) {
  const query = useOperationQuery()
  const input = { query: { limit: hierarchyLimits.hierarchies } }
  return useQuery({
    ...query(['hierarchy', 'listHierarchies'], input, { live: hierarchyEvents }),
    select: ({ data }) => data,
    enabled: isEnabled,
  })
}

/** Returns the id of the hierarchy that the user opened last, and a function that stores it. */
export function useLastHierarchy() {
  return usePreference<string | undefined>('hierarchy.last', undefined)
}

/**
 * Returns a condition for queries of a node. A deleted node is not requested again, because its id is never used for
 * another node.
 */
function unlessDeleted(id: string | undefined) {
  return ({ state }: { state: { error: unknown } }) => id !== undefined && !isFailure(state.error, 'not_found')
}

export function useNode(id: string | undefined) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['hierarchy', 'readNode'], { params: { id: id ?? '' } }, { live: hierarchyEvents }),
    select: ({ data }) => data,
    enabled: unlessDeleted(id),
  })
}

/** Returns the number of all assets, and of the assets without a node of the hierarchy. */
export function usePlaceCounts(hierarchyId: string): { all: number | undefined; unassigned: number | undefined } {
  const query = useOperationQuery()
  const counted = (scope: { unassignedIn?: string }) =>
    query(
      ['inventory', 'listAssets'],
      { query: { limit: 1, fields: 'id', ...scope } },
      { live: ['inventory.asset', 'hierarchy'] },
    )
  const all = useQuery(counted({})).data?.meta.totalElements
  const unassigned = useQuery(counted({ unassignedIn: hierarchyId })).data?.meta.totalElements
  return { all, unassigned }
}

/** Returns a function that creates the query options for the path of a node. */
export function usePathQuery() {
  const query = useOperationQuery()
  return (id: string | undefined) => ({
    ...query(['hierarchy', 'readPath'], { params: { id: id ?? '' } }, { live: hierarchyEvents }),
    enabled: unlessDeleted(id),
  })
}

/** Loads the path of a node: all nodes from the top level down to this node. */
export function usePath(id: string | undefined) {
  return useQuery({ ...usePathQuery()(id), select: ({ data }) => data })
}

type NodePage = Output<'hierarchy', 'listNodes'>

/** Loads the children of a node page by page. Without a parent, loads the nodes of the top level. */
export function useChildren(hierarchyId: string, parentId: string | undefined) {
  const api = useApi()
  const input = { params: { id: hierarchyId }, query: { ...(parentId !== undefined && { parentId }) } }
  return useInfiniteQuery<NodePage, Failure, HierarchyNode[], readonly unknown[], string | undefined>({
    queryKey: [...keyOf('hierarchy', 'listNodes', input), 'pages'],
    initialPageParam: undefined,
    queryFn: ({ pageParam: cursor }) =>
      api.hierarchy.listNodes({
        ...input,
        query: { ...input.query, limit: childrenPerPage, ...(cursor !== undefined && { cursor }) },
      }),
    getNextPageParam: ({ meta }) => meta.nextCursor,
    select: ({ pages }: InfiniteData<NodePage>) => pages.flatMap(({ data }) => data),
    meta: { live: hierarchyEvents },
  })
}

/**
 * The number of unreachable assets, of assets in stop whose mode was read recently, of assets whose last known mode is stop, and of
 * assets with outdated firmware. The latter is undefined if it is not known.
 */
export type NodeProblems = { unreachable: number; stopped: number; lastStopped: number; outdated: number | undefined }

/**
 * Returns the problems of assets: in total, of each child of a node by id, and at the top of the assets without a node. `share` is the
 * share of outdated assets.
 */
export function useProblems(hierarchyId: string, parentId: string | undefined, { isEnabled = true } = {}) {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const input = {
    query: { by: 'hierarchy' as const, hierarchy: hierarchyId, ...(parentId !== undefined && { parent: parentId }) },
  }
  return useQuery({
    ...query(['inventory', 'readTopologyGroups'], input, { live: ['hierarchy'] }),
    enabled: isEnabled && canRead,
    select: ({ data: { total, groups, unavailable } }) => {
      // Without the updates service, the numbers of outdated assets are 0 and mean nothing.
      const isKnown = !unavailable.includes('outdated')
      type Counts = Pick<typeof total, 'monitoring' | 'stopped' | 'stoppedRead' | 'outdated'>
      const problemsOf = ({ monitoring, stopped, stoppedRead, outdated }: Counts): NodeProblems => ({
        unreachable: monitoring.unreachable,
        stopped: stoppedRead,
        lastStopped: stopped - stoppedRead,
        outdated: isKnown ? outdated : undefined,
      })
      return {
        total: problemsOf(total),
        share: isKnown && total.assets > 0 ? total.outdated / total.assets : undefined,
        byNode: new Map(groups.map((group) => [group.key, problemsOf(group)])),
      }
    },
  })
}

/** Returns the share of all assets that have outdated firmware. The shares of nodes are compared with it. */
export function useAverageOutdated(hierarchyId: string): number | undefined {
  return useProblems(hierarchyId, undefined).data?.share
}

/** Returns a function that reloads all loaded data of hierarchies. */
export function useHierarchyRefresh(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('hierarchy') })
}

/**
 * Reloads the counts of nodes after changes of assets and relations. The reload is delayed, because the server updates
 * the counts with a delay.
 */
export function useCountRefresh(): void {
  const refresh = useHierarchyRefresh()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useLiveEvents(['inventory.asset', 'inventory.relation', 'hierarchy'], () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      refresh()
    }, refreshDelayMs)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
}
