import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { ExitStatus } from '../output/error-report.ts'
import { sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import { EscapeFilter, escapeHelp } from './escape.ts'
import type { OpenRemoteSession } from './remote-session.ts'
import { timeLeftText } from './session-watch.ts'
import { openSignedIn } from './sign-in.ts'
import type { RemoteStream } from './stream.ts'

/** The size of the terminal on the device if standard output is not a terminal. */
const defaultSize = { columns: 80, rows: 24 } as const
/** The limits of the API for the size of a terminal. */
const maxSize = 1_000
/** The exit code for a shell that a signal ended. */
const signalExitCode = 255

/** Shows a terminal of the device in this terminal. The exit code of the shell becomes the exit code of the command. */
export async function runShell(session: Session, remote: OpenRemoteSession): Promise<void> {
  const { terminal } = session
  let exitCode = 0
  const onMessage = (message: StreamMessage) => {
    if (message.type !== 'exit') return
    exitCode =
      typeof message.code === 'number' ? message.code & 0xff : message.signal === undefined ? 0 : signalExitCode
    if (typeof message.signal === 'string')
      terminal.note(`The shell was ended by the signal ${sanitize(message.signal)}.`)
  }
  const query = { kind: 'terminal', ...sizeOf(session) } as const
  const stream = await openSignedIn(session, remote, { query, onMessage })
  noteStart(session, remote)
  const isEnded = await carryTerminal(session, remote, stream)
  if (!isEnded && exitCode !== 0) throw new ExitStatus(exitCode)
}

function noteStart({ terminal }: Session, { details }: OpenRemoteSession): void {
  if (terminal.screen === undefined) return
  const left = timeLeftText(details)
  const recorded = details.recording === 'none' ? '' : ' This session is recorded.'
  terminal.note(`Session ${details.id} ends in ${left}. To end it now, type ~. at the start of a line.${recorded}`)
}

function sizeOf({ terminal }: Session): { columns: number; rows: number } {
  const { columns, rows } = terminal.screen?.size() ?? defaultSize
  const limited = (value: number, fallback: number) => Math.min(maxSize, Math.max(1, value || fallback))
  return { columns: limited(columns, defaultSize.columns), rows: limited(rows, defaultSize.rows) }
}

/** Carries keys, output and sizes until the shell ends. Returns true if the user ended the session with `~.`. */
async function carryTerminal(session: Session, remote: OpenRemoteSession, stream: RemoteStream): Promise<boolean> {
  const { terminal } = session
  const { screen } = terminal
  const { input, output } = terminal.openBytes()
  const userEnd = new AbortController()
  const keys = screen === undefined ? undefined : new EscapeFilter()
  const send = (chunk: Buffer) => {
    const { bytes, actions } = keys?.filter(chunk) ?? { bytes: chunk, actions: [] }
    if (actions.includes('help')) terminal.note(`\n${escapeHelp}`)
    if (bytes.length > 0 && !stream.write(bytes)) {
      input.pause()
      stream.once('drain', () => input.resume())
    }
    if (actions.includes('end')) userEnd.abort()
  }
  const endInput = () => stream.end()
  const stopResizing = screen?.onResize(() => stream.sendMessage({ type: 'size', ...sizeOf(session) }))
  screen?.setRawMode(true)
  // A prompt pauses the input, and a listener alone does not resume it.
  input.on('data', send).once('end', endInput).resume()
  try {
    await pipeline(stream, output, { end: false, signal: AbortSignal.any([remote.signal, userEnd.signal]) })
    if (!stream.closed) await once(stream, 'close')
    return false
  } catch (error) {
    // The cursor can be in the middle of a line.
    if (screen !== undefined) terminal.note('')
    if (userEnd.signal.aborted) return true
    throw error
  } finally {
    input.off('data', send).off('end', endInput).pause()
    stopResizing?.()
    screen?.setRawMode(false)
    stream.destroy()
  }
}
