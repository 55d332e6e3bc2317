import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { areas, catalogue, type Product, sites } from '@millwright/links/plant/catalogue.ts'
import { users as deviceUsers } from '@millwright/links/plant/device.ts'
import { createFirmware } from '@millwright/links/plant/firmware.ts'
import { Signer } from './artefact-signer.ts'
import type { PlantIds } from './console-places.ts'
import { type Caller, callerOf, type Platform, signIn, until } from './platform.ts'
import { millwright } from './program.ts'
import { discover, over } from './shop-floor.ts'

/**
 * This file prepares the plants of the pictures: a plant in use, and a nearly empty plant. Everything in them is the result
 * of operations of the API. Each part is created only if the plant does not contain it yet, so a plant can be reused.
 */

const assets = 5_000
const scanMs = 120_000
const assignmentMs = 240_000
const changesPerRequest = 100
const password = `pictures-${randomBytes(12).toString('base64url')}`

/** The users of the plant, with their roles. */
const people = [
  { name: 'anna.keller', displayName: 'Anna Keller', role: 'administrator' },
  { name: 'jonas.berg', displayName: 'Jonas Berg', role: 'supervisor' },
  { name: 'mia.larsen', displayName: 'Mia Larsen', role: 'update_manager' },
  { name: 'tomas.novak', displayName: 'Tomáš Novák', role: 'operator' },
  { name: 'sofia.costa', displayName: 'Sofia Costa', role: 'viewer' },
] as const

type ScannedDevice = { id: string; name: string; manufacturer: string; article: string }
type AssetDocument = Awaited<ReturnType<Caller['inventory']['listAssets']>>['data'][number]

/** Prepares the plant in use. The receiver of its webhooks runs until the process ends. */
export async function preparePlant(platform: Platform): Promise<PlantIds> {
  const service = await callerOf(platform)
  const { meta } = await service.inventory.listAssets({ query: { limit: 1 } })
  if ((meta.totalElements ?? 0) < assets) {
    const program = millwright(['plant', 'generate', '--assets', String(assets)], { home: platform.home })
    const { code, stderr } = await program.ended
    if (code !== 0) throw new Error(`The plant was not generated: ${stderr}`)
  }
  const gatewayId = await onlineGateway(service)
  const [existing] = (await service.hierarchy.listHierarchies({})).data
  await startReceiver(await webhookPort(service))
  if (existing === undefined) await operate(platform, gatewayId)
  return idsOf(service, gatewayId)
}

/** Prepares the nearly empty plant: a gateway and one scan. */
export async function prepareEmptyPlant(platform: Platform): Promise<PlantIds> {
  const caller = await callerOf(platform)
  const gatewayId = await onlineGateway(caller)
  const { meta } = await caller.discovery.listDiscoveries({ query: { limit: 1 } })
  if (meta.totalElements === 0) await over(caller, await discover(caller, gatewayId, { size: '24' }), scanMs)
  return idsOf(caller, gatewayId)
}

async function idsOf(caller: Caller, gatewayId: string): Promise<PlantIds> {
  const [asset] = (await caller.inventory.listAssets({ query: { q: 'PLC01', limit: 1, sort: 'name' } })).data
  const { data: scans } = await caller.discovery.listDiscoveries({ query: { limit: 100 } })
  const scan = scans.find(({ state }) => state === 'finished')
  const { data: jobs } = await caller.jobs.listJobs({ query: { type: 'discovery', limit: 100 } })
  const job = jobs.find(({ phase }) => phase === 'finished')
  const { data: campaigns } = await caller.updates.listCampaigns({ query: { limit: 100 } })
  const [hierarchy] = (await caller.hierarchy.listHierarchies({})).data
  const nodes =
    hierarchy === undefined
      ? []
      : (await caller.hierarchy.listNodes({ params: { id: hierarchy.id }, query: { q: 'Line 1' } })).data
  return {
    assetId: String(asset?.id),
    gatewayId,
    scanId: String(scan?.jobId),
    jobId: String(job?.id),
    campaignId: String(campaigns.find(({ state }) => state !== 'draft')?.id),
    hierarchyId: String(hierarchy?.id),
    nodeId: String(nodes[0]?.id),
    operatedAt: hierarchy?.createdTimestamp ?? new Date().toISOString(),
  }
}

async function onlineGateway(caller: Caller): Promise<string> {
  let gatewayId = ''
  await until('the gateway is online', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    gatewayId = gateway?.id ?? ''
    return gateway?.state === 'online'
  })
  return gatewayId
}

/** Operates the new plant for some time, as its users would. */
async function operate(platform: Platform, gatewayId: string): Promise<void> {
  const service = await callerOf(platform)
  const callers = await createPeople(platform, service)
  await createWebhooks(service)
  await Promise.all([arrange(callers.anna), shopFloor(service, callers, gatewayId), maintain(callers)])
}

type Callers = { anna: Caller; jonas: Caller; mia: Caller; tomas: Caller }

async function createPeople(platform: Platform, service: Caller): Promise<Callers> {
  const callers: Caller[] = []
  for (const { name, displayName, role } of people) {
    const { data: user } = await service.identity.createUser({ body: { data: { name, displayName, password } } })
    await service.authorization.createGrant({ body: { data: { principal: user.id, role } } })
    const result = await signIn(platform.baseUrl, { name, password })
    if (!('token' in result)) throw new Error(`${name} cannot sign in: ${result.status}`)
    callers.push(await callerOf(platform, result.token))
  }
  const [anna, jonas, mia, tomas] = callers as [Caller, Caller, Caller, Caller]
  return { anna, jonas, mia, tomas }
}

/** Creates a hierarchy with a node for each site, area and line, and assigns the assets of the lines. */
async function arrange(caller: Caller): Promise<void> {
  const { data: tree } = await caller.hierarchy.createHierarchy({
    body: { data: { name: 'Production', template: 'plant' } },
  })
  const lines = await lineCodes(caller)
  const nodes = new Map<string, { key: string; name: string; parentKey?: string }>()
  for (const code of lines) {
    const [site = '', area = '', line = ''] = code.split('-')
    nodes.set(site, { key: site, name: siteName(site) })
    nodes.set(`${site}-${area}`, { key: `${site}-${area}`, name: areaName(area), parentKey: site })
    nodes.set(code, { key: code, name: `Line ${Number(line.slice(1))}`, parentKey: `${site}-${area}` })
  }
  const { data: created } = await caller.hierarchy.createNodes({
    params: { id: tree.id },
    body: { data: { nodes: [...nodes.values()] } },
  })
  const idOf = (key: string) => String(created.find((node) => node.key === key)?.id)
  const rules = [{ nodeId: idOf(lines[0] ?? ''), namePattern: '*SEN*' }]
  await caller.hierarchy.replaceRules({ params: { id: tree.id }, body: { data: { rules } } })
  const isOver = async () => {
    const { data } = await caller.hierarchy.listAssignments({ query: { limit: 100 } })
    return data.every(({ state }) => state === 'finished')
  }
  for (const code of lines) {
    const filter = `startswith(name, '${code}-')`
    await caller.hierarchy.assignAssets({ params: { id: idOf(code) }, body: { data: { filter } } })
    await until('the assets of the line are assigned', isOver, assignmentMs)
  }
}

/** Returns the codes of the production lines, such as `AAR-PRESS-L01`, which the names of assets begin with. */
async function lineCodes(caller: Caller): Promise<string[]> {
  const codes = new Set<string>()
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) }
    const { data, meta } = await caller.inventory.listAssets({ query })
    for (const { name } of data) {
      const code = /^[A-Z]+-[A-Z]+-L\d+(?=-)/.exec(String(name))?.[0]
      if (code !== undefined) codes.add(code)
    }
    cursor = meta.nextCursor
    if (cursor === undefined) return [...codes].toSorted()
  }
}

function siteName(code: string): string {
  return sites.find((site) => site.toUpperCase().startsWith(code)) ?? code
}

function areaName(code: string): string {
  const name = areas.find((area) => area.toUpperCase().startsWith(code)) ?? code
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

/** Scans, onboards, monitors and updates the devices of the simulated plant. */
async function shopFloor(service: Caller, { anna, jonas, mia, tomas }: Callers, gatewayId: string): Promise<void> {
  const base = { size: '80', protected_percent: '5', update_restart_ms: '100', update_fault_percent: '15' }
  const scan = async (caller: Caller, options: Record<string, string> = {}) =>
    over(service, await discover(caller, gatewayId, { ...base, ...options }), scanMs)
  const { jobId } = await scan(jonas)
  // The link does not know this fault, so the scan fails.
  await scan(tomas, { update_faults: 'unplugged' })
  await cancelScan(service, { caller: tomas, jobId: await discover(tomas, gatewayId, { ...base, rate: '1' }) })
  const devices = await scannedDevices(service)
  await createCredentials(anna, gatewayId)
  await decide({ anna, tomas }, devices)
  await Promise.all([update({ anna, mia }, devices), monitor(jonas, devices)])
  // Some devices have other firmware now, some do not respond, and some are new.
  await scanAgain(tomas, jobId, { ...base, tick: '1', changes_percent: '20', silent_percent: '6' })
  const [monitoring] = (await jonas.monitoring.listMonitorings({ query: { limit: 1 } })).data
  await runMonitoring(jonas, String(monitoring?.id))
}

/** Runs a scan again with other options, so that its result is compared with the run before. */
async function scanAgain(caller: Caller, jobId: string, options: Record<string, string>): Promise<void> {
  const discoveryOptions = Object.entries(options).map(([key, value]) => ({ key, value }))
  await caller.discovery.updateDiscovery({ params: { jobId }, body: { data: { discoveryOptions } } })
  await caller.discovery.runDiscovery({ params: { jobId } })
  await over(caller, jobId, scanMs)
}

async function cancelScan(service: Caller, { caller, jobId }: { caller: Caller; jobId: string }): Promise<void> {
  await until('the scan runs', async () => {
    const { data } = await service.discovery.getDiscovery({ params: { jobId } })
    return data.state === 'running'
  })
  await caller.discovery.cancelDiscovery({ params: { jobId } })
  await over(service, jobId, scanMs)
}

async function scannedDevices(caller: Caller): Promise<ScannedDevice[]> {
  const { data } = await caller.inventory.listAssets({ query: { limit: 100, sort: '-created_timestamp' } })
  return data.flatMap((asset) => {
    const device = deviceOf(asset)
    return device === undefined ? [] : [device]
  })
}

/** Returns undefined for assets that no scan of the simulated plant has found. */
function deviceOf({ id, name, product_instance_information: instance }: AssetDocument): ScannedDevice | undefined {
  const { serial_number: serial } = (instance ?? {}) as { serial_number?: string }
  const product = productOf(instance)
  if (serial?.startsWith('MW') !== true || product?.product_id === undefined) return undefined
  return {
    id: String(id),
    name: String(name),
    article: product.product_id,
    manufacturer: product.manufacturer?.name ?? '',
  }
}

function productOf(instance: unknown): { product_id?: string; manufacturer?: { name?: string } } | undefined {
  return (instance as { manufacturer_product?: { product_id?: string } } | undefined)?.manufacturer_product
}

async function createCredentials(caller: Caller, gatewayId: string): Promise<void> {
  const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
  const assetId = String(links[0]?.assetId)
  const { data: schema } = await caller.credentials.createSchemaFromLink({ body: { data: { assetId } } })
  const create = async (name: string, username: 'user' | 'admin', ranges: string[]) => {
    const values = { username, password: deviceUsers[username] ?? '' }
    const { data } = await caller.credentials.createInstance({
      body: { data: { schemaId: schema.id, name, values, metadata: { ipRanges: ranges } } },
    })
    return data.id
  }
  const instanceId = await create('Controllers, read only', 'user', ['10.0.0.0/8'])
  await create('Controllers, maintenance', 'admin', ['10.0.0.0/16'])
  const { data: set } = await caller.credentials.createInstancesTemplate({
    body: { data: { name: 'Controllers of the plant' } },
  })
  await caller.credentials.mapInstance({ params: { instancesTemplateId: set.id, instanceId } })
}

/** Onboards and ignores some of the found devices, and creates onboarding rules for the others. */
async function decide({ anna, tomas }: Pick<Callers, 'anna' | 'tomas'>, devices: ScannedDevice[]): Promise<void> {
  const ids = devices.map(({ id }) => id)
  const decision = async (caller: Caller, action: 'onboard' | 'ignore', assetIds: string[]) => {
    const { data } = await caller.inbox.createDecision({ body: { data: { action, assetIds } } })
    await caller.inbox.readDecision({ params: { id: data.id }, query: { wait: 20 } })
  }
  await decision(tomas, 'onboard', ids.slice(0, 18))
  await decision(anna, 'onboard', ids.slice(18, 30))
  await decision(tomas, 'ignore', ids.slice(30, 34))
  const { data: groups } = await anna.authorization.listAccessGroups({ query: { limit: 100 } })
  const groupOf = (area: string) => groups.find(({ name }) => name.includes(area))?.id
  const rules = [
    { name: 'Drives of the press shop', ranges: ['10.0.0.0/24'], filter: "startswith(name, 'DRV')", area: 'press' },
    { name: 'Controllers of the body shop', filter: "startswith(name, 'PLC')", area: 'body' },
  ]
  for (const { area, ...conditions } of rules) {
    const accessGroupId = groupOf(area)
    await anna.inbox.createOnboardingRule({
      body: { data: { ...conditions, ...(accessGroupId !== undefined && { accessGroupId }) } },
    })
  }
}

/** Monitors the devices every five minutes, and waits for the first run. */
async function monitor(caller: Caller, devices: readonly ScannedDevice[]): Promise<void> {
  const create = async (name: string, some: readonly ScannedDevice[], cron: string) => {
    const { data } = await caller.monitoring.createMonitoring({
      body: {
        data: {
          name,
          targets: { assetIds: some.map(({ id }) => id) },
          keys: ['operating_mode'],
          schedule: { cron, timezone: 'Europe/Copenhagen' },
        },
      },
    })
    await runMonitoring(caller, data.id)
  }
  await create('All scanned devices', devices, '*/5 * * * *')
  await create(
    'Controllers',
    devices.filter(({ name }) => name.startsWith('PLC')),
    '0 * * * *',
  )
}

/** Runs a monitoring, and waits until the run ends. A run of its schedule can be in progress already. */
async function runMonitoring(caller: Caller, id: string): Promise<void> {
  const latestRun = async () => (await caller.monitoring.readMonitoring({ params: { id } })).data.latestRun
  if ((await latestRun())?.endedTimestamp !== undefined || (await latestRun()) === undefined)
    await caller.monitoring.runMonitoring({ params: { id } })
  await until('the run of the monitoring ends', async () => (await latestRun())?.endedTimestamp !== undefined)
}

/** Updates the devices of the most frequent product with a campaign, and waits until the campaign ends. */
async function update({ anna, mia }: Pick<Callers, 'anna' | 'mia'>, devices: readonly ScannedDevice[]): Promise<void> {
  const signer = new Signer()
  await anna.updates.createTrustAnchor({
    body: { data: { name: 'Release key of the plant', publicKey: signer.publicKey } },
  })
  const products = [...Map.groupBy(devices, ({ article }) => article).values()]
  const [targets = [], others = []] = products.toSorted((first, second) => second.length - first.length)
  await createCampaign(mia, targets, { signer, isStarted: true })
  await createCampaign(mia, others, { signer, isStarted: false })
}

/** Returns the firmware versions of a product, oldest first. */
function firmwareOf(article: string): readonly string[] {
  const products: readonly Product[] = Object.values(catalogue).flat()
  return products.find((product) => product.article === article)?.firmware ?? []
}

/** Returns the version after the newest version of a product. */
function nextVersion(article: string): string {
  const parts = firmwareOf(article).at(-1)?.split('.') ?? ['1', '0']
  return [...parts.slice(0, -1), Number(parts.at(-1)) + 1].join('.')
}

async function createCampaign(
  caller: Caller,
  targets: readonly ScannedDevice[],
  { signer, isStarted }: { signer: Signer; isStarted: boolean },
): Promise<void> {
  const { article = '', manufacturer = '' } = targets[0] ?? {}
  const version = nextVersion(article)
  const content = createFirmware({ product: article, version, payload: randomBytes(100_000) })
  const sha256 = createHash('sha256').update(content).digest('hex')
  const name = `${article} firmware`
  const { data: artefact } = await caller.updates.createArtefact({
    body: {
      data: {
        ...{ name, manufacturer, products: [article], version, kind: 'firmware', sha256, size: content.length },
        signature: signer.signatureOf(content),
      },
    },
  })
  const body = { mediaType: 'application/octet-stream', content: new Uint8Array(content) }
  await caller.updates.putContent({ params: { id: artefact.id }, body })
  const { data: campaign } = await caller.updates.createCampaign({
    body: {
      data: {
        name: `${article} to ${version}`,
        artefactId: artefact.id,
        targets: { assetIds: targets.map(({ id }) => id) },
        waves: [{ count: 1 }, { percent: 50 }],
        stopOnFailurePercent: 100,
        verifyMinutes: 1,
      },
    },
  })
  if (!isStarted) return
  const params = { id: campaign.id }
  await caller.updates.startCampaign({ params })
  await until('the campaign ends', async () => {
    const { state } = (await caller.updates.readCampaign({ params })).data
    return state !== 'running'
  })
}

/** Changes the imported assets: names, firmware, responsible users and custom properties. Computes impact reports. */
async function maintain({ anna, mia, tomas }: Callers): Promise<void> {
  const { data: some } = await anna.inventory.listAssets({
    query: { limit: 100, sort: 'name', filter: "startswith(name, 'AAR-PRESS-L01')" },
  })
  const ids = some.map(({ id }) => String(id))
  const property = async (name: string, type: 'text' | 'date' | 'number' | 'url') =>
    (await anna.inventory.createCustomProperty({ body: { data: { name, data_type: type } } })).data.key
  const commissioned = await property('Commissioned', 'date')
  const team = await property('Maintenance team', 'text')
  const criticality = await property('Criticality', 'number')
  await property('Spare part page', 'url')
  const values = ids.flatMap((assetId, index) => [
    { asset_id: assetId, key: team, value: index % 3 === 0 ? 'Electrical' : 'Automation' },
    ...(index % 2 === 0 ? [{ asset_id: assetId, key: commissioned, value: '2024-03-18' }] : []),
    ...(index % 4 === 0 ? [{ asset_id: assetId, key: criticality, value: (index % 3) + 1 }] : []),
  ])
  for (let start = 0; start < values.length; start += changesPerRequest) {
    await tomas.inventory.setPropertyValues({ body: { data: values.slice(start, start + changesPerRequest) } })
  }
  await tomas.inventory.setResponsibles({
    body: { data: ids.slice(0, 40).map((assetId) => ({ asset_id: assetId, responsible: 'Tomáš Novák' })) },
  })
  const named = { 'Press 1 main controller': 'PLC', 'Press 1 feeder drive': 'DRV', 'Press 1 operator panel': 'HMI' }
  for (const [name, tag] of Object.entries(named)) {
    const asset = some.find(({ name: former }) => String(former).includes(`-${tag}`))
    if (asset === undefined) continue
    await tomas.inventory.setName({ params: { id: String(asset.id) }, body: { data: { name } } })
  }
  for (const { id, product_instance_information: instance } of some.slice(2, 42)) {
    const version = firmwareOf(productOf(instance)?.product_id ?? '').at(-1)
    if (version === undefined) continue
    await mia.inventory.setFirmwareVersion({ params: { id: String(id) }, body: { data: { version } } })
  }
  const main = some.filter(({ name }) => /-(?:PLC|SW)\d+$/.test(String(name))).map(({ id }) => String(id))
  for (const [index, id] of main.slice(0, 2).entries()) {
    const mode = index === 0 ? 'fails' : 'depends'
    await anna.inventory.createImpactReport({ body: { data: { assetId: id, mode } } })
  }
}

const receiverPath = '/millwright'

/** Returns the port of the receiver: the port of an existing webhook, or 0. */
async function webhookPort(caller: Caller): Promise<number> {
  const [webhook] = (await caller.events.listWebhooks({ query: { limit: 1 } })).data
  return webhook === undefined ? 0 : Number(new URL(webhook.url).port)
}

let receiverUrl = ''

/** Starts a receiver of webhooks on the loopback interface. It refuses the events of alerts. */
async function startReceiver(port: number): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isRefused = request.url?.endsWith('alerts') === true
      response.writeHead(isRefused ? 503 : 204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  server.unref()
  const address = server.address()
  receiverUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}${receiverPath}`
}

async function createWebhooks(caller: Caller): Promise<void> {
  const webhook = (name: string, path: string, types: string[]) =>
    caller.events.createWebhook({ body: { data: { name, url: `${receiverUrl}/${path}`, types } } })
  await webhook('Work orders', 'orders', ['io.millwright.inventory.asset.', 'io.millwright.updates.'])
  await webhook('Alerts of the shift', 'alerts', ['io.millwright.monitoring.'])
}
