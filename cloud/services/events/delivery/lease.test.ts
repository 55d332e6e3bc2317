import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { emitEvents } from '../testing.ts'
import { Deliverer } from './deliverer.ts'
import { createWebhook, deliveryHub, Receiver, until } from './testing.ts'

describe('runners of subscriptions', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await deliveryHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  test('sends no later event to the former URL after another process has changed the webhook', async () => {
    await using former = await Receiver.open()
    await using current = await Receiver.open()
    const id = await createWebhook(admin, former.url)
    await emitEvents(hub, ['thing/1'])
    await until(() => former.accepted.length === 1, 'the runner has started')
    // No task is left that would start the next runner by chance.
    await hub.settle()
    // Another process changes the subscription. This process gets no signal.
    await hub.asOwner(async (owner) => {
      const key = [hub.tenant.tenantId, id]
      await until(async () => {
        const { rows } = await owner.query(
          `select 1 from event_subscription_progress where tenant_id = $1 and subscription_id = $2
             and position = (select last from event_positions where tenant_id = $1)`,
          key,
        )
        return rows.length === 1
      }, 'the position is stored')
      await owner.query('begin')
      await owner.query('update event_subscriptions set url = $3 where tenant_id = $1 and id = $2', [
        ...key,
        current.url,
      ])
      await owner.query(
        `update event_subscription_progress set runner_id = null, runner_until = null
         where tenant_id = $1 and subscription_id = $2`,
        key,
      )
      await owner.query('commit')
    })
    await emitEvents(hub, ['thing/2', 'thing/3'])
    await until(() => current.accepted.length === 2, 'the events are delivered to the new URL')
    assert.deepEqual(former.subjects, ['thing/1'])
    await admin.events.deleteWebhook({ params: { id } })
  })

  test('slow receivers of one tenant leave places for the runners of other tenants', async () => {
    await using own = await deliveryHub()
    Deliverer.of(own.contextOf('events')).parts.runnersAtOnce = 4
    await using hanging = await Receiver.open()
    await using receiver = await Receiver.open()
    hanging.behaviour = () => undefined
    const slow = await own.as('administrator')
    const slowIds: string[] = []
    for (let count = 0; count < 6; count++) slowIds.push(await createWebhook(slow, hanging.url))
    await emitEvents(own, ['thing/slow'])
    await until(() => hanging.requests.length > 0, 'the receiver is used')
    // Calls at the same time do not start more runners than one call.
    const deliverer = Deliverer.of(own.contextOf('events'))
    await Promise.all([1, 2, 3].map(() => deliverer.start(own.tenant.tenantId)))
    const tenant = await own.anotherTenant()
    const other = await own.as('administrator', { tenant })
    await createWebhook(other, receiver.url)
    await emitEvents({ context: own.context, tenant } as TestHub, ['thing/other'])
    await until(() => receiver.accepted.length === 1, 'the event of the other tenant is delivered')
    // On a slow machine, a runner can lose its lease and close its connection, and another webhook is sent then. A request
    // stays open for longer than the time limit here.
    await until(() => hanging.open <= 2, 'not more than two runners of one tenant', 5_000)
    for (const id of slowIds) await slow.events.deleteWebhook({ params: { id } })
  })
})
