import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  endDiscoveryJob,
  endOfDiscovery,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  type TestGateway,
  uploadDevices,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const assetLinkId = 'cdm-device-class-driver-example'

describe('devices that are missing in a run', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
  })
  after(() => hub[Symbol.asyncDispose]())

  const create = async () => {
    const discoveryOptions = [{ key: 'size', value: '3' }]
    const params = { gatewayId: gateway.id }
    return (await admin.discovery.createDiscovery({ params, body: { data: { assetLinkId, discoveryOptions } } })).jobId
  }
  const scan = async (jobId: string, numbers: readonly number[]) => {
    const held = await leaseDiscovery(gateway)
    await uploadDevices(gateway, held, { sequence: 0, assets: numbers.map((each) => foundDevice(each)) })
    await endDiscoveryJob(gateway, held, { state: 'FINISHED' })
    return endOfDiscovery({ hub, admin }, jobId)
  }
  const scanAgain = async (jobId: string, numbers: readonly number[]) => {
    await admin.discovery.runDiscovery({ params: { jobId } })
    return scan(jobId, numbers)
  }
  const missingIn = async (jobId: string) =>
    (await admin.discovery.getReport({ params: { jobId }, query: { outcome: 'gone' } })).data.findings
  const namesOf = async (jobId: string) => (await missingIn(jobId)).map(({ name }) => name).toSorted()

  test('counts a device as missing in each run until a run finds it again', async () => {
    const jobId = await create()
    await scan(jobId, [1, 2, 3])
    const second = await scanAgain(jobId, [1, 2])
    assert.deepEqual([second.gone, second.newlyGone, second.comparedRun], [1, 1, 1])
    const third = await scanAgain(jobId, [1])
    assert.deepEqual([third.gone, third.newlyGone, third.comparedRun], [2, 1, 2])
    const { data: runs } = await admin.discovery.listRuns({ params: { jobId }, query: {} })
    const endOf = (run: number) => runs.find(({ number }) => number === run)?.endedTimestamp
    assert.deepEqual(
      (await missingIn(jobId))
        .map(({ name, lastRun, lastFoundTimestamp }) => [name, lastRun, lastFoundTimestamp])
        .toSorted(),
      [
        ['Device 2', 2, endOf(2)],
        ['Device 3', 1, endOf(1)],
      ],
    )
    const fourth = await scanAgain(jobId, [1, 3])
    assert.deepEqual([fourth.gone, fourth.newlyGone], [1, 0])
    assert.deepEqual(await namesOf(jobId), ['Device 2'])
  })

  test('does not count a device whose asset is deleted', async () => {
    const jobId = await create()
    await scan(jobId, [21, 22, 23])
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const second = report.findings.find(({ name }) => name === 'Device 22')
    await admin.inventory.deleteAssets({
      body: { data: { ids: [second?.assetId ?? ''] } },
      headers: { prefer: 'wait=30' },
    })
    const { gone } = await scanAgain(jobId, [21])
    assert.equal(gone, 1)
    assert.deepEqual(await namesOf(jobId), ['Device 23'])
  })

  test('does not count a device that another scan has found after the last run', async () => {
    const jobId = await create()
    await scan(jobId, [31, 32, 33])
    assert.equal((await scanAgain(jobId, [31])).gone, 2)
    await scan(await create(), [33])
    const third = await scanAgain(jobId, [31])
    assert.deepEqual([third.gone, third.newlyGone], [1, 0])
    assert.deepEqual(await namesOf(jobId), ['Device 32'])
  })
})
