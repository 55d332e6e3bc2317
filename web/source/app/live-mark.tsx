import { useText } from './language-context.tsx'
import { useLiveState } from './live.ts'
import { appMessages } from './messages.ts'

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
