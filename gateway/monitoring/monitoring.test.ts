import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { NewMonitoring } from '@millwright/api/monitoring.ts'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { modbusLink } from '@millwright/links/modbus/link.ts'
import { type SimulatedDevice, startSimulator } from '@millwright/links/modbus/simulator.ts'
import { link as plant } from '@millwright/links/plant/link.ts'
import { type RunningGateway, startGateway } from '../gateway.ts'
import { budgetFileName } from '../permits/budget-file.ts'
import { settingsFor, temporaryFolder, until } from '../testing.ts'

/** These tests monitor a simulated plant with a gateway that is enrolled at a real hub. */
describe('monitoring of a simulated plant', () => {
  const size = 12
  const assetLinkId = plant.manifest.id
  const parts = new AsyncDisposableStack()
  let hub: TestHub
  let admin: TestCaller
  let gateway: RunningGateway
  let link: AsyncDisposable
  let assetIds: string[]

  before(async () => {
    hub = parts.use(await testHub({ arrangement: 'one process' }))
    const [cloud] = hub.clouds
    assert.ok(cloud)
    cloud.setBaseUrl(`http://127.0.0.1:${await cloud.listen({ host: '127.0.0.1', port: 0 })}`)
    admin = await hub.as('administrator')
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'Hall' } } })
    const settings = settingsFor(temporaryFolder())
    const config = await admin.onboarding.createGatewayConfig({ params: { id: data.id } })
    writeFileSync(settings.configFile, JSON.stringify(config))
    gateway = await startGateway(settings, { renewEveryMs: 200 })
    parts.defer(() => gateway.stop())
    await startPlant()
    await scan({})
    const query = { filter: `functional_object_type eq 'Device'`, limit: 100, fields: 'id' }
    assetIds = (await admin.inventory.listAssets({ query })).data.map(({ id }) => String(id))
    assert.equal(assetIds.length, size)
  })
  after(async () => {
    await link[Symbol.asyncDispose]()
    await parts.disposeAsync()
  })

  async function startPlant(): Promise<void> {
    link = await startLink(plant, { registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'silent' })
    await until(isAvailable)
  }

  /** Stops the link, and waits until the platform knows it. */
  async function stopPlant(): Promise<void> {
    await link[Symbol.asyncDispose]()
    await until(async () => !(await isAvailable()))
  }

  async function isAvailable(): Promise<boolean> {
    const { data } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.gatewayId } })
    return data.some((one) => one.assetLinkId === assetLinkId && one.reachable && one.state !== 'gone')
  }

  async function scan(options: Record<string, string>): Promise<void> {
    const all = { size: String(size), seed: '7', protected_percent: '0', ...options }
    const discoveryOptions = Object.entries(all).map(([key, value]) => ({ key, value }))
    const { jobId } = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.gatewayId },
      body: { data: { assetLinkId, discoveryOptions } },
    })
    await until(async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data.state === 'finished')
  }

  async function monitor(input: Partial<NewMonitoring> = {}) {
    const targets = { filter: `functional_object_type eq 'Device'` }
    const body = { data: { name: 'Plant', targets, ...input } }
    const { id } = (await admin.monitoring.createMonitoring({ body })).data
    return id
  }

  async function ended(id: string) {
    const read = async () => (await admin.monitoring.readMonitoring({ params: { id } })).data
    await until(async () => ['finished', 'failed', 'canceled'].includes((await read()).latestRun?.state ?? ''))
    return (await read()).latestRun
  }

  const again = async (id: string) => {
    await admin.monitoring.runMonitoring({ params: { id } })
    return ended(id)
  }
  const resultsOf = async (id: string) =>
    (await admin.monitoring.listMonitoringResults({ params: { id }, query: { limit: 100 } })).data
  const reachabilities = async () => {
    const query = { filter: `reachability_state/state_value eq 'reached' and functional_object_type eq 'Device'` }
    return (await admin.inventory.listAssets({ query })).meta.totalElements
  }

  test('reads all devices with their firmware and properties, and changes only the time of the last contact', async () => {
    const read = async (id: string) => (await admin.inventory.readAsset({ params: { id }, query: {} })).data
    const timesOf = (assets: Awaited<ReturnType<typeof read>>[]) =>
      assets.map(({ reachability_state: state }) => (state as { state_timestamp: string }).state_timestamp)
    const othersOf = (assets: Awaited<ReturnType<typeof read>>[]) =>
      assets.map(({ reachability_state: _, ...others }) => others)
    const before = await Promise.all(assetIds.map(read))
    const id = await monitor({ keys: ['diagnostics', 'no such key'] })
    const run = await ended(id)
    assert.deepEqual(run?.counts, { targets: size, reached: size, failed: 0, unknown: 0, changed: 0 }, run?.message)
    const results = await resultsOf(id)
    for (const { firmwareVersion, values, gatewayId } of results) {
      assert.ok(firmwareVersion)
      assert.equal(gatewayId, gateway.gatewayId)
      assert.ok(values[0]?.value)
      assert.match(values[1]?.problem ?? '', /property/)
    }
    await hub.settle()
    const afterwards = await Promise.all(assetIds.map(read))
    assert.deepEqual(othersOf(afterwards), othersOf(before))
    for (const [index, time] of timesOf(afterwards).entries()) assert.ok(time > (timesOf(before)[index] ?? ''), time)
    const job = await admin.workflows.getJob({ params: { id: run?.jobIds[0] ?? '' }, query: {} })
    assert.deepEqual([job.workflow.name, job.clientId], ['monitoring', gateway.gatewayId])
    await until(async () => {
      const { status } = await admin.workflows.getJob({ params: { id: job.id }, query: {} })
      return status.state === 'FINISHED' && isDeepStrictEqual(status.context, { devices: size, sent: {}, refused: {} })
    })
    const { status } = await admin.workflows.getJob({ params: { id: job.id }, query: {} })
    assert.equal(status.message, `${size} devices reached`)
  })

  test('devices that do not respond are failed, and reached again when they respond', onlyInLongRuns, async () => {
    const id = await monitor()
    await ended(id)
    await scan({ silent_percent: '100' })
    const silent = await again(id)
    assert.deepEqual([silent?.counts?.failed, silent?.counts?.changed], [size, size])
    assert.match((await resultsOf(id))[0]?.message ?? '', /^\S+ does not respond\.$/)
    await until(async () => (await reachabilities()) === 0)
    await scan({})
    const run = await again(id)
    assert.deepEqual([run?.counts?.reached, run?.counts?.changed], [size, size])
    assert.equal(await reachabilities(), size)
  })

  test('a link that is not running makes its devices unknown, not failed', async () => {
    const id = await monitor()
    await ended(id)
    await stopPlant()
    const run = await again(id)
    await startPlant()
    assert.deepEqual([run?.counts?.unknown, run?.counts?.failed], [size, 0])
    assert.equal(await reachabilities(), size)
  })

  test('protected devices are read with the credentials of the template, which are assigned to them once', async () => {
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.gatewayId } })
    const own = links.find((one) => one.assetLinkId === assetLinkId)
    const { data: schema } = await admin.credentials.createSchema({
      query: { resourceIdentifier: own?.deviceClass ?? '', resourceVersion: own?.version ?? '' },
      body: {
        data: {
          uri: 'urn:millwright:links:plant:credentials:1',
          schema: {
            type: 'object',
            properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
          },
        },
      },
    })
    const instance = async (name: string, password: string, ipRanges: string[]) =>
      (
        await admin.credentials.createInstance({
          body: {
            data: {
              schemaId: schema.id,
              name,
              values: { username: 'user', password },
              metadata: { ipRanges, purpose: 'monitoring' },
            },
          },
        })
      ).data.id
    const right = await instance('right', 'user_password', ['10.0.0.0/24'])
    const wrong = await instance('wrong', 'planted-secret', ['10.0.0.0/24'])
    const elsewhere = await instance('elsewhere', 'user_password', ['10.99.0.0/24'])
    const { data: template } = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'plant' } } })
    const instancesTemplateId = template.id
    const map = (instanceId: string) => admin.credentials.mapInstance({ params: { instancesTemplateId, instanceId } })
    await scan({ protected_percent: '100' })
    await map(elsewhere)
    const id = await monitor({ instancesTemplateId, assignWorking: true })
    const outside = await ended(id)
    assert.equal(outside?.counts?.reached, size, (await resultsOf(id))[0]?.message)
    assert.match((await resultsOf(id))[0]?.message ?? '', /no credentials for its address/)
    await map(right)
    await map(wrong)
    const run = await again(id)
    assert.equal(run?.counts?.reached, size, (await resultsOf(id))[0]?.message)
    const withInstance = (await resultsOf(id)).filter(({ instanceId }) => instanceId !== undefined)
    assert.ok(withInstance.length > 0)
    assert.ok(withInstance.every(({ instanceId }) => instanceId === right))
    const [{ assetId = '' } = {}] = withInstance
    const copies = async () =>
      (await admin.credentials.listAssetInstances({ params: { assetId }, query: {} })).data.filter(
        ({ assigned }) => assigned,
      )
    assert.equal((await copies()).length, 1)
    await again(id)
    assert.equal((await copies()).length, 1)
    for (const { id: copy } of await copies())
      await admin.credentials.unassignInstance({ params: { assetId, instanceId: copy } })
    const later = await monitor({ instancesTemplateId })
    await ended(later)
    assert.equal((await copies()).length, 0)
    await admin.monitoring.updateMonitoring({ params: { id: later }, body: { data: { assignWorking: true } } })
    await again(later)
    assert.equal((await copies()).length, 1)
    // A device rejects each credential once. Then the next credentials of the template are tried.
    const names = ['right 2', 'wrong 2', 'wrong 3', 'wrong 4']
    const others = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'others' } } })
    for (const name of names) {
      const instanceId = await instance(name, name === 'right 2' ? 'user_password' : name, ['10.0.0.0/24'])
      await admin.credentials.mapInstance({ params: { instancesTemplateId: others.data.id, instanceId } })
    }
    const tried = await monitor({ instancesTemplateId: others.data.id })
    await ended(tried)
    const resultOf = async () => (await resultsOf(tried)).find((one) => one.assetId === assetId)
    assert.match((await resultOf())?.message ?? '', /3 credentials were rejected/)
    await again(tried)
    assert.equal((await resultOf())?.message, undefined)
    const wrongOnly = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'wrong only' } } })
    await admin.credentials.mapInstance({ params: { instancesTemplateId: wrongOnly.data.id, instanceId: wrong } })
    const refused = await monitor({ instancesTemplateId: wrongOnly.data.id })
    await ended(refused)
    await again(refused)
    const [{ state, message } = {}] = (await resultsOf(refused)).filter((one) => one.assetId === assetId)
    assert.deepEqual([state, message?.includes('rejected them less than an hour ago')], ['reached', true])
    const { data: deliveries } = await admin.audit.listEntries({ query: { action: 'credentials.deliver', limit: 100 } })
    assert.ok(!JSON.stringify(deliveries).includes(elsewhere))
  })
})

describe('monitoring of Modbus devices', () => {
  const identification = { 0: 'Example', 1: 'METER-1', 2: '1.0' }
  const deviceOf = (revision: string): SimulatedDevice => ({
    units: { '255': { objects: { ...identification, 2: revision } } },
  })
  const host = '127.0.44.1'
  const neighbours = {
    macAddressOf: (address: string) => Promise.resolve(address === host ? '02:00:00:00:44:01' : undefined),
    ipAddressOf: () => Promise.resolve(undefined),
  }

  test('a device is reached, fails when it is switched off, and has its new firmware afterwards', async () => {
    await using parts = new AsyncDisposableStack()
    const hub = parts.use(await testHub({ arrangement: 'one process' }))
    const [cloud] = hub.clouds
    assert.ok(cloud)
    cloud.setBaseUrl(`http://127.0.0.1:${await cloud.listen({ host: '127.0.0.1', port: 0 })}`)
    const admin = await hub.as('administrator')
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'Meters' } } })
    const settings = settingsFor(temporaryFolder())
    const config = await admin.onboarding.createGatewayConfig({ params: { id: data.id } })
    writeFileSync(settings.configFile, JSON.stringify(config))
    // The simulator has an address of this machine.
    const budget = { ...defaultBudget, localAddresses: true }
    writeFileSync(join(settings.home, budgetFileName), JSON.stringify(budget))
    const gateway = await startGateway(settings, { renewEveryMs: 200 })
    parts.defer(() => gateway.stop())
    const link = modbusLink(neighbours)
    parts.use(await startLink(link, { registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'silent' }))
    const params = { gatewayId: gateway.gatewayId }
    await until(async () => (await admin.discovery.listAssetLinks({ params })).data.some(({ reachable }) => reachable))
    let simulator = await startSimulator(deviceOf('1.0'), { host })
    const { port } = simulator
    const { jobId } = await admin.discovery.createDiscovery({
      params,
      body: {
        data: {
          assetLinkId: link.manifest.id,
          discoveryFilters: [{ key: 'ip_range', value: host }],
          discoveryOptions: [{ key: 'ports', value: String(port) }],
        },
      },
    })
    await until(async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data.state === 'finished')
    const targets = { filter: `functional_object_type eq 'Device'` }
    const schedule = { cron: '0 0 1 1 *' }
    const body = { data: { name: 'Meters', targets, keys: ['modbus'], schedule } }
    const { id } = (await admin.monitoring.createMonitoring({ body })).data
    const check = async () => {
      await admin.monitoring.runMonitoring({ params: { id } })
      await until(async () => {
        const { latestRun } = (await admin.monitoring.readMonitoring({ params: { id } })).data
        return latestRun?.endedTimestamp !== undefined
      })
      const results = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
      return results.data.map(({ state, firmwareVersion, changed }) => [state, firmwareVersion, changed])
    }
    assert.deepEqual(await check(), [['reached', '1.0', false]])
    await simulator[Symbol.asyncDispose]()
    assert.deepEqual(await check(), [['failed', '1.0', true]])
    simulator = await startSimulator(deviceOf('1.1'), { host, port })
    parts.use(simulator)
    assert.deepEqual(await check(), [['reached', '1.1', true]])
    const [asset] = (await admin.inventory.listAssets({ query: { filter: targets.filter } })).data
    await until(async () => {
      const { data: read } = await admin.inventory.readAsset({ params: { id: String(asset?.id) }, query: {} })
      return JSON.stringify(read).includes('"version":"1.1"')
    })
    const job = (await admin.monitoring.readMonitoring({ params: { id } })).data.latestRun?.jobIds[0] ?? ''
    await until(async () => {
      const { status } = await admin.workflows.getJob({ params: { id: job }, query: {} })
      const { sent = {} } = (status.context ?? {}) as { sent?: Record<string, number> }
      return Object.keys(sent).some((name) => name.startsWith('modbus'))
    })
  })
})
