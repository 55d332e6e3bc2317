import type { Session } from '@millwright/api/sign-in-security.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePagedList } from '../../app/api/paged-list.ts'
import { keyOf } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi, useAppContext } from '../../app/session/app-context.tsx'
import { ConfirmButton } from '../../components/dialogs/confirm-button.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { showError, showSuccess } from '../../components/feedback/toast.ts'
import { Card } from '../../components/page/card.tsx'
import { deviceName } from '../access/sessions/device-name.ts'
import { sessionMessages } from '../access/sessions/messages.ts'
import { SessionTable } from '../access/sessions/session-table.tsx'
import { accountMessages } from './messages.ts'

/** `Sessions` lists and ends the sessions of the signed-in user. */
export function Sessions() {
  const text = useText(sessionMessages)
  const { more } = useText(accountMessages)
  const { api, signOut } = useAppContext()
  const queryClient = useQueryClient()
  const [ended, setEnded] = useState<Session>()
  const sessions = usePagedList(['identity', 'listSessions'], {}, { live: ['identity'] })
  const refresh = () => queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listSessions') })
  const endOthers = async () => {
    await api.identity.deleteSessions({ query: { keepCurrent: true } })
    showSuccess(text.othersEnded)
    await refresh()
  }
  const endAll = async () => {
    await api.identity.deleteSessions({ query: { keepCurrent: true } })
    await signOut()
  }
  if (sessions.error !== null) return <ProblemMessage failure={sessions.error} onRetry={sessions.retry} />
  if (sessions.isLoading) return <Loading />
  return (
    <Card
      title={text.sessions}
      actions={
        <>
          {sessions.total > 1 && (
            <ConfirmButton action={text.endOthers} title={text.endOthersTitle} onConfirm={endOthers}>
              {text.endOthersText}
            </ConfirmButton>
          )}
          <ConfirmButton action={text.endAll} title={text.endAllTitle} onConfirm={endAll}>
            {text.endAllText}
          </ConfirmButton>
        </>
      }
    >
      <p className="quiet card-lead">{text.intro}</p>
      <SessionTable
        sessions={sessions.rows}
        actions={(session) => <SessionActions session={session} onEnd={() => setEnded(session)} />}
      />
      {sessions.rows.length < sessions.total && (
        <IxButton variant="secondary" onClick={sessions.next}>
          {more}
        </IxButton>
      )}
      {ended !== undefined && <EndDialog session={ended} onClose={() => setEnded(undefined)} />}
    </Card>
  )
}

function SessionActions({ session, onEnd }: { session: Session; onEnd: () => void }) {
  const text = useText(sessionMessages)
  const confirm = useConfirmSession()
  return (
    <>
      {session.isUnfamiliar && (
        <button
          type="button"
          className="link-button"
          aria-label={text.confirmOf(deviceName(session, text))}
          onClick={() => confirm(session.id)}
        >
          {text.confirm}
        </button>
      )}{' '}
      {!session.isCurrent && (
        <button
          type="button"
          className="link-button"
          aria-label={text.endOf(deviceName(session, text))}
          onClick={onEnd}
        >
          {text.end}
        </button>
      )}
    </>
  )
}

/** Returns a function that confirms a sign-in with a new device. */
function useConfirmSession(): (id: string) => Promise<void> {
  const text = useText(sessionMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  return async (id) => {
    try {
      await api.identity.confirmSession({ params: { id } })
      showSuccess(text.confirmed)
    } catch (error) {
      showError((error as Error).message)
    }
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listSessions') })
  }
}

/** `EndDialog` ends a session after a confirmation. */
function EndDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const text = useText(sessionMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const end = async () => {
    await api.identity.deleteSession({ params: { id: session.id } })
    showSuccess(text.ended)
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listSessions') })
  }
  return (
    <ConfirmDialog title={text.endTitle} action={text.end} isDangerous onConfirm={end} onClose={onClose}>
      <p>{text.endText(deviceName(session, text))}</p>
    </ConfirmDialog>
  )
}
