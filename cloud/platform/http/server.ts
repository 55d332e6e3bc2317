import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket as TcpSocket } from 'node:net'
import { Readable } from 'node:stream'
import cors from '@fastify/cors'
import {
  bodyTypesOf,
  type Contract,
  hasHead,
  isEventStream,
  isMedia,
  type Operation,
  pathsOf,
  takesFile,
} from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { noteRequest } from '../event-loop.ts'
import { limits } from '../limits.ts'
import type { Log } from '../log.ts'
import type { LocalOperation } from '../operation.ts'
import { type AnonymousCaller, type Answer, type HostHandler, JsonText } from '../service.ts'
import type { CertificateFiles } from '../tls/certificate-files.ts'
import type { CertificatePair } from '../tls/certificate-pair.ts'
import type { PeerConnections } from '../tls/peer-connections.ts'
import type { Tracing } from '../tracing.ts'
import { createWork, type Work } from '../work.ts'
import { BodyBudget, bodyBytesOf } from './body-budget.ts'
import type { CompletedRequest } from './completed-request.ts'
import { formerPrefixes } from './deprecation.ts'
import { isUnchanged, readTag } from './etag.ts'
import { receivedFile } from './file-body.ts'
import { type Forward, forwardRoutes } from './forward.ts'
import { forwardedHost } from './forward-connection.ts'
import { type Authorize, type IncomingRequest, incomingRequestOf, toRoute } from './incoming-request.ts'
import { isNestedDeeper } from './json-depth.ts'
import { type Page, pageRoutes } from './pages.ts'
import { problemOf, send } from './problems.ts'
import { dependsOnClient, endSpan, inWork } from './request-work.ts'
import { Sockets } from './sockets.ts'
import { StreamingResponses } from './streaming-responses.ts'
import { PathTable } from './unrouted.ts'

export type ServerOptions = {
  operations: LocalOperation[]
  forwards: Forward[]
  pages: Page[]
  /** The handlers of the host names of services in this process. */
  hosts: readonly HostHandler[]
  authorize: Authorize
  /** Returns the origins whose pages can open a WebSocket, in addition to the host of the request. */
  origins: () => readonly string[]
  /** Applies the rate limit of the client's address to a request without a route. Returns the headers of the limit. */
  limitUnrouted: (incoming: IncomingRequest) => Record<string, string>
  /** Called for every completed request. Logs and metrics use it. */
  onAnswered: (answered: CompletedRequest) => void
  /** Only defined if traces are exported. */
  tracing: Tracing | undefined
  log: Log
  trustedProxies: string[]
  corsOrigins: string[]
  /** The certificate of the server. Undefined if it does not use TLS. */
  tls: CertificateFiles | undefined
  peerConnections: PeerConnections
  /** Headers that are added to every response. */
  headers: Record<string, string>
}

declare module 'fastify' {
  interface FastifyRequest {
    arrivedAt: number
    caller: Caller | AnonymousCaller | undefined
    work: Work
  }
  interface FastifyContextConfig {
    /** True if the duration of a request does not depend only on the platform. */
    waits?: boolean
    errorFormat?: Contract['errorFormat']
    errorStatuses?: Contract['errorStatuses']
  }
}

const requestIds = /^[\w.:-]{8,64}$/

/** Creates the HTTP server. Only this folder depends on the HTTP library. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const served = [...options.operations, ...options.forwards.flatMap((forward) => forward.operations)]
  const deprecated = formerPrefixes(served.map(({ contract }) => contract))
  const sockets = new Sockets({ ...options, operations: served })
  const hosts = [
    ...options.hosts,
    ...options.forwards.flatMap(({ url, ownsHost: owns, vouch }) =>
      owns === undefined
        ? []
        : [
            forwardedHost({
              url,
              owns,
              vouch,
              track: (connection) => sockets.track(connection),
              peerConnections: options.peerConnections,
            }),
          ],
    ),
  ]
  const app = fastify({
    logger: false,
    serverFactory: (handler) => httpServer({ handler, hosts, sockets, tls: options.tls }),
    bodyLimit: limits.bodyBytes,
    forceCloseConnections: 'idle',
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    routerOptions: { maxParamLength: 512 },
    rewriteUrl: ({ url = '/' }) => deprecated.current(withoutAlias(url)),
    genReqId: ({ headers }) => {
      const requestId = headers['x-request-id']
      return typeof requestId === 'string' && requestIds.test(requestId) ? requestId : randomUUID()
    },
    frameworkErrors: (error, request, reply) => send(reply, problemOf(error), request),
    clientErrorHandler: answerUnreadable,
  })
  app.decorateRequest('arrivedAt', 0)
  app.decorateRequest('caller', undefined)
  // Each request gets its own work when it arrives.
  app.decorateRequest('work', null as unknown as Work)
  if (options.corsOrigins.length > 0) await app.register(cors, corsOptions(options.corsOrigins))
  parseBodies(app)
  passFiles(app, options.operations)
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedAt = performance.now()
    request.work = createWork(
      options.tracing?.tracer.start(request.method, {
        kind: 'server',
        parent: request.headers.traceparent?.toString(),
      }),
    )
    reply.headers(options.headers).header('x-request-id', request.id)
    reply.headers(deprecated.headersFor(withoutAlias(request.originalUrl)))
    requireReasonableSize(request)
    refuseDuplicateHeaders(request)
    done()
  })
  answerUnrouted(app, new PathTable(served, options.pages), options.limitUnrouted)
  closeAnsweredConnections(app)
  closeUnusedConnections(app, options.tls === undefined ? 'connection' : 'secureConnection')
  const complete = (request: FastifyRequest, status: number) => {
    const answered = {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status,
      ms: performance.now() - request.arrivedAt,
      caller: request.caller,
      waits: request.routeOptions.config.waits === true,
      work: request.work,
    }
    endSpan(answered)
    options.onAnswered(answered)
  }
  app.addHook('onResponse', (request, reply, done) => {
    complete(request, reply.statusCode)
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, request.routeOptions)
    const place = { requestId: request.id, route: request.routeOptions.url }
    // There are many refusals under load and during an outage. So each is logged in one line without a stack trace.
    if (problem.status === 503)
      options.log.warn({ ...place, reason: problem.message, cause: causeOf(problem) }, `refused: ${problem.code}`)
    else if (problem.status >= 500) options.log.error({ ...place, error }, 'failed')
    send(reply, problem, request)
  })
  const streams = new StreamingResponses(app)
  const bodies = new BodyBudget()
  for (const operation of options.operations)
    operationRoute(app, operation, { authorize: options.authorize, streams, bodies, sockets, complete })
  await forwardRoutes(app, { ...options, streams, sockets, complete })
  await pageRoutes(app, options.pages)
  app.server.on('upgrade', (request: IncomingMessage, connection: TcpSocket, head: Buffer) => {
    const host = hostOf(hosts, request)
    if (host === undefined) sockets.route(app, request, { connection, head })
    else host.upgrade(request, connection, head)
  })
  sockets.start(app)
  return app
}

type HttpServerOptions = {
  handler: RequestListener
  hosts: readonly HostHandler[]
  sockets: Sockets
  tls: CertificateFiles | undefined
}

/** Creates the server of the HTTP library. Requests to the host names of a service do not reach the routes. */
function httpServer({ handler, hosts, sockets, tls }: HttpServerOptions): Server {
  const settings = {
    maxHeaderSize: limits.parserHeaderBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    shouldUpgradeCallback: (request: IncomingMessage) =>
      hostOf(hosts, request) === undefined
        ? sockets.isUpgrade(request)
        : request.headers.upgrade?.toLowerCase() === 'websocket',
  }
  const listener: RequestListener = (request, response) => {
    const host = hostOf(hosts, request)
    if (host === undefined) handler(request, response)
    else host.request(request, response)
  }
  if (tls === undefined) return createHttpServer(settings, listener)
  const secureOptions = ({ cert, key }: CertificatePair) => ({ cert, key, minVersion: 'TLSv1.2' as const })
  const server = createHttpsServer(
    { ...settings, ...secureOptions(tls.pair), handshakeTimeout: limits.handshakeMs },
    listener,
  )
  server.on('secureConnection', (connection) => connection.setMaxListeners(limits.socketListeners))
  // New connections use the new certificate. Open connections continue.
  tls.onChange((pair) => server.setSecureContext(secureOptions(pair)))
  return server as unknown as Server
}

function hostOf(hosts: readonly HostHandler[], { headers }: IncomingMessage): HostHandler | undefined {
  if (hosts.length === 0) return undefined
  // A name with a dot at its end is the same host, so it must not reach the routes.
  const [name = ''] = (headers.host ?? '').toLowerCase().split(':', 1)
  const hostname = name.replace(/(?<!\.)\.+$/, '')
  return hosts.find((host) => host.owns(hostname))
}

/**
 * Closes each connection after its response while the server stops. A connection that stays open would delay the stop.
 */
function closeAnsweredConnections(app: FastifyInstance): void {
  let stops = false
  app.addHook('preClose', async () => {
    stops = true
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (stops) reply.header('connection', 'close')
    done()
  })
}

/**
 * Closes connections on which no request has arrived a short time after the server stops. Browsers open such connections in
 * advance. The HTTP library closes only connections that have answered a request, so the others would delay the stop.
 */
function closeUnusedConnections(app: FastifyInstance, opened: 'connection' | 'secureConnection'): void {
  const unused = new Set<TcpSocket>()
  const use = ({ socket }: IncomingMessage) => unused.delete(socket)
  app.server.on(opened, (connection: TcpSocket) => {
    unused.add(connection)
    connection.once('close', () => unused.delete(connection))
  })
  app.server.on('request', use)
  app.server.on('upgrade', use)
  app.addHook('preClose', async () => {
    setTimeout(() => {
      for (const connection of unused) connection.destroy()
    }, limits.firstRequestMs).unref()
  })
}

/**
 * Removes the prefix `/v1` from the URL of an API operation. These URLs are also served below `/v1`, because existing
 * clients use this prefix.
 */
function withoutAlias(url: string): string {
  return /^\/v1\/(?:[a-z-]+\/v\d|oauth\/token(?:$|\?))/.test(url) ? url.slice(3) : url
}

function corsOptions(origins: string[]) {
  return {
    origin: origins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'content-range',
      'range',
      'idempotency-key',
      'if-match',
      'if-none-match',
      'prefer',
      'last-event-id',
    ],
    exposedHeaders: [
      'location',
      'etag',
      'x-request-id',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'deprecation',
      'sunset',
      'link',
      'accept-ranges',
      'content-range',
      'upload-offset',
    ],
    maxAge: 600,
  }
}

function parseBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const parse: typeof parseJson = (request, text, done) =>
    parseJson(request, text, (error, value) => done(error === null ? null : refusalOf(text, error), value))
  app.removeAllContentTypeParsers()
  const jsonTypes = ['application/json', 'application/merge-patch+json']
  app.addContentTypeParser(jsonTypes, { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    if (bytes.length === 0) done(null, undefined)
    else if (!isUtf8(bytes)) done(new Problem('invalid_json', 'The body is not valid UTF-8'))
    else if (isNestedDeeper(bytes, limits.bodyLevels)) done(nestedTooDeeply())
    else parse(request, bytes.toString(), done)
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) => {
    const form: Record<string, string | string[]> = Object.create(null)
    for (const [name, value] of new URLSearchParams(text as string)) {
      const before = form[name]
      if (before === undefined) form[name] = value
      else if (Array.isArray(before)) before.push(value)
      else form[name] = [before, value]
    }
    done(null, form)
  })
}

/** Passes files to their handlers as streams. Operations without a file refuse their media types. */
function passFiles(app: FastifyInstance, operations: readonly LocalOperation[]): void {
  const types = new Set(
    operations.filter(({ operation }) => takesFile(operation)).flatMap(({ operation }) => bodyTypesOf(operation)),
  )
  if (types.size > 0) app.addContentTypeParser([...types], (_request, payload, done) => done(null, payload))
}

function nestedTooDeeply(): Problem {
  const detail = `The body is nested deeper than ${limits.bodyLevels} levels. Send a body with fewer levels`
  return new Problem('invalid_body', detail)
}

/** Returns why a JSON text was refused. The parser also refuses members that could change the prototype of an object. */
function refusalOf(text: string, error: Error): Error {
  try {
    JSON.parse(text)
  } catch {
    return error
  }
  const detail =
    'The body contains a member with a reserved name: __proto__, or prototype in constructor. Use another name'
  return new Problem('invalid_json', detail)
}

function requireReasonableSize(request: FastifyRequest): void {
  if ((request.raw.url?.length ?? 0) > limits.urlBytes) {
    throw new Problem('url_too_long', `The URL exceeds the limit of ${limits.urlBytes} bytes`)
  }
  let bytes = 0
  for (const text of request.raw.rawHeaders) bytes += text.length
  // The token is not counted here, because the front reports a token that is too long.
  const token = request.headers.authorization?.length ?? 0
  if (bytes - token > limits.headerBytes) {
    throw new Problem('headers_too_large', `The request headers exceed the limit of ${limits.headerBytes} bytes`)
  }
}

/**
 * Headers that a request may contain only once. Node uses the first of several values, but a proxy may have used
 * another one.
 */
const singleHeaders = ['host', 'authorization', 'content-type']

function refuseDuplicateHeaders({ raw: { rawHeaders } }: FastifyRequest): void {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!singleHeaders.includes(name)) continue
    if (seen.has(name)) throw new Problem('invalid_header', `The header ${name} is sent more than once. Send it once`)
    seen.add(name)
  }
}

type RouteOptions = {
  authorize: Authorize
  streams: StreamingResponses
  bodies: BodyBudget
  sockets: Sockets
  /** Called when a request is completed whose response has no end, because it became a WebSocket. */
  complete: (request: FastifyRequest, status: number) => void
}

function operationRoute(
  app: FastifyInstance,
  local: LocalOperation,
  { authorize, streams, bodies, sockets, complete }: RouteOptions,
): void {
  const { operation, contract } = local
  const headerNames = [...(operation.headers ?? []), ...(operation.method === 'POST' ? ['idempotency-key'] : [])]
  const route = {
    method: operation.method,
    bodyLimit: bodyBytesOf(operation),
    config: {
      errorFormat: contract.errorFormat,
      errorStatuses: contract.errorStatuses,
      waits: dependsOnClient(operation),
    },
    onRequest: inWork(async (request, reply) => {
      const authorized = await (operation.socket === undefined
        ? authorize(incomingRequestOf(request), operation, contract)
        : sockets.authorize(request, local))
      request.caller = authorized.caller
      if (authorized.headers !== undefined) reply.headers(authorized.headers)
      if (sockets.upgradeOf(request) !== undefined) return
      reply.raw.once('close', noteRequest((request.caller as Caller | undefined)?.tenantId ?? ''))
      if (operation.body !== undefined) await bodies.reserve(request, reply, operation)
      local.beforeBody?.(request.caller as Caller)
    }),
    handler: inWork(async (request, reply) => {
      const upgrade = sockets.upgradeOf(request)
      if (upgrade !== undefined && local.openSocket !== undefined) {
        await sockets.accept(upgrade, { request, reply, local })
        complete(request, 101)
        return reply
      }
      requireType(request, operation)
      const headers: Record<string, string | undefined> = {}
      for (const name of headerNames) headers[name] = request.headers[name]?.toString()
      const isForm = operation.bodyType === 'application/x-www-form-urlencoded'
      const body = takesFile(operation)
        ? receivedFile(request, reply, operation)
        : (request.body ?? (isForm ? {} : undefined))
      const input = { params: request.params, query: request.query, body, headers }
      const answer = await local.invoke(input, request.caller as Caller)
      return answerWith(reply, { answer, operation, unless: request.headers['if-none-match'], streams })
    }),
  }
  for (const path of pathsOf(contract, operation))
    app.route({ ...route, url: toRoute(path), exposeHeadRoute: !hasHead(contract, operation) })
}

function requireType(request: FastifyRequest, operation: Operation): void {
  if (operation.body === undefined || request.body === undefined) return
  const [mediaType = '', ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';')
  const accepted: readonly string[] = bodyTypesOf(operation)
  if (!accepted.includes(mediaType.trim()))
    throw new Problem(
      'unsupported_media_type',
      `Unsupported Content-Type "${mediaType.trim()}". Send the body as ${accepted.join(' or ')}`,
    )
  const charset = parameters.map((parameter) => /^\s*charset="?([^"\s]*)"?\s*$/.exec(parameter)?.[1]).find(Boolean)
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/.test(charset))
    throw new Problem('unsupported_media_type', `Send the body in UTF-8, not in ${charset}`)
}

type ResponseParts = { answer: Answer; operation: Operation; unless: string | undefined; streams: StreamingResponses }

function answerWith(reply: FastifyReply, { answer, operation, unless, streams }: ResponseParts): FastifyReply {
  reply.code(answer.status).headers(answer.headers)
  const declared = operation.answers[answer.status]
  if (answer.body === undefined) return reply.send()
  if (declared !== undefined && isMedia(declared)) {
    if (answer.headers['content-type'] === undefined) reply.type(declared.mediaType)
    if (typeof answer.body === 'string') return reply.send(answer.body)
    const source = streamOf(answer.body as AsyncIterable<string>)
    if (reply.request.method === 'HEAD') {
      source.destroy()
      return reply.send()
    }
    return isEventStream(declared) ? streams.send(reply, source) : reply.send(source)
  }
  const body = answer.body instanceof JsonText ? answer.body.sent : JSON.stringify(answer.body)
  if (typeof answer.headers.etag === 'string') {
    const etag = readTag(answer.headers.etag, body)
    reply.header('etag', etag)
    if (operation.method === 'GET' && isUnchanged(unless, etag)) return reply.code(304).send()
  }
  return reply.header('content-type', 'application/json; charset=utf-8').send(body)
}

/**
 * Creates a stream whose buffer is limited in bytes, because chunks can have any size. A slow reader pauses the source. A
 * body that is a stream is sent as it is, so that the handler can end it.
 */
function streamOf(chunks: AsyncIterable<string | Uint8Array>): Readable {
  if (chunks instanceof Readable) return chunks
  return Readable.from(chunks, { objectMode: false, highWaterMark: limits.streamBytes })
}

/** Answers requests without a route. The body is not read, so its type and content do not matter. */
function answerUnrouted(app: FastifyInstance, paths: PathTable, limitUnrouted: ServerOptions['limitUnrouted']): void {
  const refuse = (request: FastifyRequest, reply: FastifyReply): never => {
    reply.headers(limitUnrouted(incomingRequestOf(request)))
    throw paths.problemFor(request.method, request.url.split('?')[0] ?? '')
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request, reply)
    done()
  })
  for (const { path, method } of paths.shadowed) {
    app.route({ method, url: path, onRequest: async (request, reply) => refuse(request, reply), handler: () => {} })
  }
  app.setNotFoundHandler((request, reply) => send(reply, new Problem('not_found', 'This path does not exist'), request))
}

/** Responds to bytes that the HTTP parser refused. No request exists at this point. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: import('node:net').Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', `The request headers exceed the limit of ${limits.headerBytes} bytes`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem(
            'request_timeout',
            `The request was not received completely within ${limits.requestMs / 1000} seconds`,
          )
        : new Problem('invalid_header', 'The request is not valid HTTP')
  const body = JSON.stringify(problem.toDocument())
  socket.end(
    `HTTP/1.1 ${problem.status} Error\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** Returns the message of the error that caused a problem. */
function causeOf({ cause }: Problem): string | undefined {
  return cause instanceof Error ? cause.message : undefined
}
