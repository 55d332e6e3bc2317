import { useRouter } from '@tanstack/react-router'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { failureOf } from '../api/failure.ts'

/**
 * `PageError` replaces a page that could not be loaded or that threw an error. The frame around the page stays usable.
 */
export function PageError({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter()
  return (
    <ProblemMessage
      failure={failureOf(error)}
      onRetry={() => {
        reset()
        router.invalidate()
      }}
    />
  )
}
