import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { newId } from '../../../platform/database/id.ts'
import { emitEvents } from '../testing.ts'
import { Deliverer } from './deliverer.ts'
import { createWebhook, deliveryHub, Receiver, TestClock, until } from './testing.ts'

/** A page of events that is read at the limit can exceed it. */
const [limit, pageSize] = [150, 100]

test(
  'reads no newer events at the limit of stored events, and sends all in order when the receiver works again',
  onlyInLongRuns,
  async () => {
    const clock = new TestClock()
    await using hub = await deliveryHub({ clock })
    Deliverer.of(hub.contextOf('events')).parts.waitingLimit = limit
    const admin = await hub.as('administrator')
    const read = async (id: string) => (await admin.events.readWebhook({ params: { id } })).data
    await using refusing = await Receiver.open()
    await using working = await Receiver.open()
    refusing.behaviour = ({ events: [event] }) => (event?.subject === 'thing/a' ? 503 : 204)
    const id = await createWebhook(admin, refusing.url)
    await createWebhook(admin, working.url)
    await emitEvents(hub, ['thing/a'])
    await until(async () => (await read(id)).waiting === 1, 'the first event waits')

    const subjects = [...Array.from({ length: 600 }, () => 'thing/a'), 'thing/b', 'thing/b']
    await emitEvents(hub, subjects)
    await until(() => working.accepted.length === subjects.length + 1, 'the other webhook gets all events')
    await until(async () => (await read(id)).waiting >= limit, 'the limit is reached')
    const full = await read(id)
    assert.ok(full.waiting < limit + pageSize, `${full.waiting} events are stored`)
    assert.equal(full.circuit, 'closed')
    assert.ok(full.position < full.newestPosition)
    // A further failed attempt, and a new runner, read no newer events either.
    const requests = refusing.requests.length
    clock.advance(10_000)
    await until(() => refusing.requests.length > requests, 'the first event is tried again')
    await admin.events.updateWebhook({ params: { id }, body: { data: { active: true } } })
    await until(() => {
      clock.advance(1_000)
      return refusing.requests.length > requests + 1
    }, 'a new runner tries the first event')
    const { position, waiting } = await read(id)
    assert.deepEqual({ position, waiting }, { position: full.position, waiting: full.waiting })
    assert.deepEqual(refusing.accepted, [])

    refusing.behaviour = () => 204
    await until(async () => {
      clock.advance(60_000)
      return refusing.accepted.length > subjects.length
    }, 'all events are delivered')
    for (const subject of ['thing/a', 'thing/b']) {
      const idsOf = ({ accepted }: Receiver) =>
        accepted.filter((event) => event.subject === subject).map((event) => event.id)
      assert.deepEqual(idsOf(refusing), idsOf(working))
    }
    assert.equal(refusing.accepted.length, subjects.length + 1)
    await until(async () => (await read(id)).waiting === 0, 'nothing waits')
  },
)

test('retries as many dead letters as can wait, and returns how many remain', async () => {
  await using hub = await deliveryHub()
  const admin = await hub.as('administrator')
  const id = await createWebhook(admin, 'http://127.0.0.1:9/', { active: false })
  // The ids contain the time. With other ids, the rows could be deleted because of their age.
  const ids = Array.from({ length: subscriptionLimits.waiting + 5 }, () => newId())
  await hub.asOwner((owner) =>
    owner.query(
      `insert into event_deliveries (tenant_id, id, subscription_id, event_id, position, type, subject, state,
         is_dead_letter, message_id, attempt_count, attempts, created_at)
       select $1, new_id, $2, new_id, n, 'test.thing.changed', 'thing/' || n, 'failed', true, 'm', 1, '[]', now()
       from unnest($3::uuid[]) with ordinality as rows (new_id, n)`,
      [hub.tenant.tenantId, id, ids],
    ),
  )
  const retry = async () => (await admin.events.retryWebhookDeadLetters({ params: { id } })).data
  assert.deepEqual(await retry(), { retried: subscriptionLimits.waiting, remaining: 5 })
  assert.deepEqual(await retry(), { retried: 0, remaining: 5 })
})
