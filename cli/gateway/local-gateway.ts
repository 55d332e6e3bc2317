import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { type GatewayConfig, onboarding } from '@millwright/api/onboarding.ts'
import { systemCaller } from '@millwright/cloud/platform/access/system.ts'
import { rootsIn } from '@millwright/cloud/platform/tls/certificate-pair.ts'
import type { RunningCloud } from '@millwright/cloud/start.ts'
import type { RunningGateway } from '@millwright/gateway/gateway.ts'
import { isProcessAlive } from '@millwright/gateway/process-state.ts'
import { type GatewaySettings, gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'
import { PortTakenError } from '@millwright/gateway/setup-error.ts'

/** `LocalGateway` is a gateway on the machine of the platform, with all built-in links. */
export type LocalGateway = GatewayPorts & { gatewayId: string; startLinks(): Promise<void>; stop(): Promise<void> }

/**
 * `GatewayPorts` contains the ports that a local gateway listens on. They differ from the default ports when another
 * program uses the default ports.
 */
export type GatewayPorts = { registryPort: number; proxyPort: number }

type Environment = Readonly<Record<string, string | undefined>>

const tenantName = 'default'
/** How long the check of the platform's certificate may take. */
const trustCheckMs = 5_000

/**
 * Starts a gateway on this machine. The platform registers the gateway automatically, so that a new user can run a scan
 * within a minute. The gateway offers all built-in links; `startLinks` starts them as child processes. Other links can
 * also register with this gateway.
 */
export async function startLocalGateway(running: RunningCloud, environment: Environment): Promise<LocalGateway> {
  const home = join(running.home, 'gateway')
  await writeGatewayConfig(running, home)
  const [{ startGateway }, { builtInLinks }] = await Promise.all([
    import('@millwright/gateway/gateway.ts'),
    import('@millwright/links/catalogue.ts'),
  ])
  const settings = readSettings({
    [gatewaySettings.logLevel.variable]: 'warn',
    ...environment,
    [gatewaySettings.links.variable]: environment[gatewaySettings.links.variable] || 'all',
    [gatewaySettings.home.variable]: home,
    [gatewaySettings.configFile.variable]: '',
  })
  const start: Start = (settings) => startGateway(settings, { builtInLinks })
  const gateway = await startOnFreePorts(start, settings, environment)
  const { gatewayId, registryPort, proxyPort, startLinks } = gateway
  await publishPorts(running.home, { registryPort, proxyPort })
  return {
    gatewayId,
    registryPort,
    proxyPort,
    startLinks,
    async stop() {
      await rm(portsFile(running.home), { force: true })
      await gateway.stop()
    },
  }
}

type Start = (settings: GatewaySettings) => Promise<RunningGateway>

/**
 * Starts the gateway. A default port that another program uses is replaced by a free port. A port from the settings is
 * never replaced: if it is in use, the start fails.
 */
export async function startOnFreePorts(start: Start, settings: GatewaySettings, environment: Environment) {
  const ports: Partial<GatewayPorts> = {}
  for (;;) {
    try {
      return await start({ ...settings, ...ports })
    } catch (error) {
      const isReplaceable =
        error instanceof PortTakenError &&
        !isSet(environment, gatewaySettings[error.setting].variable) &&
        ports[error.setting] === undefined
      if (!isReplaceable) throw error
      ports[error.setting] = 0
    }
  }
}

function isSet(environment: Environment, variable: string): boolean {
  return (environment[variable] ?? '') !== ''
}

function portsFile(home: string): string {
  return join(home, 'gateway', 'ports.json')
}

export async function publishPorts(home: string, ports: GatewayPorts): Promise<void> {
  await writeFile(portsFile(home), JSON.stringify({ processId: process.pid, ...ports }))
}

/**
 * Returns the ports of the local gateway that runs with this home, for `millwright config`. Returns undefined when no
 * local gateway is running.
 */
export async function runningPorts(home: string): Promise<GatewayPorts | undefined> {
  try {
    const { processId, ...ports } = JSON.parse(await readFile(portsFile(home), 'utf8')) as GatewayPorts & {
      processId: number
    }
    return isProcessAlive(processId) ? ports : undefined
  } catch {
    return undefined
  }
}

/**
 * Writes the configuration file of the gateway. After the enrolment, only the address of the platform in this file is
 * updated.
 */
async function writeGatewayConfig(running: RunningCloud, home: string): Promise<void> {
  const { cloud, baseUrl } = running
  const file = join(home, 'gateway-config.json')
  const before = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as GatewayConfig,
    () => undefined,
  )
  const enrolled = await readFile(join(home, 'identity.json'), 'utf8').then(
    () => true,
    () => false,
  )
  const { tls: _before, ...config } =
    before !== undefined && enrolled ? { ...before, baseUrl } : await newConfig(cloud, before?.gatewayId)
  const tls = await platformTrust(running)
  await mkdir(home, { recursive: true, mode: 0o700 })
  await writeFile(file, `${JSON.stringify(tls === undefined ? config : { ...config, tls }, null, 2)}\n`, {
    mode: 0o600,
  })
}

/**
 * Returns the certificates of the platform that the local gateway accepts: those of the configured authority, or of the
 * authority in the certificate file. A certificate of another private authority is accepted by its fingerprint.
 */
async function platformTrust({
  baseUrl,
  tls,
  tlsAuthority,
}: Pick<RunningCloud, 'baseUrl' | 'tls' | 'tlsAuthority'>): Promise<GatewayConfig['tls']> {
  if (tls === undefined) return undefined
  if (tlsAuthority !== undefined) return { authority: tlsAuthority }
  const { cert, certificate } = tls.pair
  const roots = rootsIn(cert)
  if (roots !== undefined) return { authority: roots }
  return (await isPubliclyTrusted(new URL(baseUrl))) ? undefined : { fingerprint: certificate.fingerprint256 }
}

/** Returns true if a public authority issued the certificate of the platform. */
function isPubliclyTrusted({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 443), servername: hostname })
    const finish = (isTrusted: boolean) => {
      socket.destroy()
      resolve(isTrusted)
    }
    socket.setTimeout(trustCheckMs, () => finish(false))
    socket.on('secureConnect', () => finish(socket.authorized)).on('error', () => finish(false))
  })
}

async function newConfig({ context }: RunningCloud['cloud'], gatewayId: string | undefined): Promise<GatewayConfig> {
  const tenant = await context.tenants.byName(tenantName)
  if (tenant === undefined) throw new TypeError(`Tenant "${tenantName}" not found`)
  const client = context.peers(onboarding, systemCaller({ tenantId: tenant.id, tenantName }))
  const id =
    gatewayId ??
    (await client.createGateway({ body: { data: { name: `Gateway on ${hostname()}`.slice(0, 128) } } })).data.id
  return client.createGatewayConfig({ params: { id } })
}
