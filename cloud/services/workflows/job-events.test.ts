import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventReader } from '../../platform/testing/event-reader.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { eventFilter } from './job-event.ts'
import { directUpdate, engineOf, gatewayCaller } from './testing.ts'

type EngineMessage = { action: string; ctime: string; tags?: string[]; job: Record<string, never> & { id: string } }

const path = '/api/wfx/v1/jobs/events'

async function take(reader: EventReader, count: number): Promise<EngineMessage[]> {
  const received: EngineMessage[] = []
  while (received.length < count) {
    const message = await reader.next()
    assert.equal(message?.event, 'message')
    received.push(JSON.parse(message?.data ?? ''))
  }
  return received
}

test('sends all job events with the changed part of the job to managers, in the format of the engine', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const admin = await hub.as('administrator')
  const gateway = await gatewayCaller(hub)
  await admin.workflows.createWorkflow({ body: directUpdate })
  using reader = await EventReader.open(base, { ...admin, path, query: { tags: 'north,south' } })
  const clientId = gateway.principalId
  const definition = { url: 'https://artefacts.example/1' }
  const job = await admin.workflows.createJob({
    body: { clientId, workflow: directUpdate.name, tags: ['a'], definition },
  })
  const params = { id: job.id }
  const [created] = await take(reader, 1)
  const { ctime, ...whole } = created ?? { ctime: '' }
  assert.ok(Number.isFinite(Date.parse(ctime)))
  assert.deepEqual(whole, { action: 'CREATE', tags: ['north', 'south'], job })
  const status = await gateway.workflows.putJobStatus({
    params,
    body: { state: 'INSTALLING', progress: 5, context: { lines: ['x'] } },
  })
  const which = { id: job.id, clientId, workflow: { name: directUpdate.name } }
  assert.deepEqual((await take(reader, 1))[0]?.job, { ...which, status })
  await gateway.workflows.putJobDefinition({ params, body: { url: 'other' } })
  const [redefined] = await take(reader, 1)
  assert.equal(redefined?.action, 'UPDATE_DEFINITION')
  assert.deepEqual(redefined?.job.definition, { url: 'other' })
  await admin.workflows.addJobTags({ params, body: ['b'] })
  await admin.workflows.deleteJobTags({ params, body: ['a'] })
  await admin.workflows.deleteJob({ params })
  assert.deepEqual(
    (await take(reader, 3)).map(({ action, job }) => ({ action, job })),
    [
      { action: 'ADD_TAGS', job: { ...which, tags: ['a', 'b'] } },
      { action: 'DELETE_TAGS', job: { ...which, tags: ['b'] } },
      { action: 'DELETE', job: which },
    ],
  )
})

test('sends a gateway only events of its own jobs, and continues after the last event id', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const [own, other] = [await gatewayCaller(hub), await gatewayCaller(hub)]
  using reader = await EventReader.open(base, { ...own, path: '/wfx-southbound/jobs/events' })
  const createJob = async (clientId: string) =>
    (await engineOf(hub).createJob({ body: { clientId, workflow: 'discovery' } })).id
  await createJob(other.principalId)
  const mine = await createJob(own.principalId)
  await createJob(other.principalId)
  const then = await createJob(own.principalId)
  assert.deepEqual(
    (await take(reader, 2)).map(({ job }) => job.id),
    [mine, then],
  )
  reader.close()
  const later = await createJob(own.principalId)
  using again = await EventReader.open(base, { ...own, path, lastEventId: reader.lastEventId })
  assert.equal((await take(again, 1))[0]?.job.id, later)
  const withoutRoles = await hub.as(undefined)
  const { response } = await EventReader.open(base, { ...withoutRoles, path })
  assert.equal(response.status, 403)
  await response.body?.cancel()
})

test('sends a job event when any filter matches, and all job events without filters', () => {
  const data = { action: 'CREATE', job: { id: '1', gatewayId: 'a', type: 'discovery' } } as Parameters<
    ReturnType<typeof eventFilter>
  >[0]
  const cases: [Parameters<typeof eventFilter>[0], boolean][] = [
    [{}, true],
    [{ clientIds: 'b,a' }, true],
    [{ clientIds: 'b' }, false],
    [{ jobIds: ['2', '1'] }, true],
    [{ workflows: 'x' }, false],
    [{ clientIds: 'b', workflows: 'discovery' }, true],
    [{ actions: 'delete,create' }, true],
    [{ actions: 'DELETE', jobIds: '2' }, false],
  ]
  for (const [filters, expected] of cases) assert.equal(eventFilter(filters)(data), expected, JSON.stringify(filters))
  assert.throws(() => eventFilter({ actions: 'jump' }), /"jump" is not an action/)
})
