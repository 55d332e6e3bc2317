import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { CloudEvent } from '@millwright/api/events.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { changeAccess, updatePrincipal } from '../../../platform/access/store.ts'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { emitAssetEvent, emitEvents } from '../testing.ts'
import { createWebhook, deliveryHub, Receiver, until, untilSettled } from './testing.ts'

describe('delivery of events', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await deliveryHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  const read = async (id: string) => (await admin.events.readWebhook({ params: { id } })).data
  const remove = (id: string) => admin.events.deleteWebhook({ params: { id } })
  const isUpToDate = (id: string) =>
    until(async () => {
      const { position, newestPosition } = await read(id)
      return position === newestPosition
    }, 'the position is stored')
  const change = (id: string, data: object) => admin.events.updateWebhook({ params: { id }, body: { data } })

  test('sends the events after the creation of the webhook, with the order of each subject', async () => {
    await using receiver = await Receiver.open()
    await emitEvents(hub, ['thing/before'])
    await hub.settle()
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, manySubjects(300, 7))
    await until(() => receiver.accepted.length >= 300, '300 events are delivered')
    assertOrder(receiver.accepted)
    assert.equal(new Set(receiver.accepted.map((event) => event.id)).size, 300)
    await isUpToDate(id)
    const log = await admin.events.listWebhookDeliveries({ params: { id }, query: { limit: 100 } })
    assert.equal(log.data.length, 100)
    assert.ok(log.data.every(({ state, attemptCount }) => state === 'succeeded' && attemptCount === 1))
    await remove(id)
  })

  test('sends several events in one request, in order, with the same message id for the same events', async () => {
    await using receiver = await Receiver.open()
    const id = await createWebhook(admin, receiver.url, { batchSize: 50 })
    let isRefusing = true
    receiver.behaviour = () => (isRefusing ? 503 : 204)
    await emitEvents(hub, manySubjects(120, 3))
    await until(() => receiver.requests.length > 0, 'a batch is sent')
    isRefusing = false
    await until(() => receiver.accepted.length === 120, 'all events are delivered')
    assertOrder(receiver.accepted)
    assert.ok(receiver.requests.some(({ events }) => events.length > 10))
    assert.ok(receiver.requests.every(({ messageId }) => messageId.startsWith('batch_')))
    const [first] = receiver.requests
    const repeated = receiver.requests.filter(({ messageId }) => messageId === first?.messageId)
    for (const { events } of repeated) assert.deepEqual(idsOf(events), idsOf(first?.events ?? []))
    await remove(id)
  })

  test('sends nothing while the webhook is paused, and all events after that', async () => {
    await using receiver = await Receiver.open()
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, ['thing/1'])
    await until(() => receiver.accepted.length === 1, 'the first event is delivered')
    await isUpToDate(id)
    await change(id, { active: false })
    await emitEvents(hub, ['thing/2', 'thing/3'])
    await hub.settle()
    assert.deepEqual(receiver.subjects, ['thing/1'])
    await change(id, { active: true })
    await until(() => new Set(receiver.subjects).size === 3, 'the other events are delivered')
    await isUpToDate(id)
    assert.equal(new Set(idsOf(receiver.accepted)).size, 3)
    await remove(id)
  })

  test('sends the events again from the position of a replay, with the same ids', async () => {
    await using receiver = await Receiver.open()
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, manySubjects(20, 4))
    await until(() => receiver.accepted.length === 20, 'all events are delivered')
    await isUpToDate(id)
    const tenth = receiver.accepted.toSorted((a, b) => (a.sequence < b.sequence ? -1 : 1))[10]
    await admin.events.replayWebhook({ params: { id }, body: { data: { fromPosition: Number(tenth?.sequence) } } })
    await until(() => receiver.accepted.length >= 30, 'the events are delivered again')
    assertOrder(receiver.accepted.slice(20))
    const before = new Set(idsOf(receiver.accepted.slice(0, 20)))
    assert.ok(receiver.accepted.slice(20).every((event) => before.has(event.id)))
    await remove(id)
  })

  test('refuses a replay that would leave out events which were not sent yet', async () => {
    await using receiver = await Receiver.open()
    const id = await createWebhook(admin, receiver.url)
    await change(id, { active: false })
    await emitEvents(hub, ['thing/1', 'thing/2', 'thing/3'])
    const isPlaced = async () => {
      await hub.settle()
      const { position, newestPosition } = await read(id)
      return newestPosition >= position + 3
    }
    await until(isPlaced, 'the events have their positions')
    const { position, newestPosition } = await read(id)
    const replay = (fromPosition: number) =>
      admin.events.replayWebhook({ params: { id }, body: { data: { fromPosition } } })
    for (const fromPosition of [position + 2, newestPosition, newestPosition + 1_000])
      await assert.rejects(replay(fromPosition), (error: { code?: string; errors?: { pointer: string }[] }) => {
        assert.equal(error.code, 'invalid_cursor')
        assert.equal(error.errors?.[0]?.pointer, '/data/fromPosition')
        return true
      })
    await change(id, { active: true })
    await replay(position + 1)
    await until(() => new Set(receiver.subjects).size === 3, 'all events are delivered')
    await remove(id)
  })

  test('refuses a replay of deleted events, and disables a webhook whose events were deleted', async () => {
    await using receiver = await Receiver.open()
    const tenant = await hub.anotherTenant()
    const manager = await hub.as('administrator', { tenant })
    const id = await createWebhook(manager, receiver.url)
    const { data: created } = await manager.events.readWebhook({ params: { id } })
    await manager.events.updateWebhook({ params: { id }, body: { data: { active: false } } })
    await emitEvents({ ...hub, context: hub.context, tenant } as TestHub, ['thing/1', 'thing/2', 'thing/3'])
    await hub.settle(tenant.tenantId)
    const first = created.position + 1
    await hub.asOwner((owner) =>
      owner.query('delete from events where tenant_id = $1 and position <= $2', [tenant.tenantId, first]),
    )
    const replay = (fromPosition: number) =>
      manager.events.replayWebhook({ params: { id }, body: { data: { fromPosition } } })
    await assert.rejects(replay(first), { code: 'events_gone' })
    await manager.events.updateWebhook({ params: { id }, body: { data: { active: true } } })
    const state = async () => (await manager.events.readWebhook({ params: { id } })).data
    await until(async () => (await state()).reason === 'events_gone', 'the webhook is disabled')
    assert.equal((await state()).state, 'disabled')
    assert.equal(receiver.requests.length, 0)
    // The event about the disabled webhook gets its position before the newest position is read.
    await hub.settle(tenant.tenantId)
    const { data: newest } = await manager.events.readWebhook({ params: { id } })
    await assert.rejects(replay(newest.newestPosition + 2), { code: 'invalid_cursor' })
    await replay(first + 1)
    await until(() => receiver.accepted.length === 3, 'the other events are delivered')
    assert.equal((await state()).state, 'active')
    await manager.events.deleteWebhook({ params: { id } })
  })

  test('sends only events that the owner may read when they are sent', async () => {
    await using receiver = await Receiver.open()
    const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-7' } } })).data
    const owner = await hub.as('administrator')
    const id = await createWebhook(owner, receiver.url, { types: ['io.millwright.inventory.asset.'] })
    await emitAssetEvent(hub, 'asset/1', group.id)
    await until(() => receiver.accepted.length === 1, 'the event is delivered')
    const grants = await admin.authorization.listGrants({ query: { principal: owner.principalId } })
    for (const grant of grants.data) await admin.authorization.deleteGrant({ params: { id: grant.id } })
    await hub.contextOf('events').access.poll()
    await emitAssetEvent(hub, 'asset/2', group.id)
    await hub.settle()
    await isUpToDate(id)
    assert.deepEqual(receiver.subjects, ['asset/1'])
    await remove(id)
  })

  test('pauses the webhook of a disabled owner, and continues when the owner is enabled', async () => {
    await using receiver = await Receiver.open()
    const owner = await hub.as('administrator')
    const id = await createWebhook(owner, receiver.url)
    const setDisabled = (disabled: boolean) =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        await changeAccess(tx)
        await updatePrincipal(tx, owner.principalId, { disabled })
      })
    await setDisabled(true)
    await hub.contextOf('events').access.poll()
    await emitEvents(hub, ['thing/1'])
    await until(async () => (await read(id)).reason === 'owner_disabled', 'the webhook is paused')
    assert.equal((await read(id)).state, 'paused')
    assert.equal(receiver.requests.length, 0)
    assert.equal((await change(id, { active: true })).data.reason, 'owner_disabled')
    await setDisabled(false)
    await untilSettled(hub, () => receiver.accepted.length === 1, 'the event is delivered')

    // Another user becomes the owner.
    await setDisabled(true)
    await hub.contextOf('events').access.poll()
    await emitEvents(hub, ['thing/2'])
    await until(async () => (await read(id)).reason === 'owner_disabled', 'the webhook is paused again')
    assert.equal((await change(id, { types: ['test.'] })).data.state, 'active')
    await untilSettled(hub, () => receiver.accepted.length === 2, 'the next event is delivered')
    await remove(id)
  })

  test('sends to other receivers while one receiver does not respond', async () => {
    await using hanging = await Receiver.open()
    await using receiver = await Receiver.open()
    hanging.behaviour = () => undefined
    const hangingId = await createWebhook(admin, hanging.url)
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, manySubjects(200, 100))
    const startedAtMs = performance.now()
    await until(() => receiver.accepted.length === 200, 'all events are delivered')
    assert.ok(performance.now() - startedAtMs < 14_000, 'the deliveries did not wait for the time limit of a response')
    assert.ok(hanging.requests.length <= 32, `${hanging.requests.length} requests`)
    await remove(hangingId)
    await remove(id)
  })

  test('another process continues when a process stops', async () => {
    await using receiver = await Receiver.open()
    const sibling = await hub.sibling({ outboundAllow: ['127.0.0.1'] })
    const id = await createWebhook(admin, receiver.url)
    receiver.behaviour = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return 204
    }
    await emitEvents(sibling, manySubjects(200, 20))
    await until(() => receiver.accepted.length > 20, 'some events are delivered')
    await sibling[Symbol.asyncDispose]()
    await emitEvents(hub, manySubjects(50, 20))
    await untilSettled(hub, () => new Set(idsOf(receiver.accepted)).size === 250, 'all events are delivered')
    await isUpToDate(id)
    await remove(id)
  })

  test('a runner that lost its lease stores nothing and stops', onlyInLongRuns, async () => {
    await using receiver = await Receiver.open()
    const id = await createWebhook(admin, receiver.url)
    let requests = 0
    receiver.behaviour = async () => {
      requests++
      if (requests > 1) return 204
      await hub.asOwner((owner) =>
        owner.query(
          `update event_subscription_progress set runner_id = $3, runner_until = now() + interval '1 second'
           where tenant_id = $1 and subscription_id = $2`,
          [hub.tenant.tenantId, id, randomUUID()],
        ),
      )
      return 204
    }
    await emitEvents(hub, ['thing/1'])
    await untilSettled(hub, () => requests === 2, 'another runner sends the event again')
    await isUpToDate(id)
    assert.equal(new Set(idsOf(receiver.accepted)).size, 1)
    assert.equal((await admin.events.listWebhookDeliveries({ params: { id }, query: {} })).data.length, 1)
    await remove(id)
  })
})

function manySubjects(count: number, subjects: number): string[] {
  return Array.from({ length: count }, (_, index) => `thing/${index % subjects}`)
}

function idsOf(events: readonly CloudEvent[]): string[] {
  return events.map(({ id }) => id)
}

function assertOrder(events: readonly CloudEvent[]): void {
  const last = new Map<string, string>()
  for (const { subject = '', sequence } of events) {
    assert.ok((last.get(subject) ?? '') < sequence, `${subject}: ${last.get(subject)} before ${sequence}`)
    last.set(subject, sequence)
  }
}
