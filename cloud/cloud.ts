import { createServer as createTcpServer, isIP } from 'node:net'
import { identity } from '@millwright/api/identity.ts'
import type { Tracer } from '@millwright/api/tracing.ts'
import type { JWK } from 'jose'
import { clientVoucher } from './front/client-voucher.ts'
import { deniedRequests } from './front/denied-requests.ts'
import { Front } from './front/front.ts'
import { ProofVerifier } from './front/proof.ts'
import { RateLimit } from './front/rate-limit.ts'
import { TokenVerifier } from './front/token.ts'
import { pages } from './pages.ts'
import { AccessCache } from './platform/access/cache.ts'
import { systemCaller } from './platform/access/system.ts'
import { auditTasks } from './platform/audit/audit.ts'
import type { Address } from './platform/database/connection.ts'
import type { Database, SlowStatement } from './platform/database/database.ts'
import { eventTasks } from './platform/events/events.ts'
import { Feed } from './platform/events/feed.ts'
import { platformGauges } from './platform/gauge-store.ts'
import type { CompletedRequest } from './platform/http/completed-request.ts'
import { createServer } from './platform/http/server.ts'
import { createHub } from './platform/hub.ts'
import { limits } from './platform/limits.ts'
import type { Log } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { Outbound } from './platform/outbound.ts'
import { peerTokens as createPeerTokens } from './platform/peer-token.ts'
import type { MasterKeys } from './platform/secrets/master-keys.ts'
import { Safe } from './platform/secrets/safe.ts'
import type { Secrets } from './platform/secrets/secrets.ts'
import type { ArtefactSettings, Context, Service, Settings } from './platform/service.ts'
import { SharedCounts } from './platform/shared-counts.ts'
import { SlowLog, withoutLiterals } from './platform/slow-log.ts'
import { StartError } from './platform/start-error.ts'
import { Heartbeats } from './platform/tasks/heartbeats.ts'
import { pruningTasks } from './platform/tasks/pruning.ts'
import { Tasks } from './platform/tasks/tasks.ts'
import { TenantGauges } from './platform/tenant-gauges.ts'
import { TenantDirectory } from './platform/tenants/tenants.ts'
import type { CertificateFiles } from './platform/tls/certificate-files.ts'
import { hostOf, rootsIn } from './platform/tls/certificate-pair.ts'
import { PeerConnections } from './platform/tls/peer-connections.ts'
import type { Tracing } from './platform/tracing.ts'
import { Readiness } from './readiness.ts'
import { services } from './services/services.ts'

export type CloudOptions = {
  database: Database
  /**
   * The address of the database, for the connection that listens for changes of access. Undefined if the database is
   * behind a connection pooler, because notifications need a dedicated connection.
   */
  listenAt: Address | undefined
  /** The end of the names of the notification channels. Test platforms with one database use different ends. */
  channelSuffix: string
  secrets: Secrets
  masterKeys: MasterKeys
  log: Log
  /** The names of the services to run in this process. An empty list means all services that are not in `remote`. */
  local: readonly string[]
  /** The URLs of the other services, by name. */
  remote: ReadonlyMap<string, string>
  baseUrl: string
  /** The certificate of the server. Undefined if it does not use TLS. */
  tls: CertificateFiles | undefined
  /** The authorities whose certificates are accepted from other processes of the platform, in PEM format. */
  peerAuthority: string | undefined
  /** The address at which other processes reach this one. The default is this machine and the port of the server. */
  internalUrl: string | undefined
  /** The host names of web pages of devices, such as `*.remote.example.com`. */
  remoteAccessHost: string | undefined
  /** Where the contents of artefacts are stored. */
  artefacts: ArtefactSettings
  /** The folder that contains the gateway package. */
  packageFolder: string
  tokenLifetimeSeconds: number
  rateLimit: number
  /** The hosts and networks to which the platform can connect. */
  outboundAllow: readonly string[]
  corsOrigins: string[]
  trustedProxies: string[]
  /** The thresholds of the logs of slow requests and statements. */
  slowRequestMs: number
  slowStatementMs: number
  metricsToken: string | undefined
  /** True if requests to /metrics from this machine need no token. Must be false if a proxy may run on this machine. */
  metricsFromLoopback: boolean
  /** Undefined if no traces are exported. */
  tracing: Tracing | undefined
  /** The folder with the data of the platform. */
  home: string | undefined
  /** Whether every response is validated against its contract. True in tests. */
  strict: boolean
}

export type Cloud = {
  context: Context
  /** Sets the origin that clients use, if it is not known before the server listens. */
  setBaseUrl(url: string): void
  /** Sets the reason why `/readyz` returns 503 although the services work. Undefined removes the reason. */
  setNotReady(reason: string | undefined): void
  listen(at: { host: string; port: number }): Promise<number>
  inject: Awaited<ReturnType<typeof createServer>>['inject']
  /** Finishes the accepted requests, then stops the platform. */
  close(): Promise<void>
}

/** Opens the platform in one process, with its services behind the front. */
export async function openCloud(options: CloudOptions): Promise<Cloud> {
  const { database, secrets, masterKeys, log } = options
  const keys = secrets.follow({ database, log })
  const { baseUrl, tokenLifetimeSeconds, remoteAccessHost, artefacts, packageFolder } = options
  const settings: Settings = {
    baseUrl,
    tokenLifetimeSeconds,
    remoteAccessHost,
    artefacts,
    packageFolder,
    internalUrl: options.internalUrl ?? '',
    gatewayAuthority: () => gatewayAuthority(options, settings.baseUrl),
  }
  const tenants = new TenantDirectory({ database })
  const limitsChannel = `limits${options.channelSuffix}`
  const heartbeatsChannel = `heartbeats${options.channelSuffix}`
  // Every user of the database can send notifications, so the counts of sign-in failures carry a proof of their origin.
  const countsPurpose = 'counts of limits'
  const sharedCounts = new SharedCounts({
    send: (text) => access.notify(limitsChannel, `${secrets.mac(countsPurpose, text).toString('base64url')} ${text}`),
    log,
  })
  const receiveCounts = (message: string) => {
    const end = message.indexOf(' ')
    const text = message.slice(end + 1)
    const proof = Buffer.from(message.slice(0, Math.max(0, end)), 'base64url')
    if (secrets.isMac(countsPurpose, text, proof)) sharedCounts.receive(text)
  }
  const access = new AccessCache({
    database,
    tenants,
    log,
    otherChannels: {
      keys: keys.refresh,
      [limitsChannel]: receiveCounts,
      [heartbeatsChannel]: (text) => heartbeats.receive(text),
    },
    ...(options.listenAt === undefined ? {} : { address: options.listenAt }),
  })
  const tracer = options.tracing?.tracer
  const slowLog = new SlowLog({ ...options, log })
  database.reportSlow({
    slowMs: options.slowStatementMs,
    onSlow(slow) {
      slowLog.statement(slow)
      traceStatement(tracer, slow)
    },
  })
  const metrics = createMetrics({
    database,
    tokens: () => tokens,
    tasks: () => tasks.stats(),
    slowLog,
    tracer,
    tenantGauges: new TenantGauges({
      database,
      gauges: [...platformGauges, ...services.flatMap(({ gauges = [] }) => gauges)],
      log,
    }),
    home: options.home,
    tls: options.tls,
  })
  const tasks = new Tasks({ database, log, tracer, onRan: metrics.ran })
  const heartbeats = new Heartbeats({
    send: (text) => access.notify(heartbeatsChannel, text),
    onEnded: () => tasks.takeOver(),
    log,
  })
  tasks.define({ ...auditTasks({ database, secrets }), ...eventTasks({ database }), ...pruningTasks({ database }) })
  const feed = new Feed({ database, log })
  const safe = new Safe({ database, masterKeys })
  const outbound = new Outbound({ allow: options.outboundAllow })
  const peerConnections = new PeerConnections({ authority: options.peerAuthority })
  const stopping = new AbortController()
  const peerTokens = createPeerTokens(secrets)
  const here = localServices(options)
  const hub = createHub(
    {
      database,
      tracer,
      access,
      tenants,
      secrets,
      safe,
      tasks,
      feed,
      sharedCounts,
      settings,
      outbound,
      peerConnections,
      log,
      stopping: stopping.signal,
    },
    { services: here, remote: options.remote, peerTokens, strict: options.strict },
  )
  const { context } = hub
  const tokens = new TokenVerifier({
    issuer: () => settings.baseUrl,
    keys: async () => (await context.peers(identity, systemCaller()).keys({})).keys as JWK[],
    verifyProviderToken: async (token) =>
      (await context.peers(identity, systemCaller()).verifyProviderToken({ body: { data: { token } } })).data,
  })
  const voucher = clientVoucher(secrets)
  const rateLimit = new RateLimit({ perSecond: options.rateLimit, sharedCounts })
  const front = new Front({
    tokens,
    proofs: new ProofVerifier({ baseUrl: () => settings.baseUrl, database }),
    peerTokens,
    access,
    tenants,
    rateLimit,
    voucher,
    onDenied: deniedRequests({ database, log }),
  })
  const readiness = new Readiness({
    database,
    remote: options.remote,
    send: peerConnections.fetch,
    tls: options.tls,
  })
  const server = await createServer({
    operations: hub.operations,
    hosts: hub.hosts,
    forwards: forwards(options, here, voucher.vouch),
    origins: () => [settings.baseUrl, ...options.corsOrigins],
    pages: pages({
      contracts: services.map(({ contract }) => contract),
      readiness,
      metrics,
      packageFolder,
      metricsToken: options.metricsToken,
      metricsFromLoopback: options.metricsFromLoopback,
    }),
    authorize: (incoming, operation, contract) => front.authorize(incoming, operation, contract),
    limitUnrouted: (incoming) => front.limitAddress(incoming),
    onAnswered: (answered) => {
      metrics.answered(answered)
      slowLog.request(answered)
      logAnswer(log, answered)
    },
    log,
    tracing: options.tracing,
    trustedProxies: options.trustedProxies,
    corsOrigins: options.corsOrigins,
    tls: options.tls,
    peerConnections,
    headers: securityHeaders(settings.baseUrl),
  })
  await server.ready()
  await access.start()
  tasks.start()
  heartbeats.start()
  return {
    context,
    setBaseUrl(url) {
      settings.baseUrl = url
    },
    setNotReady(reason) {
      readiness.setNotReady(reason)
    },
    async listen({ host, port }) {
      await server.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
        throw new StartError(cannotListen(error, { host, port }))
      })
      const { port: usedPort } = server.server.address() as { port: number }
      if (options.internalUrl === undefined) settings.internalUrl = originOf(host, usedPort, options.tls)
      return usedPort
    },
    inject: server.inject.bind(server),
    async close() {
      stopping.abort()
      await withinTime(server.close(), limits.drainMs)
      await tasks.stop()
      await heartbeats.stop()
      await sharedCounts.flush()
      await access.stop()
      keys.stop()
      await outbound.close()
      await peerConnections.close()
      await options.tls?.close()
      await options.tracing?.stop()
      await database.close()
      slowLog.stop()
    },
  }
}

/**
 * Returns the root certificates in the certificate file, if gateways see this certificate. Behind a proxy, gateways see the
 * certificate of the proxy.
 */
function gatewayAuthority({ tls, trustedProxies }: CloudOptions, baseUrl: string): string | undefined {
  if (tls === undefined || trustedProxies.length > 0) return undefined
  const { cert, certificate } = tls.pair
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  const isOwn = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)
  return isOwn === undefined ? undefined : rootsIn(cert)
}

type Placement = Pick<CloudOptions, 'local' | 'remote'>

/** Throws an error if a setting names a service that does not exist. */
export function requireKnownServices({ local, remote }: Placement): void {
  const names = services.map(({ contract }) => contract.name)
  for (const name of [...local, ...remote.keys()]) {
    if (!names.includes(name)) throw new StartError(`Unknown service ${name}. Services: ${names.join(', ')}.`)
  }
}

/** Throws an error if the platform cannot listen at an address. */
export async function requireFreeAddress(at: { host: string; port: number }): Promise<void> {
  const probe = createTcpServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(at.port, at.host, resolve)
    })
  } catch (error) {
    throw new StartError(cannotListen(error as NodeJS.ErrnoException, at))
  }
  await new Promise((resolve) => probe.close(resolve))
}

function localServices({ local, remote }: Placement): Service[] {
  if (local.length === 0) return services.filter(({ contract }) => !remote.has(contract.name))
  return services.filter(({ contract }) => local.includes(contract.name))
}

/**
 * Creates the routes to services in other processes. This process authorizes the requests, and the other process
 * handles them.
 */
function forwards(
  { remote, remoteAccessHost }: CloudOptions,
  here: readonly Service[],
  vouch: (request: { id: string; address: string }) => Record<string, string>,
) {
  const elsewhere = services.filter((service) => !here.includes(service) && remote.has(service.contract.name))
  const suffix = remoteAccessHost?.slice(1)
  return elsewhere.map(({ contract, hosts }) => ({
    url: remote.get(contract.name) ?? '',
    operations: Object.entries(contract.operations).map(([name, operation]) => ({ contract, name, operation })),
    vouch,
    ...(hosts === undefined || suffix === undefined
      ? {}
      : { ownsHost: (hostname: string) => hostname.endsWith(suffix) }),
  }))
}

function logAnswer(log: Log, { requestId, method, route, status, ms, caller, work }: CompletedRequest): void {
  if (!log.isLevelEnabled('info')) return
  const who =
    caller !== undefined && 'principal' in caller ? { tenant: caller.tenantName, principal: caller.principal.id } : {}
  const trace = work.span === undefined ? {} : { traceId: work.span.traceId }
  log.info({ requestId, method, route, status, ms: Math.round(ms * 10) / 10, ...who, ...trace }, 'answered')
}

/** Adds a slow statement to the trace of its request or task. The span contains no values. */
function traceStatement(tracer: Tracer | undefined, { span, name, text, ms, rows }: SlowStatement): void {
  if (span === undefined) return
  const attributes = { 'db.system.name': 'postgresql', 'db.query.text': withoutLiterals(text) }
  const statement = tracer?.start(`statement ${name}`, {
    kind: 'client',
    parent: span.traceparent,
    attributes: { ...attributes, 'db.response.returned_rows': rows },
    ageMs: ms,
  })
  statement?.end(rows === undefined ? { error: 'failed' } : {})
}

/** Returns secure default headers. A page with other needs sets its own headers. */
function securityHeaders(baseUrl: string): Record<string, string> {
  return {
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
    ...(usesStrictTransport(baseUrl) ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}

/**
 * Returns true if browsers must use https for the host from now on. They would apply it to all ports of `localhost`, so
 * other programs on the machine of the user would no longer be reachable.
 */
function usesStrictTransport(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl)
  return protocol === 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} is in use: stop the other program, or set MILLWRIGHT_PORT (0 selects a free port).`
  if (error.code === 'EACCES')
    return `This user has no permission to listen on port ${port}: set MILLWRIGHT_PORT to 1024 or higher.`
  return `Cannot listen on ${host}:${port} (${error.code}): check MILLWRIGHT_HOST and MILLWRIGHT_PORT.`
}

/** Returns the origin at which a client reaches a server: by the name in its certificate, or on this machine. */
export function originOf(host: string, port: number, tls?: CertificateFiles): string {
  if (tls !== undefined) return new URL(`https://${hostOf(tls.pair.certificate, host)}:${port}`).origin
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  const timer = Promise.withResolvers<void>()
  const handle = setTimeout(timer.resolve, ms)
  await Promise.race([work, timer.promise])
  clearTimeout(handle)
}
