import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type CampaignDevice, finalDeviceStates } from '@millwright/api/updates.ts'
import { type Caller, callerOf, type Platform, startPlatform, until } from './platform.ts'
import type { Program } from './program.ts'
import { discover, type Gateway, killed, newGateway, over, startGateway, startPlant } from './shop-floor.ts'

/**
 * This file updates a fleet of simulated devices while processes are killed, and then compares the state of each device in
 * its campaign with the device itself. Each product of the plant has its own artefact and campaign.
 */

export type FleetOptions = {
  home: string
  devices: number
  /** The percentage of devices with a fault in updates. */
  faultPercent: number
  seed: number
  /** The number of times that a process is killed: the gateway and the platform, in turns. */
  kills: number
  restartMs?: number
  log?: (line: string) => void
}

export type FleetResult = { states: Record<string, number>; kills: number; activations: number; ms: number }

const newVersion = '99.0'
/** The gateway ends a call to a link that sends nothing for this time, such as the activation of a device that does not answer. */
const environment = { MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS: '10' }
/** The time limit of the whole run. */
const patienceMs = 3_600_000
/** The time limit of a device that is read after the run. */
const answerMs = 120_000
const pageSize = 100

type Target = { id: string; product: string; manufacturer: string; version: string }

/** Returns the content of an artefact in the format of simulated devices. */
function plantFirmware(product: string, version: string): Buffer {
  const payload = Buffer.alloc(200_000, product)
  const sha256 = createHash('sha256').update(payload).digest('hex')
  const header = `MILLWRIGHT-PLANT-FIRMWARE\nproduct: ${product}\nversion: ${version}\nsize: ${payload.length}\nsha256: ${sha256}\n`
  return Buffer.concat([Buffer.from(header), payload])
}

/** `Fleet` is a platform, a gateway and a plant link, each in its own process. Each of them can be killed. */
class Fleet implements AsyncDisposable {
  readonly home: string
  platform: Platform
  caller: Caller
  gateway: Gateway
  plant: Program

  constructor(home: string, parts: Pick<Fleet, 'platform' | 'caller' | 'gateway' | 'plant'>) {
    this.home = home
    this.platform = parts.platform
    this.caller = parts.caller
    this.gateway = parts.gateway
    this.plant = parts.plant
  }

  static async start(home: string): Promise<Fleet> {
    const platform = await startPlatform({ home })
    const caller = await callerOf(platform)
    const id = await newGateway(caller, { home, name: 'hall' })
    const gateway = await startGateway('hall', { home, id, environment })
    return new Fleet(home, { platform, caller, gateway, plant: startPlant(gateway, { home }) })
  }

  async killPlatform(): Promise<void> {
    const { port } = new URL(this.platform.baseUrl)
    await killed(this.platform.program)
    this.platform = await startPlatform({ home: this.home, environment: { MILLWRIGHT_PORT: port } })
    this.caller = await callerOf(this.platform)
  }

  async killGateway(): Promise<void> {
    await killed(this.gateway.program)
    await killed(this.plant)
    this.gateway = await startGateway('hall', { home: this.home, id: this.gateway.id, environment })
    this.plant = startPlant(this.gateway, { home: this.home })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plant[Symbol.asyncDispose]()
    await this.gateway.program[Symbol.asyncDispose]()
    await this.platform[Symbol.asyncDispose]()
  }
}

/** Updates the fleet. Throws when a state of a device is not true, or when a device was activated twice. */
export async function updateFleet(options: FleetOptions): Promise<FleetResult> {
  const { home, kills, log = () => {} } = options
  const startedAt = performance.now()
  await using fleet = await Fleet.start(home)
  const targets = await scanned(fleet, options)
  log(`${targets.length} devices found`)
  await fleet.caller.updates.putSettings({ body: { data: { allowsUnsigned: true } } })
  const campaigns = await startCampaigns(fleet, targets)
  log(`${campaigns.length} campaigns started`)
  await killInTurns(fleet, { campaigns, kills, log })
  await until('all campaigns end', async () => (await openCampaigns(fleet, campaigns)) === 0, patienceMs)
  const states: Record<string, number> = {}
  let activations = 0
  for (const id of campaigns) {
    for (const device of await devicesOf(fleet.caller, id)) {
      states[device.state] = (states[device.state] ?? 0) + 1
      if (device.state !== 'succeeded') log(`${device.assetName} is ${device.state}: ${device.reason}`)
      activations += await checkDevice(fleet.caller, device)
    }
  }
  assert.equal(
    Object.values(states).reduce((sum, count) => sum + count, 0),
    targets.length,
  )
  return { states, kills, activations, ms: performance.now() - startedAt }
}

/** Scans the plant and returns its devices. Modules without an address are updated like other devices. */
async function scanned(
  fleet: Fleet,
  { devices, faultPercent, seed, restartMs = 300 }: FleetOptions,
): Promise<Target[]> {
  const jobId = await discover(fleet.caller, fleet.gateway.id, {
    size: String(devices),
    seed: String(seed),
    update_fault_percent: String(faultPercent),
    update_restart_ms: String(restartMs),
  })
  const { state, found } = await over(fleet.caller, jobId, patienceMs)
  assert.deepEqual([state, found], ['finished', devices])
  const targets: Target[] = []
  for (let offset = 0; ; offset += pageSize) {
    const query = { filter: "functional_object_type eq 'Device'", limit: pageSize, offset, sort: 'id' }
    const { data } = await fleet.caller.inventory.listAssets({ query })
    for (const asset of data) {
      const product = (asset.product_instance_information as Record<string, unknown> | undefined)
        ?.manufacturer_product as { product_id: string; manufacturer: { name: string } } | undefined
      const serial = (asset.product_instance_information as { serial_number?: string } | undefined)?.serial_number
      if (product === undefined || serial?.startsWith('MW') !== true) continue
      targets.push({
        id: String(asset.id),
        product: product.product_id,
        manufacturer: product.manufacturer.name,
        version: firmwareOf(asset) ?? '',
      })
    }
    if (data.length < pageSize) return targets
  }
}

function firmwareOf(asset: Record<string, unknown>): string | undefined {
  return /"SoftwareIdentifier"[^}]*"version":"([^"]+)"|"version":"([^"]+)"/
    .exec(JSON.stringify(asset.software_components ?? []))
    ?.slice(1)
    .find((text) => text !== undefined)
}

/** Creates and starts one campaign for each product. Returns their ids. */
async function startCampaigns({ caller }: Fleet, targets: readonly Target[]): Promise<string[]> {
  const ids: string[] = []
  for (const [product, some] of Map.groupBy(targets, (target) => target.product)) {
    const content = plantFirmware(product, newVersion)
    const { data: artefact } = await caller.updates.createArtefact({
      body: {
        data: {
          name: `Firmware of ${product}`,
          manufacturer: some[0]?.manufacturer ?? '',
          products: [product],
          version: newVersion,
          kind: 'firmware',
          sha256: createHash('sha256').update(content).digest('hex'),
          size: content.length,
        },
      },
    })
    await caller.updates.putContent({
      params: { id: artefact.id },
      body: { mediaType: 'application/octet-stream', content: new Uint8Array(content) },
    })
    const { data: campaign } = await caller.updates.createCampaign({
      body: {
        data: {
          name: `Update of ${product}`,
          artefactId: artefact.id,
          targets: { assetIds: some.map(({ id }) => id) },
          waves: [{ count: 1 }, { percent: 50 }],
          stopOnFailurePercent: 100,
          verifyMinutes: 1,
        },
      },
    })
    await caller.updates.startCampaign({ params: { id: campaign.id } })
    ids.push(campaign.id)
  }
  return ids
}

async function openCampaigns({ caller }: Fleet, ids: readonly string[]): Promise<number> {
  const states = await Promise.all(
    ids.map(async (id) => (await caller.updates.readCampaign({ params: { id } })).data.state),
  )
  return states.filter((state) => state === 'running').length
}

/** Kills the gateway and the platform in turns, each time after some more devices have ended. */
async function killInTurns(
  fleet: Fleet,
  { campaigns, kills, log }: { campaigns: readonly string[]; kills: number; log: (line: string) => void },
): Promise<void> {
  const total = (await Promise.all(campaigns.map((id) => countOf(fleet.caller, id)))).reduce(
    (sum, { devices }) => sum + devices,
    0,
  )
  for (let kill = 1; kill <= kills; kill++) {
    const goal = Math.floor((total * kill) / (kills + 1))
    await until(
      `${goal} devices have started`,
      async () => {
        const counts = await Promise.all(campaigns.map((id) => countOf(fleet.caller, id)))
        const begun = counts.reduce((sum, { begun: some }) => sum + some, 0)
        return begun >= goal || (await openCampaigns(fleet, campaigns)) === 0
      },
      patienceMs,
    )
    const isGateway = kill % 2 === 1
    log(`kill ${kill} of ${kills}: ${isGateway ? 'gateway and link' : 'platform'}`)
    await (isGateway ? fleet.killGateway() : fleet.killPlatform())
  }
}

async function countOf(caller: Caller, id: string): Promise<{ devices: number; begun: number }> {
  const { devices, counts } = (await caller.updates.readCampaign({ params: { id } })).data
  return { devices, begun: devices - counts.waiting }
}

async function devicesOf(caller: Caller, id: string): Promise<CampaignDevice[]> {
  const devices: CampaignDevice[] = []
  for (let offset = 0; ; offset += pageSize) {
    const { data } = await caller.updates.listDevices({ params: { id }, query: { limit: pageSize, offset } })
    devices.push(...data)
    if (data.length < pageSize) return devices
  }
}

/** Compares the state of a device in its campaign with the device. Returns how often it was activated. */
async function checkDevice(caller: Caller, device: CampaignDevice): Promise<number> {
  const { assetId, state, reason } = device
  const what = `${device.assetName ?? assetId} is ${state} (${reason ?? 'no reason'})`
  assert.ok(
    finalDeviceStates.some((final) => final === state),
    what,
  )
  const { version, activations } = await askDevice(caller, assetId)
  assert.ok(activations <= 1, `${what}: activated ${activations} times`)
  if (state === 'succeeded') {
    assert.deepEqual([version, activations], [newVersion, 1], what)
    const { data: asset } = await caller.inventory.readAsset({ params: { id: assetId } })
    assert.equal(firmwareOf(asset), newVersion, `${what}: version of the asset`)
  }
  if (state === 'failed' || state === 'skipped') assert.notEqual(version, newVersion, what)
  if (state === 'failed' || state === 'unknown') assert.notEqual(reason ?? '', '', what)
  return activations
}

/** Reads the version and the number of activations from the device itself. */
async function askDevice(caller: Caller, id: string): Promise<{ version: string; activations: number }> {
  let answer: { version: string; activations: number } | undefined
  await until(
    'the device responds',
    async () => {
      const keys = ['software_components', 'update.activations']
      const { data } = await caller.discovery
        .readProperties({ params: { id }, body: { data: { keys } } })
        .catch(() => ({ data: [] as { key: string; value?: unknown }[] }))
      const [software, activations] = data as { key: string; value?: unknown }[]
      if (software?.value === undefined || activations?.value === undefined) return false
      answer = {
        version: firmwareOf({ software_components: software.value }) ?? '',
        activations: Number(activations.value),
      }
      return true
    },
    answerMs,
  )
  return answer ?? assert.fail('the device does not respond')
}
