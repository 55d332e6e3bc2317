import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { authorization } from '@millwright/api/authorization.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import {
  endDiscoveryJob,
  endOfDiscovery,
  enrolledGateway,
  foundDevice,
  type LeasedDiscovery,
  leaseDiscovery,
  linkReport,
  type TestGateway,
  uploadDevices,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const assetLinkId = 'cdm-device-class-driver-example'

describe('discovery', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())
  beforeEach(async () => {
    gateway = await enrolledGateway(hub, admin)
    await reportLinks([linkReport()])
  })

  const reportLinks = (links: ReturnType<typeof linkReport>[]) =>
    gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })

  const create = (changes: Record<string, unknown> = {}) =>
    admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }], ...changes } },
    })

  const lease = () => leaseDiscovery(gateway)
  const upload = (held: LeasedDiscovery, sequence: number, content: Parameters<typeof uploadDevices>[2]) =>
    uploadDevices(gateway, held, { sequence, ...content })
  const end = (held: LeasedDiscovery, state: 'FINISHED' | 'FAILED' | 'CANCELED', message?: string) =>
    endDiscoveryJob(gateway, held, { state, ...(message === undefined ? {} : { message }) })
  const read = async (jobId: string) => (await admin.discovery.getDiscovery({ params: { jobId } })).data
  const ended = (jobId: string) => endOfDiscovery({ hub, admin }, jobId)
  const scan = async (jobId: string, devices: Record<string, unknown>[]) => {
    const held = await lease()
    await upload(held, 0, { assets: devices })
    await end(held, 'FINISHED')
    return ended(jobId)
  }

  test('runs a discovery from request to finish, and relates the found assets to the gateway and the link', async () => {
    const { jobId } = await create({
      discoveryFilters: [{ key: 'ip_range', comparisonOperator: 'EQUAL', value: '10.0.0.0/24' }],
    })
    assert.equal((await read(jobId)).state, 'created')
    const held = await lease()
    assert.deepEqual(held.job.definition.options, [
      { key: 'size', comparisonOperator: 'EQUAL', value: 3, dataType: 'unsigned' },
    ])
    const started = await read(jobId)
    assert.equal(started.state, 'running')
    assert.ok(started.startedTimestamp)
    await upload(held, 0, { assets: [foundDevice(1), foundDevice(2)] })
    await hub.settle()
    const during = await read(jobId)
    assert.deepEqual([during.state, during.found, during.created], ['running', 2, 2])
    assert.equal(during.startedTimestamp, started.startedTimestamp)

    await upload(held, 1, {
      assets: [foundDevice(3)],
      errors: [{ code: 16, description: 'needs credentials', device: { ip: '10.0.0.9' } }],
    })
    await end(held, 'FINISHED')
    const after = await ended(jobId)
    assert.deepEqual([after.state, after.progress, after.found, after.errors], ['finished', 100, 3, 1])

    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    assert.deepEqual(
      report.findings.map(({ outcome }) => outcome),
      ['new', 'new', 'new'],
    )
    assert.deepEqual(report.errors, [{ code: 16, description: 'needs credentials', device: { ip: '10.0.0.9' } }])
    const [first] = report.findings
    const { data: asset } = await admin.inventory.readAsset({ params: { id: first?.assetId ?? '' }, query: {} })
    assert.equal((asset.reachability_state as { state_value: string }).state_value, 'reached')
    const { data: relations } = await admin.inventory.listAssetRelations({
      params: { id: first?.assetId ?? '' },
      query: {},
    })
    assert.deepEqual(relations.map(({ predicate }) => predicate).toSorted(), [
      'found_by_asset_link',
      'found_by_gateway',
    ])
    assert.deepEqual(
      relations.map(({ source }) => source.value),
      ['example.cdm.al.reference', 'example.cdm.al.reference'],
    )
  })

  test('sets the time of the reachability of a device that a later scan finds again', async () => {
    const seen = async (number: number) => {
      const { jobId } = await create()
      const held = await lease()
      await upload(held, 0, { assets: [foundDevice(number)] })
      await end(held, 'FINISHED')
      await ended(jobId)
      const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
      const [found] = report.findings
      const { data } = await admin.inventory.readAsset({ params: { id: found?.assetId ?? '' }, query: {} })
      return [found?.outcome, data.reachability_state as { state_value: string; state_timestamp: string }] as const
    }
    const [first, before] = await seen(40)
    const [second, after] = await seen(40)
    assert.deepEqual([first, second, after.state_value], ['new', 'unchanged', 'reached'])
    assert.ok(Date.parse(after.state_timestamp) > Date.parse(before.state_timestamp))
  })

  test('counts an upload of found devices once when it is repeated or out of order', async () => {
    const { jobId } = await create()
    const held = await lease()
    await upload(held, 1, { assets: [foundDevice(11)], errors: [{ code: 14, description: 'no answer' }] })
    await upload(held, 0, { assets: [foundDevice(12), foundDevice(11)] })
    await upload(held, 1, { assets: [foundDevice(11)], errors: [{ code: 14, description: 'no answer' }] })
    await Promise.all([end(held, 'FINISHED'), end(held, 'FINISHED')])
    const discovery = await ended(jobId)
    assert.deepEqual([discovery.state, discovery.found, discovery.errors], ['finished', 2, 1])
  })

  test('accepts an upload of found devices after the lease of the job expired', async () => {
    const { jobId } = await create()
    const held = await lease()
    await hub.asOwner((owner) => owner.query(`update workflow_jobs set lease_until = now() - interval '1 second'`))
    const again = await lease()
    assert.equal(again.job.id, held.job.id, 'the job is offered again')
    await upload(held, 0, { assets: [foundDevice(21)] })
    await assert.rejects(end(held, 'FINISHED'), { code: 'lease_lost' })
    await upload(again, 0, { assets: [foundDevice(21), foundDevice(22)] })
    await end(again, 'FINISHED')
    assert.equal((await ended(jobId)).found, 2)
  })

  test('lists discoveries by their creation, and on request by their latest run', async () => {
    const [first, second, third] = [await create(), await create(), await create()].map(({ jobId }) => jobId)
    for (const _ of [first, second, third]) await end(await lease(), 'FINISHED')
    await ended(first ?? '')
    await admin.discovery.runDiscovery({ params: { jobId: first ?? '' } })
    const listed = async (query: { sort?: '-created' | '-latestRun' }) => {
      const { data } = await admin.discovery.listDiscoveries({ query: { ...query, gatewayId: gateway.id } })
      return data.map(({ jobId }) => jobId)
    }
    assert.deepEqual(await listed({}), [third, second, first])
    assert.deepEqual(await listed({ sort: '-created' }), [third, second, first])
    assert.deepEqual(await listed({ sort: '-latestRun' }), [first, third, second])
  })

  test('refuses an upload of found devices with a lease that was never issued for its job', async () => {
    const { jobId } = await create()
    await hub.settle()
    const { content } = await admin.workflows.listJobs({ query: { clientId: gateway.id, sort: 'desc', limit: 1 } })
    const id = content[0]?.id ?? ''
    const data = { lease: randomUUID(), sequence: 0, assets: [foundDevice(23)], errors: [] }
    const send = () => gateway.gatekeeper.uploadFound({ params: { id }, body: { data } })
    await assert.rejects(send(), { code: 'lease_lost' }, 'the job is not leased yet')
    const held = await lease()
    assert.equal(held.job.id, id)
    await assert.rejects(send(), { code: 'lease_lost' }, 'another lease')
    await end(held, 'FINISHED')
    assert.equal((await ended(jobId)).found, 0)
    await upload(held, 0, { assets: [foundDevice(23)] })
    await hub.settle()
    assert.equal((await read(jobId)).found, 1, 'a late upload of the lease holder counts')
  })

  test('reports an invalid asset as an error of its device, and stores the other assets of the upload', async () => {
    const { jobId } = await create()
    const held = await lease()
    await upload(held, 0, {
      assets: [foundDevice(31), foundDevice(32, { nonsense: true }), foundDevice(33, { asset_identifiers: 'none' })],
    })
    await end(held, 'FINISHED')
    const discovery = await ended(jobId)
    assert.deepEqual([discovery.found, discovery.errors], [1, 2])
  })

  test('reports the devices of a second run as new, changed, unchanged or gone', async () => {
    const { jobId } = await create()
    const first = await scan(jobId, [foundDevice(41), foundDevice(42), foundDevice(43)])
    assert.equal(first.comparedRun, undefined, 'the first run has no earlier run')
    await admin.discovery.runDiscovery({ params: { jobId } })
    const discovery = await scan(jobId, [foundDevice(41), foundDevice(42, { name: 'Renamed' }), foundDevice(44)])
    assert.deepEqual(
      {
        found: discovery.found,
        created: discovery.created,
        updated: discovery.updated,
        unchanged: discovery.unchanged,
        gone: discovery.gone,
      },
      { found: 3, created: 1, updated: 1, unchanged: 1, gone: 1 },
    )
    const gone = await admin.discovery.getReport({ params: { jobId }, query: { outcome: 'gone' } })
    assert.deepEqual(
      gone.data.findings.map(({ name }) => name),
      ['Device 43'],
    )
    const { data: runs, meta } = await admin.discovery.listRuns({ params: { jobId }, query: {} })
    assert.deepEqual([runs.map(({ number }) => number), meta.totalElements], [[2, 1], 2])
    assert.deepEqual(
      [discovery.comparedRun, gone.data.run.comparedRun, ...runs.map(({ comparedRun }) => comparedRun)],
      [1, 1, 1, undefined],
    )
  })

  test('compares a run only with a finished run that has the same filters', async () => {
    const range = (value: string) => [{ key: 'ip_range', comparisonOperator: 'EQUAL' as const, value }]
    const { jobId } = await create({ discoveryFilters: range('10.0.0.0/24') })
    const run = async (value: string, devices: Record<string, unknown>[]) => {
      await admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { discoveryFilters: range(value) } } })
      await admin.discovery.runDiscovery({ params: { jobId } })
      const { gone, comparedRun } = await scan(jobId, devices)
      return [gone, comparedRun]
    }
    await scan(jobId, [foundDevice(45), foundDevice(46)])
    assert.deepEqual(await run('10.0.0.0/28', [foundDevice(45)]), [0, undefined], 'a part of the range')
    assert.deepEqual(await run('10.0.0.0/24', [foundDevice(45)]), [1, 1], 'the whole range')
    await admin.discovery.runDiscovery({ params: { jobId } })
    const held = await lease()
    await upload(held, 0, { assets: [foundDevice(46)] })
    await end(held, 'FAILED')
    const failed = await ended(jobId)
    assert.deepEqual([failed.gone, failed.comparedRun], [0, undefined], 'a run that failed')
    const discoveryOptions = [{ key: 'size', value: '1' }]
    await admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { discoveryOptions } } })
    await admin.discovery.runDiscovery({ params: { jobId } })
    const limited = await scan(jobId, [foundDevice(46)])
    assert.deepEqual([limited.gone, limited.comparedRun], [1, 3], 'other options')
    const { data: entries } = await admin.audit.listEntries({ query: { target: `discovery/${jobId}`, limit: 100 } })
    const changes = entries.filter(({ action }) => action === 'discovery.updateDiscovery')
    assert.deepEqual(
      changes.map(({ detail }) => detail?.changed),
      [['settings'], ['range'], ['range']],
      'what was changed is on the audit trail',
    )
  })

  test('scans with the filters that the discovery had when the run was started', async () => {
    const range = (value: string) => [{ key: 'ip_range', comparisonOperator: 'EQUAL' as const, value }]
    const { jobId } = await create({ discoveryFilters: range('10.0.1.0/24') })
    const body = { data: { discoveryFilters: range('10.0.1.0/28') } }
    await admin.discovery.updateDiscovery({ params: { jobId }, body })
    const held = await lease()
    assert.deepEqual(
      (held.job.definition.filters as { value: string }[]).map(({ value }) => value),
      ['10.0.1.0/24'],
    )
    await end(held, 'FINISHED')
    await ended(jobId)
  })

  test('the job of a scan has the scope and the result of its own run', async () => {
    const range = (value: string) => [{ key: 'ip_range', comparisonOperator: 'EQUAL' as const, value }]
    const { jobId } = await create({ discoveryFilters: range('10.0.1.0/24') })
    const first = await lease()
    const jobs = async () =>
      (await admin.jobs.listJobs({ query: { gatewayId: gateway.id } })).data.map(({ scan }) => [
        scan?.scope,
        ...[scan?.found, scan?.created, scan?.errors, scan?.endedTimestamp === undefined],
      ])
    assert.deepEqual(await jobs(), [[['10.0.1.0/24'], 0, 0, 0, true]])
    const errors = [14, 16, 16].map((code) => ({ code, description: `error ${code}` }))
    await upload(first, 0, { assets: [foundDevice(81), foundDevice(82)], errors })
    await end(first, 'FINISHED')
    await ended(jobId)
    await admin.discovery.runDiscovery({ params: { jobId } })
    await scan(jobId, [foundDevice(81)])
    await admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { discoveryFilters: [] } } })
    await admin.discovery.runDiscovery({ params: { jobId } })
    await scan(jobId, [foundDevice(81)])
    assert.deepEqual(await jobs(), [
      [[], 1, 0, 0, false],
      [['10.0.1.0/24'], 1, 0, 0, false],
      [['10.0.1.0/24'], 2, 2, 3, false],
    ])
    const { data: job } = await admin.jobs.getJob({ params: { id: first.job.id } })
    assert.deepEqual([job.scan?.found, job.runId], [2, job.definition.runId])
    const { data: results } = await admin.jobs.listJobs({ query: { gatewayId: gateway.id } })
    assert.deepEqual(
      results.map(({ scan: result }) => [result?.gone, result?.errorCauses, result?.parameters]),
      [
        [undefined, undefined, ['size']],
        [1, undefined, ['ip_range', 'size']],
        [
          undefined,
          [
            { code: 16, count: 2 },
            { code: 14, count: 1 },
          ],
          ['ip_range', 'size'],
        ],
      ],
    )
    assert.equal(job.scan?.assetLinkId, assetLinkId)
  })

  test('names the user that started a run, and not the one that created the discovery', async () => {
    const { jobId } = await create()
    const first = await lease()
    await end(first, 'FINISHED')
    await ended(jobId)
    const other = await hub.as('administrator')
    await other.discovery.runDiscovery({ params: { jobId } })
    const held = await lease()
    const startedBy = async (id: string) => (await admin.jobs.getJob({ params: { id } })).data.startedBy
    assert.equal(await startedBy(first.job.id), (await admin.identity.userInfo({})).name)
    assert.equal(await startedBy(held.job.id), (await other.identity.userInfo({})).name)
    assert.equal((await admin.jobs.getJob({ params: { id: held.job.id } })).data.trigger, 'person')
    await end(held, 'FINISHED')
    await ended(jobId)
  })

  test('reports every device as unchanged when a second scan has new ids for connection points and software', async () => {
    const device = (index: number): Record<string, unknown> => {
      const [port, address] = [crypto.randomUUID(), crypto.randomUUID()]
      const software = { asset_identifier_type: 'SoftwareIdentifier', name: 'Runtime', version: '4.1' }
      const points = [
        { connection_point_type: 'EthernetPort', id: port, mac_address: `02:00:00:00:61:0${index}` },
        {
          connection_point_type: 'Ipv4Connectivity',
          id: address,
          ipv4_address: `10.6.1.${index}`,
          related_connection_points: [{ connection_point_id: port, custom_relationship: 'Relies on' }],
        },
      ]
      const runtime = {
        software_component_type: 'RunningSoftwareComponent',
        running_software_id: crypto.randomUUID(),
        artifact: {
          functional_object_type: 'SoftwareArtifact',
          functional_object_schema_url: baseSchemaUrl,
          asset_identifiers: [software],
        },
      }
      return foundDevice(0x6100 + index, {
        connection_points: Math.random() < 0.5 ? points : points.toReversed(),
        software_components: [runtime],
      })
    }
    const { jobId } = await create()
    assert.equal((await scan(jobId, [1, 2, 3].map(device))).created, 3)
    await admin.discovery.runDiscovery({ params: { jobId } })
    const second = await scan(jobId, [1, 2, 3].map(device))
    assert.deepEqual([second.created, second.updated, second.unchanged], [0, 0, 3])
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const [id = ''] = report.findings.map(({ assetId }) => assetId)
    const { data: history } = await admin.inventory.readHistory({ params: { id }, query: {} })
    assert.equal(history.length, 1, 'the second scan writes no history')
  })

  test('cancels a discovery run before the gateway takes it, and while it is running', async () => {
    const waiting = await create()
    await hub.settle()
    await admin.discovery.cancelDiscovery({ params: { jobId: waiting.jobId } })
    assert.equal((await ended(waiting.jobId)).state, 'canceled')
    await assert.rejects(admin.discovery.cancelDiscovery({ params: { jobId: waiting.jobId } }), { code: 'conflict' })

    const { jobId } = await create()
    const held = await lease()
    await admin.discovery.cancelDiscovery({ params: { jobId } })
    const renewed = await gateway.gatekeeper.renewLease({
      params: { id: held.lease.id },
      body: { data: { jobId: held.job.id, progress: 50 } },
    })
    assert.equal(renewed.data.cancelRequested, true)
    await upload(held, 0, { assets: [foundDevice(51)] })
    await end(held, 'CANCELED', 'Canceled')
    const discovery = await ended(jobId)
    assert.deepEqual([discovery.state, discovery.found, discovery.message], ['canceled', 1, 'Canceled'])
  })

  test('creates no job for a discovery run that is canceled before its job exists', async () => {
    const { jobId } = await create()
    await admin.discovery.cancelDiscovery({ params: { jobId } })
    assert.equal((await ended(jobId)).state, 'canceled')
    const none = await gateway.gatekeeper.leaseJob({ body: { data: { workflows: ['discovery'], waitSeconds: 0 } } })
    assert.ok(!none, 'there is no job')
  })

  test('ends a run when its job is ended or deleted in the workflow engine, and allows the next run', async () => {
    const { jobId } = await create()
    const first = await lease()
    await upload(first, 0, { assets: [foundDevice(56)] })
    const done = { state: 'FINISHED', message: 'Done by another agent' }
    await gateway.workflows.putJobStatus({ params: { id: first.job.id }, body: done })
    await admin.discovery.runDiscovery({ params: { jobId } })
    const { data: runs } = await admin.discovery.listRuns({ params: { jobId }, query: {} })
    await hub.settle()
    const settled = (await admin.discovery.listRuns({ params: { jobId }, query: {} })).data[1]
    assert.deepEqual([settled?.id, settled?.state, settled?.message], [runs[1]?.id, 'finished', done.message])

    const second = await lease()
    await admin.workflows.deleteJob({ params: { id: second.job.id } })
    await admin.discovery.cancelDiscovery({ params: { jobId } })
    assert.deepEqual((({ state, message }) => [state, message])(await ended(jobId)), [
      'canceled',
      'The job of the run was deleted',
    ])
  })

  test('finds the job of a run when the gateway takes the job before the run stores the job id', async () => {
    const { jobId } = await create()
    await hub.settle()
    await hub.asOwner((owner) =>
      owner.query('update discovery_runs set workflow_job_id = null where discovery_id = $1', [jobId]),
    )
    const { job } = await lease()
    await gateway.workflows.putJobStatus({ params: { id: job.id }, body: { state: 'FAILED', message: 'No cable' } })
    await admin.discovery.runDiscovery({ params: { jobId } })
    await hub.settle()
    const [, first] = (await admin.discovery.listRuns({ params: { jobId }, query: {} })).data
    assert.deepEqual([first?.state, first?.message], ['failed', 'No cable'])
  })

  test('fails a discovery run when its link ends, and keeps the found devices and the reason', async () => {
    const { jobId } = await create()
    const held = await lease()
    await upload(held, 0, { assets: [foundDevice(61)] })
    await end(held, 'FAILED', 'The link ended in the middle of the scan')
    const discovery = await ended(jobId)
    assert.deepEqual(
      [discovery.state, discovery.found, discovery.message],
      ['failed', 1, 'The link ended in the middle of the scan'],
    )
  })

  test('validates the filters and options of a discovery against the parameters of the link', async () => {
    const refused = async (changes: Record<string, unknown>) => {
      const { status, body } = await admin.exchange(discovery, 'createDiscovery', {
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId, ...changes } },
      })
      const { code, detail, errors } = body as { code: string; detail: string; errors: { pointer: string }[] }
      assert.equal(status, code === 'link_not_found' ? 422 : 400, detail)
      return `${code} ${errors[0]?.pointer}`
    }
    assert.equal(
      await refused({ discoveryFilters: [{ key: 'mac', value: 'x' }] }),
      'unsupported_parameter /data/discoveryFilters/0/key',
    )
    const range = (value: string) => ({ discoveryFilters: [{ key: 'ip_range', value }] })
    for (const value of ['10.0.1.0/33', '10.0.0.1, 10.0.0.300', '10.0.0.9-10.0.0.1', '10.0.0'])
      assert.equal(await refused(range(value)), 'unsupported_parameter /data/discoveryFilters/0/value', value)
    const { jobId } = await create(range('10.0.1.0/24, 10.0.3.1-10.0.3.9, fe80::1'))
    await assert.rejects(
      admin.discovery.updateDiscovery({ params: { jobId }, body: { data: range('10.0.1.0/33') } }),
      /"10\.0\.1\.0\/33" is not a valid IP address range/,
    )
    await admin.discovery.cancelDiscovery({ params: { jobId } })
    assert.equal(
      await refused({ discoveryOptions: [{ key: 'size', value: 'many' }] }),
      'unsupported_parameter /data/discoveryOptions/0/value',
    )
    assert.equal(await refused({ assetLinkId: 'nobody' }), 'link_not_found /data/assetLinkId')
    await reportLinks([linkReport({ options: [{ key: 'size', dataType: 'unsigned', mandatory: true }] })])
    assert.equal(await refused({}), 'unsupported_parameter /data/discoveryOptions')
  })

  test('reports one error with a JSON pointer per invalid field of a discovery, in both forms of the body', async () => {
    const errorsOf = async (body: unknown) => {
      const { status, body: problem } = await hub.request({
        method: 'POST',
        path: `/discovery/v1/gateways/${gateway.id}/discoveries`,
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      assert.ok(status === 400 || status === 422, JSON.stringify(problem))
      const { errors } = problem as { errors: { pointer: string; code: string; detail: string }[] }
      return errors.map(({ pointer, code, detail }) => {
        assert.notEqual(detail, '')
        return `${pointer} ${code}`
      })
    }
    const schedule = { cron: '0 3 * * *' }
    const cases: [Record<string, unknown>, string][] = [
      [{ schedule: { cron: 'every day' } }, '/schedule/cron invalid_cron'],
      [{ schedule: { cron: '0 3 30 2 *' } }, '/schedule/cron never_runs'],
      [{ schedule: { cron: '0 3 * * 9' } }, '/schedule/cron invalid_cron'],
      [{ schedule: { cron: 5 } }, '/schedule/cron type'],
      [{ schedule: { cron: '' } }, '/schedule/cron minLength'],
      [{ schedule: {} }, '/schedule/cron missing'],
      [{ schedule: { ...schedule, timezone: 'Europe/Nowhere' } }, '/schedule/timezone invalid_timezone'],
      [{ schedule: { ...schedule, zone: 'UTC' } }, '/schedule/zone unknown'],
      [{ schedule: 'daily' }, '/schedule type'],
      [{ assetLinkId: 'missing-link' }, '/assetLinkId link_not_found'],
      [{ assetLinkId: 7 }, '/assetLinkId type'],
      [{ scanMode: 'PARTIAL' }, '/scanMode const'],
      [{ discoveryFilters: [{ key: 'ip_range', value: null }] }, '/discoveryFilters/0/value type'],
      [{ discoveryFilters: [{ key: 'ip_range', value: 'x'.repeat(5_000) }] }, '/discoveryFilters/0/value maxLength'],
      [
        { discoveryFilters: [{ key: 'ip_range', comparisonOperator: 'LIKE', value: 'x' }] },
        '/discoveryFilters/0/comparisonOperator enum',
      ],
      [{ discoveryFilters: [{ key: 'mac', value: 'x' }] }, '/discoveryFilters/0/key unknown'],
      [{ discoveryOptions: [{ key: 'size', value: 'many' }] }, '/discoveryOptions/0/value wrong_type'],
      [{ colour: 'red' }, '/colour unknown'],
    ]
    for (const [changes, expected] of cases) {
      const fields = { assetLinkId, ...changes }
      assert.deepEqual(await errorsOf({ data: fields }), [`/data${expected}`], JSON.stringify(changes).slice(0, 200))
      assert.deepEqual(await errorsOf(fields), [expected], JSON.stringify(changes).slice(0, 200))
    }
    assert.deepEqual(await errorsOf({}), ['/data missing'])
    assert.deepEqual(await errorsOf({ data: {} }), ['/data/assetLinkId missing'])
    assert.deepEqual(await errorsOf({ data: 5 }), ['/data type'])
    assert.deepEqual(await errorsOf([]), [' type'])
  })

  test('reports the invalid field when a changed discovery schedule is refused', async () => {
    const { jobId } = await create()
    const errorsOf = async (data: Record<string, unknown>) => {
      const { status, body } = await admin.exchange(discovery, 'updateDiscovery', { params: { jobId }, body: { data } })
      assert.equal(status, 400, JSON.stringify(body))
      return (body as { errors: { pointer: string; code: string }[] }).errors.map(
        ({ pointer, code }) => `${pointer} ${code}`,
      )
    }
    assert.deepEqual(await errorsOf({ schedule: { cron: '* *' } }), ['/data/schedule/cron invalid_cron'])
    assert.deepEqual(await errorsOf({ schedule: { cron: 5 } }), ['/data/schedule/cron type'])
    assert.deepEqual(await errorsOf({ schedule: 5 }), ['/data/schedule type'])
    assert.deepEqual(await errorsOf({ schedule: { cron: '0 3 * * *', timezone: 'Nowhere' } }), [
      '/data/schedule/timezone invalid_timezone',
    ])
    assert.deepEqual(await errorsOf({ discoveryFilters: [{ key: 'mac', value: 'x' }] }), [
      '/data/discoveryFilters/0/key unknown',
    ])
    await end(await lease(), 'FINISHED')
  })

  test('accepts the request body and path of the early access API for discoveries', async () => {
    for (const prefix of ['/discovery/v1-earlyaccess', '/v1/discovery/v1-earlyaccess', '/discovery/v1']) {
      const { status, body, headers } = await hub.request({
        method: 'POST',
        path: `${prefix}/gateways/${gateway.id}/discoveries`,
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          assetLinkId,
          deviceClass: 'manual',
          scanMode: 'FULL',
          jobType: 'DISCOVERY',
          discoveryFilters: [{ key: 'ip_range', comparisonOperator: 'EQUAL', value: '10.0.0.1-10.0.0.9' }],
          discoveryOptions: [{ key: 'size', value: '1' }],
        }),
      })
      assert.equal(status, 201, JSON.stringify(body))
      const { jobId, id, data } = body as { jobId: string; id: string; data: { id: string } }
      assert.deepEqual([id, data.id], [jobId, jobId])
      assert.equal(headers.has('deprecation'), prefix.includes('early'))
      // The device class of the request is ignored: only the link decides which source its values have.
      assert.equal((await read(jobId)).deviceClass, linkReport().deviceClass)
    }
  })

  test('shows the next runs of a discovery schedule, runs it when due, pauses it, and counts missed runs', async () => {
    const { jobId } = await create({ schedule: { cron: '0 3 * * *', timezone: 'Europe/Berlin' } })
    const planned = await read(jobId)
    assert.equal(planned.schedule?.nextRuns.length, 5)
    assert.equal(planned.runs, 0)
    assert.equal(planned.schedule?.lastDueTimestamp, undefined)
    const tomorrow = new Date(Date.now() + 86_400_000)
    await hub.contextOf('discovery').tasks.runDue(hub.tenant.tenantId, { at: tomorrow })
    const begun = await read(jobId)
    assert.equal(begun.runs, 1)
    assert.equal(begun.schedule?.lastDueTimestamp, planned.schedule?.nextRuns[0], 'the planned time of the run')
    const { data: scheduled } = await admin.discovery.listDiscoveries({ query: { scheduled: true, limit: 100 } })
    const listed = scheduled.find((discovery) => discovery.jobId === jobId)
    assert.equal(listed?.schedule?.lastDueTimestamp, begun.schedule?.lastDueTimestamp)
    await hub.contextOf('discovery').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 2 * 86_400_000) })
    const missed = await read(jobId)
    assert.deepEqual([missed.runs, missed.schedule?.missedRuns], [1, 1], 'the first run is not over yet')
    const { data: jobs } = await admin.jobs.listJobs({ query: { type: 'discovery', limit: 100 } })
    assert.equal(jobs.find(({ subject }) => subject?.reference === `discovery/${jobId}`)?.trigger, 'schedule')
    const paused = await admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { paused: true } } })
    assert.deepEqual([paused.data.schedule?.paused, paused.data.schedule?.nextRuns], [true, []])
    await assert.rejects(
      admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { schedule: { cron: '61 * * * *' } } } }),
      { status: 400 },
    )
    const none = await admin.discovery.updateDiscovery({ params: { jobId }, body: { data: { schedule: null } } })
    assert.equal(none.data.schedule, undefined)
    await admin.discovery.deleteDiscovery({ params: { jobId } })
    await assert.rejects(read(jobId), { code: 'not_found' })

    const forNobody = await create({ schedule: { cron: '0 3 * * *' } })
    await admin.onboarding.revokeGateway({ params: { id: gateway.id } })
    await hub.contextOf('discovery').tasks.runDue(hub.tenant.tenantId, { at: tomorrow })
    const { runs, schedule } = await read(forNobody.jobId)
    assert.deepEqual([runs, schedule?.missedRuns], [0, 1], 'a gateway that was revoked gets no more work')
    await admin.discovery.deleteDiscovery({ params: { jobId: forNobody.jobId } })
  })

  test('creates assets of links as installed and running, and updates them when a link stops and restarts', async () => {
    const [link] = (await reportLinks([linkReport()])).data
    const id = link?.assetId ?? ''
    const { data: asset } = await admin.inventory.readAsset({ params: { id }, query: {} })
    const { manufacturer_product: product } = asset.product_instance_information as Record<
      string,
      Record<string, unknown>
    >
    assert.deepEqual(
      [asset.functional_object_type, product?.product_id, product?.product_version],
      ['SoftwareArtifact', 'example.cdm.al.reference', '1.2.3'],
    )
    const predicates = async () => {
      const { data } = await admin.inventory.listAssetRelations({ params: { id }, query: {} })
      return data.map(({ predicate }) => predicate).toSorted()
    }
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])
    const { data: shown } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.deepEqual([shown[0]?.assetLinkId, shown[0]?.reachable, shown[0]?.compatible], [assetLinkId, true, true])

    await hub.asOwner((owner) =>
      owner.query(`update asset_links set last_seen_at = now() - interval '10 minutes' where gateway_id = $1`, [
        gateway.id,
      ]),
    )
    const events = [{ timestamp: new Date().toISOString(), kind: 'alarm' as const, text: 'A1 active Too hot' }]
    const { data: silent } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.deepEqual(
      [silent[0]?.reachable, silent[0]?.problem?.slice(0, 34)],
      [false, 'The gateway has not reported this '],
    )
    await reportLinks([linkReport({ events })])
    const { data: back } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.deepEqual([back[0]?.reachable, back[0]?.problem, back[0]?.events], [true, undefined, events])

    await reportLinks([])
    assert.deepEqual(await predicates(), ['is_installed_on'])
    await assert.rejects(create(), { code: 'link_not_found' })
    await reportLinks([linkReport({ product: { vendor: 'Example', name: 'Reference link', version: '1.3.0' } })])
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])
    const { data: upgraded } = await admin.inventory.readAsset({ params: { id }, query: {} })
    assert.match(JSON.stringify(upgraded), /1\.3\.0/, 'an upgrade updates the same asset')
  })

  test('shows a link with unknown interfaces as incompatible, with the reason', async () => {
    await reportLinks([linkReport({ interfaces: ['acme.own.v9'] })])
    const { data } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.equal(data[0]?.compatible, false)
    assert.match(data[0]?.incompatibility ?? '', /acme\.own\.v9/)
    await assert.rejects(create(), { code: 'link_not_compatible' })
  })

  test('refuses a discovery with a gateway below version 0.3.10 and lists its links as not compatible', async () => {
    const version = async () => {
      await hub.settle()
      const { data } = await admin.inventory.readAsset({ params: { id: gateway.id }, query: {} })
      const { manufacturer_product: product } = data.product_instance_information as Record<
        string,
        Record<string, string>
      >
      return product?.product_version
    }
    assert.equal(await version(), '1.0.0', 'the version of the enrolment is on the asset')
    const { jobId } = await create({ schedule: { cron: '0 3 * * *' } })
    for (const gatewayVersion of ['0.3.9', '0.3.10-rc.1', 'latest']) {
      await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion, links: [linkReport()] } } })
      const { data } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
      assert.deepEqual(
        [data[0]?.compatible, data[0]?.incompatibility],
        [
          false,
          `The gateway has version ${gatewayVersion}, but asset links need gateway version 0.3.10 or higher. Update the gateway.`,
        ],
      )
      await assert.rejects(create(), { code: 'link_not_compatible', status: 409 })
      await assert.rejects(admin.discovery.runDiscovery({ params: { jobId } }), { code: 'link_not_compatible' })
      assert.equal(await version(), gatewayVersion)
    }
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0-alpha.1', links: [linkReport()] } } })
    assert.equal(await version(), '1.0.0-alpha.1')
    await admin.discovery.runDiscovery({ params: { jobId } })
    await scan(jobId, [foundDevice(1)])
  })

  test('refuses a discovery with a gateway that has not enrolled', async () => {
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'not yet' } } })
    await assert.rejects(
      admin.discovery.createDiscovery({ params: { gatewayId: data.id }, body: { data: { assetLinkId } } }),
      { code: 'gateway_not_ready' },
    )
  })

  test('reads properties from a device, and returns one result or error per key', async () => {
    const { jobId } = await create()
    await scan(jobId, [foundDevice(71)])
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const id = report.findings[0]?.assetId ?? ''
    const answering = async (state: 'FINISHED' | 'FAILED', result: Record<string, unknown>) => {
      const taken = await gateway.gatekeeper.leaseJob({
        body: { data: { workflows: ['device-info'], waitSeconds: 10 } },
      })
      assert.ok(taken !== undefined)
      const { job, lease: held } = taken.data
      await gateway.gatekeeper.endJob({ params: { id: held.id }, body: { data: { jobId: job.id, state, result } } })
      return job.definition
    }
    const results = [
      { key: 'name', value: 'Device 71' },
      { key: 'x', error: { code: 3, name: 'INVALID_ARGUMENT', description: 'no such key' } },
    ]
    const [answer, asked] = await Promise.all([
      admin.discovery.readProperties({ params: { id }, body: { data: { keys: ['name', 'x'] } } }),
      answering('FINISHED', { results }),
    ])
    assert.deepEqual(answer.data, results)
    assert.deepEqual([asked.assetLinkId, asked.keys], [assetLinkId, ['name', 'x']])
    const { data: about } = await admin.jobs.listJobs({ query: { tag: `asset/${id}` } })
    assert.deepEqual(
      about.map(({ type, phase }) => [type, phase]),
      [['device-info', 'finished']],
    )
    assert.deepEqual((await admin.discovery.readProperties({ params: { id }, body: { data: { keys: [] } } })).data, [])
    await Promise.all([
      assert.rejects(admin.discovery.listSupportedProperties({ params: { id } }), {
        code: 'device_unreachable',
        status: 503,
      }),
      answering('FINISHED', { unreachable: true, description: 'no route' }),
    ])
    await reportLinks([])
    await assert.rejects(admin.discovery.listSupportedProperties({ params: { id } }), { code: 'no_device_link' })
  })

  test(
    'holds no database connection and delays no write while property reads wait for a gateway',
    onlyInLongRuns,
    async () => {
      const { jobId } = await create()
      await scan(jobId, [foundDevice(72)])
      const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
      const id = report.findings[0]?.assetId ?? ''
      const readKeyed = (key: string) =>
        admin.exchange(discovery, 'readProperties', {
          params: { id },
          body: { data: { keys: ['name'] } },
          headers: { 'idempotency-key': key },
        })
      const readers = 20
      let answered = 0
      const reads = Array.from({ length: readers }, async (_, index) => {
        const answer = await readKeyed(`read ${index}`)
        answered++
        return answer
      })
      const open = async () =>
        (await admin.jobs.listJobs({ query: { tag: `asset/${id}`, phase: 'waiting', limit: 100 } })).data.length
      while ((await open()) < readers) assert.equal(answered, 0)
      const write = { body: { data: { name: 'while others wait' } }, headers: { 'idempotency-key': 'write' } }
      assert.equal((await admin.exchange(authorization, 'createAccessGroup', write)).status, 201)
      const again = await readKeyed('read 0')
      assert.deepEqual([again.status, (again.body as ProblemDocument).code], [409, 'request_in_progress'])
      assert.ok(Number(again.headers.get('retry-after')) > 0)
      assert.equal(answered, 0, 'all of this happened while the gateway was silent')

      const results = [{ key: 'name', value: 'Device 72' }]
      for (let left = readers; left > 0; left--) {
        const taken = await gateway.gatekeeper.leaseJob({
          body: { data: { workflows: ['device-info'], waitSeconds: 10 } },
        })
        assert.ok(taken !== undefined)
        const { job, lease: held } = taken.data
        await gateway.gatekeeper.endJob({
          params: { id: held.id },
          body: { data: { jobId: job.id, state: 'FINISHED', result: { results } } },
        })
      }
      for (const answer of await Promise.all(reads)) assert.equal(answer.status, 200)
      const repeated = await readKeyed('read 0')
      assert.deepEqual([repeated.status, repeated.body], [200, { data: results }], 'the stored answer is repeated')
      assert.equal(await open(), 0)
    },
  )

  test('accepts an Idempotency-Key again when the claim of an interrupted request has expired', async () => {
    const keyed = { headers: { 'idempotency-key': 'died' }, body: { data: { name: 'claimed' } } }
    assert.equal((await admin.exchange(onboarding, 'createGateway', keyed)).status, 201)
    const claimUntil = (until: string) =>
      hub.asOwner((owner) =>
        owner.query(
          `update idempotent_requests set claim_id = $2, claimed_until = ${until}
           where tenant_id = $1 and key = 'died'`,
          [hub.tenant.tenantId, randomUUID()],
        ),
      )
    await claimUntil(`now() + interval '1 hour'`)
    const blocked = await admin.exchange(onboarding, 'createGateway', keyed)
    assert.equal((blocked.body as ProblemDocument).code, 'request_in_progress')
    await claimUntil(`now() - interval '1 second'`)
    const other = { ...keyed, body: { data: { name: 'claimed again' } } }
    assert.equal((await admin.exchange(onboarding, 'createGateway', other)).status, 201)
  })

  test('refuses every access of a gateway to jobs and runs of another gateway', async () => {
    const { jobId } = await create()
    const other = await enrolledGateway(hub, admin, { name: 'line 2' })
    await hub.settle()
    const held = await lease()
    const upload = { lease: held.lease.id, sequence: 0, assets: [foundDevice(81)], errors: [] }
    await assert.rejects(other.gatekeeper.uploadFound({ params: { id: held.job.id }, body: { data: upload } }), {
      status: 404,
    })
    await assert.rejects(
      other.gatekeeper.endJob({
        params: { id: held.lease.id },
        body: { data: { jobId: held.job.id, state: 'FINISHED' } },
      }),
      { status: 404 },
    )
    assert.equal((await read(jobId)).found, 0)
  })
})
