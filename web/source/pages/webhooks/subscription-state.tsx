import { useText } from '../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { webhookMessages } from './messages.ts'
import type { Subscription } from './subscription.ts'

type ShownState = Subscription['state'] | 'circuitOpen'

const tones: Readonly<Record<ShownState, Tone>> = {
  active: 'good',
  circuitOpen: 'warning',
  paused: 'neutral',
  disabled: 'bad',
}

/** Returns the state for the user: an active subscription with an open circuit has its own state. */
export function shownState({ state, circuit }: Pick<Subscription, 'state' | 'circuit'>): ShownState {
  return state === 'active' && circuit === 'open' ? 'circuitOpen' : state
}

export function SubscriptionState({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const state = shownState(subscription)
  return <StatusChip tone={tones[state]}>{text[state]}</StatusChip>
}
