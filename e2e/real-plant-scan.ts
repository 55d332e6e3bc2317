import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrafficLimits } from '@millwright/api/scan-budget.ts'
import { callerOf, startPlatform, temporaryFolder, until } from './platform.ts'

/*
 * A process in the network namespace of a gateway. It starts the platform with a gateway and its links, and scans the
 * range twice with every link. Then it scans with all links concurrently, and cancels the scans when its standard input
 * has data. It prints a `PlantScan` as JSON.
 */

export type FoundAsset = { id: string; name?: string; connection_points?: { mac_address?: string }[] }

/** `LinkScan` is a scan with one link. `sent` is from the receipt: the numbers by class for each address. */
export type LinkScan = {
  link: string
  state: string
  message?: string | undefined
  created: number
  updated: number
  gone: number
  startedMs: number
  endedMs: number
  sent: Record<string, Record<string, number>>
}

export type Round = {
  scans: LinkScan[]
  errors: string[]
  assets: FoundAsset[]
  /** The names of the links by the ids of their assets. */
  links: Record<string, string>
  relations: { id: string; subject: { id: string }; predicate: string; object: { id: string } }[]
}

/** `canceledMs` is the time at which the platform had accepted the cancellation of all scans. */
export type CanceledScans = { startedMs: number; canceledMs: number; states: string[] }

export type PlantScan = { rounds: [Round, Round]; canceled: CanceledScans }

const [range = '', dnsServer = ''] = process.argv.slice(2)

/** The links in the order of their scans. The cables are reported before most of the devices at their ends are found. */
const links = ['snmp', 'ip-scan', 'opcua', 'modbus', 'ethernet-ip', 'mdns', 'bacnet', 's7', 'profinet']
const optionsOf: Readonly<Record<string, { key: string; value: string }[]>> = {
  modbus: [{ key: 'gateway_units', value: '1-3' }],
  'ip-scan': [{ key: 'dns_server', value: dnsServer }],
}
/** A PROFINET scan sends only a few frames. With this option, it listens until it is canceled. */
const endlessOptionsOf: typeof optionsOf = { profinet: [{ key: 'lldp_seconds', value: '120' }] }
/** A budget with which the scans are not finished before they are canceled. */
const slow: Partial<TrafficLimits> = { datagramsPerSecond: 10, connectionsPerSecond: 10, requestsPerSecond: 10 }

using home = temporaryFolder('real-plant')
const environment = {
  MILLWRIGHT_LOCAL_GATEWAY: 'on',
  MILLWRIGHT_GATEWAY_LINKS: links.join(),
  MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
  MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
}
await using platform = await startPlatform({ home: home.path, environment })
const caller = await callerOf(platform)
const gatewayId = await gatewayWithLinks()
const rounds: PlantScan['rounds'] = [await scanAll(), await scanAll()]
const canceled = await cancelAll()
process.stdout.write(`${JSON.stringify({ rounds, canceled } satisfies PlantScan)}\n`)

async function gatewayWithLinks(): Promise<string> {
  let id = ''
  await until('the gateway and its links are reachable', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    if (gateway?.state !== 'online') return false
    id = gateway.id
    const { data } = await caller.discovery.listAssetLinks({ params: { gatewayId: id } })
    return links.every((link) => data.some((one) => one.assetLinkId === `millwright.links.${link}` && one.reachable))
  })
  return id
}

async function scanAll(): Promise<Round> {
  const scans = []
  for (const link of links) scans.push(await scan(link))
  return { scans: scans.map(({ run }) => run), errors: scans.flatMap(({ errors }) => errors), ...(await inventory()) }
}

async function start(link: string, options = optionsOf[link] ?? []): Promise<string> {
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: {
      data: {
        assetLinkId: `millwright.links.${link}`,
        discoveryFilters: [{ key: 'ip_range', value: range }],
        discoveryOptions: options,
      },
    },
  })
  return jobId
}

async function ended(jobId: string) {
  const read = async () => (await caller.discovery.getDiscovery({ params: { jobId } })).data
  await until('the scan ends', async () => ['finished', 'failed', 'canceled'].includes((await read()).state))
  return read()
}

async function scan(link: string): Promise<{ run: LinkScan; errors: string[] }> {
  const startedMs = Date.now()
  const jobId = await start(link)
  const { state, message, created, updated, gone } = await ended(jobId)
  const endedMs = Date.now()
  const { data } = await caller.discovery.getReport({ params: { jobId } })
  const { data: receipt } = await caller.discovery.getReceipt({ params: { jobId } })
  const devices = receipt.devices.map((one) => ['address' in one ? one.address : one.network, one.packets])
  return {
    run: { link, state, message, created, updated, gone, startedMs, endedMs, sent: Object.fromEntries(devices) },
    errors: data.errors.map((one) => JSON.stringify(one)),
  }
}

/** Scans with all links concurrently, and cancels the scans. */
async function cancelAll(): Promise<CanceledScans> {
  writeFileSync(join(home.path, 'gateway', 'budget.json'), JSON.stringify({ perGateway: slow }))
  const startedMs = Date.now()
  const jobIds = await Promise.all(links.map((link) => start(link, endlessOptionsOf[link])))
  process.stdout.write('started\n')
  await once(process.stdin, 'data')
  process.stdin.destroy()
  await Promise.all(jobIds.map((jobId) => caller.discovery.cancelDiscovery({ params: { jobId } })))
  const canceledMs = Date.now()
  const states = (await Promise.all(jobIds.map(ended))).map(({ state }) => state)
  await until('packets that are sent too late are captured', () => Date.now() > canceledMs + 3_000)
  return { startedMs, canceledMs, states }
}

async function inventory(): Promise<Pick<Round, 'assets' | 'relations' | 'links'>> {
  const filter = "functional_object_type eq 'Device'"
  const { data: assets } = await caller.inventory.listAssets({ query: { filter, limit: 100 } })
  const { data: linkAssets } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
  const predicates = ['is_connected_to', 'is_module_of', 'found_by_asset_link']
  const relations = (await Promise.all(predicates.map(relationsWith))).flat()
  const linkNames = linkAssets.map(({ assetId, assetLinkId }) => [
    assetId,
    assetLinkId.replace('millwright.links.', ''),
  ])
  return { assets: assets as unknown as FoundAsset[], relations, links: Object.fromEntries(linkNames) }
}

async function relationsWith(predicate: string): Promise<Round['relations']> {
  const { data } = await caller.inventory.listRelations({
    query: { filter: `predicate eq '${predicate}'`, limit: 100 },
  })
  return data as Round['relations']
}
