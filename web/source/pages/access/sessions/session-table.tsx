import type { Session } from '@millwright/api/sign-in-security.ts'
import type { ReactNode } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
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
    <PlainTable
      className="stacked-table"
      columns={[
        text.device,
        text.address,
        text.method,
        text.created,
        text.lastUse,
        ...(actions === undefined ? [] : [{ unseen: text.actions }]),
      ]}
    >
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
    </PlainTable>
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
