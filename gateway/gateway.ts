import { join } from 'node:path'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { sendTo, Tracer } from '@millwright/api/tracing.ts'
import { AuthProxy } from './auth-proxy/auth-proxy.ts'
import { Clock } from './clock.ts'
import { CloudConnection } from './cloud-connection.ts'
import { DeviceConnections } from './device-info/device-connections.ts'
import { DeviceInfoAgent } from './device-info/device-info-agent.ts'
import { DeviceMetadata } from './device-info/device-metadata.ts'
import { deliver } from './discovery-agent/delivery.ts'
import { DiscoveryAgent } from './discovery-agent/discovery-agent.ts'
import { enrolledIdentity, type Identity } from './identity/enrolment.ts'
import { ownKey } from './identity/key.ts'
import { TokenSource } from './identity/token.ts'
import { LinkMonitor } from './link-monitor/link-monitor.ts'
import type { BuiltInLink } from './link-runner/link-process.ts'
import { LinkRunner } from './link-runner/link-runner.ts'
import { LinkSwitchAgent } from './link-runner/link-switch-agent.ts'
import { createLog, type Log } from './log.ts'
import { MonitoringAgent } from './monitoring/monitoring-agent.ts'
import { budgetFileName } from './permits/budget-file.ts'
import { GatewayPermits } from './permits/gateway-permits.ts'
import { permitService } from './permits/permit-service.ts'
import { PlatformConnector } from './platform/platform-connector.ts'
import { fetchOver } from './platform/platform-fetch.ts'
import { trustText } from './platform/platform-trust.ts'
import { Registry } from './registry/registry.ts'
import { RegistryServer } from './registry/registry-server.ts'
import { FoundAddresses } from './remote-access/found-addresses.ts'
import { RemoteAccess } from './remote-access/remote-access.ts'
import { remoteAccessFileName } from './remote-access/remote-access-file.ts'
import type { GatewaySettings } from './settings.ts'
import { Spool } from './spool/spool.ts'
import type { GatewayTls } from './tls/gateway-tls.ts'
import type { UpdateTiming } from './updates/device-update.ts'
import { openUpdateAgent, type UpdateAgent } from './updates/update-agent.ts'
import { gatewayVersion } from './version.ts'

/** `RunningGateway` is a gateway that was started. It returns the state of the gateway and stops it. */
export type RunningGateway = {
  gatewayId: string
  name: string
  tenantName: string
  cloudUrl: string
  /** Which certificate of the platform the gateway accepts, as text. */
  cloudTrust: string
  /** The port on which links register. */
  registryPort: number
  /** The port on which agents on this machine reach the auth proxy. */
  proxyPort: number
  /** The port on which links on other machines register with mutual TLS. */
  tlsPort?: number
  /** The port on which agents on other machines reach the auth proxy with mutual TLS. */
  agentTlsPort?: number
  /** Returns the state of the connection, the spool and the links. */
  status: () => GatewayStatus
  /** Starts the enabled built-in links, one after the other. */
  startLinks: () => Promise<void>
  stop: () => Promise<void>
}

export type GatewayStatus = ReturnType<typeof statusOf>

type GatewayOptions = {
  log?: Log
  /**
   * The interval in which the lease of a running job is renewed. A renewal also reports progress and reads
   * cancellations.
   */
  renewEveryMs?: number
  /** The links that the gateway can run as child processes. */
  builtInLinks?: readonly BuiltInLink[]
  /** The pauses during an update. */
  updateTiming?: UpdateTiming
}

/** Starts all parts of the gateway. Throws a `SetupError` for a problem that the user has to fix. */
export async function startGateway(settings: GatewaySettings, options: GatewayOptions = {}): Promise<RunningGateway> {
  const log = options.log ?? createLog({ level: settings.logLevel })
  await using cleanUp = new AsyncDisposableStack()
  const clock = new Clock()
  const key = await ownKey(join(settings.home, 'gateway-key.pem'))
  const { home, configFile, outgoingProxy } = settings
  const identity = await enrolledIdentity({ home, configFile, key, clock, proxy: outgoingProxy })
  const platform = new PlatformConnector({ ...identity, proxy: outgoingProxy })
  cleanUp.defer(() => platform.close())
  const { dispatcher } = platform
  const fetch = fetchOver(dispatcher)
  const tokens = new TokenSource({ identity, key, clock, log, fetch })
  const tracer = openTracer(settings, log)
  if (tracer !== undefined) cleanUp.defer(() => tracer.stop())
  const cloud = new CloudConnection({ baseUrl: identity.baseUrl, key, clock, tokens, dispatcher, tracer })

  const tls = await openTls(settings, log)
  if (tls !== undefined) cleanUp.use(tls)
  const registry = await Registry.open({ file: join(settings.home, 'registry.json'), log, tls })
  cleanUp.defer(() => registry.close())
  const permits = cleanUp.use(await GatewayPermits.open(join(settings.home, budgetFileName)))
  if (permits.fault !== undefined) log.error({ reason: permits.fault }, 'no scan starts until the budget is corrected')
  const links = options.builtInLinks ?? []
  const serveRegistry = async (place: { host: string; port: number; tls?: GatewayTls }) => {
    const services = [permitService({ permits, registry, links, tls: place.tls })]
    const server = await RegistryServer.start({ ...place, registry, vendors: settings.linkVendors, services })
    cleanUp.defer(() => server.stop())
    return server
  }
  const registryServer = await serveRegistry({ host: settings.registryHost, port: settings.registryPort })
  if (!isLoopback(settings.registryHost))
    log.warn(
      { host: settings.registryHost, port: registryServer.port },
      'the registry accepts links on other machines without encryption and without a certificate; use MILLWRIGHT_GATEWAY_TLS_PORT and MILLWRIGHT_GATEWAY_TLS_HOST instead',
    )
  const { tlsHost: host = '', tlsPort, agentTlsPort } = settings
  const tlsRegistry =
    tls === undefined || tlsPort === undefined ? undefined : await serveRegistry({ host, port: tlsPort, tls })
  // The spool is opened after the registry port. A second process of the same gateway fails at that port, before it can
  // change the files of the spool.
  const spool = await Spool.open({ folder: join(settings.home, 'spool'), limitBytes: settings.spoolBytes, log })
  cleanUp.defer(() => spool.close())
  const runner = new LinkRunner({
    settings,
    builtInLinks: links,
    registry,
    registryPort: registryServer.port,
    log,
    onChange: () => monitor.reportSoon(),
    onDisable: ({ name, appInstanceId }) =>
      permits.failScansOf(appInstanceId, `The link ${name} was switched off during the scan`),
  })
  cleanUp.defer(() => runner.stop())
  const monitor = new LinkMonitor({
    ...{ registry, cloud, log },
    managedLinks: () => runner.report(),
    isStarting: (appInstanceId) => runner.isStarting(appInstanceId),
  })
  const connections = await DeviceConnections.open({ file: join(settings.home, 'connections.json'), log })
  cleanUp.defer(() => connections.close())
  const deviceMetadata = await DeviceMetadata.open({ file: join(settings.home, 'device-metadata.json'), log })
  cleanUp.defer(() => deviceMetadata.close())
  const foundAddresses = await FoundAddresses.open({ file: join(settings.home, 'found-addresses.json'), log })
  cleanUp.defer(() => foundAddresses.close())
  const scans = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  const discovery = new DiscoveryAgent({
    cloud,
    registry,
    monitor,
    connections,
    deviceMetadata,
    foundAddresses,
    permits,
    identity,
    key,
    spool,
    scans,
    journalFolder: join(settings.home, 'scans'),
    log,
    linkSilenceMs: settings.linkSilenceMs,
    renewEveryMs: options.renewEveryMs,
  })
  const deviceInfo = new DeviceInfoAgent({ cloud, registry, monitor, connections, log })
  const monitoring = new MonitoringAgent({
    ...{ cloud, registry, monitor, connections, permits, log },
    renewEveryMs: options.renewEveryMs,
  })
  const updates = await openUpdateAgent({
    ...{ settings, cloud, clock, registry, monitor, connections, metadata: deviceMetadata, permits, scans, log },
    renewEveryMs: options.renewEveryMs,
    timing: options.updateTiming,
  })
  const linkSwitches = new LinkSwitchAgent({ cloud, runner, log })
  const status = () =>
    statusOf({ identity, registry, tokens, spool, monitor, discovery, permits, runner, remoteAccess, updates })
  const proxy = await AuthProxy.start({ port: settings.proxyPort, cloud, log, status })
  cleanUp.defer(() => proxy.stop())
  const remoteProxy =
    tls === undefined || agentTlsPort === undefined
      ? undefined
      : await AuthProxy.start({ port: agentTlsPort, cloud, log, status, remote: { host, tls } })
  if (remoteProxy !== undefined) cleanUp.defer(() => remoteProxy.stop())
  const remoteAccess = await RemoteAccess.open({
    file: join(settings.home, remoteAccessFileName),
    cloud,
    foundAddresses,
    ports: [registryServer, proxy, tlsRegistry, remoteProxy].flatMap((server) => server?.port ?? []),
    platform,
    log,
  })
  cleanUp.defer(() => remoteAccess.stop())

  const stopping = new AbortController()
  const delivering = spool
    .deliver((entry, attempt) => deliver(entry, { cloud, log, attempt }), stopping.signal)
    .catch((error: unknown) => log.fatal({ error }, 'the spool cannot be read: nothing is delivered'))
  cleanUp.defer(async () => {
    stopping.abort()
    cloud.close()
    const agents = [discovery, deviceInfo, monitoring, updates, linkSwitches]
    await Promise.all([monitor.stop(), ...agents.map((agent) => agent.stop()), delivering])
  })
  monitor.start()
  discovery.start()
  deviceInfo.start()
  monitoring.start()
  updates.start()
  if (options.builtInLinks !== undefined) linkSwitches.start()
  remoteAccess.start()
  const ports = {
    registryPort: registryServer.port,
    proxyPort: proxy.port,
    ...(tlsRegistry === undefined ? {} : { tlsPort: tlsRegistry.port }),
    ...(remoteProxy === undefined ? {} : { agentTlsPort: remoteProxy.port }),
  }
  log.info({ gateway: identity.gatewayId, cloud: identity.baseUrl, ...ports }, 'gateway is ready')
  const running = cleanUp.move()
  return {
    gatewayId: identity.gatewayId,
    name: identity.name,
    tenantName: identity.tenantName,
    cloudUrl: identity.baseUrl,
    cloudTrust: trustText(identity.baseUrl, identity.tls),
    ...ports,
    status,
    startLinks: () => runner.start(),
    stop: () => running.disposeAsync(),
  }
}

/** Opens the export of traces if a collector is set. */
function openTracer({ tracesUrl: url }: GatewaySettings, log: Log): Tracer | undefined {
  if (url === undefined) return undefined
  return new Tracer({
    service: 'millwright-gateway',
    version: gatewayVersion,
    send: sendTo(url),
    onExportState: (reason) =>
      reason === undefined
        ? log.warn('traces are exported again')
        : log.warn({ reason }, 'traces cannot be exported, and are dropped'),
  })
}

/** Opens the TLS identity of the gateway if a port with TLS is set. Other gateways do not load the code for certificates. */
async function openTls(settings: GatewaySettings, log: Log): Promise<GatewayTls | undefined> {
  const { home, tlsHost, tlsPort, agentTlsPort, tlsNames } = settings
  if ((tlsPort ?? agentTlsPort) === undefined || tlsHost === undefined) return undefined
  const { GatewayTls } = await import('./tls/gateway-tls.ts')
  return GatewayTls.open({ home, names: [tlsHost, ...tlsNames], log })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}

type GatewayParts = {
  identity: Identity
  registry: Registry
  tokens: TokenSource
  spool: Spool
  monitor: LinkMonitor
  discovery: DiscoveryAgent
  permits: GatewayPermits
  runner: LinkRunner
  remoteAccess: RemoteAccess
  updates: UpdateAgent
}

function statusOf({ identity, registry, tokens, spool, monitor, discovery, permits, runner, ...parts }: GatewayParts) {
  return {
    version: gatewayVersion,
    gatewayId: identity.gatewayId,
    name: identity.name,
    cloud: {
      url: identity.baseUrl,
      standing: tokens.connectionState,
      trust: trustText(identity.baseUrl, identity.tls),
    },
    spool: { entries: spool.waiting, bytes: spool.waitingBytes, isDiskFull: spool.isDiskFull },
    scans: discovery.running,
    budget: permits.budget,
    remoteAccess: parts.remoteAccess.status,
    updates: parts.updates.status,
    links: monitor.reports().map(({ appInstanceId, endpoint, interfaces, state, problem, product }) => ({
      appInstanceId,
      endpoint,
      interfaces,
      state,
      isEncrypted: registry.find(appInstanceId)?.tls !== undefined,
      ...(problem === undefined ? {} : { problem }),
      ...(product === undefined ? {} : { product: `${product.vendor} ${product.name} ${product.version}` }),
    })),
    managedLinks: runner.status(),
    events: monitor.recentEvents,
  }
}
