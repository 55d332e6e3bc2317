import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { runCommand } from './command.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { millwright } from './program.ts'
import { plantGateway } from './shop-floor.ts'

/**
 * These tests run everything on one machine, like `npm start`: the cloud, a gateway that enrols automatically, and a
 * simulated plant.
 */
const home = temporaryFolder()
let platform: Platform
let caller: Caller

/** The time limit of a wait. It is longer than the lease of a killed gateway, which must expire first. */
const patienceMs = 240_000

before(async () => {
  platform = await startPlatform({ home: home.path, environment: plantGateway })
  caller = await callerOf(platform)
})
after(async () => {
  await platform?.[Symbol.asyncDispose]()
  home[Symbol.dispose]()
})

/** Waits until the gateway and its link are registered, and returns their ids. */
async function plant(): Promise<{ gatewayId: string; assetLinkId: string }> {
  let found: { gatewayId: string; assetLinkId: string } | undefined
  await until('the plant is online', async () => {
    const [gateway] = (await caller.onboarding.listGateways({})).data
    if (gateway?.state !== 'online') return false
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    const link = links.find(({ reachable }) => reachable)
    if (link !== undefined) found = { gatewayId: gateway.id, assetLinkId: link.assetLinkId }
    return found !== undefined
  })
  return found ?? assert.fail()
}

async function discover(options: Record<string, string>): Promise<string> {
  const { gatewayId, assetLinkId } = await plant()
  const discoveryOptions = Object.entries(options).map(([key, value]) => ({ key, value }))
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: { data: { assetLinkId, discoveryOptions } },
  })
  return jobId
}

const read = async (jobId: string) => (await caller.discovery.getDiscovery({ params: { jobId } })).data

async function ended(jobId: string) {
  const isOver = async () => ['finished', 'failed', 'canceled'].includes((await read(jobId)).state)
  await until('the discovery ends', isOver, patienceMs)
  return read(jobId)
}

test('creates assets for discovered devices, with their relations to gateway and link', async () => {
  const jobId = await discover({ size: '60', seed: '7', protected_percent: '0' })
  const discovery = await ended(jobId)
  assert.equal(discovery.state, 'finished', discovery.message)
  assert.equal(
    discovery.errors,
    0,
    JSON.stringify((await caller.discovery.getReport({ params: { jobId } })).data.errors),
  )
  assert.ok(
    discovery.found >= 60 && discovery.created === discovery.found,
    `${discovery.found} found, ${discovery.created} new`,
  )
  const { gatewayId } = discovery
  const byGateway = await caller.inventory.listAssets({
    query: { relationsFilter: `object.id eq '${gatewayId}' and predicate eq 'found_by_gateway'`, limit: 1 },
  })
  assert.equal(byGateway.meta.totalElements, discovery.found)

  const { data: asset } = await caller.discovery.getReport({ params: { jobId }, query: { limit: 1 } })
  const id = asset.findings[0]?.assetId ?? ''
  const { data: supported } = await caller.discovery.listSupportedProperties({ params: { id } })
  const key = supported[0]?.key ?? ''
  const { data: values } = await caller.discovery.readProperties({
    params: { id },
    body: { data: { keys: [key, '?'] } },
  })
  assert.deepEqual(
    values.map((one) => [one.key, 'value' in one]),
    [
      [key, true],
      ['?', false],
    ],
  )

  const again = await discover({ reference: 'true' })
  const six = await ended(again)
  assert.deepEqual([six.found, six.errors], [4, 2], 'two of the six need credentials')
})

test(
  'the command line selects the only gateway and link, prints devices as they are found, and stops at Ctrl-C',
  onlyInLongRuns,
  async () => {
    const { gatewayId } = await plant()
    await until('the link has reported its parameters', async () => {
      const { data } = await caller.discovery.listAssetLinks({ params: { gatewayId } })
      return data.some(({ options }) => options.length > 0)
    })
    const args = ['discover', '--option', 'seed=11', '--option', 'protected_percent=0']
    const whole = await runCommand([...args, '--option', 'size=12'], { home: home.path })
    assert.equal(whole.code, 0, whole.stderr)
    assert.match(whole.stdout, /^(\+ [0-9a-f-]{36} {2}\S+\n){12,}\d+ devices: \d+ new, 0 changed, .*\n$/)

    const long = millwright([...args, '--option', 'size=5000', '--option', 'rate=50', '--ndjson'], { home: home.path })
    await until('devices come', () => long.stdout().includes('"outcome":"new"'))
    long.child.kill('SIGINT')
    const { code, stderr } = await long.ended
    assert.equal(code, 130)
    const [, jobId = ''] = /Scan (\S+) is canceled; assets that were found stay\./.exec(stderr) ?? []
    assert.equal((await ended(jobId)).state, 'canceled')
  },
)

test('stores the devices that a canceled scan found', onlyInLongRuns, async () => {
  const jobId = await discover({ size: '5000', seed: '9', rate: '50', protected_percent: '0' })
  await until('some were found', async () => (await read(jobId)).found > 0)
  await caller.discovery.cancelDiscovery({ params: { jobId } })
  const discovery = await ended(jobId)
  assert.equal(discovery.state, 'canceled')
  assert.ok(discovery.found > 0 && discovery.found < 5000)
})
