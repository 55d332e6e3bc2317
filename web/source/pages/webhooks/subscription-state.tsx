import { useText } from '../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { webhookMessages } from './messages.ts'
import { type ShownState, type Subscription, shownState } from './subscription.ts'

const tones: Readonly<Record<ShownState, Tone>> = {
  active: 'good',
  circuitOpen: 'warning',
  failing: 'warning',
  neverWorked: 'warning',
  paused: 'neutral',
  disabled: 'bad',
}

export function SubscriptionState({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const state = shownState(subscription)
  return <StatusChip tone={tones[state]}>{text[state]}</StatusChip>
}
