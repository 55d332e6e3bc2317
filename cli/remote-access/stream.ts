import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { requestFor } from '@millwright/api/client.ts'
import { Problem, type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import { remoteAccess, type StreamKind, tunnelProtocol } from '@millwright/api/remote-access.ts'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { WebSocket } from 'ws'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { sanitize } from '../output/text.ts'
import { unreachable } from '../session/address.ts'
import { problemOf, type Session } from '../session/session.ts'

/**
 * This file opens streams of remote sessions. Each stream is a WebSocket: binary messages are bytes, text messages are JSON
 * messages about the stream. Both directions have back-pressure.
 */

export type StreamQuery = { kind: StreamKind; columns?: number; rows?: number; path?: string }

type StreamOptions = {
  sessionId: string
  query: StreamQuery
  /** Receives the messages of the stream from its start, except those that end the stream. */
  onMessage?: (message: StreamMessage) => void
  signal?: AbortSignal
}

const handshakeTimeoutMs = 60_000
/** The maximum size of one received message. */
const messageBytes = 4 * 1024 * 1024
/** The bytes that a stream buffers in each direction before the sender waits. */
const bufferBytes = 256 * 1024
/** The maximum size of the problem document of a refused stream. */
const problemBytes = 64 * 1024
/** The time after which a closing WebSocket is aborted. */
const closeTimeoutMs = 2_000

/**
 * How often an open stream is checked. The platform sends a ping at least every 15 seconds, and expects bytes in the same
 * time, also from a client that does not read because the receiver of its bytes is slow. Such a client finds a lost
 * connection when it sends.
 */
const checkMs = 2_000
const silenceMs = 45_000

/** The close codes of a stream. */
const closeCodes = { normal: 1000, restart: 1012, sessionEnded: 4001 } as const

/** `StreamError` is the reason why a stream ended before its normal end. */
export class StreamError extends CommandError {
  /** The code of the platform or of the gateway, such as `host_key_changed`. */
  readonly code: string

  constructor(code: string, detail: string) {
    super(detail, { exitCode: exitCodeFor[code] ?? exitCodes.failed, ...nextStepOf(code) })
    this.code = code
  }
}

const exitCodeFor: Readonly<Record<string, number>> = {
  authentication_failed: exitCodes.denied,
  forbidden: exitCodes.denied,
  connection_lost: exitCodes.unreachable,
  platform_restarted: exitCodes.unreachable,
  gateway_offline: exitCodes.unreachable,
  tunnel_closed: exitCodes.unreachable,
  device_unreachable: exitCodes.unreachable,
}

const nextSteps: Readonly<Record<string, string>> = {
  host_key_changed:
    'check the key on the device; then delete the stored key: millwright remote host-keys <asset>, millwright remote forget-host-key <id>',
  not_signed_in: 'pass --credential, or sign in with a terminal',
  connection_lost: 'connect again',
  platform_restarted: 'connect again',
  tunnel_closed: 'connect again when the gateway is connected: millwright remote status',
}

function nextStepOf(code: string): { next?: string } {
  const next = nextSteps[code]
  return next === undefined ? {} : { next }
}

/** Opens a stream of a session. The access token is sent only to the platform that issued it. */
export async function openStream(session: Session, options: StreamOptions): Promise<RemoteStream> {
  const { bearer } = session
  try {
    return await openWithToken(session, options, await bearer.token())
  } catch (error) {
    // The token may have become invalid before its expiry.
    if (!(error instanceof Problem) || error.code !== 'unauthenticated') throw error
    return openWithToken(session, options, await bearer.token({ fresh: true }))
  }
}

function openWithToken({ bearer }: Session, options: StreamOptions, token: string): Promise<RemoteStream> {
  const { sessionId, query, signal } = options
  signal?.throwIfAborted()
  const { path } = requestFor(remoteAccess, remoteAccess.operations.openStream, { params: { id: sessionId }, query })
  const socket = new WebSocket(new URL(path, bearer.url.replace(/^http/, 'ws')), tunnelProtocol, {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: messageBytes,
    perMessageDeflate: false,
  })
  const stream = new RemoteStream(socket, options.onMessage)
  return new Promise((resolve, reject) => {
    const abort = () => stream.destroy(signal?.reason)
    const fail = (error: Error) => {
      signal?.removeEventListener('abort', abort)
      stream.destroy()
      reject(error)
    }
    signal?.addEventListener('abort', abort, { once: true })
    stream.once('close', () => signal?.removeEventListener('abort', abort))
    stream.once('error', (error) =>
      fail(error instanceof CommandError || error === signal?.reason ? error : unreachable(bearer.url, error)),
    )
    socket.once('unexpected-response', (_request, response) => refusal(response).then(fail, fail))
    socket.once('open', () => {
      stream.removeAllListeners('error')
      // An error before the caller listens must not end the process.
      stream.on('error', () => {})
      resolve(stream)
    })
  })
}

/** Returns the problem of a handshake that the platform refused. */
async function refusal(response: IncomingMessage): Promise<Problem> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > problemBytes) break
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers)) if (typeof value === 'string') headers.set(name, value)
  return problemOf(remoteAccess, { status: response.statusCode ?? 500, headers, body: documentIn(text) })
}

function documentIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `RemoteStream` is one stream of a session. Its end is a half close: the other direction stays open. */
export class RemoteStream extends Duplex {
  readonly #socket: WebSocket
  readonly #onMessage: (message: StreamMessage) => void
  #failure: StreamError | undefined
  /** Whether the other side has sent its last byte. */
  #isEnded = false
  #heardAt = performance.now()
  readonly #timer = setInterval(() => this.#check(), checkMs).unref()

  constructor(socket: WebSocket, onMessage: (message: StreamMessage) => void = () => {}) {
    super({ readableHighWaterMark: bufferBytes, writableHighWaterMark: bufferBytes })
    this.#socket = socket
    this.#onMessage = onMessage
    const hear = () => {
      this.#heardAt = performance.now()
    }
    socket.on('open', hear).on('ping', hear).on('message', hear)
    socket.on('message', (content, isBinary) => {
      if (!isBinary) return this.#receiveMessage(String(content))
      if (!this.#isEnded && !this.destroyed && !this.push(content as Buffer)) socket.pause()
    })
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', (code) => this.#closed(code))
  }

  sendMessage(message: StreamMessage): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    // The close of the socket follows, and contains the reason.
    if (this.#socket.readyState === WebSocket.CLOSING) return
    if (this.#socket.bufferedAmount < bufferBytes) {
      this.#socket.send(chunk, { binary: true }, ignore)
      done()
    } else {
      this.#socket.send(chunk, { binary: true }, () => done())
    }
  }

  override _final(done: () => void): void {
    this.sendMessage({ type: 'end' })
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const socket = this.#socket
    clearInterval(this.#timer)
    if (socket.readyState === WebSocket.CONNECTING) socket.terminate()
    else if (socket.readyState !== WebSocket.CLOSED) {
      socket.resume()
      socket.close(closeCodes.normal)
      const timer = setTimeout(() => socket.terminate(), closeTimeoutMs)
      socket.once('close', () => clearTimeout(timer))
    }
    done(error)
  }

  #check(): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return
    if (this.#socket.isPaused) {
      this.#heardAt = performance.now()
      this.#socket.pong()
    } else if (performance.now() - this.#heardAt > silenceMs) {
      this.destroy(new StreamError('connection_lost', 'The platform no longer answers.'))
    }
  }

  #receiveMessage(text: string): void {
    const message = documentIn(text) as StreamMessage | null
    if (typeof message !== 'object' || message === null || typeof message.type !== 'string') return
    if (message.type === 'end') this.#end()
    else if (message.type === 'error') this.#failure = failureOf(message)
    else this.#onMessage(message)
  }

  #closed(code: number): void {
    if (this.destroyed) return
    const failure = this.#failure ?? closeFailure(code)
    if (failure !== undefined) {
      this.destroy(failure)
    } else if (this.readableEnded) {
      this.destroy()
    } else {
      // The reader still receives the buffered bytes.
      this.once('end', () => this.destroy())
      this.#end()
    }
  }

  #end(): void {
    if (!this.#isEnded && !this.destroyed) this.push(null)
    this.#isEnded = true
  }
}

function failureOf({ code, detail }: StreamMessage): StreamError {
  const name = typeof code === 'string' ? sanitize(code) : 'error'
  const text = typeof detail === 'string' && detail !== '' ? sanitize(detail) : undefined
  return new StreamError(name, text ?? titleOf(name) ?? `The stream ended with the error "${name}".`)
}

function titleOf(code: string): string | undefined {
  return Object.hasOwn(problemCodes, code) ? `${problemCodes[code as ProblemCode].title}.` : undefined
}

/** Returns the failure for a close code, or nothing for a normal end. */
function closeFailure(code: number): StreamError | undefined {
  if (code === closeCodes.normal) return undefined
  if (code === closeCodes.restart) return new StreamError('platform_restarted', 'The platform process restarts.')
  if (code === closeCodes.sessionEnded) return new StreamError('session_ended', 'The session has ended.')
  return new StreamError('connection_lost', `The connection to the platform was lost (WebSocket close code ${code}).`)
}

/** The error of a failed write is ignored, because the close of the socket follows and contains the reason. */
function ignore(): void {}
