import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { useLiveState } from './live-queries.ts'

/** `LiveIndicator` shows whether the stream of live events is connected. */
export function LiveIndicator() {
  const text = useText(appMessages)
  const state = useLiveState()
  const [label, hint] = {
    connecting: [text.connecting, text.connecting],
    live: [text.live, text.liveHint],
    interrupted: [text.interrupted, text.interruptedHint],
  }[state]
  return (
    <span className="live-indicator" data-state={state} role="status" title={hint}>
      <span className="live-dot" aria-hidden="true" />
      <span className="live-label">{label}</span>
    </span>
  )
}
