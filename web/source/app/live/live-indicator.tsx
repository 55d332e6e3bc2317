import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'
import { useLiveState } from './live-queries.ts'

/** Says when what is shown does not follow what happens. */
export function LiveMark() {
  const text = useText(appMessages)
  const state = useLiveState()
  const label = state === 'interrupted' ? text.interrupted : text.live
  return (
    <span className="live-mark" data-state={state} role="status" title={label}>
      <span className="live-dot" aria-hidden="true" />
      <span className={state === 'interrupted' ? '' : 'unseen'}>{label}</span>
    </span>
  )
}
