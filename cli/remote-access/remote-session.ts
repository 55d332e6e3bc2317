import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '@millwright/api/problem.ts'
import { type RemoteSession, remoteAccess, type SessionRequest } from '@millwright/api/remote-access.ts'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { formatBytes, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import { endError, SessionWatch, timeLeftText } from './session-watch.ts'
import { openStream, type RemoteStream, StreamError, type StreamQuery } from './stream.ts'

/**
 * This file runs a command with its own remote session: it requests the session, waits until the session is open, and ends
 * it when the command ends. The first Ctrl-C ends the session, a second one ends the command at once.
 */

/** `OpenRemoteSession` is an open session that a command uses. */
export type OpenRemoteSession = {
  readonly details: RemoteSession
  /** Aborted when the session ends or when the user interrupts the command. */
  signal: AbortSignal
  open(
    query: StreamQuery,
    options?: { onMessage?: (message: StreamMessage) => void; signal?: AbortSignal },
  ): Promise<RemoteStream>
  /** Reads the state of the session now, for example because a stream reported its end. */
  refresh(): Promise<void>
}

export type RunSessionOptions = {
  request: SessionRequest
  /** Prints nothing about the session except what the user must know or do. */
  isQuiet?: boolean
  /** Whether SIGTERM and SIGHUP end the command normally. OpenSSH ends its `ProxyCommand` with such a signal. */
  endsWithSignal?: boolean
}

const pollMs = 1_000
const endTimeoutMs = 10_000

export async function withRemoteSession(
  session: Session,
  { request, isQuiet = false, endsWithSignal = false }: RunSessionOptions,
  work: (remote: OpenRemoteSession) => Promise<void>,
): Promise<void> {
  const { terminal } = session
  const stop = new AbortController()
  const terminated = interrupted()
  const releases = [
    terminal.onInterrupt(() => {
      release()
      terminal.note('Ending the session. To exit at once, press Ctrl-C again.')
      stop.abort(interrupted())
    }),
    terminal.onTermination(() => stop.abort(terminated)),
  ]
  const release = () => {
    for (const one of releases) one()
  }
  try {
    const { data: created } = await session.api(remoteAccess).createSession({ body: { data: request } })
    await useSession(session, created, { stop, isQuiet, work })
  } catch (error) {
    if (!endsWithSignal || error !== terminated) throw error
  } finally {
    release()
  }
}

type UseOptions = { stop: AbortController; isQuiet: boolean; work: (remote: OpenRemoteSession) => Promise<void> }

async function useSession(
  session: Session,
  created: RemoteSession,
  { stop, isQuiet, work }: UseOptions,
): Promise<void> {
  const { signal } = stop
  let isEnded = false
  const closing = new AbortController()
  try {
    const details = created.state === 'open' ? created : await untilOpen(session, created, signal)
    const watch = new SessionWatch(session, {
      details,
      signal: AbortSignal.any([signal, closing.signal]),
      onEnd: (error) => {
        isEnded = true
        stop.abort(error)
      },
    })
    watch.run()
    const open: OpenRemoteSession['open'] = (query, options = {}) =>
      openStream(session, {
        sessionId: created.id,
        query,
        ...options,
        signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]),
      })
    await work({
      get details() {
        return watch.details
      },
      signal,
      open,
      refresh: () => watch.refresh(),
    }).catch(async (error: unknown) => {
      // The stream reports only that the session ended. The session contains the reason.
      if (error instanceof StreamError && error.code === 'session_ended') await watch.refresh()
      throw error
    })
    signal.throwIfAborted()
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    closing.abort()
    stop.abort(interrupted())
    if (!isEnded) await endSession(session, created, isQuiet)
  }
}

function interrupted(): CommandError {
  return new CommandError('Interrupted.', { exitCode: exitCodes.interrupted })
}

/** Waits until another person has approved the session and the gateway has accepted it. */
async function untilOpen(session: Session, created: RemoteSession, signal: AbortSignal): Promise<RemoteSession> {
  const { terminal } = session
  const { id } = created
  if (created.state === 'pending-approval')
    terminal.note(`The session needs the approval of another person: millwright remote approve ${id}`)
  let state = created.state
  for (let details = created; ; details = (await session.api(remoteAccess).readSession({ params: { id } })).data) {
    if (details.state === 'open' || details.state === 'ended') terminal.progress('')
    if (details.state === 'open') return details
    if (details.state === 'ended') throw endError(details)
    if (state === 'pending-approval' && details.state === 'connecting')
      terminal.note(`Approved${details.decidedBy === undefined ? '' : ` by ${sanitize(details.decidedBy.name)}`}.`)
    state = details.state
    terminal.progress(waitingText(details))
    await delay(pollMs, undefined, { signal })
  }
}

function waitingText(session: RemoteSession): string {
  if (session.state === 'connecting') return 'Waiting for the gateway'
  return `Waiting for approval; the request expires in ${timeLeftText(session)}`
}

/** Ends the session of this command. The session may have ended in the meantime. */
async function endSession(session: Session, { id }: RemoteSession, isQuiet: boolean): Promise<void> {
  const { terminal, api } = session
  const ending = api(remoteAccess).endSession({ params: { id } })
  const timeout = new AbortController()
  try {
    await Promise.race([
      ending,
      delay(endTimeoutMs, undefined, { signal: timeout.signal }).then(() => {
        throw new CommandError(`The platform did not answer within ${endTimeoutMs / 1_000} seconds.`)
      }),
    ])
    if (!isQuiet) terminal.note(`Session ended${await trafficText(session, id)}.`)
  } catch (error) {
    if (error instanceof Problem && ['not_found', 'conflict'].includes(error.code)) return
    terminal.note(`The session could not be ended: ${(error as Error).message} To end it: millwright remote end ${id}`)
  } finally {
    timeout.abort()
    ending.catch(() => {})
  }
}

async function trafficText({ api }: Session, id: string): Promise<string> {
  try {
    const { data } = await api(remoteAccess).readSession({ params: { id } })
    return `: ${formatBytes(data.sentBytes)} sent, ${formatBytes(data.receivedBytes)} received`
  } catch {
    return ''
  }
}
