import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type AnyJob, jobPhases } from '@millwright/api/jobs.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { newId } from '../../platform/database/id.ts'
import { EventReader } from '../../platform/testing/event-reader.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

describe('jobs of all workflows', () => {
  let hub: TestHub
  let viewer: TestCaller

  before(async () => {
    hub = await testHub()
    viewer = await hub.as('viewer')
  })

  after(() => hub[Symbol.asyncDispose]())

  function engine() {
    return hub.context.peers(workflows, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }))
  }

  async function createJob(clientId: string, workflow = 'discovery', tags: string[] = []): Promise<string> {
    return (await engine().createJob({ body: { clientId, workflow, tags } })).id
  }

  async function move(id: string, ...states: string[]): Promise<void> {
    for (const state of states) await engine().moveJob({ params: { id }, body: { data: { state, as: 'CLIENT' } } })
  }

  test('lists jobs newest first, filtered by phase, type, gateway, tag and time', async () => {
    const gatewayId = 'lister'
    const ids = [
      await createJob(gatewayId),
      await createJob(gatewayId, 'device-info', ['asset']),
      await createJob(gatewayId),
    ]
    await move(ids[0] ?? '', 'RUNNING', 'FAILED')
    await move(ids[2] ?? '', 'RUNNING')
    const jobsOf = async (query: Record<string, unknown>) => {
      const { data, meta } = await viewer.jobs.listJobs({ query })
      assert.equal(meta.totalElements, data.length)
      return data.map(({ id }) => ids.indexOf(id))
    }
    assert.deepEqual(await jobsOf({ gatewayId }), [2, 1, 0])
    assert.deepEqual(await jobsOf({ gatewayId, type: 'discovery' }), [2, 0])
    assert.deepEqual(await jobsOf({ gatewayId, tag: 'asset' }), [1])
    const phases = await Promise.all(jobPhases.map((phase) => jobsOf({ gatewayId, phase })))
    assert.deepEqual(phases, [[1], [2], [], [0], []])
    const { data } = await viewer.jobs.getJob({ params: { id: ids[1] ?? '' } })
    const since = data.createdTimestamp
    const { data: all } = await viewer.jobs.listJobs({ query: { gatewayId } })
    // Jobs can be created in the same millisecond.
    const later = all.filter(({ createdTimestamp }) => createdTimestamp >= since).map(({ id }) => ids.indexOf(id))
    assert.deepEqual(await jobsOf({ gatewayId, since }), later)
    assert.deepEqual(later.slice(0, 2), [2, 1])
    assert.deepEqual(await jobsOf({ gatewayId, since: '2999-01-01T00:00:00.000Z' }), [])
    const page = await viewer.jobs.listJobs({ query: { gatewayId, limit: 1, offset: 1 } })
    assert.deepEqual([page.data[0]?.id, page.meta], [ids[1], { totalElements: 3, elements: 1, offset: 1 }])
  })

  test('shows when the work on a job started', async () => {
    const [id, canceledId] = [await createJob('starter'), await createJob('starter')]
    const startOf = async (jobId: string) => (await viewer.jobs.getJob({ params: { id: jobId } })).data.startedTimestamp
    assert.equal(await startOf(id), undefined)
    await move(id, 'RUNNING')
    const started = await startOf(id)
    assert.ok(started !== undefined)
    await move(id, 'FINISHED')
    const { data } = await viewer.jobs.listJobs({ query: { gatewayId: 'starter' } })
    assert.equal(data.find((job) => job.id === id)?.startedTimestamp, started)
    await engine().moveJob({ params: { id: canceledId }, body: { data: { state: 'CANCELED', as: 'WFX' } } })
    assert.equal(await startOf(canceledId), undefined)
  })

  test('shows the definition, the result and all states of a job', async () => {
    const id = await createJob('one')
    await move(id, 'RUNNING')
    const result = { values: [7] }
    await engine().moveJob({
      params: { id },
      body: { data: { state: 'FINISHED', as: 'CLIENT', progress: 100, message: 'done', context: result } },
    })
    const { data } = await viewer.jobs.getJob({ params: { id } })
    assert.deepEqual([data.phase, data.progress, data.message, data.context], ['finished', 100, 'done', result])
    assert.deepEqual(
      data.history.map(({ state }) => state),
      ['CREATED', 'RUNNING', 'FINISHED'],
    )
    const isMissing = (problem: unknown) => (problem as { code: string }).code === 'not_found'
    await assert.rejects(viewer.jobs.getJob({ params: { id: 'no-such-job' } }), isMissing)
    const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
    await assert.rejects(stranger.jobs.getJob({ params: { id } }), isMissing)
    assert.deepEqual((await stranger.jobs.listJobs({})).data, [])
  })

  test('names the asset, scan, campaign or file of a job, and hides the name of an asset from other callers', async () => {
    const admin = await hub.as('administrator')
    const accessGroup = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall 1' } } })).data.id
    const asset = {
      functional_object_type: 'Device',
      name: 'PLC01',
      access_group: accessGroup,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: 'plc01' }],
    }
    const headers = { prefer: 'wait=30' }
    await admin.inventory.createAsset({ headers, body: { data: { asset } } })
    const assetId = String((await admin.inventory.listAssets({ query: { q: 'PLC01' } })).data[0]?.id)
    const create = async (workflow: string, definition: Record<string, unknown>, tags: string[] = []) =>
      (await engine().createJob({ body: { clientId: 'namer', workflow, definition, tags } })).id
    const ids = [
      await create('device-info', { assetId }),
      await create('discovery', { discoveryId: newId(), linkAssetId: assetId }, [`asset/${assetId}`]),
      await create('monitoring', { monitoringId: newId(), name: 'Line 1' }),
      await create('link-inventory', { link: 'snmp', enabled: true }),
      await create('discovery', { assetId: { $ne: 1 } }),
    ]
    const subjects = async (caller: TestCaller) => {
      const { data } = await caller.jobs.listJobs({ query: { gatewayId: 'namer' } })
      return ids.map((id) => data.find((job) => job.id === id)?.subject)
    }
    const shown = await subjects(admin)
    assert.deepEqual(
      shown.map((subject) => [subject?.reference.split('/')[0], subject?.name]),
      [
        ['asset', 'PLC01'],
        ['discovery', 'PLC01'],
        ['monitoring', 'Line 1'],
        ['gateway', 'snmp'],
        [undefined, undefined],
      ],
    )
    assert.deepEqual((await admin.jobs.getJob({ params: { id: ids[0] ?? '' } })).data.subject, shown[0])
    await admin.authorization.createRole({ body: { data: { name: 'job-viewer', permissions: ['glb_jobs_read'] } } })
    const other = await hub.as('job-viewer')
    assert.ok(!JSON.stringify(await subjects(other)).includes('PLC01'))
  })

  test('lists an update campaign as one job with the numbers of its devices by phase', async () => {
    const [campaignId, other] = [newId(), newId()]
    const put = (id: string) =>
      engine().putPlatformJob({
        params: { id },
        body: {
          data: {
            workflow: 'update-campaign',
            principalId: viewer.principalId,
            definition: { campaignId, name: 'Drives to 2.1', askedBy: 'Mia' },
            state: 'RUNNING',
          },
        },
      })
    const id = newId()
    await put(id)
    const device = async (campaign: string, ...states: string[]) => {
      const job = await createJob('updater', 'artefact-update', [`campaign/${campaign}`])
      await move(job, ...states)
      return job
    }
    const devices = [await device(campaignId), await device(campaignId, 'PREPARING'), await device(other)]
    const devicesOf = (query: Record<string, unknown>) =>
      viewer.jobs.listJobs({ query: { limit: 100, ...query } }).then(({ data }) => data)
    const grouped = await devicesOf({ grouped: true })
    assert.deepEqual(
      devices.filter((each) => grouped.some((job) => job.id === each)),
      [],
    )
    const campaign = grouped.find((job) => job.id === id)
    assert.deepEqual(campaign?.parts, { waiting: 1, running: 1, finished: 0, failed: 0, canceled: 0 })
    assert.equal(campaign?.startedBy, 'Mia')
    assert.deepEqual((await viewer.jobs.getJob({ params: { id } })).data.parts, campaign?.parts)
    assert.equal((await devicesOf({})).find((job) => job.id === id)?.parts, undefined)
    const filters = [{ tag: `campaign/${campaignId}` }, { type: 'artefact-update' }, { gatewayId: 'updater' }]
    for (const filter of filters)
      assert.ok(
        (await devicesOf({ grouped: true, ...filter })).some((job) => job.id === devices[0]),
        'with another filter, the jobs of devices are listed',
      )
  })

  test('leaves out finished monitoring runs, except with another filter', async () => {
    const [open, finished] = [await createJob('checker', 'monitoring'), await createJob('checker', 'monitoring')]
    await hub.asOwner((owner) =>
      owner.query(`update workflow_jobs set phase = 'finished', is_final = true where id = $1`, [finished]),
    )
    const listed = async (query: Record<string, unknown>) => {
      const { data } = await viewer.jobs.listJobs({ query: { limit: 100, ...query } })
      return [open, finished].map((id) => data.some((job) => job.id === id))
    }
    assert.deepEqual(await listed({}), [true, true])
    assert.deepEqual(await listed({ withoutMonitoring: true }), [true, false])
    assert.deepEqual(await listed({ withoutMonitoring: true, grouped: true }), [true, false])
    assert.deepEqual(await listed({ withoutMonitoring: true, type: 'monitoring' }), [true, true])
  })

  test('names the author and the trigger of a job of a built-in workflow only', async () => {
    const admin = await hub.as('administrator')
    const states = [
      { name: 'NEW', description: '' },
      { name: 'DONE', description: '' },
    ]
    const workflow = {
      name: 'author.custom',
      states,
      transitions: [{ from: 'NEW', to: 'DONE', eligible: 'CLIENT' as const }],
    }
    await admin.workflows.createWorkflow({ body: workflow })
    const definition = { askedBy: 'Jonas', trigger: 'schedule' }
    const create = async (name: string) =>
      (await engine().createJob({ body: { clientId: 'authors', workflow: name, definition } })).id
    const ids = [await create('device-info'), await create('author.custom')]
    const { data } = await viewer.jobs.listJobs({ query: { gatewayId: 'authors' } })
    assert.deepEqual(
      ids.map((id) => data.find((job) => job.id === id)).map((job) => [job?.startedBy, job?.trigger]),
      [
        ['Jonas', 'schedule'],
        [undefined, undefined],
      ],
    )
  })

  test('sends changes and deletions of jobs in the event stream', async () => {
    const base = await hub.listen()
    using reader = await EventReader.open(base, {
      ...viewer,
      path: '/jobs/v1/jobs/events',
      query: { gatewayId: 'streamed', type: 'discovery' },
    })
    await createJob('streamed', 'device-info')
    await createJob('another')
    const id = await createJob('streamed')
    await move(id, 'RUNNING')
    await engine().deleteJob({ params: { id } })
    const content: [string | undefined, Partial<AnyJob>][] = []
    while (content.length < 3) {
      const message = await reader.next()
      content.push([message?.event, JSON.parse(message?.data ?? '')])
    }
    assert.deepEqual(
      content.map(([event, job]) => [event, job.id, job.phase]),
      [
        ['job', id, 'waiting'],
        ['job', id, 'running'],
        ['deleted', id, undefined],
      ],
    )
  })

  describe('jobs of imports and exports', () => {
    type Report = { state: string; progress?: number; message?: string }

    const exportJob = (principalId: string) => {
      const id = newId()
      const definition = { exportId: newId() }
      const report = (data: Report) =>
        engine().putPlatformJob({
          params: { id },
          body: { data: { workflow: 'file-export', principalId, definition, ...data } },
        })
      return { id, definition, report }
    }

    test('creates a job with the first report, and ignores reports after its end', async () => {
      const { id, definition, report } = exportJob(viewer.principalId)
      await Promise.all([report({ state: 'CREATED' }), report({ state: 'CREATED' }), report({ state: 'CREATED' })])
      await report({ state: 'RUNNING', progress: 40 })
      assert.deepEqual(await report({ state: 'CREATED' }), { data: { state: 'RUNNING' } })
      await report({ state: 'FINISHED', progress: 100, message: '12 rows' })
      assert.deepEqual(await report({ state: 'RUNNING', progress: 50 }), { data: { state: 'FINISHED' } })
      const { data } = await viewer.jobs.getJob({ params: { id } })
      assert.deepEqual(
        [data.type, data.gatewayId, data.phase, data.progress, data.message, data.definition],
        ['file-export', 'platform', 'finished', 100, '12 rows', definition],
      )
      assert.deepEqual(
        data.history.map(({ state }) => state),
        ['CREATED', 'RUNNING', 'FINISHED'],
      )
    })

    test('shows the job to its principal and to callers that can read all assets, and to no other caller', async () => {
      const admin = await hub.as('administrator')
      await admin.authorization.createRole({
        body: { data: { name: 'job-reader', permissions: ['glb_jobs_read', 'glb_audit_read'] } },
      })
      const [owner, other] = [await hub.as('job-reader'), await hub.as('job-reader')]
      const { id, report } = exportJob(owner.principalId)
      await report({ state: 'CREATED' })
      await hub.settle(hub.tenant.tenantId)
      const isShown = async (caller: TestCaller) => {
        const { data } = await caller.jobs.listJobs({ query: { type: 'file-export' } })
        const read = await caller.jobs.getJob({ params: { id } }).catch(() => undefined)
        const { data: events } = await caller.events.listEvents({})
        const isInEvents = events.some(({ subject }) => subject === `job/${id}`)
        const shown = [data.some((job) => job.id === id), read !== undefined, isInEvents]
        assert.equal(new Set(shown).size, 1, String(shown))
        return shown[0]
      }
      assert.deepEqual([await isShown(owner), await isShown(admin), await isShown(other)], [true, true, false])
    })

    test('sends changes of a job to the principal that started it', async () => {
      const owner = await hub.as('job-reader')
      const base = await hub.listen()
      const path = '/jobs/v1/jobs/events'
      using reader = await EventReader.open(base, { ...owner, path, query: { type: 'file-export' } })
      await exportJob(viewer.principalId).report({ state: 'CREATED' })
      const { id, report } = exportJob(owner.principalId)
      await report({ state: 'CREATED' })
      assert.equal(JSON.parse((await reader.next())?.data ?? '').id, id)
    })

    test('refuses changes by managers, and the deletion before the end', async () => {
      const admin = await hub.as('administrator')
      const { id, report } = exportJob(admin.principalId)
      await report({ state: 'RUNNING' })
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'done',
          (error: unknown) => (error as Problem).code,
        )
      const body = { clientId: 'platform', workflow: 'file-import' }
      assert.equal(await codeOf(admin.workflows.createJob({ body })), 'forbidden')
      const status = { state: 'RUNNING', progress: 99 }
      assert.equal(await codeOf(admin.workflows.putJobStatus({ params: { id }, body: status })), 'forbidden')
      assert.equal(await codeOf(admin.workflows.putJobDefinition({ params: { id }, body: {} })), 'forbidden')
      assert.equal(await codeOf(admin.workflows.deleteJob({ params: { id } })), 'conflict')
      await report({ state: 'CANCELED' })
      assert.equal(await codeOf(admin.workflows.deleteJob({ params: { id } })), 'done')
    })
  })
})
