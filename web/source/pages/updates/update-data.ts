import { pageLimits } from '@millwright/api/envelope.ts'
import type { Campaign } from '@millwright/api/updates.ts'
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { usePermission } from '../../app/session/app-context.tsx'

/** The prefix of the events that change artefacts, campaigns and settings of the update hub. */
export const updateEvents = { live: ['updates'] }

/** Returns an artefact. Without an id, no request is sent. */
export function useArtefact(id: string | undefined) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['updates', 'readArtefact'], { params: { id: id ?? '' } }, updateEvents),
    enabled: id !== undefined,
  })
}

/** Returns a campaign. Events update it. */
export function useCampaign(id: string | undefined) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['updates', 'readCampaign'], { params: { id: id ?? '' } }, updateEvents),
    enabled: id !== undefined,
  })
}

/** The states of campaigns that are not over. The state that matters least for a plan comes first. */
const openCampaignStates = ['paused', 'running', 'pending-approval', 'draft'] as const

/** Returns the open campaign of each artefact, by the id of the artefact. A draft comes before other campaigns, a new one before an old one. */
export function useOpenCampaigns(): ReadonlyMap<string, Campaign> {
  const query = useOperationQuery()
  const canRead = usePermission('glb_jobs_read')
  return useQueries({
    queries: openCampaignStates.map((state) => ({
      ...query(['updates', 'listCampaigns'], { query: { state, limit: pageLimits.maximum } }, updateEvents),
      enabled: canRead,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }) => data?.data.toReversed() ?? []).map((campaign) => [campaign.artefactId, campaign]),
      ),
  })
}

/** Returns a function that loads all data of the update hub again. */
export function useRefreshUpdates(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('updates') })
}

/** The interval at which data is loaded again while devices are updated. Their progress changes without an event. */
const pollMs = 4_000

/** Loads the data of the update hub again at a fixed interval while `isRunning`. */
export function useUpdatePolling(isRunning: boolean): void {
  const queryClient = useQueryClient()
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => queryClient.invalidateQueries({ queryKey: keyOf('updates') }), pollMs)
    return () => clearInterval(timer)
  }, [isRunning, queryClient])
}
