import { evidenceLimitHours } from '@millwright/api/evidence.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { type Asset, textAt } from '../assets/model/asset.ts'
import { stoppedFilter, useTotalQuery } from './plant-queries.ts'

/**
 * The controllers in stop. `recent` is the number of controllers whose mode was read in the last hours. The modes of the others are
 * only the last known values, and the oldest of them has the time `oldest`.
 */
export type StoppedControllers = { count: number; recent: number; known: number; oldest: string }

export const noneStopped: StoppedControllers = { count: 0, recent: 0, known: 0, oldest: '' }

const refreshMs = 60_000
const hourMs = 3_600_000

/** Returns the filter for the controllers in stop whose mode was not read recently. */
export function knownStoppedFilter(now: number): string {
  const since = new Date(now - evidenceLimitHours * hourMs).toISOString()
  const isRecent = `reachability_state/state_value eq 'reached' and reachability_state/state_timestamp ge '${since}'`
  return `${stoppedFilter} and not (${isRecent})`
}

/**
 * Counts the controllers in stop. It returns undefined until the numbers are loaded. The tile and the next steps share the requests:
 * the time at which a mode is too old moves in steps of a minute.
 */
export function useStoppedControllers(): StoppedControllers | undefined {
  const query = useOperationQuery()
  const [now] = useState(() => Math.floor(Date.now() / refreshMs) * refreshMs)
  const count = useQuery(useTotalQuery(stoppedFilter)).data?.meta.totalElements
  const known = useQuery({
    ...query(['inventory', 'listAssets'], {
      query: {
        filter: knownStoppedFilter(now),
        sort: 'reachability_state/state_timestamp',
        limit: 1,
        fields: 'id,reachability_state',
      },
    }),
    enabled: count !== undefined && count > 0,
    refetchInterval: refreshMs,
  }).data
  if (count === undefined) return undefined
  if (count === 0) return noneStopped
  if (known === undefined) return undefined
  const knownCount = Math.min(count, known.meta.totalElements ?? 0)
  const [asset] = known.data as Asset[]
  const oldest = asset === undefined ? '' : textAt(asset, 'reachability_state/state_timestamp')
  return { count, recent: count - knownCount, known: knownCount, oldest: oldest || new Date(now).toISOString() }
}
