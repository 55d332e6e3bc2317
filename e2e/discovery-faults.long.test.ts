import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import type { Program } from './program.ts'
import { discover, discovered, type Gateway, killed, newGateway, over, startGateway, startPlant } from './shop-floor.ts'

/** These tests run cloud, gateway and link in separate processes and kill one after the other during a scan. */
describe('a discovery with killed processes', () => {
  const home = temporaryFolder()
  /** The time limit of a wait. It is longer than the lease of a killed gateway, which must expire first. */
  const patienceMs = 240_000
  let platform: Platform
  let caller: Caller
  let gateway: Gateway
  let plant: Program

  before(async () => {
    platform = await startPlatform({ home: home.path })
    caller = await callerOf(platform)
    const id = await newGateway(caller, { home: home.path, name: 'hall' })
    gateway = await startGateway('hall', { home: home.path, id })
    plant = startPlant(gateway, { home: home.path })
    await linkAt(undefined)
  })
  after(async () => {
    await plant[Symbol.asyncDispose]()
    await gateway.program[Symbol.asyncDispose]()
    await platform[Symbol.asyncDispose]()
    home[Symbol.dispose]()
  })

  /** Waits until the link responds at a new address. */
  const linkAt = async (former: string | undefined) => {
    const isThere = async () => {
      const [link] = (await gateway.status()).links
      return link?.state === 'running' && link.endpoint !== former
    }
    await until('the link answers', isThere, patienceMs)
    // The gateway reports the link to the cloud shortly after.
    await until('the cloud knows the link', async () => {
      const { data } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
      return data.some(({ reachable }) => reachable)
    })
  }
  const assets = async () => (await caller.inventory.listAssets({ query: { limit: 1 } })).meta.totalElements ?? 0
  const someFound = (jobId: string) =>
    until('some were found', async () => (await discovered(caller, jobId)).found > 0, patienceMs)

  test('continues a scan during a cloud outage, and uploads each device once afterwards', async () => {
    const total = await assets()
    const jobId = await discover(caller, gateway.id, { size: '250', seed: '1', rate: '50' })
    await someFound(jobId)
    await killed(platform.program)
    await until(
      'the scan has ended and its upload waits',
      async () => {
        const { scans, spool } = await gateway.status()
        return scans === 0 && spool.entries > 0
      },
      patienceMs,
    )
    platform = await startPlatform({
      home: home.path,
      environment: { MILLWRIGHT_PORT: new URL(platform.baseUrl).port },
    })
    caller = await callerOf(platform)
    const discovery = await over(caller, jobId, patienceMs)
    assert.deepEqual([discovery.state, discovery.found, discovery.created], ['finished', 250, 250], discovery.message)
    assert.equal((await assets()) - total, 250, 'each device is one asset')
    await until('the spool is empty', async () => (await gateway.status()).spool.entries === 0)
  })

  test('stores the devices that a killed link found, and fails the discovery with the reason', async () => {
    const jobId = await discover(caller, gateway.id, { size: '5000', seed: '2', rate: '100' })
    await someFound(jobId)
    await killed(plant)
    const discovery = await over(caller, jobId, patienceMs)
    assert.equal(discovery.state, 'failed')
    assert.ok(discovery.found > 0 && discovery.found < 5000, `${discovery.found} found`)
    assert.match(discovery.message ?? '', /^The asset link ended the scan with an error: /)
    const former = (await gateway.status()).links[0]?.endpoint
    plant = startPlant(gateway, { home: home.path })
    await linkAt(former)
  })

  test('offers the job of a killed gateway again after its restart, and stores each device once', async () => {
    const total = await assets()
    const jobId = await discover(caller, gateway.id, { size: '250', seed: '3', rate: '50' })
    await someFound(jobId)
    await killed(gateway.program)
    await plant[Symbol.asyncDispose]()
    gateway = await startGateway('hall', { home: home.path, id: gateway.id })
    plant = startPlant(gateway, { home: home.path })
    const discovery = await over(caller, jobId, patienceMs)
    assert.deepEqual([discovery.state, discovery.found], ['finished', 250], discovery.message)
    assert.equal((await assets()) - total, 250, 'each device is one asset')
  })

  test('cancels a job on the gateway immediately', async () => {
    // The fastest of several attempts counts, because the load of the machine can delay an attempt. A gateway that
    // polls would need ten seconds.
    const delays: number[] = []
    while (delays.length < 5 && delays.every((ms) => ms > 5_000)) delays.push(await cancelMs())
    assert.ok(Math.min(...delays) <= 5_000, `it took ${delays.map(Math.round).join(', ')} ms`)
  })

  const cancelMs = async () => {
    const jobId = await discover(caller, gateway.id, { size: '5000', seed: '4', rate: '50' })
    await until('it runs', async () => (await discovered(caller, jobId)).state === 'running', patienceMs)
    const canceledAt = performance.now()
    await caller.discovery.cancelDiscovery({ params: { jobId } })
    await until('the gateway stopped', async () => (await gateway.status()).scans === 0)
    const ms = performance.now() - canceledAt
    assert.equal((await over(caller, jobId, patienceMs)).state, 'canceled')
    return ms
  }

  test('enrols a gateway whose clock is wrong by hours, and offers it jobs', async () => {
    // The path is passed as a URL, because Node splits the options at spaces and a path may contain spaces.
    const clock = new URL('./skewed-clock.mjs', import.meta.url).href
    for (const hours of ['7', '-7']) {
      const name = `skewed${hours}`
      const id = await newGateway(caller, { home: home.path, name })
      const environment = { NODE_OPTIONS: `--import=${clock}`, SKEWED_HOURS: hours }
      const skewed = await startGateway(name, { home: home.path, id, environment })
      const isOnline = async () => {
        const { data: gateways } = await caller.onboarding.listGateways({})
        return gateways.some((one) => one.id === id && one.state === 'online')
      }
      await until('it is online', isOnline, patienceMs).finally(() => skewed.program[Symbol.asyncDispose]())
    }
  })
})
