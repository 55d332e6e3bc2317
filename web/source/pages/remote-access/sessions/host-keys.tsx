import type { HostKey, RemoteSession } from '@millwright/api/remote-access.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useRights } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { remoteMessages } from '../messages.ts'
import { sessionEvents, useRefreshSessions, useSessionRights } from '../remote-session.ts'

/** `HostKeys` shows the stored keys of the device on the port of a session. */
export function HostKeys({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const query = useOperationQuery()
  const { canReview } = useSessionRights(session)
  const canRead = useRights().has('remote_access_connect', session.accessGroup)
  const input = { query: { assetId: session.assetId, limit: 100 } }
  const keys = useQuery({ ...query(['remote-access', 'listHostKeys'], input, sessionEvents), enabled: canRead })
  if (!canRead || session.service === 'tcp' || session.service === 'http') return null
  return (
    <Card title={text.hostKeys} size="wide">
      <p className="card-lead">{text.hostKeysHint}</p>
      <QueryState query={keys}>
        {({ data }) => {
          const shown = data.filter(({ port }) => port === session.port)
          if (shown.length === 0) return <p className="quiet">{text.noHostKeys}</p>
          return <KeyTable keys={shown} canDelete={canReview} />
        }}
      </QueryState>
    </Card>
  )
}

function KeyTable({ keys, canDelete }: { keys: readonly HostKey[]; canDelete: boolean }) {
  const text = useText(remoteMessages)
  return (
    <PlainTable
      columns={[text.algorithm, text.fingerprint, text.firstSeen, text.lastSeen, ...(canDelete ? [text.actions] : [])]}
      isWide
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <td>{key.algorithm}</td>
          <td>
            <code>{key.fingerprint}</code>
          </td>
          <td>
            <Time at={key.firstSeenTimestamp} />
          </td>
          <td>
            <Time at={key.lastSeenTimestamp} />
          </td>
          {canDelete && (
            <td>
              <DeleteKey hostKey={key} />
            </td>
          )}
        </tr>
      ))}
    </PlainTable>
  )
}

function DeleteKey({ hostKey: { id } }: { hostKey: HostKey }) {
  const text = useText(remoteMessages)
  const api = useApi()
  const refresh = useRefreshSessions()
  const remove = async () => {
    await api['remote-access'].deleteHostKey({ params: { id } })
    showSuccess(text.keyDeleted)
    await refresh()
  }
  return (
    <ConfirmButton action={text.deleteKey} title={text.deleteKeyTitle} onConfirm={remove} isLink>
      {text.deleteKeyText}
    </ConfirmButton>
  )
}
