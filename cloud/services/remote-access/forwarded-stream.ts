import { Duplex } from 'node:stream'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import { remoteAccess, tunnelProtocol } from '@millwright/api/remote-access.ts'
import { type StreamMessage, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import { WebSocket } from 'ws'
import type { Caller } from '../../platform/access/caller.ts'
import { limits } from '../../platform/limits.ts'
import type { Context } from '../../platform/service.ts'

/** Streams that another process of the platform opens, because it holds the tunnel of the gateway. */

type PeerContext = Pick<Context, 'peerAuthorization' | 'peerConnections'>

type PeerStream = {
  /** The address of the other process. */
  url: string
  /** The id of the session. */
  id: string
  request: { kind: string; [member: string]: string | number }
}

/** It is short, because a gateway waits for it if the machine of the former process of its tunnel is down. */
const handshakeMs = 4_000
/** The maximum size of the body of a refused request that is read. */
const refusalBytes = 64 * 1024

/** Opens a stream of a session at another process, on behalf of the caller. Throws the problem of the other process. */
export async function openPeerSocket(
  context: PeerContext,
  caller: Caller,
  { url, id, request }: PeerStream,
): Promise<WebSocket> {
  const query = new URLSearchParams(Object.entries(request).map(([name, value]) => [name, String(value)]))
  const path = `${remoteAccess.prefix}/sessions/${id}/stream?${query}`
  return openSocket(context, caller, { url, path, protocol: tunnelProtocol })
}

/**
 * Opens a WebSocket of another process, on behalf of the caller. The WebSocket is paused, so that no message is lost before its
 * user listens. The user resumes it.
 */
export async function openSocket(
  context: PeerContext,
  caller: Caller,
  { url, path, protocol }: { url: string; path: string; protocol: string },
): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, protocol, {
    headers: { authorization: await context.peerAuthorization(caller), 'x-request-id': caller.request.id },
    handshakeTimeout: handshakeMs,
    maxPayload: limits.socketMessageBytes,
    perMessageDeflate: false,
    followRedirects: false,
    ...context.peerConnections.tls,
  })
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>()
  socket.once('open', () => {
    socket.pause()
    resolve(socket)
  })
  socket.once('error', (error) => reject(processUnreachable(error)))
  socket.once('unexpected-response', (_request, response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (Buffer.concat(chunks).length > refusalBytes) response.destroy()
    })
    response.on('close', () => {
      reject(
        problemIn(Buffer.concat(chunks).toString()) ?? processUnreachable(new Error(`Status ${response.statusCode}`)),
      )
      socket.terminate()
    })
  })
  socket.on('error', () => {})
  return promise
}

/** Returns the problem of a request that cannot reach the process with the tunnel of the gateway. */
export function processUnreachable(cause: unknown): Problem {
  const detail = 'The process that holds the tunnel of the gateway is not reachable. Retry later'
  return new Problem('gateway_offline', detail, { cause })
}

function problemIn(text: string): Problem | undefined {
  try {
    const { code, detail } = JSON.parse(text) as ProblemDocument
    return new Problem(code, detail)
  } catch {
    return undefined
  }
}

/**
 * `ForwardedStream` is a stream that another process opened. It has the functions of a `TunnelStream` that the users of a
 * session need: bytes, messages and the reason of its end.
 */
export class ForwardedStream extends Duplex {
  readonly #socket: WebSocket
  #refusal: StreamRefusal | undefined

  constructor(socket: WebSocket) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.on('error', () => {})
    socket.on('message', (data, isBinary) => {
      if (!isBinary) this.#receive(String(data))
      else if (!this.push(data as Buffer)) socket.pause()
    })
    socket.on('close', (code) => {
      if (code === 1000 && this.#refusal === undefined) this.push(null)
      else this.destroy(this.#refusal ?? new StreamRefusal({ code: 'closed', detail: 'The connection was closed' }))
    })
    socket.resume()
  }

  sendMessage(message: StreamMessage): boolean {
    this.#socket.send(JSON.stringify(message))
    return true
  }

  reset(_refusal: { code: string; detail: string }): void {
    this.destroy()
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(chunk, { binary: true }, done)
    else done(new StreamRefusal({ code: 'closed', detail: 'The connection was closed' }))
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: 'end' }), () => done())
    else done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.terminate()
    done(error)
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as StreamMessage
    if (message.type === 'end') this.push(null)
    else if (message.type === 'error')
      this.#refusal = new StreamRefusal({ code: String(message.code), detail: String(message.detail) })
    else this.emit('message', message)
  }
}
