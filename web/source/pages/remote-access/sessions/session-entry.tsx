import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { endingNames, remoteMessages } from '../messages.ts'
import { useSessionRights } from '../remote-session.ts'

/**
 * `SessionEntry` shows how to continue with a session: the button that opens the terminal or the web page, what the
 * session waits for, or why it ended.
 */
export function SessionEntry({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const endings = useText(endingNames)
  const { isOwn } = useSessionRights(session)
  const { state, ending, endingDetail, service } = session
  if (state === 'ended') {
    return (
      <p role="status">
        {text.sessionEnded}
        {ending !== undefined && `: ${endings[ending]}`}
        {endingDetail !== undefined && (
          <>
            . <span lang="en">{endingDetail}</span>
          </>
        )}
      </p>
    )
  }
  if (state !== 'open') {
    return (
      <div className="remote-wait" role="status">
        <span className="waiting-mark" aria-hidden="true" />
        {state === 'pending-approval' ? text.waitsForApproval : text.waitsForGateway}
      </div>
    )
  }
  if (!isOwn) return <p role="status">{text.ofOtherUser}</p>
  return (
    <div className="form">
      <p role="status">{text.isOpen}</p>
      {service === 'ssh' && <TerminalButton session={session} />}
      {(service === 'http' || service === 'https') && <WebButton session={session} />}
      {service === 'tcp' && <p>{text.usesCommandLine}</p>}
    </div>
  )
}

function TerminalButton({ session: { id } }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const navigate = useNavigate()
  return (
    <div>
      <IxButton onClick={() => navigate({ to: `/remote/sessions/${id}/terminal` })}>{text.openTerminal}</IxButton>
    </div>
  )
}

/** `WebButton` opens the web page of the device in a new tab, on the own host name of the session. */
function WebButton({ session: { id, url } }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const api = useApi()
  const [failure, setFailure] = useState<unknown>()
  if (url === undefined) return null
  const enter = async () => {
    setFailure(undefined)
    try {
      const { data } = await api['remote-access'].createTicket({ params: { id } })
      open(`${url}.millwright/enter?ticket=${encodeURIComponent(data.ticket)}`, '_blank', 'noopener,noreferrer')
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <div>
      <IxButton onClick={enter} title={text.opensNewTab}>
        {text.openPage}
      </IxButton>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </div>
  )
}
