import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { iconSuccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PrincipalLink } from '../../../components/values/principal-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { remoteMessages } from '../messages.ts'
import { sessionEvents, useRefreshSessions, useSessionRights } from '../remote-session.ts'
import { useServiceName } from '../sessions/session-state.tsx'
import '../remote-access.css'

/** `Approvals` lists the requests for remote access that the user can approve or deny now. */
export function Approvals() {
  const text = useText(remoteMessages)
  const query = useOperationQuery()
  const serviceName = useServiceName()
  const input = { query: { awaitsMe: true, limit: 100 } }
  const requests = useQuery(query(['remote-access', 'listSessions'], input, sessionEvents))
  return (
    <QueryState query={requests}>
      {({ data }) =>
        data.length === 0 ? (
          <EmptyState icon={iconSuccess} title={text.noApprovals}>
            <p>{text.noApprovalsHint}</p>
          </EmptyState>
        ) : (
          <ul className="remote-requests">
            {data.map((session) => (
              <li key={session.id} className="remote-request">
                <p>
                  <strong>
                    <PrincipalLink id={session.requestedBy.id} name={session.requestedBy.name} />
                  </strong>
                  : {serviceName(session)} · <Link to={`/assets/${session.assetId}`}>{session.assetName}</Link>
                </p>
                <p className={session.reason === undefined ? 'quiet' : undefined}>{session.reason ?? text.noReason}</p>
                <p className="quiet">
                  <Time at={session.createdTimestamp} isRelative />, {text.until}{' '}
                  <Time at={session.expiresTimestamp} isTimeOfDay /> ·{' '}
                  <Link to={`/remote/sessions/${session.id}`}>{text.session}</Link>
                </p>
                <Decision session={session} />
              </li>
            ))}
          </ul>
        )
      }
    </QueryState>
  )
}

/** `Decision` approves or denies a request of another user. It is empty for users who cannot decide. */
export function Decision({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const api = useApi()
  const refresh = useRefreshSessions()
  const { isOwn, canReview } = useSessionRights(session)
  const [isDenying, setDenying] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  if (session.state !== 'pending-approval' || isOwn || !canReview) return null
  const approve = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await api['remote-access'].approveSession({ params: { id: session.id } })
      showSuccess(text.approved)
      await refresh()
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <div className="form-actions">
        <IxButton loading={isBusy} onClick={approve}>
          {text.approve}
        </IxButton>
        <IxButton variant="secondary" disabled={isBusy} onClick={() => setDenying(true)}>
          {text.deny}
        </IxButton>
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {isDenying && <DenyDialog session={session} onClose={() => setDenying(false)} />}
    </>
  )
}

function DenyDialog({ session: { id }, onClose }: { session: RemoteSession; onClose: () => void }) {
  const text = useText(remoteMessages)
  const api = useApi()
  const refresh = useRefreshSessions()
  const [reason, setReason] = useState('')
  const deny = async () => {
    const data = reason.trim() === '' ? {} : { reason: reason.trim() }
    await api['remote-access'].denySession({ params: { id }, body: { data } })
    showSuccess(text.denied)
    await refresh()
  }
  return (
    <ConfirmDialog title={text.denyTitle} action={text.deny} isDangerous onConfirm={deny} onClose={onClose}>
      <TextField label={text.denyReason} value={reason} onChange={setReason} maxLength={remoteAccessLimits.reason} />
    </ConfirmDialog>
  )
}
