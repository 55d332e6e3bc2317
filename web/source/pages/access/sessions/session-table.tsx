import type { Session } from '@millwright/api/sign-in-security.ts'
import type { ReactNode } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { deviceName } from './device-name.ts'
import { sessionMessages } from './messages.ts'

type SessionTableProps = {
  sessions: readonly Session[]
  /** The buttons of a session. Without them, the table has no column for actions. */
  actions?: (session: Session) => ReactNode
}

/** `SessionTable` shows the sessions of one user. */
export function SessionTable({ sessions, actions }: SessionTableProps) {
  const text = useText(sessionMessages)
  if (sessions.length === 0) return <p className="quiet">{text.noSessions}</p>
  return (
    <table className="plain-table session-table">
      <thead>
        <tr>
          <th scope="col">{text.device}</th>
          <th scope="col">{text.address}</th>
          <th scope="col">{text.method}</th>
          <th scope="col">{text.created}</th>
          <th scope="col">{text.lastUse}</th>
          {actions !== undefined && (
            <th scope="col">
              <span className="unseen">{text.actions}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {sessions.map((session) => (
          <tr key={session.id}>
            <td>
              <Device session={session} />
            </td>
            <td data-label={text.address}>{session.address ?? <span className="quiet">{text.unknownAddress}</span>}</td>
            <td data-label={text.method}>{methodsOf(session, text)}</td>
            <td data-label={text.created}>
              <Time at={session.createdTimestamp} />
            </td>
            <td data-label={text.lastUse}>
              <Time at={session.lastUseTimestamp} isRelative />
            </td>
            {actions !== undefined && <td>{actions(session)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Device({ session }: { session: Session }) {
  const { client, isCurrent, isUnfamiliar } = session
  const text = useText(sessionMessages)
  return (
    <>
      {deviceName(session, text)}
      <span className="where">
        {client === 'console' ? text.console : client === 'cli' ? text.commandLine : client}
      </span>
      {(isCurrent || isUnfamiliar) && (
        <span className="chips">
          {isCurrent && <StatusChip tone="info">{text.current}</StatusChip>}
          {isUnfamiliar && <StatusChip tone="warning">{text.unfamiliar}</StatusChip>}
        </span>
      )}
    </>
  )
}

type Text = (typeof sessionMessages)['en']

/** Returns the methods of the sign-in: the identity provider, or the password and the second factor. */
function methodsOf({ methods, provider }: Session, text: Text): string {
  if (provider !== null) return provider
  const names: Readonly<Record<string, string>> = {
    pwd: text.pwd,
    otp: text.otp,
    hwk: text.hwk,
  }
  return methods.flatMap((method) => names[method] ?? []).join(', ')
}
