import type { Session } from '@millwright/api/sign-in-security.ts'
import { iconInfo, iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { deviceName } from '../access/sessions/device-name.ts'
import { sessionMessages } from '../access/sessions/messages.ts'
import { EndDialog, useConfirmSession } from '../account/sessions.tsx'
import { startMessages } from './messages.ts'

/** The number of sessions that the notice checks. The last used sessions are the first in the list. */
const checkedSessions = 20

/** `SignInNotice` shows the sign-ins with a new device until the user confirms or ends them. */
export function SignInNotice() {
  const query = useOperationQuery()
  const input = { query: { limit: checkedSessions } }
  const sessions = useQuery(query(['identity', 'listSessions'], input, { live: ['identity'] }))
  const unfamiliar = sessions.data?.data.filter(({ isUnfamiliar }) => isUnfamiliar) ?? []
  return unfamiliar.map((session) => <Notice key={session.id} session={session} />)
}

function Notice({ session }: { session: Session }) {
  const text = useText(startMessages)
  const device = deviceName(session, useText(sessionMessages))
  const formats = useFormats()
  const confirm = useConfirmSession()
  const [isEnding, setEnding] = useState(false)
  const { address, createdTimestamp, isCurrent } = session
  return (
    <section
      className="notice start-sign-in"
      {...(!isCurrent && { 'data-tone': 'warning' })}
      aria-label={text.newSignIn}
    >
      <Icon name={isCurrent ? iconInfo : iconWarning} />
      <div>
        <p className="notice-title">{isCurrent ? text.newSignInHere : text.newSignIn}</p>
        <p>{text.newSignInText(device, address ?? text.unknownAddress, formats.dateTime(createdTimestamp))}</p>
        <div className="notice-actions">
          <IxButton variant="secondary" onClick={() => confirm(session.id)}>
            {text.thatWasMe}
          </IxButton>
          {!isCurrent && (
            <IxButton variant="secondary" onClick={() => setEnding(true)}>
              {text.endSession}
            </IxButton>
          )}
          <Link to="/account" search={{ view: 'sessions' } as never}>
            {text.allSessions}
          </Link>
        </div>
      </div>
      {isEnding && <EndDialog session={session} onClose={() => setEnding(false)} />}
    </section>
  )
}
