import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  defaultRemotePolicy,
  type RemotePolicy,
  type RemoteSession,
  type RemoteTarget,
  type SessionRequest,
} from '@millwright/api/remote-access.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { type WebSocket, WebSocketServer } from 'ws'
import { run } from '../program/program.ts'
import { type RunOptions, testTerminal } from '../testing.ts'

/** This file provides a peer for tests of remote sessions: an HTTP server with one session, and the WebSocket of `ws`. */

export const sessionId = '019a1e0d-57cf-77f3-92dd-e7c00fda9e0e'
export const assetId = '019a1e0d-0000-7000-8000-000000000001'
const other = '019a1e0d-0000-7000-8000-000000000002'

export type StreamHandler = (socket: WebSocket, query: URLSearchParams) => void

/** `RemotePeer` answers the requests of one remote session, and passes its streams to a handler. */
export class RemotePeer {
  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true })
  readonly #commands: { interrupt(): void; ended: Promise<number> }[] = []
  /** The requests in their order, such as `POST /sessions`. */
  readonly requests: string[] = []
  readonly bodies: unknown[] = []
  session: RemoteSession = newSession()
  credentials: RemoteTarget['credentials'] = []
  policy: RemotePolicy = defaultRemotePolicy
  onStream: StreamHandler = () => {}
  /** Responses to the next requests for a stream, instead of a WebSocket. */
  refusals: { status: number; code: string; detail: string }[] = []
  /** The status of all responses, if the platform has an outage. */
  status: number | undefined
  url = ''

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.on('upgrade', (request, connection, head) => {
      const url = new URL(request.url ?? '', this.url)
      this.requests.push(`${request.headers.authorization} ${url.pathname.split('/').at(-1)}`)
      const refusal = this.refusals.shift()
      if (refusal !== undefined) {
        const { status, ...document } = refusal
        const body = JSON.stringify({ type: 'about:blank', title: 'Refused', status, ...document })
        connection.end(
          `HTTP/1.1 ${status} Refused\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
        )
        return
      }
      this.#sockets.handleUpgrade(request, connection, head, (socket) => this.onStream(socket, url.searchParams))
    })
  }

  static async open(): Promise<RemotePeer> {
    const peer = new RemotePeer()
    await new Promise<void>((resolve) => peer.#server.listen(0, '127.0.0.1', resolve))
    peer.url = `http://127.0.0.1:${(peer.#server.address() as AddressInfo).port}`
    return peer
  }

  get streams(): number {
    return this.#sockets.clients.size
  }

  /** Starts a command with this peer as its platform. */
  start(args: readonly string[], options: RunOptions = {}) {
    const environment = { HOME: '/nonexistent', MILLWRIGHT_URL: this.url, MILLWRIGHT_TOKEN: 'token' }
    const started = testTerminal({ ...options, environment })
    const ended = run(args, started.terminal)
    this.#commands.push({ interrupt: started.interrupt, ended })
    return { ...started, ended }
  }

  closeStreams(code: number): void {
    for (const socket of this.#sockets.clients) socket.close(code)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { interrupt } of this.#commands) interrupt()
    await Promise.all(this.#commands.map(({ ended }) => ended))
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace('/remote-access/v1', '')
    this.requests.push(`${request.method} ${path}`)
    let text = ''
    for await (const chunk of request) text += chunk
    if (text !== '') this.bodies.push(JSON.parse(text).data)
    const answer = this.status !== undefined ? { status: this.status } : this.#answerTo(`${request.method} ${path}`)
    response.statusCode = answer.status
    response.setHeader('content-type', 'application/json')
    response.end(answer.data === undefined ? '' : JSON.stringify({ data: answer.data }))
  }

  #answerTo(request: string): { status: number; data?: unknown } {
    if (request === 'POST /sessions') {
      const { service, port } = this.bodies.at(-1) as SessionRequest
      this.session = { ...this.session, service, port: port ?? this.session.port }
      return { status: 201, data: this.session }
    }
    if (request === `GET /sessions/${sessionId}`) return { status: 200, data: this.session }
    if (request === `GET /assets/${assetId}/target`) return { status: 200, data: this.#target() }
    if (request === `GET /policies/${this.session.accessGroup}`) return { status: 200, data: this.policy }
    if (request === `POST /sessions/${sessionId}/tickets`)
      return { status: 201, data: { ticket: 'secret ticket', expiresTimestamp: this.session.expiresTimestamp } }
    if (request !== `DELETE /sessions/${sessionId}`) return { status: 404 }
    this.session = { ...this.session, state: 'ended', ending: 'ended-by-user' }
    return { status: 204 }
  }

  #target(): RemoteTarget {
    return {
      isEnabled: true,
      gatewayId: this.session.gatewayId,
      isGatewayConnected: true,
      addresses: ['192.0.2.12'],
      policy: this.policy,
      credentials: this.credentials,
      isWebAvailable: true,
    }
  }
}

/** Waits until a condition is true. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 120_000
  const pause = growingPause()
  while (!condition()) {
    assert.ok(performance.now() < deadline, `${what}: not in time`)
    await pause()
  }
}

export function minutesFromNow(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString()
}

function newSession(): RemoteSession {
  return {
    id: sessionId,
    state: 'open',
    assetId,
    assetName: 'Drive 12',
    accessGroup: other,
    gatewayId: other,
    service: 'tcp',
    address: '192.0.2.12',
    port: 22,
    requestedBy: { id: other, name: 'jane.doe' },
    recording: 'none',
    recordingBytes: 0,
    sentBytes: 0,
    receivedBytes: 0,
    streams: 0,
    createdTimestamp: minutesFromNow(0),
    expiresTimestamp: minutesFromNow(60),
    jobId: other,
  }
}
