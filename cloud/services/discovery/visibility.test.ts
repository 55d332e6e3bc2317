import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { EventReader } from '../../platform/testing/event-reader.ts'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const { appInstanceId: assetLinkId } = linkReport()

type RunCounts = { found: number; created: number; updated: number; unchanged: number; gone: number; newlyGone: number }
const countsOf = ({ found, created, updated, unchanged, gone, newlyGone }: RunCounts) => [
  ...[found, created, updated],
  ...[unchanged, gone, newlyGone],
]

describe('discoveries for a caller who can read the gateway but not all devices', () => {
  let hub: TestHub
  let base: string
  let admin: TestCaller
  /** A caller who can read the access group of the gateway, but not the access group of the hidden device. */
  let reader: TestCaller
  let gateway: TestGateway
  let linkAssetId: string
  let jobId: string

  before(async () => {
    hub = await testHub()
    base = await hub.listen()
    admin = await hub.as('administrator')
    const [hall1] = await Promise.all(['hall-1', 'hall-2'].map(createGroup))
    reader = await createCaller(hub, [
      { permissions: ['glb_jobs_read', 'glb_discovery_run', 'glb_audit_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: hall1 ?? '' },
    ])
    gateway = await enrolledGateway(hub, admin, { access_group: 'hall-1' })
    const { data } = await gateway.gatekeeper.reportLinks({
      body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } },
    })
    linkAssetId = data[0]?.assetId ?? ''
    const created = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } },
    })
    jobId = created.jobId
    await scan([1, 2, 3, 4])
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const hidden = report.findings.filter(({ name }) => name === nameOf(2) || name === nameOf(4))
    for (const { assetId } of hidden) await move(assetId, 'hall-2')
    await admin.discovery.runDiscovery({ params: { jobId } })
    await scan([1, 2])
  })
  after(() => hub[Symbol.asyncDispose]())

  const createGroup = async (name: string) =>
    (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  const nameOf = (index: number) => `device ${index}`

  async function move(id: string, access_group: string): Promise<void> {
    const body = { data: { access_group } }
    await admin.inventory.setAccessGroup({ params: { id }, body, headers: { prefer: 'wait=30' } })
  }

  async function scan(devices: readonly number[]): Promise<void> {
    const assets = devices.map((index) => foundDevice(index, { name: nameOf(index) }))
    await runScan({ hub, admin, gateway, jobId, assets })
  }

  /** Returns the counts of the latest and the previous run from every response that contains them. */
  async function shownTo(caller: TestCaller) {
    const { data: one } = await caller.discovery.getDiscovery({ params: { jobId } })
    const { data: listed } = await caller.discovery.listDiscoveries({ query: {} })
    const { data: runs } = await caller.discovery.listRuns({ params: { jobId }, query: {} })
    const { data: report } = await caller.discovery.getReport({ params: { jobId }, query: {} })
    const { data: unchanged } = await caller.discovery.getReport({ params: { jobId }, query: { outcome: 'unchanged' } })
    const { data: updated } = await caller.discovery.updateDiscovery({ params: { jobId }, body: { data: {} } })
    assert.deepEqual(
      [report.totalFindings, report.findings.length],
      [report.run.found + report.run.gone, report.totalFindings],
    )
    assert.deepEqual([unchanged.totalFindings, unchanged.findings.length], [report.run.unchanged, report.run.unchanged])
    return {
      latest: [one, ...listed, runs[0] ?? one, report.run, updated].map(countsOf),
      before: countsOf(runs[1] ?? one),
    }
  }

  test('counts only the devices of a discovery that the caller can read', async () => {
    const all = await shownTo(admin)
    assert.deepEqual(all, { latest: Array(5).fill([2, 0, 0, 2, 2, 2]), before: [4, 4, 0, 0, 0, 0] })
    const some = await shownTo(reader)
    assert.deepEqual(some, { latest: Array(5).fill([1, 0, 0, 1, 1, 1]), before: [2, 2, 0, 0, 0, 0] })
  })

  test('the jobs of scans count only the devices that the caller can read', async () => {
    const shown = async (caller: TestCaller) => {
      const { data } = await caller.jobs.listJobs({ query: { type: 'discovery' } })
      return data.map(({ scan: result }) => [result?.found, result?.created])
    }
    assert.deepEqual(await shown(admin), [
      [2, 0],
      [4, 4],
    ])
    assert.deepEqual(await shown(reader), [
      [1, 0],
      [2, 2],
    ])
  })

  test('sends events of discovery runs without device counts', async () => {
    const { data: events } = await reader.events.listEvents({ query: { limit: 100 } })
    using stream = await EventReader.open(base, { ...reader, query: { after: '0', types: 'discovery.run' } })
    const listed = events.filter(({ type }) => type.includes('.discovery.run.'))
    const streamed = await stream.take(listed.length)
    assert.ok(listed.length > 0)
    assert.deepEqual(streamed, listed)
    for (const { type, data } of listed)
      assert.deepEqual(
        ['found', 'created', 'updated', 'unchanged', 'gone', 'newlyGone'].filter((key) => key in (data.run as object)),
        [],
        type,
      )
    const { data: whole } = await admin.events.listEvents({ query: { limit: 100 } })
    const finished = whole.findLast(({ type }) => type.endsWith('.discovery.run.finished'))
    assert.deepEqual(countsOf(finished?.data.run as RunCounts), [2, 0, 0, 2, 2, 2])
  })

  test('streams the jobs of a link only to callers who can read the link', async () => {
    const first = async () => {
      using stream = await EventReader.open(base, { ...reader, path: '/jobs/v1/jobs/events', lastEventId: 0 })
      return JSON.parse((await stream.next())?.data ?? '{}') as { id?: string; type?: string }
    }
    assert.equal((await first()).type, 'discovery')
    await move(linkAssetId, 'hall-2')
    const { id } = await hub.context
      .peers(workflows, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }))
      .createJob({
        body: { clientId: gateway.id, workflow: 'device-info' },
      })
    assert.equal((await first()).id, id, 'the first job that the caller can read')
    await move(linkAssetId, 'hall-1')
  })

  test('omits the id of the reporting gateway from asset events if the caller cannot read the gateway', async () => {
    const sources = async () => {
      const { data } = await reader.events.listEvents({ query: { limit: 100 } })
      const created = data.filter(
        ({ type, subject }) => type.endsWith('.asset.created') && subject === `asset/${linkAssetId}`,
      )
      return created.map((event) => event.data.source)
    }
    assert.deepEqual(await sources(), [{ type: 'assetlinkdiscovery', value: gateway.id }])
    await move(gateway.id, 'hall-2')
    assert.deepEqual(await sources(), [{ type: 'assetlinkdiscovery' }])
    await move(gateway.id, 'hall-1')
  })

  test('hides the discovery, its events and its job definition when the caller cannot read the link', async () => {
    const { data: jobs } = await admin.jobs.listJobs({ query: { type: 'discovery' } })
    const [job] = jobs
    const definition = async () =>
      (await reader.workflows.getJob({ params: { id: job?.id ?? '' }, query: {} })).definition
    const isOfDiscovery = ({ subject }: { subject: string }) => subject === `discovery/${jobId}`
    const events = async () => (await reader.events.listEvents({ query: { limit: 100 } })).data.filter(isOfDiscovery)
    assert.equal((await definition())?.assetLinkId, assetLinkId)
    assert.notEqual((await events()).length, 0)
    await move(linkAssetId, 'hall-2')
    assert.deepEqual(await definition(), {})
    assert.deepEqual(await events(), [])
    assert.deepEqual((await reader.discovery.listDiscoveries({ query: {} })).data, [])
  })
})
