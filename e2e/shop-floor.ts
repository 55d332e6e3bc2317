import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Caller, until } from './platform.ts'
import { millwright, type Program, root } from './program.ts'
import { withinLimit } from './time-limit.ts'

/** This file starts the programs of a shop floor, each in its own process, in the same way as a user starts them. */

export type Gateway = { id: string; program: Program; registryPort: string; status(): Promise<GatewayStatus> }
export type GatewayStatus = {
  scans: number
  spool: { entries: number }
  links: { state: string; endpoint: string }[]
  remoteAccess: { streams: number }
}

/** `checkout` is the folder of another version of the product. */
type Starting = { home: string; id: string; environment?: Record<string, string>; checkout?: string }

/** Registers a gateway on the platform and writes its enrolment file to the home. */
export async function newGateway(caller: Caller, { home, name }: { home: string; name: string }): Promise<string> {
  const { data: made } = await caller.onboarding.createGateway({ body: { data: { name } } })
  const config = await caller.onboarding.createGatewayConfig({ params: { id: made.id } })
  writeFileSync(join(home, `${name}.json`), JSON.stringify(config))
  return made.id
}

export async function startGateway(
  name: string,
  { home, id, environment = {}, checkout = root }: Starting,
): Promise<Gateway> {
  const program = millwright(
    ['gateway', '--config', join(home, `${name}.json`), '--home', join(home, name)].concat(
      ['--registry-port', '0'],
      ['--proxy-port', '0'],
    ),
    { home, checkout, environment: { MILLWRIGHT_GATEWAY_LOG_LEVEL: 'warn', ...environment } },
  )
  // A gateway that starts again can warn of a link that stopped with it, so only its end is a failure.
  const isReady = () => program.stdout().includes('Ctrl-C stops it.')
  await until('the gateway is ready', () => isReady() || program.child.exitCode !== null)
  const registryPort = /Registry\s+port (\d+)/.exec(program.stdout())?.[1] ?? assert.fail(program.stderr())
  const agents = /Agents\s+(http\S+)/.exec(program.stdout())?.[1] ?? assert.fail(program.stdout())
  const status = async () => (await (await fetch(`${agents}/gateway/status`)).json()) as GatewayStatus
  return { id, program, registryPort, status }
}

/** Starts the link of a simulated plant. The state of its devices is in the home, so it survives a kill of the link. */
export function startPlant(
  { registryPort }: Gateway,
  { home, checkout = root }: { home: string; checkout?: string },
): Program {
  const args = ['--log-level', 'error', '--registry', `127.0.0.1:${registryPort}`, '--home', join(home, 'plant')]
  return millwright(['link', 'run', 'plant', ...args], { home, checkout })
}

export async function killed({ child, ended }: Program): Promise<void> {
  child.kill('SIGKILL')
  await withinLimit('the program ends after SIGKILL', ended)
}

export const plant = 'millwright.links.plant'

/** The settings of a platform that runs a gateway with a simulated plant, at free ports. */
export const plantGateway = {
  MILLWRIGHT_LOCAL_GATEWAY: 'on',
  MILLWRIGHT_GATEWAY_LINKS: 'plant',
  MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
  MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
}

/** Waits until the gateway that the platform runs is online, and returns its id. */
export async function onlineGateway(caller: Caller): Promise<string> {
  let gatewayId = ''
  await until('the gateway is online', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    gatewayId = gateway?.id ?? ''
    return gateway?.state === 'online'
  })
  return gatewayId
}

/** Waits until the link of a simulated plant is available, starts a discovery, and returns its id. */
export async function discover(caller: Caller, gatewayId: string, options: Record<string, string>): Promise<string> {
  await until('the link is there', async () => {
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
    return links.some(({ assetLinkId, reachable }) => assetLinkId === plant && reachable)
  })
  const allOptions = { protected_percent: '0', ...options }
  const discoveryOptions = Object.entries(allOptions).map(([key, value]) => ({ key, value }))
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: { data: { assetLinkId: plant, discoveryOptions } },
  })
  return jobId
}

export async function discovered(caller: Caller, jobId: string) {
  return (await caller.discovery.getDiscovery({ params: { jobId } })).data
}

export async function over(caller: Caller, jobId: string, patienceMs: number) {
  const isOver = async () => ['finished', 'failed', 'canceled'].includes((await discovered(caller, jobId)).state)
  await until('the discovery ends', isOver, patienceMs)
  return discovered(caller, jobId)
}

/** Returns an asset link of the gateway when it is available. */
export async function linkOf(caller: Caller, gatewayId: string, assetLinkId: string) {
  const find = async () => {
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
    return links.find((link) => link.assetLinkId === assetLinkId && link.reachable && link.state !== 'gone')
  }
  await until(`the link ${assetLinkId} is available`, async () => (await find()) !== undefined)
  return find()
}
