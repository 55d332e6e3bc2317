import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { useOperationQuery } from '../api/queries.ts'
import { useFormats, useText } from '../language/language-context.tsx'
import { stepUpMessages } from '../step-up/messages.ts'
import { useAppContext } from './app-context.tsx'
import { idleWarningMs } from './idle-monitor.ts'

/** How often the idle limit is read, because an administrator can change it. */
const policyIntervalMs = 300_000

/** `IdleSignOut` applies the idle limit of the sign-in policy, and warns the user before the sign-out. */
export function IdleSignOut() {
  const { idle } = useAppContext()
  const query = useOperationQuery()
  const policy = useQuery({
    ...query(['identity', 'readSignInPolicy'], {}, { live: ['identity'] }),
    refetchInterval: policyIntervalMs,
  })
  const limitMinutes = policy.data?.data.idleMinutes
  useEffect(() => {
    if (limitMinutes !== undefined) idle.setLimit(limitMinutes)
  }, [idle, limitMinutes])
  const state = useSyncExternalStore(
    (onChange) => idle.watch(onChange),
    () => idle.state,
  )
  return state === 'warning' && <IdleWarning />
}

/** `IdleWarning` counts down to the sign-out, until the user stays signed in or uses another window of the console. */
function IdleWarning() {
  const text = useText(stepUpMessages)
  const { idle } = useAppContext()
  const formats = useFormats()
  const [endsAt] = useState(() => Date.now() + idleWarningMs)
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const stay = () => idle.recordInput()
  const seconds = Math.max(0, Math.ceil((endsAt - now) / 1_000))
  return (
    <Dialog title={text.idleTitle} onClose={stay} actions={<IxButton onClick={stay}>{text.stay}</IxButton>}>
      <p>{text.idleLead(formats.number(seconds))}</p>
    </Dialog>
  )
}
