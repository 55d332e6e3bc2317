import { useText } from '../../../app/language/language-context.tsx'
import { Time } from '../../../components/values/time.tsx'
import type { Subscription } from '../subscription.ts'
import { logMessages } from './messages.ts'

type NextAttemptProps = { at: string | null; subscription: Pick<Subscription, 'state' | 'circuit'> }

/**
 * `NextAttempt` shows when an event is sent again. A subscription that is paused or disabled sends nothing. While the
 * circuit is open, an event whose time has passed waits for the first success of another event.
 */
export function NextAttempt({ at, subscription: { state, circuit } }: NextAttemptProps) {
  const text = useText(logMessages)
  if (at === null) return null
  if (state !== 'active') return text.afterResume
  if (Date.parse(at) > Date.now()) return <Time at={at} isRelative />
  return circuit === 'open' ? text.afterSuccess : text.now
}
