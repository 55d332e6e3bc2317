import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { Failure } from '../../../app/api/failure.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { endingNames } from '../messages.ts'
import type { HostKeyMessage } from '../streams/stream-message.ts'
import { terminalMessages } from './messages.ts'
import type { TerminalState } from './terminal-state.ts'

type TerminalStatusBarProps = { state: TerminalState; session: RemoteSession; onReconnect: () => void }

/** `TerminalStatusBar` shows the state of a terminal, the key of the device, and why a terminal is closed. */
export function TerminalStatusBar({ state, session, onReconnect }: TerminalStatusBarProps) {
  return (
    <div className="terminal-status">
      <div role="status">
        <StatusText state={state} session={session} />
      </div>
      <StatusAction state={state} session={session} onReconnect={onReconnect} />
      {state.hostKey !== undefined && <HostKeyNotice hostKey={state.hostKey} />}
    </div>
  )
}

function StatusText({ state: { status, user }, session }: Omit<TerminalStatusBarProps, 'onReconnect'>) {
  const text = useText(terminalMessages)
  const endings = useText(endingNames)
  switch (status.kind) {
    case 'connecting':
      return text.connecting
    case 'sign-in':
      return text.signIn
    case 'open':
      return user === undefined ? null : text.signedInAs(user)
    case 'reconnecting':
      return text.reconnecting
    case 'exited':
      return status.code === undefined ? text.exited : `${text.exited} ${text.exitCode(status.code)}`
    case 'failed':
      return status.error === undefined ? (
        `${text.failed}. ${text.unreachable}`
      ) : (
        <ProblemMessage failure={new Failure({ title: text.failed, ...status.error })} title={text.failed} />
      )
    case 'ended':
      return (
        <>
          {text.ended} {session.ending !== undefined && `${endings[session.ending]}. `}
          {session.endingDetail !== undefined && <span lang="en">{session.endingDetail}</span>}
        </>
      )
  }
}

function StatusAction({ state: { status }, session, onReconnect }: TerminalStatusBarProps) {
  const text = useText(terminalMessages)
  if (status.kind === 'ended') {
    return (
      <span>
        <Link to={`/remote/sessions/${session.id}`}>{text.toSession}</Link> ·{' '}
        <Link to={`/assets/${session.assetId}`}>{text.toAsset}</Link>
      </span>
    )
  }
  if (status.kind !== 'exited' && status.kind !== 'failed') return null
  const label = status.kind === 'exited' ? text.newTerminal : text.tryAgain
  return (
    <IxButton key={label} variant="secondary" onClick={onReconnect}>
      {label}
    </IxButton>
  )
}

function HostKeyNotice({ hostKey: { algorithm, fingerprint, isNew } }: { hostKey: HostKeyMessage }) {
  const text = useText(terminalMessages)
  return (
    <div className="terminal-key">
      <StatusChip tone={isNew ? 'warning' : 'good'}>{isNew ? text.newKey : text.knownKey}</StatusChip>
      <code>
        {algorithm} {fingerprint}
      </code>
      {isNew && <span>{text.newKeyText}</span>}
    </div>
  )
}
