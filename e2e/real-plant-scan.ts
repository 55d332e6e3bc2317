import { callerOf, startPlatform, temporaryFolder, until } from './platform.ts'

/*
 * A process in the network namespace of a gateway. It starts the platform with a gateway and its links, scans the range
 * twice with every link, and prints what the inventory contains after each round as JSON.
 */

export type FoundAsset = { id: string; name?: string; connection_points?: { mac_address?: string }[] }

export type Round = {
  scans: { link: string; state: string; message?: string | undefined; created: number; updated: number; gone: number }[]
  errors: string[]
  assets: FoundAsset[]
  relations: { id: string; subject: { id: string }; predicate: string; object: { id: string } }[]
}

/** The links in the order of their scans. The inventory stores a cable only if both of its ends are known. */
const links = ['ip-scan', 'opcua', 'modbus', 'snmp']
const optionsOf: Readonly<Record<string, { key: string; value: string }[]>> = {
  modbus: [{ key: 'gateway_units', value: '1-3' }],
}

const [range = ''] = process.argv.slice(2)

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
const rounds = [await scanAll(), await scanAll()]
process.stdout.write(`${JSON.stringify(rounds)}\n`)

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

async function scan(link: string) {
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: {
      data: {
        assetLinkId: `millwright.links.${link}`,
        discoveryFilters: [{ key: 'ip_range', value: range }],
        discoveryOptions: optionsOf[link] ?? [],
      },
    },
  })
  const read = async () => (await caller.discovery.getDiscovery({ params: { jobId } })).data
  await until(`the scan of ${link} ends`, async () => ['finished', 'failed', 'canceled'].includes((await read()).state))
  const { state, message, created, updated, gone } = await read()
  const { data } = await caller.discovery.getReport({ params: { jobId } })
  return {
    run: { link, state, message, created, updated, gone },
    errors: data.errors.map((one) => JSON.stringify(one)),
  }
}

async function inventory(): Promise<Pick<Round, 'assets' | 'relations'>> {
  const filter = "functional_object_type eq 'Device'"
  const { data: assets } = await caller.inventory.listAssets({ query: { filter, limit: 100 } })
  const relationFilter = "predicate eq 'is_connected_to' or predicate eq 'is_module_of'"
  const { data: relations } = await caller.inventory.listRelations({ query: { filter: relationFilter, limit: 100 } })
  return { assets: assets as unknown as FoundAsset[], relations: relations as Round['relations'] }
}
