import { filterErrorStart } from '@millwright/api/event-subscriptions.ts'
import type { Subscription } from './subscription.ts'

/** What a user does next about a subscription that does not send all its events. `none`: nothing needs to be done. */
export type NextStep = 'replay' | 'activate' | 'takeOver' | 'resume' | 'fixFilter' | 'checkReceiver' | 'retry' | 'none'

type SubscriptionStatus = Pick<Subscription, 'state' | 'reason' | 'circuit' | 'lastError' | 'waiting' | 'deadLetters'>

/** Returns the most important next step for a subscription. */
export function nextStepOf({ state, reason, circuit, lastError, waiting, deadLetters }: SubscriptionStatus): NextStep {
  if (reason === 'events_gone') return 'replay'
  if (reason === 'receiver_gone') return 'activate'
  if (reason === 'owner_disabled') return 'takeOver'
  if (state !== 'active') return state === 'paused' ? 'resume' : 'activate'
  if (circuit === 'open') return lastError?.startsWith(filterErrorStart) ? 'fixFilter' : 'checkReceiver'
  if (waiting > 0) return 'checkReceiver'
  return deadLetters > 0 ? 'retry' : 'none'
}
