import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, client, overHttp, type Transport } from '@millwright/api/client.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import type { Access } from '@millwright/cloud/first-run.ts'
import { ownEnvironment, stop, withHome } from './platform-process.ts'
import type { Report } from './report.ts'

const devices = 10_000
const goalSeconds = 20
const pollMs = 20

type Caller = { onboarding: Client<typeof onboarding>; discovery: Client<typeof discovery> }

/** From the request for a discovery to its last asset: the cloud, a gateway and a simulated plant, as `npm start` runs them. */
export async function discover(): Promise<Report> {
  return withHome(async (home) => {
    const main = fileURLToPath(new URL('../main.mjs', import.meta.url))
    const environment = {
      ...ownEnvironment(home),
      MILLWRIGHT_LOCAL_GATEWAY: 'on',
      MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
      MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
    }
    const child = spawn(process.execPath, [main], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      while (!printed.includes('simulated plant is online')) await setTimeout(pollMs)
      const caller = await callerIn(home)
      const first = await scan(caller, { seed: '1' })
      const again = await scan(caller, { seed: '1', tick: '1' })
      return {
        title: `discovery: ${devices.toLocaleString('en')} devices, from the request to the last asset`,
        rows: [
          { scan: 'of a plant that nobody knows', ...first },
          { scan: 'of the same plant, a little later', ...again },
        ],
        goals: [
          {
            goal: `${devices} devices take less than ${goalSeconds} s`,
            found: `${first.seconds.toFixed(1)} s`,
            reached: first.seconds < goalSeconds,
          },
          {
            goal: 'a job is picked up within one second',
            found: `${Math.round(first['picked up after ms'])} ms`,
            reached: first['picked up after ms'] < 1_000,
          },
        ],
      }
    } finally {
      await stop(child)
    }
  })
}

async function callerIn(home: string): Promise<Caller> {
  const access = JSON.parse(await readFile(join(home, 'first-run.json'), 'utf8')) as Access
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: access.clientId,
    client_secret: access.clientSecret,
  })
  const response = await fetch(`${access.baseUrl}/oauth/token`, { method: 'POST', body })
  const { access_token: token } = (await response.json()) as { access_token: string }
  const transport: Transport = overHttp({ baseUrl: access.baseUrl, token: () => token })
  return { onboarding: client(onboarding, transport), discovery: client(discovery, transport) }
}

async function scan(caller: Caller, options: Record<string, string>) {
  const { gatewayId, assetLinkId } = await plantOf(caller)
  const given = { size: String(devices), protected_percent: '0', ...options }
  const discoveryOptions = Object.entries(given).map(([key, value]) => ({ key, value }))
  const startedAt = performance.now()
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: { data: { assetLinkId, discoveryOptions } },
  })
  let pickedUpAt: number | undefined
  for (;;) {
    const { data } = await caller.discovery.getDiscovery({ params: { jobId } })
    if (data.state !== 'created') pickedUpAt ??= performance.now()
    if (data.state === 'failed' || data.state === 'canceled') throw new Error(`It ${data.state}: ${data.message}`)
    if (data.state === 'finished') {
      const seconds = (performance.now() - startedAt) / 1000
      const pickedUpMs = (pickedUpAt ?? startedAt) - startedAt
      const { found, errors } = data
      return { found, errors, seconds, 'devices/s': found / seconds, 'picked up after ms': pickedUpMs }
    }
    await setTimeout(pickedUpAt === undefined ? pollMs : pollMs * 10)
  }
}

async function plantOf(caller: Caller): Promise<{ gatewayId: string; assetLinkId: string }> {
  for (;;) {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    const links =
      gateway === undefined ? [] : (await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })).data
    const link = links.find(({ reachable }) => reachable)
    if (gateway !== undefined && link !== undefined) return { gatewayId: gateway.id, assetLinkId: link.assetLinkId }
    await setTimeout(pollMs)
  }
}
