import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../../platform/database/id.ts'
import { emitAssetEvent } from '../testing.ts'
import { deliveryHub, Receiver, TestClock, until } from './testing.ts'

test('tries a filter that is no longer valid with growing pauses, shows the reason, and continues after a change', async () => {
  const clock = new TestClock()
  await using hub = await deliveryHub({ clock })
  const admin = await hub.as('administrator')
  await using receiver = await Receiver.open()
  const types = ['inventory.asset.']
  const filter = "name eq 'pump'"
  const { data: created } = await admin.events.createWebhook({ body: { data: { url: receiver.url, types, filter } } })
  const params = { id: created.id }
  const read = async () => (await admin.events.readWebhook({ params })).data
  // An upgrade can remove a property.
  await hub.asOwner((owner) =>
    owner.query(`update event_subscriptions set filter = 'former_property eq 1' where tenant_id = $1 and id = $2`, [
      hub.tenant.tenantId,
      created.id,
    ]),
  )
  const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
  await emitAssetEvent(hub, `asset/${newId()}`, groups[0]?.id ?? '')
  await until(async () => (await read()).lastError !== null, 'the reason is visible')
  const first = await read()
  assert.match(first.lastError ?? '', /^The filter is not valid: .*former_property/)
  assert.equal(first.circuit, 'open')
  const pauseOf = ({ nextAttemptTimestamp }: typeof first) => Date.parse(nextAttemptTimestamp ?? '') - clock.now()
  assert.ok(pauseOf(first) >= 4_000, `${pauseOf(first)} ms`)

  clock.advance(7_000)
  await until(async () => (await read()).nextAttemptTimestamp !== first.nextAttemptTimestamp, 'it is tried again')
  const second = await read()
  assert.ok(pauseOf(second) >= 20_000, `${pauseOf(second)} ms`)
  assert.deepEqual([second.position, second.state], [first.position, 'active'])
  // The events are read again only after the pause, also if the circuit breaker is open for long.
  clock.advance(80 * 3_600_000)
  await until(async () => (await read()).nextAttemptTimestamp !== second.nextAttemptTimestamp, 'it is tried again')
  assert.equal((await read()).position, first.position)
  assert.deepEqual(
    hub.printed.filter((line) => line.includes('The runner of a subscription failed')),
    [],
  )

  await admin.events.updateWebhook({ params, body: { data: { filter: null } } })
  await until(() => receiver.accepted.length === 1, 'the event is delivered')
  await until(async () => (await read()).circuit === 'closed', 'the circuit breaker is closed')
})
