import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

/** Something is on its way. It shows after a moment: what comes at once needs no announcement. */
export function Loading({ label }: { label?: string }) {
  const text = useText(componentMessages)
  return (
    <div className="waiting" role="status">
      <span className="waiting-mark" aria-hidden="true" />
      {label ?? text.loading}
    </div>
  )
}
