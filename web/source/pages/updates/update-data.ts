import { type Campaign, type DriftProduct, updateLimits } from '@millwright/api/updates.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { canPlanUpdate } from './update-step.ts'

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

/**
 * Returns the campaigns that have not ended, newest first. They are loaded only for users who can plan updates, and if the update of
 * one of the products can be planned.
 */
export function useOpenCampaigns(products: readonly DriftProduct[]): readonly Campaign[] {
  const query = useOperationQuery()
  const canRead = usePermission('glb_jobs_read')
  const canManage = usePermission('glb_update_manage')
  // The limit of open campaigns of a tenant is the maximum length of a page.
  const input = { query: { open: true, limit: updateLimits.openCampaigns } }
  const campaigns = useQuery({
    ...query(['updates', 'listCampaigns'], input, { live: ['updates.campaign'] }),
    enabled: canRead && canManage && products.some(canPlanUpdate),
  })
  return campaigns.data?.data ?? []
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
