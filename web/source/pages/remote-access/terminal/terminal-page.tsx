import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { usePreference } from '../../../app/preferences/preference.ts'
import { useCopy } from '../../../components/actions/clipboard.ts'
import { announce } from '../../../components/feedback/announcement.ts'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { FilesPanel } from '../files/files-panel.tsx'
import { remoteMessages } from '../messages.ts'
import { useNow, useSession, useSessionRights } from '../remote-session.ts'
import { SessionActions } from '../sessions/session-actions.tsx'
import { SessionEntry } from '../sessions/session-entry.tsx'
import { clockText, timeLeftMsOf } from '../sessions/session-times.ts'
import { useOpenStream } from '../streams/session-stream.ts'
import { terminalMessages } from './messages.ts'
import { SignInForm } from './sign-in-form.tsx'
import { TerminalConnection } from './terminal-connection.ts'
import { type ScreenHandle, TerminalScreen } from './terminal-screen.tsx'
import { initialState } from './terminal-state.ts'
import { TerminalStatusBar } from './terminal-status-bar.tsx'
import '../remote-access.css'
import './terminal.css'

/** `TerminalPage` is the terminal of a session, with the files of the device next to it. */
export function TerminalPage() {
  const text = useText(terminalMessages)
  const remote = useText(remoteMessages)
  const { id = '' } = useParams({ strict: false })
  const session = useSession(id)
  const data = session.data?.data
  const title = data === undefined ? text.terminal : text.terminalOf(data.assetName)
  usePageTitle(title)
  return (
    <div className="terminal-page">
      <PageHeader
        title={title}
        above={
          <>
            <ParentLink to="/remote">{remote.title}</ParentLink> ·{' '}
            <ParentLink to={`/remote/sessions/${id}`}>{remote.session}</ParentLink>
          </>
        }
        actions={
          data !== undefined && (
            <>
              <TimeLeft session={data} />
              <SessionActions session={data} />
            </>
          )
        }
      />
      <QueryState query={session}>{(answer) => <TerminalOfSession key={id} session={answer.data} />}</QueryState>
    </div>
  )
}

function TimeLeft({ session }: { session: RemoteSession }) {
  const text = useText(terminalMessages)
  const left = timeLeftMsOf(session, useNow(session.state !== 'ended'))
  return left === undefined ? null : <span className="terminal-time">{text.timeLeft(clockText(left))}</span>
}

function TerminalOfSession({ session }: { session: RemoteSession }) {
  const text = useText(terminalMessages)
  const { isOwn } = useSessionRights(session)
  // The terminal stays visible when its session ends, so that the user can still read and copy its output.
  const [wasOpen, setWasOpen] = useState(false)
  const isUsable = isOwn && session.service === 'ssh'
  if (isUsable && session.state === 'open' && !wasOpen) setWasOpen(true)
  if (isUsable && (wasOpen || session.state === 'open')) return <LiveTerminal session={session} />
  const title = !isOwn
    ? text.notOwn
    : session.service !== 'ssh'
      ? text.notTerminal
      : session.state === 'ended'
        ? text.ended
        : text.notOpen
  return (
    <EmptyState icon={iconRemoteAccess} title={title}>
      {isUsable && <SessionEntry session={session} />}
      <Link to={`/remote/sessions/${session.id}`}>{text.toSession}</Link>
    </EmptyState>
  )
}

function LiveTerminal({ session }: { session: RemoteSession }) {
  const text = useText(terminalMessages)
  const [isScreenReaderMode, setScreenReaderMode] = usePreference('remote-access.screen-reader', false)
  const [areFilesShown, setFilesShown] = useState(false)
  const screen = useRef<ScreenHandle>(null)
  const tools = useRef<HTMLDivElement>(null)
  const copyText = useCopy()
  const { connection, state } = useTerminalConnection(session, screen)
  const { status } = state
  const copy = async () => {
    const selected = screen.current?.selection()
    if (!selected) return announce(text.nothingToCopy)
    if (await copyText(selected)) showSuccess(text.copied)
  }
  const paste = async () => {
    try {
      screen.current?.paste(await navigator.clipboard.readText())
      screen.current?.focus()
    } catch {
      showError(text.pasteDenied)
    }
  }
  const isOpen = status.kind === 'open'
  return (
    <div className="terminal-frame">
      <div className="terminal-tools" role="toolbar" aria-label={text.tools} ref={tools}>
        <IxButton variant="secondary" onClick={copy}>
          {text.copy}
        </IxButton>
        <IxButton variant="secondary" disabled={!isOpen} onClick={paste}>
          {text.paste}
        </IxButton>
        <button
          type="button"
          className="menu-button"
          aria-pressed={areFilesShown}
          onClick={() => setFilesShown(!areFilesShown)}
        >
          {text.files}
        </button>
        <button
          type="button"
          className="menu-button"
          aria-pressed={isScreenReaderMode}
          onClick={() => setScreenReaderMode(!isScreenReaderMode)}
        >
          {text.screenReader}
        </button>
        <span className="field-hint">{text.leaveHint}</span>
      </div>
      <TerminalStatusBar state={state} session={session} onReconnect={() => connection?.reconnect()} />
      <div className="terminal-body" data-files={areFilesShown}>
        <div className="terminal-place">
          <TerminalScreen
            ref={screen}
            label={text.screen}
            isScreenReaderMode={isScreenReaderMode === true}
            onSize={(size) => connection?.resize(size)}
            onText={(typed) => connection?.send(typed)}
            onBinary={(typed) => connection?.sendBinary(typed)}
            onCopy={copy}
            onLeave={() => tools.current?.querySelector<HTMLElement>('.menu-button')?.focus()}
          />
          {status.kind === 'sign-in' && connection !== undefined && (
            <SignInForm
              key={JSON.stringify(status.prompt)}
              prompt={status.prompt}
              onAnswer={(answers) => connection.answer(answers)}
              onCancel={() => connection.cancelSignIn()}
            />
          )}
        </div>
        {areFilesShown && <FilesPanel sessionId={session.id} isSignedIn={isOpen} />}
      </div>
    </div>
  )
}

/** Connects the screen with the shell of the device while the page is shown. */
function useTerminalConnection(session: RemoteSession, screen: React.RefObject<ScreenHandle | null>) {
  const text = useText(terminalMessages)
  const openStream = useOpenStream(session.id)
  const [connection, setConnection] = useState<TerminalConnection>()
  const note = useEffectEvent((message: string) => {
    screen.current?.write(`\r\n\x1b[7m ${message} \x1b[0m\r\n`)
  })
  const onOutput = useEffectEvent((bytes: Uint8Array) => screen.current?.write(bytes) ?? true)
  const noteNewShell = useEffectEvent(() => note(text.newShell))
  const noteSkipped = useEffectEvent(() => note(text.outputSkipped))
  useEffect(() => {
    let isSkipping = false
    const created = new TerminalConnection({
      openStream,
      onOutput: (bytes) => {
        const wasSkipping = isSkipping
        isSkipping = !onOutput(bytes)
        if (wasSkipping && !isSkipping) noteSkipped()
      },
      onNewShell: () => noteNewShell(),
    })
    setConnection(created)
    created.connect(screen.current?.size())
    return () => created.stop()
  }, [openStream, screen])
  const state = useSyncExternalStore(
    (onChange) => connection?.watch(onChange) ?? (() => {}),
    () => connection?.state ?? initialState,
  )
  const kind = state.status.kind
  const focusScreen = useEffectEvent(() => screen.current?.focus())
  useEffect(() => {
    if (kind === 'open') focusScreen()
  }, [kind])
  useEffect(() => {
    if (session.state === 'ended') connection?.end()
  }, [session.state, connection])
  return { connection, state }
}
