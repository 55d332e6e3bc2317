import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { useLiveState } from './live-queries.ts'

/** `LiveIndicator` shows whether the stream of live events is connected. */
export function LiveIndicator() {
  const text = useText(appMessages)
  const state = useLiveState()
  const label = state === 'interrupted' ? text.interrupted : text.live
  return (
    <span className="live-indicator" data-state={state} role="status" title={label}>
      <span className="live-dot" aria-hidden="true" />
      <span className={state === 'interrupted' ? '' : 'unseen'}>{label}</span>
    </span>
  )
}
