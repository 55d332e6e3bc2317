import { randomUUID } from 'node:crypto'
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket as TcpSocket } from 'node:net'
import { pipeline } from 'node:stream'
import { limits } from '../limits.ts'
import type { HostHandler } from '../service.ts'
import type { PeerConnections } from '../tls/peer-connections.ts'
import { WaitingClient } from './waiting-client.ts'

/** How long another process may take to answer a request. */
const answerMs = 60_000

/** Headers that apply to one connection only (RFC 9110 §7.6.1). */
const ownToConnection = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization te trailer upgrade'.split(' '),
)

type Outgoing = { url: string; headers: Record<string, string | string[]>; peerConnections: PeerConnections }

/** Sends a request to another process. */
function send(request: IncomingMessage, { url, headers, peerConnections }: Outgoing, agent: Agent | false) {
  const target = new URL(url)
  const open = target.protocol === 'https:' ? httpsRequest : httpRequest
  const outgoing = open({
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers,
    setHost: false,
    agent,
    ...(target.protocol === 'https:' ? peerConnections.tlsFor(target) : {}),
  })
  outgoing.setTimeout(answerMs, () => outgoing.destroy(new Error('The process did not answer')))
  return outgoing
}

/**
 * Forwards a request for a WebSocket to another process and connects the two connections. Returns the response of the
 * other process if it refuses the request.
 */
export function forwardUpgrade(
  request: IncomingMessage,
  { connection, head, onOpen, ...to }: Outgoing & { connection: TcpSocket; head: Buffer; onOpen: () => void },
): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const { upgrade = 'websocket' } = request.headers
    const outgoing = send(request, { ...to, headers: { ...to.headers, connection: 'upgrade', upgrade } }, false)
    const client = new WaitingClient(connection)
    client.signal.addEventListener('abort', () => outgoing.destroy(new Error('The client disconnected')))
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
    outgoing.on('upgrade', (response: IncomingMessage, other: TcpSocket, otherHead: Buffer) => {
      const received = Buffer.concat([head, client.stop()])
      onOpen()
      connection.write(headOf(response))
      connection.write(otherHead)
      other.write(received)
      connect(connection, other)
      resolve(undefined)
    })
    outgoing.end()
  })
}

/** Passes all bytes between two connections. If one of them ends, the other one ends too. */
function connect(one: TcpSocket, other: TcpSocket): void {
  for (const connection of [one, other])
    connection.setTimeout(0).setNoDelay(true).setMaxListeners(limits.socketListeners)
  const done = () => {
    one.destroy()
    other.destroy()
  }
  pipeline(one, other, done)
  pipeline(other, one, done)
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

type HostForward = {
  url: string
  owns: (hostname: string) => boolean
  vouch: (request: { id: string; address: string }) => Record<string, string>
  /** Called with each connection that was switched to another protocol. */
  track: (connection: TcpSocket) => void
  peerConnections: PeerConnections
}

/** Returns a handler that forwards all requests to the host names of a service to the process of the service. */
export function forwardedHost({ url, owns, vouch, track, peerConnections }: HostForward): HostHandler {
  const agent = new (url.startsWith('https:') ? HttpsAgent : Agent)({ keepAlive: true, maxSockets: limits.waiting })
  const headersFor = (request: IncomingMessage) => {
    const id = randomUUID()
    const address = request.socket.remoteAddress ?? ''
    return { ...kept(request.headers), ...vouch({ id, address }), 'x-request-id': id }
  }
  return {
    owns,
    request(request, response) {
      const outgoing = send(request, { url, headers: headersFor(request), peerConnections }, agent)
      outgoing.on('error', () => refuse(response))
      outgoing.on('response', (received) => {
        outgoing.setTimeout(0)
        response.writeHead(received.statusCode ?? 502, received.statusMessage, kept(received.headers))
        pipeline(received, response, () => {})
      })
      response.on('close', () => outgoing.destroy())
      pipeline(request, outgoing, () => {})
    },
    upgrade(request, connection, head) {
      connection.on('error', () => {})
      const headers = headersFor(request)
      forwardUpgrade(request, { url, headers, peerConnections, connection, head, onOpen: () => track(connection) })
        .then((refusal) => {
          if (refusal === undefined) return
          connection.write(headOf(refusal))
          pipeline(refusal, connection, () => connection.destroy())
        })
        .catch(() => connection.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n'))
    },
  }
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else
    response.writeHead(503, { 'content-type': 'text/plain', 'retry-after': '2' }).end('The service is not reachable\n')
}

function kept(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !ownToConnection.has(name))
  return Object.fromEntries(entries) as Record<string, string | string[]>
}
