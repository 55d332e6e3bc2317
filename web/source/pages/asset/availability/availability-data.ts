import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'

/** The number of days for which the availability of an asset is loaded. */
export const availabilityDays = 30

/** Loads the availability of an asset in the last days, and the latest result of each monitoring. */
export function useAvailability(assetId: string) {
  const query = useOperationQuery()
  const input = { params: { id: assetId }, query: { days: availabilityDays } }
  return useQuery(query(['monitoring', 'readAvailability'], input, { live: ['monitoring', 'inventory.asset'] }))
}
