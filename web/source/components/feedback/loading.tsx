import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

/**
 * `Loading` shows that data is loading. It appears after a short delay, so that it does not flicker when the response
 * is fast.
 */
export function Loading({ label }: { label?: string }) {
  const text = useText(componentMessages)
  return (
    <div className="waiting" role="status">
      <span className="waiting-mark" aria-hidden="true" />
      {label ?? text.loading}
    </div>
  )
}
