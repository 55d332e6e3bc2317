import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events } from '@millwright/api/events.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { timeOfId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { type TestHub, testHub } from '../../platform/testing/hub.ts'

async function emitEvents(hub: TestHub, count: number, tenant = hub.tenant): Promise<void> {
  await hub.context.database.transaction(tenant, async (tx) => {
    for (let i = 1; i <= count; i++) await emit(tx, { type: 'test.thing.created', subject: `thing/${i}`, data: { i } })
  })
  await hub.settle(tenant.tenantId)
}

test('returns a change of data as a CloudEvent', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const startedAt = Date.now()
  await emitEvents(hub, 1)
  const { data, meta } = await admin.events.listEvents({})
  const [event] = data
  assert.deepEqual(
    { ...event, id: '', time: '' },
    {
      specversion: '1.0',
      id: '',
      source: `/tenants/${hub.tenant.name}`,
      type: 'io.millwright.test.thing.created',
      subject: 'thing/1',
      time: '',
      datacontenttype: 'application/json',
      sequence: '0000000000000001',
      data: { i: 1 },
    },
  )
  // The time can be later than now, because ids never go back after another test of this process moved the clock.
  const time = Date.parse(event?.time ?? '')
  assert.equal(time, timeOfId(event?.id ?? ''))
  assert.ok(time >= startedAt)
  assert.deepEqual(meta, { elements: 1, lastPosition: 1, oldestPosition: 1, newestPosition: 1 })
})

test('returns every event once and in order when a reader continues from the last position', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  assert.deepEqual(await admin.events.listEvents({}), {
    data: [],
    meta: { elements: 0, lastPosition: 0, oldestPosition: null, newestPosition: 0 },
  })
  await emitEvents(hub, 23)
  const subjects: string[] = []
  let after = 0
  for (;;) {
    const { data, meta } = await admin.events.listEvents({ query: { after, limit: 10 } })
    assert.equal(meta.newestPosition, 23)
    if (data.length === 0) break
    subjects.push(...data.map((event) => event.subject))
    after = meta.lastPosition
  }
  assert.equal(after, 23)
  assert.deepEqual(
    subjects,
    Array.from({ length: 23 }, (_, index) => `thing/${index + 1}`),
  )
})

test("returns only events of the caller's tenant", async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  await emitEvents(hub, 2, other)
  const admin = await hub.as('administrator')
  assert.deepEqual((await admin.events.listEvents({})).data, [])
})

test('refuses an invalid limit, and callers without the permission to read the audit trail', async () => {
  await using hub = await testHub()
  const viewer = await hub.as('viewer')
  await assert.rejects(viewer.events.listEvents({}), (problem) => (problem as Problem).code === 'forbidden')
  const admin = await hub.as('administrator')
  for (const query of [{ limit: 0 }, { limit: 101 }, { after: -1 }, { after: 2 ** 60 }]) {
    const { status } = await admin.exchange(events, 'listEvents', { query })
    assert.equal(status, 400, JSON.stringify(query))
  }
})
