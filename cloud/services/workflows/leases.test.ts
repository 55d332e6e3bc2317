import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { engineOf, gatewayCaller } from './testing.ts'

type Engine = ReturnType<typeof engineOf>
type Lease = { jobId: string; lease: string; clientId: string }

function code(expected: string) {
  return (problem: unknown) => (problem as { code: string }).code === expected
}

describe('leases', () => {
  let hub: TestHub
  let sibling: TestHub
  let admin: TestCaller
  let engine: Engine

  before(async () => {
    hub = await testHub()
    sibling = await hub.sibling({ arrangement: 'one process' })
    admin = await hub.as('administrator')
    engine = engineOf(hub)
  })

  after(async () => {
    await sibling[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  async function createJob(clientId: string, workflow = 'discovery'): Promise<string> {
    return (await engine.createJob({ body: { clientId, workflow } })).id
  }

  type TakeOptions = { by?: Engine; waitSeconds?: number; workflows?: string[]; activeJobs?: string[] }

  async function take(clientId: string, options: TakeOptions = {}) {
    const { by = engine, waitSeconds = 0, workflows = ['discovery'], activeJobs } = options
    const request = { clientId, workflows, waitSeconds, leaseSeconds: 60, ...(activeJobs && { activeJobs }) }
    const { data } = await by.takeJob({ body: { data: request } })
    return data === null ? undefined : { ...data, held: { jobId: data.job.id, lease: data.lease.id, clientId } }
  }

  function renew({ jobId, lease, clientId }: Lease, report: { progress?: number; message?: string } = {}) {
    return engine.renewLease({ params: { id: lease }, body: { data: { jobId, clientId, ...report } } })
  }

  function end({ jobId, lease }: Lease, state = 'FINISHED', by = engine) {
    return by.moveJob({ params: { id: jobId }, body: { data: { state, as: 'CLIENT', lease } } })
  }

  /** Expires the lease of a job. */
  async function runOut(jobId: string): Promise<void> {
    await hub.asOwner((owner) =>
      owner.query(
        `update workflow_jobs set lease_until = now() - interval '1 second' where tenant_id = $1 and id = $2`,
        [hub.tenant.tenantId, jobId],
      ),
    )
  }

  test('offers the oldest job first, starts the job, and does not offer it to another agent', async () => {
    const ids = [await createJob('order'), await createJob('order')]
    const first = await take('order')
    assert.equal(first?.job.id, ids[0])
    assert.equal(first?.job.status.state, 'RUNNING')
    assert.equal(first?.job.status.clientId, 'order')
    assert.ok(Date.parse(first?.lease.expiresTimestamp ?? '') > Date.now())
    assert.equal((await take('order'))?.job.id, ids[1])
    assert.equal(await take('order'), undefined)
    assert.equal(await take('another client'), undefined)
  })

  test('offers only jobs of the requested workflows', async () => {
    const id = await createJob('kinds', 'device-info')
    assert.equal(await take('kinds'), undefined)
    assert.equal((await take('kinds', { workflows: ['discovery', 'device-info'] }))?.job.id, id)
  })

  test('offers the job of a stopped agent again, and refuses later changes of that agent', async () => {
    await createJob('dying')
    const dead = await take('dying')
    assert.ok(dead)
    await runOut(dead.held.jobId)
    const next = await take('dying')
    assert.ok(next)
    assert.equal(next.job.id, dead.job.id)
    assert.equal(next.job.status.state, 'RUNNING')
    await assert.rejects(renew(dead.held), code('lease_lost'))
    await assert.rejects(end(dead.held), code('lease_lost'))
    assert.equal((await end(next.held)).status.state, 'FINISHED')
  })

  test('a job that is taken again has no progress until it reports one, unless its agent still works on it', async () => {
    const id = await createJob('again')
    const first = await take('again')
    assert.ok(first)
    await renew(first.held, { progress: 40, message: 'half of the range' })
    const status = async () => {
      const { progress, message } = await admin.workflows.getJobStatus({ params: { id } })
      return [progress, message]
    }
    await runOut(id)
    const continued = await take('again', { activeJobs: [id] })
    assert.deepEqual([continued?.job.status.progress, ...(await status())], [40, 40, 'half of the range'])
    await runOut(id)
    const restarted = await take('again', { activeJobs: [newId()] })
    assert.ok(restarted)
    assert.equal(restarted.job.status.progress, 0)
    await renew(restarted.held, { message: 'Waiting for the asset link' })
    assert.deepEqual(await status(), [0, 'Waiting for the asset link'])
  })

  test('lets a slow agent continue with an expired lease if no other agent took the job', async () => {
    await createJob('slow')
    const taken = await take('slow')
    assert.ok(taken)
    await runOut(taken.held.jobId)
    const { data } = await renew(taken.held, { progress: 40, message: 'half of the range' })
    assert.equal(data.state, 'RUNNING')
    assert.ok(Date.parse(data.lease.expiresTimestamp) > Date.now())
    assert.equal(await take('slow'), undefined)
    const status = await admin.workflows.getJobStatus({ params: { id: taken.held.jobId } })
    assert.deepEqual([status.progress, status.message], [40, 'half of the range'])
    await renew(taken.held, { progress: 50 })
    assert.equal(
      (await admin.workflows.getJobStatus({ params: { id: taken.held.jobId } })).message,
      'half of the range',
    )
  })

  test('reports a requested cancellation and the end of a job to an agent that renews its lease', async () => {
    const id = await createJob('canceled')
    const taken = await take('canceled')
    assert.ok(taken)
    await engine.moveJob({ params: { id }, body: { data: { state: 'CANCELING', as: 'WFX' } } })
    assert.equal((await renew(taken.held)).data.state, 'CANCELING')
    await engine.moveJob({ params: { id }, body: { data: { state: 'CANCELED', as: 'WFX' } } })
    await assert.rejects(renew(taken.held), code('lease_lost'))
    await assert.rejects(end(taken.held), code('invalid_transition'))
  })

  test('returns the same result when a job is ended twice', async () => {
    const id = await createJob('twice')
    const taken = await take('twice')
    assert.ok(taken)
    const move = { state: 'FINISHED', as: 'CLIENT', lease: taken.held.lease, context: { values: [1, 2] } } as const
    const first = await engine.moveJob({ params: { id }, body: { data: move } })
    const second = await engine.moveJob({ params: { id }, body: { data: { ...move, context: { values: [] } } } })
    assert.deepEqual(second, first)
    assert.deepEqual(first.status.context, { values: [1, 2] })
    await assert.rejects(end({ ...taken.held, lease: newId() }), code('lease_lost'))
    const { data } = await admin.audit.listEntries({ query: { target: `job/${id}`, action: 'workflows.moveJob' } })
    assert.equal(data.length, 1)
  })

  test('does not offer a job that waits for the engine, and offers it again when it waits for the client', async () => {
    const id = await createJob('updated', 'artefact-update')
    const workflows = ['artefact-update']
    const taken = await take('updated', { workflows })
    assert.ok(taken)
    await end(taken.held, 'PREPARED')
    assert.equal(await take('updated', { workflows }), undefined)
    await engine.moveJob({ params: { id }, body: { data: { state: 'ACTIVATE', as: 'WFX' } } })
    const again = await take('updated', { workflows })
    assert.equal(again?.job.status.state, 'ACTIVATE')
    await assert.rejects(renew(taken.held), code('lease_lost'))
  })

  test('gives a new job to a waiting agent immediately, in the same process and in another process', async () => {
    for (const clientId of ['waits here', 'waits there']) {
      const waiting = take(clientId, { waitSeconds: 30 })
      const id = (
        await engineOf(clientId === 'waits here' ? hub : sibling).createJob({
          body: { clientId, workflow: 'discovery' },
        })
      ).id
      assert.equal((await waiting)?.job.id, id)
    }
  })

  test('gives a job to the newer of two waiting requests of one client', async () => {
    const older = take('reconnects', { waitSeconds: 3 })
    await take('reconnects')
    const newer = take('reconnects', { waitSeconds: 30 })
    await take('reconnects')
    const id = await createJob('reconnects')
    assert.equal((await newer)?.job.id, id)
    assert.equal(await older, undefined)
  })

  test('ends a request that waits for a job at its timeout, or with a job whose lease expires', async () => {
    assert.equal(await take('patient', { waitSeconds: 1 }), undefined)
    const id = await createJob('patient')
    await take('patient')
    const waiting = take('patient', { waitSeconds: 30 })
    await runOut(id)
    assert.equal((await waiting)?.job.id, id)
  })

  test('returns an awaited job when it ends, or in its current state at the timeout', async () => {
    const id = await createJob('awaited')
    const early = await engine.awaitJob({ params: { id }, query: { waitSeconds: 1 } })
    assert.deepEqual([early.isFinal, early.job.status.state], [false, 'CREATED'])
    const taken = await take('awaited')
    assert.ok(taken)
    const waiting = [engine, engineOf(sibling)].map((by) => by.awaitJob({ params: { id }, query: { waitSeconds: 30 } }))
    await end(taken.held)
    for (const { isFinal, job } of await Promise.all(waiting))
      assert.deepEqual([isFinal, job.status.state], [true, 'FINISHED'])
    const gone = await createJob('awaited')
    const left = assert.rejects(
      engine.awaitJob({ params: { id: gone }, query: { waitSeconds: 30 } }),
      code('not_found'),
    )
    await admin.workflows.deleteJob({ params: { id: gone } })
    await left
  })

  test(
    'polls the database once per second for many waiting agents, and gives each agent its own job',
    onlyInLongRuns,
    async () => {
      const clients = Array.from({ length: 60 }, (_, index) => `crowd ${index}`)
      const began = performance.now()
      const waiting: ReturnType<typeof take>[] = []
      const sent = await hub.statements(() => {
        waiting.push(...clients.map((clientId) => take(clientId, { waitSeconds: 30 })))
        return take('clock', { waitSeconds: 2 })
      })
      const seconds = (performance.now() - began) / 1_000
      const count = (part: string) => sent.filter(({ text }) => text.includes(part)).length
      assert.ok(count('select distinct client_id') <= seconds + 2, 'too many polls')
      assert.ok(count('skip locked') < 2 * clients.length, 'an agent queried again before the poll')
      await Promise.all(clients.map((clientId) => createJob(clientId)))
      for (const [index, taken] of (await Promise.all(waiting)).entries())
        assert.equal(taken?.job.clientId, clients[index])
    },
  )

  test('completes every job once, even if agents stop at any point', onlyInLongRuns, async () => {
    const steps = fc.array(
      fc.record({ agent: fc.nat({ max: 3 }), act: fc.constantFrom('take', 'take', 'renew', 'end', 'die', 'end late') }),
      { minLength: 10, maxLength: 30 },
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(steps, async (acts) => {
        const clientId = `property ${run++}`
        const jobs = await Promise.all(Array.from({ length: 4 }, () => createJob(clientId)))
        const ended = await work(clientId, acts)
        // The remaining agents complete the remaining jobs.
        for (const id of jobs) await runOut(id)
        for (let taken = await take(clientId); taken !== undefined; taken = await take(clientId)) {
          await end(taken.held)
          ended.push(taken.held.jobId)
        }
        assert.deepEqual(ended.toSorted(), jobs.toSorted())
      }),
      { numRuns: 8 },
    )
  })

  type Act = { agent: number; act: string }

  /**
   * Runs agents in two processes, each with its own sequence of actions. Returns the id of an ended job once for each
   * accepted request.
   */
  async function work(clientId: string, acts: readonly Act[]): Promise<string[]> {
    const ended: string[] = []
    const agents = Map.groupBy(acts, ({ agent }) => agent)
    await Promise.all(
      [...agents].map(async ([agent, own]) => {
        const by = engineOf(agent % 2 === 0 ? hub : sibling)
        const lost: Lease[] = []
        let held: Lease | undefined
        for (const { act } of own) {
          if (act === 'take') held ??= (await take(clientId, { by }))?.held
          else if (act === 'end late') {
            for (const lease of lost.splice(0))
              if (await isAccepted(end(lease, 'FINISHED', by))) ended.push(lease.jobId)
          } else if (held !== undefined && act === 'die') {
            await runOut(held.jobId)
            lost.push(held)
            held = undefined
          } else if (held !== undefined && act === 'renew') await isAccepted(renew(held, { progress: agent }))
          else if (held !== undefined && act === 'end') {
            if (await isAccepted(end(held, 'FINISHED', by))) ended.push(held.jobId)
            held = undefined
          }
        }
      }),
    )
    return ended
  }

  async function isAccepted(attempt: Promise<unknown>): Promise<boolean> {
    try {
      await attempt
      return true
    } catch (problem) {
      assert.ok(code('lease_lost')(problem), String(problem))
      return false
    }
  }

  test('returns 404 when a gateway calls the lease operations of the workflow engine directly', async () => {
    const gateway = await gatewayCaller(hub)
    const body = { data: { clientId: 'x', workflows: ['discovery'], waitSeconds: 0, leaseSeconds: 1 } }
    await assert.rejects(gateway.workflows.takeJob({ body }), code('not_found'))
  })
})
