import { useRouter } from '@tanstack/react-router'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { failureOf } from '../api/failure.ts'

/** A page that could not be loaded or threw: the rest of the console stays. */
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
