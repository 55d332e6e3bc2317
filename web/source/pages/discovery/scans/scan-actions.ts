import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { discoveryMessages } from '../messages.ts'

/** Returns functions that run a scan again, which opens its page, and cancel its run, and the problem if this was refused. */
export function useScanActions() {
  const text = useText(discoveryMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [failure, setFailure] = useState<unknown>()
  const withFailure = (act: (jobId: string) => Promise<unknown>) => async (jobId: string) => {
    try {
      setFailure(undefined)
      await act(jobId)
    } catch (error) {
      setFailure(error)
    }
  }
  const runAgain = withFailure(async (jobId) => {
    await api.discovery.runDiscovery({ params: { jobId } })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    await navigate({ to: `/discovery/scans/${jobId}` })
  })
  const cancel = withFailure(async (jobId) => {
    await api.discovery.cancelDiscovery({ params: { jobId } })
    showSuccess(text.canceling)
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
  })
  return { runAgain, cancel, failure }
}
