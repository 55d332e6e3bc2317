import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { CommandError, errorText, exitCodes, usageError } from '../output/error-report.ts'
import { sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import type { OpenRemoteSession } from './remote-session.ts'
import { localTime, timeLeftText } from './session-watch.ts'
import { type RemoteStream, StreamError } from './stream.ts'

/**
 * This file opens a TCP port on this machine for a session. Each connection to the port is one stream of the session. The
 * port keeps listening when a stream fails, for example because a process of the platform restarts.
 */

/** Only programs on this machine can connect to the port. */
const host = '127.0.0.1'

/** How long a new connection waits for a platform or gateway that restarts, and the pauses between two attempts. */
const openPatienceMs = 20_000
const openBackOff = { firstMs: 250, longestMs: 2_000 } as const

/** Listens until the session ends or until Ctrl-C. Port 0 selects a free port. */
export async function serveLocalPort(session: Session, remote: OpenRemoteSession, port: number): Promise<void> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true })
  server.maxConnections = remoteAccessLimits.streamsPerSession
  const listening = await listen(server, port)
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    serveConnection(session, remote, { socket, number: ++connections })
  })
  server.on('drop', () =>
    session.terminal.note(`Connection refused: the limit is ${remoteAccessLimits.streamsPerSession} at the same time.`),
  )
  try {
    await printAddress(session, remote, listening)
    if (!remote.signal.aborted) await once(remote.signal, 'abort')
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw usageError(
      `The port ${port} of ${host} cannot be opened (${code ?? message}).`,
      'choose another port with --listen, or pass --listen without a port for a free one',
    )
  }
  return (server.address() as AddressInfo).port
}

async function printAddress(
  { output, terminal }: Session,
  { details }: OpenRemoteSession,
  port: number,
): Promise<void> {
  const { id, assetName, address, expiresTimestamp } = details
  const target = address === undefined ? '' : ` (${targetText(address, details.port)})`
  await output.done(`${host}:${port} is connected to ${sanitize(assetName)}${target}.`, {
    data: { host, port, session: details },
  })
  if (output.isText)
    terminal.note(
      `Session ${id} ends in ${timeLeftText(details)}, at ${localTime(expiresTimestamp)}. To end it now, press Ctrl-C.`,
    )
}

export function targetText(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

type Connection = { socket: Socket; number: number }

async function serveConnection(session: Session, remote: OpenRemoteSession, connection: Connection): Promise<void> {
  const { socket, number } = connection
  const closed = new AbortController()
  socket.on('error', () => {})
  socket.once('close', () => closed.abort())
  try {
    const stream = await openPatiently(remote, closed.signal)
    await joined(socket, stream)
  } catch (error) {
    socket.resetAndDestroy()
    if (closed.signal.aborted && !(error instanceof StreamError)) return
    if (remote.signal.aborted) return
    session.terminal.note(`Connection ${number} ended: ${lineOf(error)}`)
    if (error instanceof StreamError && error.code === 'platform_restarted')
      session.terminal.note('The port keeps listening. New connections use the same session.')
    await remote.refresh()
  }
}

function lineOf(error: unknown): string {
  return error instanceof CommandError ? error.message : (errorText(error).split('\n')[0] ?? '')
}

/** Opens a stream. Waits for a platform or a gateway that is not connected at the moment. */
async function openPatiently(remote: OpenRemoteSession, signal: AbortSignal): Promise<RemoteStream> {
  const deadline = performance.now() + openPatienceMs
  const backOff = new BackOff(openBackOff)
  for (;;) {
    try {
      return await remote.open({ kind: 'tcp' }, { signal })
    } catch (error) {
      if (!isTransient(error) || signal.aborted || remote.signal.aborted || performance.now() > deadline) throw error
    }
    await pause(backOff.nextMs(), AbortSignal.any([signal, remote.signal]))
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof Problem) return ['gateway_offline', 'unavailable', 'overloaded'].includes(error.code)
  return error instanceof CommandError && error.exitCode === exitCodes.unreachable
}

/** Copies bytes in both directions until both have ended. */
async function joined(socket: Socket, stream: RemoteStream): Promise<void> {
  await Promise.all([pipeline(socket, stream, { end: true }), pipeline(stream, socket)])
  stream.destroy()
}
