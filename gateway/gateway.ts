import { join } from 'node:path'
import { AuthProxy } from './auth-proxy/auth-proxy.ts'
import { Clock } from './clock.ts'
import { DeviceConnections } from './device-info/device-connections.ts'
import { DeviceInfoAgent } from './device-info/device-info-agent.ts'
import { deliver } from './discovery-agent/delivery.ts'
import { DiscoveryAgent } from './discovery-agent/discovery-agent.ts'
import { enrolledIdentity, type Identity } from './identity/enrolment.ts'
import { ownKey } from './identity/key.ts'
import { TokenSource } from './identity/token.ts'
import { LinkMonitor } from './link-monitor/link-monitor.ts'
import { createLog, type Log } from './log.ts'
import { fetchOver, networkTo, Outgoing } from './outgoing.ts'
import { Registry } from './registry/registry.ts'
import { RegistryServer } from './registry/registry-server.ts'
import type { GatewaySettings } from './settings.ts'
import { Spool } from './spool/spool.ts'
import { gatewayVersion } from './version.ts'

/** A gateway that runs. */
export type RunningGateway = {
  gatewayId: string
  name: string
  tenantName: string
  cloudUrl: string
  /** Where links register. */
  registryPort: number
  /** Where agents on this machine reach the cloud. */
  proxyPort: number
  /** How it stands with the cloud and its links, for people. */
  status: () => GatewayStatus
  stop: () => Promise<void>
}

export type GatewayStatus = ReturnType<typeof statusOf>

type Given = {
  log?: Log
  /** How often a running job is reported, and asked after whether it is still wanted. */
  renewEveryMs?: number
}

/** Starts all parts of the gateway; throws a `SetupError` that says what to put right. */
export async function startGateway(settings: GatewaySettings, given: Given = {}): Promise<RunningGateway> {
  const log = given.log ?? createLog({ level: settings.logLevel })
  await using cleanUp = new AsyncDisposableStack()
  const dispatcher = networkTo(settings.outgoingProxy)
  cleanUp.defer(() => dispatcher.destroy())
  const fetch = fetchOver(dispatcher)
  const clock = new Clock()
  const key = await ownKey(join(settings.home, 'gateway-key.pem'))
  const identity = await enrolledIdentity({ home: settings.home, configFile: settings.configFile, key, clock, fetch })
  const tokens = new TokenSource({ identity, key, clock, log, fetch })
  const outgoing = new Outgoing({ baseUrl: identity.baseUrl, key, clock, tokens, dispatcher })

  const registry = await Registry.open({ file: join(settings.home, 'registry.json'), log })
  cleanUp.defer(() => registry.close())
  const registryServer = await RegistryServer.start({
    registry,
    host: settings.registryHost,
    port: settings.registryPort,
    vendors: settings.linkVendors,
  })
  cleanUp.defer(() => registryServer.stop())
  // Behind the port: a second start of the same gateway ends there, before it touches what the first one writes.
  const spool = await Spool.open({ folder: join(settings.home, 'spool'), limitBytes: settings.spoolBytes, log })
  cleanUp.defer(() => spool.close())
  const monitor = new LinkMonitor({ registry, outgoing, log })
  const connections = await DeviceConnections.open({ file: join(settings.home, 'connections.json'), log })
  cleanUp.defer(() => connections.close())
  const discovery = new DiscoveryAgent({
    outgoing,
    registry,
    monitor,
    connections,
    spool,
    log,
    linkSilenceMs: settings.linkSilenceMs,
    renewEveryMs: given.renewEveryMs,
  })
  const deviceInfo = new DeviceInfoAgent({ outgoing, registry, monitor, connections, log })
  const status = () => statusOf({ identity, tokens, spool, monitor, discovery })
  const proxy = await AuthProxy.start({ port: settings.proxyPort, outgoing, log, status })
  cleanUp.defer(() => proxy.stop())

  const stopping = new AbortController()
  const delivering = spool
    .deliver((parcel, attempt) => deliver(parcel, { outgoing, log, attempt }), stopping.signal)
    .catch((error: unknown) => log.fatal({ error }, 'what waits on the disk cannot be read: nothing is delivered'))
  cleanUp.defer(async () => {
    stopping.abort()
    outgoing.close()
    await Promise.all([monitor.stop(), discovery.stop(), deviceInfo.stop(), delivering])
  })
  monitor.start()
  discovery.start()
  deviceInfo.start()
  log.info(
    { gateway: identity.gatewayId, cloud: identity.baseUrl, registryPort: registryServer.port, proxyPort: proxy.port },
    'the gateway is ready',
  )
  const running = cleanUp.move()
  return {
    gatewayId: identity.gatewayId,
    name: identity.name,
    tenantName: identity.tenantName,
    cloudUrl: identity.baseUrl,
    registryPort: registryServer.port,
    proxyPort: proxy.port,
    status,
    stop: () => running.disposeAsync(),
  }
}

type Parts = {
  identity: Identity
  tokens: TokenSource
  spool: Spool
  monitor: LinkMonitor
  discovery: DiscoveryAgent
}

function statusOf({ identity, tokens, spool, monitor, discovery }: Parts) {
  return {
    version: gatewayVersion,
    gatewayId: identity.gatewayId,
    name: identity.name,
    cloud: { url: identity.baseUrl, standing: tokens.standing },
    spool: { entries: spool.waiting, bytes: spool.waitingBytes, isDiskFull: spool.isDiskFull },
    scans: discovery.running,
    links: monitor.reports().map(({ appInstanceId, endpoint, interfaces, state, problem, product }) => ({
      appInstanceId,
      endpoint,
      interfaces,
      state,
      ...(problem === undefined ? {} : { problem }),
      ...(product === undefined ? {} : { product: `${product.vendor} ${product.name} ${product.version}` }),
    })),
    events: monitor.recentEvents,
  }
}
