import { useQuery, useQueryClient } from '@tanstack/react-query'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { sessionMessages } from './messages.ts'
import { SessionTable } from './session-table.tsx'

/** `UserSessions` shows the last used sessions of a user, and ends all of them. */
export function UserSessions({ user: { id, name } }: { user: { id: string; name: string } }) {
  const text = useText(sessionMessages)
  const api = useApi()
  const query = useOperationQuery()
  const queryClient = useQueryClient()
  const input = { params: { id }, query: { limit: 100 } }
  const sessions = useQuery(query(['identity', 'listUserSessions'], input, { live: ['identity'] }))
  const end = async () => {
    await api.identity.deleteUserSessions({ params: { id } })
    showSuccess(text.userEnded)
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listUserSessions') })
  }
  const hasSessions = sessions.data !== undefined && sessions.data.data.length > 0
  return (
    <Card
      title={text.sessions}
      size="wide"
      actions={
        hasSessions && (
          <ConfirmButton action={text.endUser} title={text.endUserTitle(name)} onConfirm={end}>
            {text.endUserText}
          </ConfirmButton>
        )
      }
    >
      <QueryState query={sessions}>{({ data }) => <SessionTable sessions={data} />}</QueryState>
    </Card>
  )
}
