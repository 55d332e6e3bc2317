import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { areas, catalogue, type Product, sites } from '@millwright/links/plant/catalogue.ts'
import { createFirmware } from '@millwright/links/plant/firmware.ts'
import { Signer } from './artefact-signer.ts'
import type { PlantIds } from './console-places.ts'
import { pastClock } from './past-clock.ts'
import { createCredentials, createOldPassword, createUnusedCredentials } from './picture-credentials.ts'
import { type Caller, callerOf, type Platform, signIn, startPlatform, until } from './platform.ts'
import { millwright, type ProgramOptions } from './program.ts'
import { discover, linkOf, onlineGateway, over, plant } from './shop-floor.ts'

/**
 * This file prepares the plants of the pictures: a plant in use, and a nearly empty plant. Everything in them is the result
 * of operations of the API. Each part is created only if the plant does not contain it yet, so a plant can be reused.
 */

const assets = 5_000
const scanMs = 120_000
const assignmentMs = 240_000
const changesPerRequest = 100
/** The comparison of two moments in the pictures begins after the plant was built, and before it changed. */
const comparedHours = 100
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

/** A time at which the users of the plant work with it. The platform runs only at these times. */
type Chapter = { hoursAgo: number; work: (staff: Staff) => Promise<void> }

/** `node` is a Node binary with the time of the chapter. `facts` contains the ids that later chapters need. */
type Staff = {
  platform: Platform
  node: string
  service: Caller
  callers: Callers
  gatewayId: string
  facts: Facts
}

type Facts = { devices: ScannedDevice[]; allId: string; subnetId: string; maintenanceId: string }

const history: readonly Chapter[] = [
  { hoursAgo: 288, work: buildPlant },
  { hoursAgo: 150, work: findDevices },
  { hoursAgo: 76, work: updateByHand },
  { hoursAgo: 52, work: findChanges },
  { hoursAgo: 28, work: decideMore },
  { hoursAgo: 9, work: workLastNight },
]

/**
 * Fills an empty home with the plant in use. The platform starts once for each chapter of its history, with a clock that
 * is set back.
 */
export async function fillHistory(options: ProgramOptions): Promise<void> {
  if (existsSync(join(options.home, 'first-run.json'))) return
  await startReceiver(0)
  const facts: Facts = { devices: [], allId: '', subnetId: '', maintenanceId: '' }
  for (const { hoursAgo, work } of history) {
    using past = pastClock(hoursAgo)
    await using platform = await startPlatform({ ...options, node: past.program })
    const service = await callerOf(platform)
    if (hoursAgo === history[0]?.hoursAgo) await createPeople(service)
    const callers = await signInPeople(platform)
    const gatewayId = await onlineGateway(service)
    await work({ platform, node: past.program, service, callers, gatewayId, facts })
    await untilAllJobsEnd(service)
    process.stdout.write(`The plant has the data of ${hoursAgo} hours ago.\n`)
  }
}

async function untilAllJobsEnd(caller: Caller): Promise<void> {
  const final = ['finished', 'failed', 'canceled']
  const areOver = async () => {
    const { data } = await caller.jobs.listJobs({ query: { limit: 100 } })
    return data.every(({ phase }) => final.includes(phase))
  }
  await until('all jobs end', areOver, assignmentMs)
}

/** Prepares the plant in use. The receiver of its webhooks runs until the process ends. */
export async function preparePlant(platform: Platform): Promise<PlantIds> {
  const service = await callerOf(platform)
  const gatewayId = await onlineGateway(service)
  await startReceiver(await webhookPort(service))
  const caller = await administrator(platform)
  const { data: monitorings } = await caller.monitoring.listMonitorings({ query: { limit: 100 } })
  for (const { id } of monitorings) await runMonitoring(caller, id)
  await startSlowScan(caller)
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
  // The scan with the most missing devices shows the most.
  const [scan] = scans.filter(({ state }) => state === 'finished').toSorted((one, other) => other.gone - one.gone)
  const { data: jobs } = await caller.jobs.listJobs({ query: { type: 'discovery', limit: 100 } })
  const job = jobs.find(
    ({ phase, subject }) => phase === 'finished' && subject?.reference === `discovery/${scan?.jobId}`,
  )
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
    operatedAt: new Date(Date.now() - comparedHours * 3_600_000).toISOString(),
  }
}

/** The assets of the plant are imported and arranged, and the users of the plant get access. */
async function buildPlant({ platform, node, service, callers }: Staff): Promise<void> {
  const program = millwright(['plant', 'generate', '--assets', String(assets)], { home: platform.home, node })
  const { code, stderr } = await program.ended
  if (code !== 0) throw new Error(`The plant was not generated: ${stderr}`)
  await createWebhooks(service)
  await arrange(callers.anna)
  await describeAssets(callers)
}

/** Returns the user with which the pictures are taken. */
async function administrator(platform: Platform): Promise<Caller> {
  const result = await signIn(platform.baseUrl, {
    name: platform.access.adminUser,
    password: platform.access.adminPassword,
  })
  if (!('token' in result)) throw new Error(`The administrator cannot sign in: ${result.status}`)
  return callerOf(platform, result.token)
}

type Callers = { anna: Caller; jonas: Caller; mia: Caller; tomas: Caller }

async function createPeople(service: Caller): Promise<void> {
  for (const { name, displayName, role } of people) {
    const { data: user } = await service.identity.createUser({ body: { data: { name, displayName, password } } })
    await service.authorization.createGrant({ body: { data: { principal: user.id, role } } })
  }
}

async function signInPeople(platform: Platform): Promise<Callers> {
  const callers: Caller[] = []
  for (const { name } of people) {
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
  const name = areas.find((area) => area.code === code)?.name ?? code
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

/** The options of the first scans. `later` describes the same plant after some time: other firmware, new and missing devices. */
const base = {
  size: '300',
  protected_percent: '10',
  update_restart_ms: '100',
  update_fault_percent: '15',
  // A device that does not answer would keep its campaign waiting for minutes.
  update_faults: 'slow,fails-at-60,reboots,wrong-version',
}
const later = { ...base, tick: '1', changes_percent: '10', silent_percent: '2' }

/** The devices of the simulated plant are scanned, onboarded, monitored and updated. */
async function findDevices({ service, callers, gatewayId, facts }: Staff): Promise<void> {
  const { anna, jonas, mia, tomas } = callers
  const scan = async (caller: Caller, range?: string) => {
    const jobId = await createScan(caller, { gatewayId, options: base, range })
    await over(service, jobId, scanMs)
    return jobId
  }
  facts.allId = await scan(jonas)
  facts.devices = await scannedDevices(service)
  const slow = await createScan(tomas, { gatewayId, options: { ...base, rate: '1' }, range: slowRange })
  await cancelScan(service, { caller: tomas, jobId: slow })
  // The asset link refuses this rate, so the run fails.
  const failedId = await createScan(mia, { gatewayId, options: { ...base, rate: '2000000' }, range: '10.0.1.0/25' })
  await over(service, failedId, scanMs)
  facts.subnetId = await scan(tomas, '10.0.0.0/24')
  facts.maintenanceId = await createCredentials(anna, gatewayId)
  await decide({ anna, tomas }, facts.devices)
  await Promise.all([update({ anna, mia }, facts.devices), monitor(jonas, facts.devices)])
}

/** Some devices have other firmware now, some do not respond, and some are new. */
async function findChanges({ service, callers, gatewayId, facts }: Staff): Promise<void> {
  const { jonas, mia, tomas } = callers
  await scanAgain(jonas, facts.allId, { options: later })
  await scanAgain(tomas, facts.subnetId, { options: later, range: '10.0.0.0/24' })
  const second = await createScan(mia, { gatewayId, options: later, range: '10.0.1.0/24' })
  await over(service, second, scanMs)
  const schedule = { cron: '30 5 * * *', timezone: 'Europe/Copenhagen' }
  await mia.discovery.updateDiscovery({ params: { jobId: second }, body: { data: { schedule } } })
}

/** The devices of the second subnet refuse the new password, so the next run of the same scan misses them. */
async function workLastNight({ callers, gatewayId, facts }: Staff): Promise<void> {
  const { anna, jonas } = callers
  const values = { password: randomBytes(12).toString('hex') }
  const params = { instanceId: facts.maintenanceId }
  await anna.credentials.updateInstance({ params, body: { data: { values } } })
  await linkOf(jonas, gatewayId, plant)
  await scanAgain(jonas, facts.allId, { options: later })
  await changeAssets(callers)
}

/** The addresses of the scan that is canceled, and that runs while the pictures are taken. */
const slowRange = '10.0.0.0/25'

/** Starts the slow scan again, so that the pictures contain a scan in progress. */
async function startSlowScan(caller: Caller): Promise<void> {
  const { data: scans } = await caller.discovery.listDiscoveries({ query: { limit: 100 } })
  const scan = scans.find(({ discoveryFilters }) => discoveryFilters.some(({ value }) => value === slowRange))
  if (scan === undefined || scan.state === 'running' || scan.state === 'created') return
  // After a restart of the plant, the link registers again.
  await linkOf(caller, scan.gatewayId, plant)
  const params = { jobId: scan.jobId }
  await caller.discovery.updateDiscovery({ params, body: { data: parametersOf({ ...later, rate: '1' }, slowRange) } })
  await caller.discovery.runDiscovery({ params })
  await until('the slow scan runs', async () => {
    const { data } = await caller.discovery.getDiscovery({ params })
    return data.state === 'running' && data.progress > 0
  })
}

type ScanRequest = { gatewayId: string; options: Record<string, string>; range?: string | undefined }

async function createScan(caller: Caller, { gatewayId, options, range }: ScanRequest): Promise<string> {
  await linkOf(caller, gatewayId, plant)
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: { data: { assetLinkId: plant, ...parametersOf(options, range) } },
  })
  return jobId
}

function parametersOf(options: Record<string, string>, range: string | undefined) {
  return {
    discoveryOptions: Object.entries(options).map(([key, value]) => ({ key, value })),
    discoveryFilters: range === undefined ? [] : [{ key: 'ip_range', value: range }],
  }
}

type NextRun = Omit<ScanRequest, 'gatewayId'>

/** Runs a scan again with other options. A run of the same addresses is compared with the run before. */
async function scanAgain(caller: Caller, jobId: string, { options, range }: NextRun): Promise<void> {
  const { discoveryOptions, discoveryFilters } = parametersOf(options, range)
  const data = { discoveryOptions, ...(range !== undefined && { discoveryFilters }) }
  await caller.discovery.updateDiscovery({ params: { jobId }, body: { data } })
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

/** Onboards and ignores some of the found devices, and creates onboarding rules for the others. */
async function decide({ anna, tomas }: Pick<Callers, 'anna' | 'tomas'>, devices: ScannedDevice[]): Promise<void> {
  const ids = devices.map(({ id }) => id)
  const { data: groups } = await anna.authorization.listAccessGroups({ query: { limit: 100 } })
  const groupOf = (area: string) => groups.find(({ name }) => name.includes(area))?.id
  const targetIn = (area: string, nodeId?: string) => {
    const accessGroupId = groupOf(area)
    return { ...(accessGroupId !== undefined && { accessGroupId }), ...(nodeId !== undefined && { nodeId }) }
  }
  const lineId = await firstLine(anna, 'Press shop')
  await createDecision(tomas, { action: 'onboard', assetIds: ids.slice(0, 18) })
  await createDecision(anna, { action: 'onboard', assetIds: ids.slice(18, 30), ...targetIn('press', lineId) })
  await createDecision(tomas, { action: 'ignore', assetIds: ids.slice(30, 34) })
  const drives = { name: 'Drives of the press shop', ranges: ['10.0.0.0/24'], filter: "startswith(name, 'DRV')" }
  const controllers = { name: 'Controllers of the body shop', filter: "startswith(name, 'PLC')" }
  await anna.inbox.createOnboardingRule({ body: { data: { ...drives, ...targetIn('press', lineId) } } })
  await anna.inbox.createOnboardingRule({ body: { data: { ...controllers, ...targetIn('body') } } })
}

type Decision = { action: 'onboard' | 'ignore'; assetIds: string[]; accessGroupId?: string; nodeId?: string }

async function createDecision(caller: Caller, decision: Decision): Promise<void> {
  const { data } = await caller.inbox.createDecision({ body: { data: decision } })
  await caller.inbox.readDecision({ params: { id: data.id }, query: { wait: 20 } })
}

/** Some more of the found devices are onboarded or ignored. */
async function decideMore({ callers: { anna, tomas }, gatewayId, facts: { devices } }: Staff): Promise<void> {
  await createUnusedCredentials(anna, gatewayId)
  const ids = devices.map(({ id }) => id)
  const nodeId = await firstLine(anna, 'Body shop')
  await createDecision(tomas, { action: 'onboard', assetIds: ids.slice(34, 46), nodeId })
  await createDecision(anna, { action: 'ignore', assetIds: ids.slice(46, 48) })
}

/** Returns the id of the first line in an area, as soon as the hierarchy contains it. */
async function firstLine(caller: Caller, area: string): Promise<string> {
  let lineId: string | undefined
  await until(`the hierarchy contains ${area}`, async () => {
    const [tree] = (await caller.hierarchy.listHierarchies({})).data
    if (tree === undefined) return false
    const params = { id: tree.id }
    const [parent] = (await caller.hierarchy.listNodes({ params, query: { q: area } })).data
    if (parent === undefined) return false
    const lines = (await caller.hierarchy.listNodes({ params, query: { parentId: parent.id } })).data
    lineId = lines[0]?.id
    return lineId !== undefined
  })
  return String(lineId)
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
  await create('Devices of the first scan', devices, '*/5 * * * *')
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

function productNamed(article: string): Product | undefined {
  const products: readonly Product[] = Object.values(catalogue).flat()
  return products.find((product) => product.article === article)
}

/** Returns the firmware versions of a product, oldest first. */
function firmwareOf(article: string): readonly string[] {
  return productNamed(article)?.firmware ?? []
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
  const productName = productNamed(article)?.name ?? article
  const name = `${productName} firmware`
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
        name: `${productName} to ${version}`,
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

/** Returns the first assets of a line. */
async function assetsOf(caller: Caller, line: string): Promise<AssetDocument[]> {
  const query = { limit: 100, sort: 'name', filter: `startswith(name, '${line}-')` }
  return (await caller.inventory.listAssets({ query })).data
}

const pressLine = 'AAR-PRESS-L01'

/** The technicians of the assembly update some devices without the platform, and record the new firmware. */
async function updateByHand({ callers: { anna, mia }, gatewayId }: Staff): Promise<void> {
  await createOldPassword(anna, gatewayId)
  await recordNewestFirmware(mia, (await assetsOf(anna, 'AAR-ASSY-L01')).slice(10, 40))
}

async function recordNewestFirmware(caller: Caller, some: readonly AssetDocument[]): Promise<void> {
  for (const { id, product_instance_information: instance } of some) {
    const version = firmwareOf(productOf(instance)?.product_id ?? '').at(-1)
    if (version === undefined) continue
    await caller.inventory.setFirmwareVersion({ params: { id: String(id) }, body: { data: { version } } })
  }
}

/** The imported assets get responsible users and custom properties. */
async function describeAssets({ anna, tomas }: Callers): Promise<void> {
  const some = await assetsOf(anna, pressLine)
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
  const { data: controllers } = await anna.inventory.listAssets({ query: { limit: 100, sort: 'name', q: 'PLC01' } })
  await tomas.inventory.setResponsibles({
    body: { data: controllers.map(({ id }) => ({ asset_id: String(id), responsible: 'Tomáš Novák' })) },
  })
}

/** Some imported assets get other names and firmware. Impact reports are computed. */
async function changeAssets({ anna, mia, tomas }: Callers): Promise<void> {
  const some = await assetsOf(anna, pressLine)
  const named = { 'Press 1 main controller': 'PLC', 'Press 1 feeder drive': 'DRV', 'Press 1 operator panel': 'HMI' }
  for (const [name, tag] of Object.entries(named)) {
    const asset = some.find(({ name: former }) => String(former).includes(`-${tag}`))
    if (asset === undefined) continue
    await tomas.inventory.setName({ params: { id: String(asset.id) }, body: { data: { name } } })
  }
  await recordNewestFirmware(mia, some.slice(2, 42))
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

/**
 * Starts a receiver of webhooks on the loopback interface. It refuses the events of alerts. If another process uses the port, it
 * is the receiver of a copy of this plant, which answers in the same way.
 */
async function startReceiver(port: number): Promise<void> {
  if (receiverUrl !== '') return
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isRefused = request.url?.endsWith('alerts') === true
      response.writeHead(isRefused ? 503 : 204).end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve() : reject(error)))
    server.listen(port, '127.0.0.1', resolve)
  })
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
