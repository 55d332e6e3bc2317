import { Server } from '@grpc/grpc-js'
import { interfaceName, linkServices, usualVendors } from '@millwright/api/link-protocol.ts'
import { HealthImplementation } from 'grpc-health-check'
import type { LinkDefinition } from './define-link.ts'
import { deviceInfoService, type PropertiesLink } from './device-info-service.ts'
import { discoverService } from './discover-service.ts'
import { driverInfoService } from './driver-info-service.ts'
import { identifiersService } from './identifiers-service.ts'
import { type Log, type LogLevel, openLog } from './log.ts'
import { openPermitSource } from './network/permit-source.ts'
import { addressInfo, keepRegistered, type Registration } from './registration.ts'
import { sentFunctionsService } from './sent-functions-service.ts'
import { certifiedName, type LinkTls, serverCredentials, serverInterceptors } from './tls.ts'
import { openTracer, tracingInterceptor } from './tracing.ts'
import type { ServedService, ServiceContext } from './unary.ts'
import { type UpdateLink, updateServices } from './update-service.ts'

export type LinkSettings = {
  /** The address to listen on. */
  host?: string
  /** The port to listen on. 0 selects a free port. */
  port?: number
  /** The host name that the gateway uses, if it differs from `host`. */
  advertisedHost?: string
  advertisedPort?: number
  /** The address of the gateway's registry as `host:port`. Without a registry, the link is not registered. */
  registry?: string
  /** The vendor prefixes that the link serves. The link registers with the first prefix. */
  vendors?: readonly string[]
  /**
   * The name of this instance of the link. It is needed if several instances register with one gateway. A link with a
   * certificate has the name in its certificate.
   */
  instance?: string
  /** The certificate for mutual TLS with a gateway on another machine. */
  tls?: LinkTls
  /** The folder in which the link can store files. */
  home?: string
  logLevel?: LogLevel
  /** The URL of the collector for traces. Without it, the link exports no traces. */
  tracesUrl?: string
  /** How long running calls may continue after `stop` was called, in milliseconds. */
  graceMs?: number
  /** The token from the gateway that started the link. The gateway accepts the id of the link only with it. */
  token?: string | undefined
  onRegistered?: (expireSeconds: number) => void
}

export type RunningLink = AsyncDisposable & {
  /** The address of the link as `host:port`. */
  endpoint: string
  port: number
  stop: () => Promise<void>
}

/** Serves a link and keeps it registered until its `stop` function is called. */
export async function startLink(link: LinkDefinition, given: LinkSettings = {}): Promise<RunningLink> {
  const settings = withCertifiedName(given)
  const { host = '127.0.0.1', port: requestedPort = 0, vendors = usualVendors, graceMs = 5_000 } = settings
  const log = openLog(link.manifest.id, settings.logLevel ?? 'info')
  const stopping = new AbortController()
  const { registry, home, instance, token, tls } = settings
  const permits = openPermitSource({ manifest: link.manifest, registry, instance, token, tls })
  const services = servicesOf(link, { log, stopping: stopping.signal, permits, home })
  const interfaces = interfacesOf(services, vendors)

  const tracer = openTracer({ manifest: link.manifest, url: settings.tracesUrl, log })
  const server = new Server({
    interceptors: [...serverInterceptors(tls), ...(tracer === undefined ? [] : [tracingInterceptor(tracer)])],
  })
  for (const { definition, implementation, service, vendors: own = vendors } of services) {
    for (const vendor of own) server.addService(definition(interfaceName(service, vendor)), implementation)
  }
  const health = healthOf(server, ['', ...interfaces])
  const port = await listen(server, { host, port: requestedPort, tls })
  log.info(`The link ${link.manifest.name} listens.`, { host, port, vendors })

  void logNotices(link, log)

  const registration = registrationOf(link, { settings, host, port, interfaces, log })
  const registered = registration && keepRegistered(registration)
  let stopped: Promise<void> | undefined

  const stop = async () => {
    for (const name of ['', ...interfaces]) health.setStatus(name, 'NOT_SERVING')
    if (graceMs === 0) stopping.abort()
    await registered?.stop()
    await shutDown(server, { graceMs, giveUp: () => stopping.abort() })
    permits.close()
    await tracer?.stop()
    log.info('The link has stopped.')
  }
  return {
    endpoint: `${bracketed(host)}:${port}`,
    port,
    stop: () => (stopped ??= stop()),
    [Symbol.asyncDispose]: () => (stopped ??= stop()),
  }
}

/** Returns the settings with the id of the certificate. The gateway accepts no other id. */
function withCertifiedName(settings: LinkSettings): LinkSettings {
  if (settings.tls === undefined) return settings
  return { ...settings, instance: settings.instance ?? certifiedName(settings.tls) }
}

/** Returns the names of all interfaces, in the order of the vendor prefixes. */
function interfacesOf(services: readonly ServedService[], vendors: readonly string[]): string[] {
  const all = new Set([...vendors, ...services.flatMap(({ vendors: own = [] }) => own)])
  return [...all].flatMap((vendor) =>
    services
      .filter(({ vendors: own = vendors }) => own.includes(vendor))
      .map(({ service }) => interfaceName(service, vendor)),
  )
}

/** Logs the notices of the link. The field `notice` marks the entries for the gateway that started the link. */
async function logNotices({ notices }: LinkDefinition, log: Log): Promise<void> {
  try {
    for (const text of (await notices?.()) ?? []) log.warn(text, { notice: true })
  } catch (error) {
    log.warn('The limits of the link on this machine could not be determined.', { error })
  }
}

function servicesOf(link: LinkDefinition, context: ServiceContext & { stopping: AbortSignal }): ServedService[] {
  const { log } = context
  return [
    driverInfoService(link.manifest, log),
    discoverService(link, context),
    ...(hasProperties(link) ? [deviceInfoService(link, context), identifiersService(link, context)] : []),
    ...(hasUpdate(link) ? updateServices(link, context) : []),
    ...(link.manifest.sends === undefined ? [] : [sentFunctionsService(link.manifest, log)]),
  ]
}

function hasProperties(link: LinkDefinition): link is PropertiesLink {
  return link.properties !== undefined
}

function hasUpdate(link: LinkDefinition): link is UpdateLink {
  return link.update !== undefined
}

function healthOf(server: Server, names: readonly string[]): HealthImplementation {
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING'])))
  health.addToServer(server)
  return health
}

type Place = { settings: LinkSettings; host: string; port: number; interfaces: readonly string[]; log: Log }

/**
 * Returns the registration of the link. The interfaces are also registered as application types, because older gateways
 * read only that field.
 */
function registrationOf({ manifest }: LinkDefinition, place: Place): Registration | undefined {
  const { settings, host, port, log } = place
  if (settings.registry === undefined) return undefined
  // The interface for permits shows the gateway that the link keeps the budget.
  const budgeted = manifest.sends === undefined ? [] : [interfaceName(linkServices.permits)]
  const interfaces = [...place.interfaces, ...budgeted]
  return {
    registry: settings.registry,
    vendor: (settings.vendors ?? usualVendors)[0] ?? '',
    log,
    token: settings.token,
    tls: settings.tls,
    info: {
      ...addressInfo(settings.advertisedHost ?? host),
      appInstanceId: settings.instance ?? manifest.id,
      grpcIpPortNumber: settings.advertisedPort ?? port,
      appTypes: interfaces,
      interfaces,
      driverSchemaUris: [manifest.id],
    },
    ...(settings.onRegistered === undefined ? {} : { onRegistered: settings.onRegistered }),
  }
}

type Listening = { host: string; port: number; tls: LinkTls | undefined }

function listen(server: Server, { host, port, tls }: Listening): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${bracketed(host)}:${port}`, serverCredentials(tls), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Rejects new calls immediately. Running calls may finish within `graceMs`. After that, they are aborted and, one
 * second later, disconnected.
 */
async function shutDown(server: Server, { graceMs, giveUp }: { graceMs: number; giveUp: () => void }): Promise<void> {
  const timer = setTimeout(giveUp, graceMs)
  const cutOff = setTimeout(() => server.forceShutdown(), graceMs + 1_000)
  await new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
  clearTimeout(timer)
  clearTimeout(cutOff)
}
