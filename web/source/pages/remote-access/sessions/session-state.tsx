import type { RemoteSession, SessionState } from '@millwright/api/remote-access.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { endingNames, serviceNames, stateNames } from '../messages.ts'

const tones: Readonly<Record<SessionState, Tone>> = {
  'pending-approval': 'warning',
  connecting: 'info',
  open: 'good',
  ended: 'neutral',
}

export function SessionStateChip({ state }: { state: SessionState }) {
  const names = useText(stateNames)
  return <StatusChip tone={tones[state]}>{names[state]}</StatusChip>
}

/** Shows why a session ended. */
export function SessionEndingText({ session: { ending } }: { session: RemoteSession }) {
  const names = useText(endingNames)
  return ending === undefined ? null : names[ending]
}

/** Returns a function that returns the name of the service of a session, with its port. */
export function useServiceName(): (session: Pick<RemoteSession, 'service' | 'port'>) => string {
  const names = useText(serviceNames)
  return ({ service, port }) => `${names[service]}, ${port}`
}
