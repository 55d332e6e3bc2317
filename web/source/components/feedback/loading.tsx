import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

/** `Loading` appears after a short delay, so that fast responses do not flicker. */
export function Loading({ label }: { label?: string }) {
  const text = useText(componentMessages)
  return (
    <div className="waiting" role="status">
      <span className="waiting-mark" aria-hidden="true" />
      {label ?? text.loading}
    </div>
  )
}
