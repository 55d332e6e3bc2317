import { type Campaign, type DriftProduct, updateLimits } from '@millwright/api/updates.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { useTotalQuery } from '../start/plant-queries.ts'
import { targetsFilter } from './product-filter.ts'
import { canPlanUpdate, type UpdateStep, updateStepsOf } from './update-step.ts'

/** The prefix of the events that change artefacts, campaigns and settings of the update hub. */
export const updateEvents = { live: ['updates'] }

/**
 * How lists of versions with numbers of devices with a gateway are refreshed. The numbers are counted again by each request, so a scan
 * that changes assets each second does not refresh them.
 */
export const versionRefresh = { live: ['updates.artefact'], refetchIntervalMs: 30_000 }

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
 * Returns a function that returns the steps that the user can take to update a product. Open campaigns change the steps, so they are
 * loaded if the update of one of the products can be planned. Until then, such products have no steps.
 */
export function useUpdateSteps(products: readonly DriftProduct[]): (product: DriftProduct) => readonly UpdateStep[] {
  const query = useOperationQuery()
  const canRead = usePermission('glb_jobs_read')
  const canManage = usePermission('glb_update_manage')
  const canScan = usePermission('glb_discovery_run')
  const needsCampaigns = canRead && canManage && products.some(canPlanUpdate)
  // The limit of open campaigns of a tenant is the maximum length of a page.
  const input = { query: { open: true, limit: updateLimits.openCampaigns } }
  const campaigns = useQuery({
    ...query(['updates', 'listCampaigns'], input, { live: ['updates.campaign'] }),
    enabled: needsCampaigns,
  })
  const open = campaigns.data?.data
  return (product) => {
    const isWaiting = needsCampaigns && open === undefined && canPlanUpdate(product)
    if (!canManage || product.outdated === 0 || isWaiting) return []
    return updateStepsOf(product, open ?? []).filter(({ kind }) => kind !== 'scan' || canScan)
  }
}

/** Returns how many assets of a product a campaign selects now, or undefined while the number is unknown. */
export function useTargetCount(product: DriftProduct, campaign: Campaign | undefined): number | undefined {
  const filter = campaign && targetsFilter(product, campaign)
  return useQuery({ ...useTotalQuery(filter), enabled: filter !== undefined }).data?.meta.totalElements
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
