import type { Delivery } from '@millwright/api/event-subscriptions.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { logMessages } from './messages.ts'

const tones: Readonly<Record<Delivery['state'], Tone>> = {
  succeeded: 'good',
  waiting: 'info',
  failed: 'warning',
  skipped: 'neutral',
}

export function DeliveryState({ delivery: { state, isDeadLetter } }: { delivery: Delivery }) {
  const text = useText(logMessages)
  return isDeadLetter ? (
    <StatusChip tone="bad">{text.deadLetter}</StatusChip>
  ) : (
    <StatusChip tone={tones[state]}>{text[state]}</StatusChip>
  )
}
