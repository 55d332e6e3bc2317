import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { newId } from '../../platform/database/id.ts'
import { enrolledGateway, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestHub, testHub } from '../../platform/testing/hub.ts'

const names = ['artefact-update', 'artefact-retrieval']

describe('jobs with several states', () => {
  let hub: TestHub
  let gateway: TestGateway
  let other: TestGateway

  before(async () => {
    hub = await testHub()
    const admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    other = await enrolledGateway(hub, admin, { name: 'line 2' })
  })

  after(() => hub[Symbol.asyncDispose]())

  const engine = () =>
    hub.context.peers(workflows, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }))
  const code = (expected: string) => (problem: { code: string }) => problem.code === expected

  async function createJob(workflow = 'artefact-update'): Promise<string> {
    const id = newId()
    const data = { clientId: gateway.id, workflow, tags: [], definition: {} }
    await engine().putClientJob({ params: { id }, body: { data } })
    return id
  }

  async function lease(): Promise<{ jobId: string; lease: string; state: string } | undefined> {
    const taken = await gateway.gatekeeper.leaseJob({ body: { data: { workflows: names, waitSeconds: 0 } } })
    if (taken?.data === undefined) return undefined
    return { jobId: taken.data.job.id, lease: taken.data.lease.id, state: taken.data.job.status.state }
  }

  async function leased() {
    const taken = await lease()
    assert.ok(taken)
    return taken
  }

  const advance = async (
    held: { jobId: string; lease: string },
    state: string,
    report: { message?: string; progress?: number; result?: Record<string, unknown> } = {},
  ) => {
    const body = { data: { jobId: held.jobId, state, ...report } }
    return (await gateway.gatekeeper.advanceJob({ params: { id: held.lease }, body })).data.state
  }

  const move = (id: string, state: string) => engine().moveJob({ params: { id }, body: { data: { state, as: 'WFX' } } })

  const statusOf = (id: string) => gateway.workflows.getJobStatus({ params: { id } })

  test('moves an update through all its states, and does not lease it while it is prepared', async () => {
    const id = await createJob()
    const first = await leased()
    assert.deepEqual([first.jobId, first.state], [id, 'PREPARING'])
    await gateway.gatekeeper.renewLease({
      params: { id: first.lease },
      body: { data: { jobId: id, progress: 40, phase: 'transferring' } },
    })
    const { progress, context } = await statusOf(id)
    assert.deepEqual([progress, context], [40, { phase: 'transferring' }])
    assert.equal(await advance(first, 'PREPARED'), 'PREPARED')
    assert.equal(await lease(), undefined)
    await move(id, 'ACTIVATE')
    const second = await leased()
    assert.deepEqual([second.jobId, second.state], [id, 'ACTIVATE'])
    await assert.rejects(advance(first, 'ACTIVATING'), code('lease_lost'))
    for (const state of ['ACTIVATING', 'VERIFYING']) assert.equal(await advance(second, state), state)
    assert.equal(await advance(second, 'ACTIVATED', { progress: 100, result: { version: '2.0' } }), 'ACTIVATED')
    assert.equal(await advance(second, 'ACTIVATED'), 'ACTIVATED')
    const ended = await statusOf(id)
    assert.deepEqual([ended.state, ended.context], ['ACTIVATED', { version: '2.0' }])
    await assert.rejects(advance(second, 'FAILED'), code('invalid_transition'))
  })

  test('returns the current state when the gateway repeats a report that the platform has answered with a move', async () => {
    const id = await createJob()
    const held = await leased()
    await advance(held, 'PREPARED')
    await move(id, 'ACTIVATE')
    assert.equal(await advance(held, 'PREPARED'), 'ACTIVATE')
    await advance(await leased(), 'FAILED')
  })

  test('returns the cancellation to a gateway that reports a prepared device, and does not cancel an activation', async () => {
    const canceled = await createJob()
    const first = await leased()
    await move(canceled, 'CANCELING')
    assert.equal(await advance(first, 'PREPARED'), 'CANCELING')
    assert.equal(await advance(first, 'CANCELED'), 'CANCELED')
    const activated = await createJob()
    const second = await leased()
    await advance(second, 'PREPARED')
    await move(activated, 'ACTIVATE')
    const third = await leased()
    await advance(third, 'ACTIVATING')
    await assert.rejects(move(activated, 'CANCELING'), code('invalid_transition'))
    assert.equal(await advance(third, 'UNKNOWN', { message: 'The device does not answer' }), 'UNKNOWN')
  })

  test('refuses a canceled activation, so that the gateway does not activate the artefact', async () => {
    const id = await createJob()
    await advance(await leased(), 'PREPARED')
    await move(id, 'ACTIVATE')
    const held = await leased()
    await move(id, 'CANCELING')
    await assert.rejects(advance(held, 'ACTIVATING'), code('invalid_transition'))
    assert.equal(await advance(held, 'CANCELED'), 'CANCELED')
  })

  test('returns 404 for a job of another gateway', async () => {
    const id = await createJob()
    const held = await leased()
    const body = { data: { jobId: id, state: 'PREPARED' } }
    await assert.rejects(other.gatekeeper.advanceJob({ params: { id: held.lease }, body }), code('not_found'))
    assert.equal((await statusOf(id)).state, 'PREPARING')
    await advance(held, 'FAILED')
  })

  test('ends a retrieval in the same way as other requests to a gateway', async () => {
    const id = await createJob('artefact-retrieval')
    const held = await leased()
    const body = { data: { jobId: id, state: 'FINISHED' as const } }
    const { data } = await gateway.gatekeeper.endJob({ params: { id: held.lease }, body })
    assert.equal(data.state, 'FINISHED')
  })
})
