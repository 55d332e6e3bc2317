import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type GatewayConfig, onboarding } from '@millwright/api/onboarding.ts'
import { systemCaller } from '@millwright/cloud/platform/access/system.ts'
import type { RunningCloud } from '@millwright/cloud/start.ts'
import { gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'

/** A gateway beside the platform, and the simulated plant that it can discover. */
export type LocalGateway = { gatewayId: string; registryPort: number; stop(): Promise<void> }

type Environment = Readonly<Record<string, string | undefined>>

const tenantName = 'default'

/**
 * Starts a gateway on this machine, brought in by the platform itself, with the link of a simulated plant: somebody new
 * has something to discover within a minute. Programs of the shop floor use its registry like any other.
 */
export async function startLocalGateway(running: RunningCloud, environment: Environment): Promise<LocalGateway> {
  const home = join(running.home, 'gateway')
  await bringIn(running, home)
  const [{ startGateway }, { startLink }, { link }] = await Promise.all([
    import('@millwright/gateway/gateway.ts'),
    import('@millwright/link-sdk/start-link.ts'),
    import('@millwright/links/plant/link.ts'),
  ])
  const settings = readSettings({
    [gatewaySettings.logLevel.variable]: 'warn',
    ...environment,
    [gatewaySettings.home.variable]: home,
    [gatewaySettings.configFile.variable]: '',
  })
  const gateway = await startGateway(settings).catch((error: unknown) => {
    if (!isTaken(error)) throw error
    // Another platform on this machine has the usual ports: any others do as well here.
    return startGateway({ ...settings, registryPort: 0, proxyPort: 0 })
  })
  const { gatewayId, registryPort } = gateway
  const plant = await startLink(link, { registry: `127.0.0.1:${registryPort}`, logLevel: 'warn' })
  return {
    gatewayId,
    registryPort,
    async stop() {
      await plant.stop()
      await gateway.stop()
    },
  }
}

/** The file that a gateway comes in with, made once; afterwards it says only where the platform is now. */
async function bringIn({ cloud, baseUrl }: RunningCloud, home: string): Promise<void> {
  const file = join(home, 'gateway-config.json')
  const before = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as GatewayConfig,
    () => undefined,
  )
  const enrolled = await readFile(join(home, 'identity.json'), 'utf8').then(
    () => true,
    () => false,
  )
  const config = before !== undefined && enrolled ? { ...before, baseUrl } : await newConfig(cloud, before?.gatewayId)
  await mkdir(home, { recursive: true, mode: 0o700 })
  await writeFile(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
}

async function newConfig({ context }: RunningCloud['cloud'], known: string | undefined): Promise<GatewayConfig> {
  const tenant = await context.tenants.byName(tenantName)
  if (tenant === undefined) throw new TypeError(`There is no tenant ${tenantName}`)
  const client = context.peers(onboarding, systemCaller({ tenantId: tenant.id, tenantName }))
  const id =
    known ??
    (await client.createGateway({ body: { data: { name: `Gateway on ${hostname()}`.slice(0, 128) } } })).data.id
  return client.createGatewayConfig({ params: { id } })
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && /in use|EADDRINUSE/i.test(`${error.message} ${String(error.cause)}`)
}
