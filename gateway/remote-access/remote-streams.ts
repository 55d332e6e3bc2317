import { Uuid } from '@millwright/api/envelope.ts'
import { oneOf } from '@millwright/api/inventory/shapes.ts'
import { remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { type StreamHeader, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Log } from '../log.ts'
import { connectToDevice, type TargetCheck } from './device-connection.ts'
import { SshConnection } from './ssh-connection.ts'
import { downloadFile, listFiles, uploadFile } from './ssh-files.ts'
import { serveTerminal } from './ssh-terminal.ts'
import { StreamInput } from './stream-input.ts'
import { serveTcp } from './tcp-target.ts'

export const streamLimits = {
  perGateway: 2_000,
  perSession: remoteAccessLimits.streamsPerSession,
  /** The time for which the ssh connection of a session stays open without a stream. */
  idleConnectionMs: 60_000,
} as const

const target = {
  sessionId: Uuid,
  assetId: Uuid,
  address: Type.String({ maxLength: 64 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
}
const cells = Type.Integer({ minimum: 1, maximum: 1_000 })

/** The headers of streams. The gateway validates them, because it does not trust the platform more than necessary. */
const Header = Type.Union([
  Type.Object({ ...target, kind: oneOf(['check', 'tcp'] as const) }),
  Type.Object({
    ...target,
    kind: oneOf(['terminal'] as const),
    columns: cells,
    rows: cells,
    hasCredential: Type.Boolean(),
  }),
  Type.Object({
    ...target,
    kind: oneOf(['file-list', 'file-download', 'file-upload'] as const),
    path: Type.String({ minLength: 1, maxLength: remoteAccessLimits.path }),
  }),
])

type SshHeader = Exclude<StreamHeader, { kind: 'check' | 'tcp' }>

type OpenStream = { stream: TunnelStream; header: StreamHeader }
type Session = { streams: Set<OpenStream>; ssh: Map<string, SshSlot> }
type SshSlot = { connection: Promise<SshConnection>; current?: SshConnection; streams: number; timer?: NodeJS.Timeout }

type Options = {
  log: Log
  /** Reads the local rules again. */
  refresh: () => Promise<unknown>
  check: TargetCheck
  /** Returns the credential of a session as JSON text, or undefined if the user selected none. */
  requestCredential: (sessionId: string) => Promise<string | undefined>
}

/**
 * `RemoteStreams` connects the streams of a tunnel to devices. It checks the rules, limits the number of streams, and owns
 * the ssh connections of the sessions. A session exists here while it has streams or an ssh connection.
 */
export class RemoteStreams {
  readonly #options: Options
  readonly #sessions = new Map<string, Session>()

  constructor(options: Options) {
    this.#options = options
  }

  get counts(): { sessions: number; streams: number } {
    const streams = [...this.#sessions.values()].reduce((sum, session) => sum + session.streams.size, 0)
    return { sessions: this.#sessions.size, streams }
  }

  /** Accepts or refuses a stream of the tunnel. */
  readonly open = (stream: TunnelStream, given: StreamHeader): void => {
    const { log } = this.#options
    if (!Value.Check(Header, given)) {
      stream.refuse({ code: 'target_not_allowed', detail: 'The gateway does not know this kind of stream.' })
      return
    }
    const header: StreamHeader = given
    const { sessionId: session, assetId: asset, address, port, kind } = header
    this.#serve(stream, header).catch((error: unknown) => {
      if (stream.destroyed) return
      const refusal =
        error instanceof StreamRefusal
          ? error
          : new StreamRefusal({ code: 'device_unreachable', detail: 'The gateway could not serve the stream.' })
      log.warn(
        { session, asset, address, port, kind, code: refusal.code, reason: refusal.detail },
        'remote stream ended with an error',
      )
      if (!(error instanceof StreamRefusal)) log.error({ session, error }, 'remote stream failed')
      stream.reset({ code: refusal.code, detail: refusal.detail })
    })
  }

  /** Ends all streams whose target the rules no longer allow. */
  recheck(): void {
    for (const session of this.#sessions.values()) {
      for (const { stream, header } of session.streams) {
        const detail = this.#options.check(header)
        if (detail === undefined) continue
        stream.reset({ code: 'target_not_allowed', detail })
        session.ssh.get(keyOf(header))?.current?.close('The rules of the gateway changed')
      }
    }
  }

  /** Ends all streams and ssh connections. */
  endAll(reason: string): void {
    for (const id of [...this.#sessions.keys()]) this.#endSession(id, reason)
  }

  #endSession(id: string, reason: string): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    this.#sessions.delete(id)
    for (const { stream } of session.streams) stream.reset({ code: 'session_ended', detail: `${reason}.` })
    for (const slot of session.ssh.values()) {
      clearTimeout(slot.timer)
      slot.connection.then(
        (connection) => connection.close(reason),
        () => undefined,
      )
    }
  }

  async #serve(stream: TunnelStream, header: StreamHeader): Promise<void> {
    const { log, refresh, check } = this.#options
    const session = this.#register(stream, header)
    await refresh()
    const detail = check(header)
    if (detail !== undefined) throw new StreamRefusal({ code: 'target_not_allowed', detail })
    if (stream.destroyed) return
    const { sessionId, assetId, address, port, kind } = header
    log[kind === 'tcp' ? 'debug' : 'info'](
      { session: sessionId, asset: assetId, address, port, kind },
      'remote stream opened',
    )
    if (kind === 'check') {
      stream.accept()
      stream.resume()
      stream.end()
    } else if (kind === 'tcp') await serveTcp(stream, { target: header, check, signal: closeSignal(stream) })
    else await this.#serveSsh(stream, header, session)
  }

  /** Counts the stream. Throws `busy` if a limit is reached. */
  #register(stream: TunnelStream, header: StreamHeader): Session {
    const { sessionId } = header
    const { streams } = this.counts
    const session = this.#sessions.get(sessionId) ?? { streams: new Set(), ssh: new Map() }
    if (session.streams.size >= streamLimits.perSession)
      throw busy(`The session has ${streamLimits.perSession} open streams, which is the limit.`)
    if (streams >= streamLimits.perGateway)
      throw busy(`The gateway has ${streamLimits.perGateway} open streams, which is the limit.`)
    const open = { stream, header }
    session.streams.add(open)
    this.#sessions.set(sessionId, session)
    stream.on('error', (error) => {
      if (error instanceof StreamRefusal && error.code === 'session_ended')
        this.#endSession(sessionId, 'The session has ended')
    })
    stream.on('close', () => {
      session.streams.delete(open)
      this.#removeEmpty(sessionId, session)
    })
    return session
  }

  #removeEmpty(id: string, session: Session): void {
    if (session.streams.size === 0 && session.ssh.size === 0 && this.#sessions.get(id) === session)
      this.#sessions.delete(id)
  }

  async #serveSsh(stream: TunnelStream, header: SshHeader, session: Session): Promise<void> {
    const input = new StreamInput(stream)
    const slot = this.#slotOf(session, header, () => this.#connect(stream, input, header))
    slot.streams += 1
    clearTimeout(slot.timer)
    stream.on('close', () => {
      slot.streams -= 1
      if (slot.streams > 0) return
      slot.timer = setTimeout(() => slot.current?.close('The connection was idle'), streamLimits.idleConnectionMs)
      slot.timer.unref()
    })
    const connection = await slot.connection
    // The stream that opened the connection is accepted already.
    stream.accept()
    // The platform holds the bytes of an upload back until this message.
    connection.signedIn.then(
      (user) => stream.sendMessage({ type: 'signed-in', user }),
      () => undefined,
    )
    if (header.kind === 'terminal') {
      const { columns, rows } = header
      await serveTerminal({ connection, stream, input, size: { columns, rows } })
      return
    }
    const { path, kind } = header
    const serve = { 'file-list': listFiles, 'file-download': downloadFile, 'file-upload': uploadFile }[kind]
    await serve({ connection, stream, input, path })
  }

  /** Returns the ssh connection of the session to a target, or opens it. */
  #slotOf(session: Session, header: SshHeader, connect: () => Promise<SshConnection>): SshSlot {
    const key = keyOf(header)
    const existing = session.ssh.get(key)
    if (existing !== undefined) {
      if (existing.current?.isPrompting === true && header.kind !== 'terminal')
        throw new StreamRefusal({
          code: 'not_signed_in',
          detail: 'The session is not signed in to the device yet. Sign in on the terminal first.',
        })
      return existing
    }
    const slot: SshSlot = { connection: connect(), streams: 0 }
    const remove = () => {
      clearTimeout(slot.timer)
      if (session.ssh.get(key) === slot) session.ssh.delete(key)
      this.#removeEmpty(header.sessionId, session)
    }
    session.ssh.set(key, slot)
    slot.connection.then((connection) => {
      slot.current = connection
      connection.closed.addEventListener('abort', remove, { once: true })
      if (connection.closed.aborted) remove()
    }, remove)
    return slot
  }

  async #connect(stream: TunnelStream, input: StreamInput, header: SshHeader): Promise<SshConnection> {
    const { check, requestCredential } = this.#options
    const socket = await connectToDevice(header, { check, signal: closeSignal(stream), allowHalfOpen: false })
    stream.accept()
    const isTerminal = header.kind === 'terminal'
    const hasCredential = header.kind !== 'terminal' || header.hasCredential
    return new SshConnection({
      socket,
      stream,
      input,
      isTerminal,
      requestCredential: async () => (hasCredential ? requestCredential(header.sessionId) : undefined),
    })
  }
}

function keyOf({ address, port }: StreamHeader): string {
  return `${address} ${port}`
}

function busy(detail: string): StreamRefusal {
  return new StreamRefusal({ code: 'busy', detail })
}

/** Returns a signal that aborts when the stream closes. */
function closeSignal(stream: TunnelStream): AbortSignal {
  const closing = new AbortController()
  stream.once('close', () => closing.abort())
  if (stream.destroyed) closing.abort()
  return closing.signal
}
