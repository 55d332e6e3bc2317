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

/** Shows the state of a session, and for an ended session why it ended. */
export function SessionStateChip({ session: { state, ending } }: { session: RemoteSession }) {
  const names = useText(stateNames)
  const endings = useText(endingNames)
  return <StatusChip tone={tones[state]}>{ending === undefined ? names[state] : endings[ending]}</StatusChip>
}

/** Returns a function that returns the name of the service of a session, with its port. */
export function useServiceName(): (session: Pick<RemoteSession, 'service' | 'port'>) => string {
  const names = useText(serviceNames)
  return ({ service, port }) => `${names[service]}, ${port}`
}
