import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf } from '../../app/api/queries.ts'
import { useApi } from '../../app/session/app-context.tsx'

/** Returns a function that runs a scan again and opens its page, and the problem if it was refused. */
export function useScanAgain() {
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [failure, setFailure] = useState<unknown>()
  const runAgain = async (jobId: string) => {
    try {
      setFailure(undefined)
      await api.discovery.runDiscovery({ params: { jobId } })
      await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
      await navigate({ to: `/discovery/scans/${jobId}` })
    } catch (error) {
      setFailure(error)
    }
  }
  return { runAgain, failure }
}
