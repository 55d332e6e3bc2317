import type { Readable } from 'node:stream'
import type { Contract, Operation } from '@millwright/api/contract.ts'
import { hasHead, isEventStream, pathsOf } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'undici'
import type { Caller } from '../access/caller.ts'
import { limits } from '../limits.ts'
import type { PeerConnections } from '../tls/peer-connections.ts'
import { undici } from '../undici.ts'
import { forwardUpgrade } from './forward-connection.ts'
import { type Authorize, addressOf, incomingRequestOf, toRoute } from './incoming-request.ts'
import { dependsOnClient, inWork } from './request-work.ts'
import { requireHandshake, type Sockets, type Upgrade } from './sockets.ts'
import type { StreamingResponses } from './streaming-responses.ts'

/**
 * `Forward` describes a service that runs in another process. This process authorizes the requests to the service,
 * and the other process handles them.
 */
export type Forward = {
  url: string
  operations: { contract: Contract; name: string; operation: Operation }[]
  /**
   * Returns headers with the address of the client for the other process. They are signed, so that only processes of
   * the platform can create them.
   */
  vouch: (request: { id: string; address: string }) => Record<string, string>
  /** Returns whether the service answers all requests to a host name. */
  ownsHost?: (hostname: string) => boolean
}

/** Headers that apply to one connection only (RFC 9110 §7.6.1), or that each process sets itself. */
const ownToConnection = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host expect content-length'.split(
    ' ',
  ),
)

type ForwardOptions = {
  forwards: Forward[]
  peerConnections: PeerConnections
  authorize: Authorize
  streams: StreamingResponses
  sockets: Sockets
  /** Called when a request is completed whose response has no end, because it became a WebSocket. */
  complete: (request: FastifyRequest, status: number) => void
}

export async function forwardRoutes(app: FastifyInstance, options: ForwardOptions): Promise<void> {
  if (options.forwards.length === 0) return
  const { Pool } = undici()
  const openPool = (url: string, connections: number) =>
    new Pool(url, {
      connections,
      pipelining: 1,
      headersTimeout: 60_000,
      bodyTimeout: 0,
      connect: { ...options.peerConnections.tls },
    })
  for (const forward of options.forwards) {
    const pool = openPool(forward.url, 64)
    // Streams and waiting requests use their own pool, so that they do not block other requests.
    const streamingPool = openPool(forward.url, limits.streams + limits.waiting)
    app.addHook('onClose', async () => {
      await Promise.all([pool.close(), streamingPool.destroy()])
    })
    await app.register(async (inner) => {
      // The other process reads the body, so it is not parsed here.
      inner.removeAllContentTypeParsers()
      inner.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
      for (const { contract, operation } of forward.operations) {
        const route = {
          method: operation.method,
          config: {
            errorFormat: contract.errorFormat,
            errorStatuses: contract.errorStatuses,
            waits: dependsOnClient(operation),
          },
          onRequest: inWork(async (request, reply) => {
            const authorized = await (operation.socket === undefined
              ? options.authorize(incomingRequestOf(request), operation, contract)
              : options.sockets.authorize(request, { contract, operation }))
            request.caller = authorized.caller
            if (authorized.headers !== undefined) reply.headers(authorized.headers)
          }),
          handler: async (request: FastifyRequest, reply: FastifyReply) => {
            const upgrade = options.sockets.upgradeOf(request)
            if (upgrade !== undefined) {
              requireHandshake(request, operation)
              return passSocket(upgrade, forward, { request, reply, ...options })
            }
            const isStreamed = Object.values(operation.answers).some(isEventStream)
            const keepsConnection = isStreamed || operation.waits === true
            const body = await pass(keepsConnection ? streamingPool : pool, forward, { request, reply })
            return isStreamed && reply.statusCode < 300 ? options.streams.send(reply, body) : reply.send(body)
          },
        }
        for (const path of pathsOf(contract, operation))
          inner.route({ ...route, url: toRoute(path), exposeHeadRoute: !hasHead(contract, operation) })
      }
    })
  }
}

/** Forwards a request for a WebSocket to the other process, and connects the client with it. */
async function passSocket(
  { connection, head, response }: Upgrade,
  forward: Forward,
  {
    request,
    reply,
    sockets,
    complete,
    peerConnections,
  }: { request: FastifyRequest; reply: FastifyReply } & ForwardOptions,
): Promise<FastifyReply> {
  const release = sockets.reserve(request.caller as Caller)
  const { origin: _, ...headers } = headersFor(request, forward)
  const onOpen = () => {
    reply.hijack()
    response.detachSocket(connection)
    sockets.track(connection)
    connection.on('close', release)
    complete(request, 101)
  }
  try {
    const to = { url: forward.url, headers: { ...headers, host: new URL(forward.url).host } }
    const refusal = await forwardUpgrade(request.raw, { ...to, peerConnections, connection, head, onOpen })
    if (refusal === undefined) return reply
    release()
    reply.code(refusal.statusCode ?? 503)
    for (const [name, value] of Object.entries(refusal.headers))
      if (value !== undefined && !ownToConnection.has(name)) reply.header(name, value)
    return reply.send(refusal)
  } catch (error) {
    release()
    throw unreachable(error)
  }
}

function unreachable(cause: unknown): Problem {
  return new Problem('unavailable', 'The service for this path is not reachable. Retry later', { retryAfter: 2, cause })
}

/** Returns the headers of a request for the other process, with the signed address of the client. */
function headersFor(request: FastifyRequest, forward: Forward): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !ownToConnection.has(name)) headers[name] = value
  }
  return Object.assign(
    headers,
    { 'x-request-id': request.id },
    forward.vouch({ id: request.id, address: addressOf(request) }),
    request.work.span === undefined ? {} : { traceparent: request.work.span.traceparent },
  )
}

/**
 * Forwards the request to the other process. Sets the status and the headers of the response, and returns the body,
 * which the caller sends.
 */
async function pass(
  pool: Pool,
  forward: Forward,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Readable> {
  const headers = headersFor(request, forward)
  const isBodyless = request.method === 'GET' || request.method === 'HEAD'
  const body = isBodyless ? null : ((request.body as null | undefined) ?? null)
  // The body of a GET is not forwarded, so its length is not forwarded either.
  if (body !== null && request.headers['content-length'] !== undefined)
    headers['content-length'] = request.headers['content-length']
  const response = await pool
    .request({
      method: request.method as 'GET',
      path: request.url,
      headers,
      body,
    })
    .catch((error: unknown) => {
      throw unreachable(error)
    })
  reply.code(response.statusCode)
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !ownToConnection.has(name)) reply.header(name, value)
  }
  // The body is passed unchanged, so that its length is known to the client too.
  const length = response.headers['content-length']
  if (length !== undefined) reply.header('content-length', length)
  return response.body
}
