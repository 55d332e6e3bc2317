import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import type { Program } from './program.ts'
import { discover, type Gateway, killed, newGateway, over, startGateway, startPlant } from './shop-floor.ts'

/** These tests run cloud, gateway and link in separate processes and kill one after the other during a monitoring run. */
describe('a monitoring run with killed processes', () => {
  const home = temporaryFolder()
  const size = 1_500
  /** The time limit of a wait. It is longer than the lease of a killed gateway, which must expire first. */
  const patienceMs = 240_000
  let platform: Platform
  let caller: Caller
  let gateway: Gateway
  let plant: Program
  let id: string

  before(async () => {
    platform = await startPlatform({ home: home.path })
    caller = await callerOf(platform)
    const gatewayId = await newGateway(caller, { home: home.path, name: 'hall' })
    gateway = await startGateway('hall', { home: home.path, id: gatewayId })
    plant = startPlant(gateway, { home: home.path })
    await over(caller, await discover(caller, gatewayId, { size: String(size), seed: '1' }), patienceMs)
    const targets = { filter: `functional_object_type eq 'Device'` }
    const schedule = { cron: '0 0 1 1 *' }
    const { data } = await caller.monitoring.createMonitoring({ body: { data: { name: 'Hall', targets, schedule } } })
    id = data.id
  })
  after(async () => {
    await plant[Symbol.asyncDispose]()
    await gateway.program[Symbol.asyncDispose]()
    await platform[Symbol.asyncDispose]()
    home[Symbol.dispose]()
  })

  const latest = async () => {
    const { latestRun } = (await caller.monitoring.readMonitoring({ params: { id } })).data
    assert.ok(latestRun)
    return latestRun
  }
  const begin = async () => {
    await caller.monitoring.runMonitoring({ params: { id } })
    await until('some devices have a result', async () => ((await latest()).counts?.reached ?? 0) > 0, patienceMs)
    const { counts } = await latest()
    assert.ok((counts?.reached ?? 0) < size, 'the run has not ended')
  }
  const finished = async () => {
    await until('the run ends', async () => (await latest()).endedTimestamp !== undefined, patienceMs)
    const { state, counts, message } = await latest()
    assert.equal(state, 'finished', message)
    assert.deepEqual([counts?.targets, counts?.reached], [size, size], 'each device has one result')
  }

  test('continues after the gateway was killed, with the devices that have no result', async () => {
    await begin()
    await killed(gateway.program)
    await plant[Symbol.asyncDispose]()
    gateway = await startGateway('hall', { home: home.path, id: gateway.id })
    plant = startPlant(gateway, { home: home.path })
    await finished()
  })

  test('continues after the platform was killed', async () => {
    await begin()
    await killed(platform.program)
    const environment = { MILLWRIGHT_PORT: new URL(platform.baseUrl).port }
    platform = await startPlatform({ home: home.path, environment })
    caller = await callerOf(platform)
    await finished()
  })
})
