import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { updates } from '@millwright/api/updates.ts'
import { TestProxy } from '@millwright/gateway/remote-access/proxy-testing.ts'
import { scan } from './discovery.ts'
import type { BenchOptions } from './options.ts'
import { tokenFor, withHome } from './platform-process.ts'
import type { Report } from './report.ts'
import { type ShopFloor, startShopFloor } from './shop-floor.ts'

const devices = 100
const artefactBytes = 200_000_000
/** The number of simulated devices. About one of 24 is of the product. */
const plantSize = 3_000
const product = 'KC 1515-2'
const partBytes = 16_000_000
const pollMs = 250
/**
 * The memory that a process can use above its memory before the campaign: less than one artefact. `growth`: how much larger
 * the maximum in the second half of the devices can be than in the first half.
 */
const goals = { downloads: 1, addedMebibytes: 190, growth: 1.2 } as const

type Api = Client<typeof updates>

/**
 * Measures a campaign that installs a large artefact on many devices of one gateway. The platform, the gateway and the link of
 * the simulated plant run in separate processes. The gateway reaches the platform through a proxy that counts bytes.
 */
export async function updateDevices({ profile }: BenchOptions): Promise<Report> {
  await using proxy = await TestProxy.start()
  return await withHome(async (home) => {
    const environment = { MILLWRIGHT_GATEWAY_HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }
    await using floor = await startShopFloor({ home, profile, environment })
    await scan(floor, { size: String(plantSize), update_restart_ms: '200' })
    const token = await tokenFor({ url: floor.url, access: floor.access })
    const api = client(updates, overHttp({ baseUrl: floor.url, token: () => token }))
    await api.putSettings({ body: { data: { allowsUnsigned: true } } })
    const targets = await assetsOf(floor)
    const cloudBefore = floor.memory('cloud').now
    const uploadStartedAt = performance.now()
    const artefactId = await upload(api)
    const uploadSeconds = (performance.now() - uploadStartedAt) / 1000
    const gatewayBefore = floor.memory('gateway').now
    const bytesBefore = proxy.bytesToClients
    const cpuBefore = floor.cpu()
    const startedAt = performance.now()
    const peak = await runCampaign(floor, api, { artefactId, targets })
    const seconds = (performance.now() - startedAt) / 1000
    const cpu = floor.cpu()
    const downloads = (proxy.bytesToClients - bytesBefore) / artefactBytes
    const addedCloud = peak.cloud - cloudBefore
    const addedGateway = peak.gateway - gatewayBefore
    return {
      title: `updates: ${artefactBytes / 1e6} MB to ${devices} devices of one gateway`,
      rows: [
        { step: 'upload to the platform', seconds: uploadSeconds, 'MB/s': artefactBytes / 1e6 / uploadSeconds },
        {
          step: 'campaign',
          seconds,
          'MB/s': (devices * artefactBytes) / 1e6 / seconds,
          'platform CPU s': (cpu.cloud - cpuBefore.cloud) / 1e6,
          'gateway CPU s': (cpu.gateway - cpuBefore.gateway) / 1e6,
          'platform added MiB': addedCloud,
          'gateway added MiB': addedGateway,
        },
      ],
      goals: [
        {
          goal: `the gateway downloads the artefact once for ${devices} devices`,
          found: `${downloads.toFixed(2)} times its size, with all other responses of the platform`,
          reached: Math.floor(downloads) === goals.downloads,
        },
        {
          goal: `the gateway adds less than ${goals.addedMebibytes} MiB`,
          found: `${Math.round(addedGateway)} MiB`,
          reached: addedGateway < goals.addedMebibytes,
        },
        {
          goal: `the memory of the gateway in the second half is at most ${goals.growth} times that of the first half`,
          found: `${(peak.secondHalf / peak.firstHalf).toFixed(2)} times`,
          reached: peak.secondHalf <= goals.growth * peak.firstHalf,
        },
        {
          goal: `the platform adds less than ${goals.addedMebibytes} MiB`,
          found: `${Math.round(addedCloud)} MiB`,
          reached: addedCloud < goals.addedMebibytes,
        },
      ],
    }
  })
}

/** Returns the ids of the assets of the product. */
async function assetsOf({ caller }: ShopFloor): Promise<string[]> {
  const filter = `product_instance_information/manufacturer_product/product_id eq '${product}'`
  const { data } = await caller.inventory.listAssets({ query: { filter, fields: 'id', limit: 100 } })
  if (data.length < devices) throw new Error(`The plant has only ${data.length} devices of the product ${product}`)
  return data.slice(0, devices).map(({ id }) => String(id))
}

/** Creates the artefact and uploads it in parts. Only one part is in memory. */
async function upload(api: Api): Promise<string> {
  const header = `MILLWRIGHT-PLANT-FIRMWARE\nproduct: ${product}\nversion: 99.0\n`
  const first = Buffer.concat([Buffer.from(header), Buffer.alloc(partBytes - header.length, 7)])
  const other = Buffer.alloc(partBytes, 7)
  const partAt = (offset: number) => (offset === 0 ? first : other).subarray(0, artefactBytes - offset)
  const hash = createHash('sha256')
  for (let offset = 0; offset < artefactBytes; offset += partBytes) hash.update(partAt(offset))
  const { data } = await api.createArtefact({
    body: {
      data: {
        name: 'Large firmware',
        manufacturer: 'Kestrel Controls',
        products: [product],
        version: '99.0',
        kind: 'firmware',
        sha256: hash.digest('hex'),
        size: artefactBytes,
      },
    },
  })
  for (let offset = 0; offset < artefactBytes; offset += partBytes) {
    const part = partAt(offset)
    await api.putContent({
      params: { id: data.id },
      headers: { 'content-range': `bytes ${offset}-${offset + part.length - 1}/${artefactBytes}` },
      body: { mediaType: 'application/octet-stream', content: new Uint8Array(part) },
    })
  }
  return data.id
}

/** Runs the campaign. Returns the maximum memory of the processes, and of the gateway in each half of the campaign. */
async function runCampaign(
  floor: ShopFloor,
  api: Api,
  { artefactId, targets }: { artefactId: string; targets: string[] },
): Promise<{ cloud: number; gateway: number; firstHalf: number; secondHalf: number }> {
  const { data: campaign } = await api.createCampaign({
    body: {
      data: { name: 'Large firmware', artefactId, targets: { assetIds: targets }, stopOnFailurePercent: 0 },
    },
  })
  const params = { id: campaign.id }
  await api.startCampaign({ params })
  const peak = { cloud: 0, gateway: 0, firstHalf: 0, secondHalf: 0 }
  for (;;) {
    await setTimeout(pollMs)
    peak.cloud = Math.max(peak.cloud, floor.memory('cloud').now)
    const gateway = floor.memory('gateway').now
    peak.gateway = Math.max(peak.gateway, gateway)
    const { data } = await api.readCampaign({ params })
    const half = data.counts.succeeded * 2 < devices ? 'firstHalf' : 'secondHalf'
    peak[half] = Math.max(peak[half], gateway)
    if (data.state === 'running') continue
    if (data.counts.succeeded !== devices)
      throw new Error(`The campaign is ${data.state}: ${JSON.stringify(data.counts)} ${data.stateReason ?? ''}`)
    return peak
  }
}
