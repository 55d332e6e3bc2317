import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClient } from '../../../platform/database/connection.ts'
import { deleteTenant, resumeTenant, suspendTenant } from '../../../platform/tenants/tenants.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { emitEvents } from '../testing.ts'
import { Deliverer } from './deliverer.ts'
import { createWebhook, deliveryHub, Receiver, until, untilSettled } from './testing.ts'

describe('interruptions of deliveries', () => {
  for (const { title, outageMs } of [
    { title: 'a short outage of the database', outageMs: 1_000 },
    { title: 'an outage of the database that is longer than a lease', outageMs: 7_000 },
  ])
    test(`loses no event and keeps the order during ${title}`, async () => {
      await using hub = await testHub({ own: true, outboundAllow: ['127.0.0.1'] })
      await using receiver = await Receiver.open()
      receiver.behaviour = async () => {
        await sleep(20)
        return 204
      }
      const admin = await hub.as('administrator')
      const id = await createWebhook(admin, receiver.url)
      const subjects = Array.from({ length: 600 }, (_, index) => `thing/${index % 40}`)
      await emitEvents(hub, subjects)
      await until(() => receiver.accepted.length > 50, 'events are delivered')
      await hub.asOwner(async (owner) => {
        const { rows } = await owner.query<{ name: string }>('select quote_ident(current_database()) as name')
        const limitConnections = (count: number) =>
          owner.query(`alter database ${rows[0]?.name} with connection limit ${count}`)
        // The owner may not end the sessions of the application if it is not a superuser.
        const application = await openClient(hub.database.app)
        await limitConnections(0)
        try {
          const { rows: ended } = await application.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`,
          )
          assert.notEqual(ended.length, 0)
          await sleep(outageMs)
          assert.ok(new Set(receiver.accepted.map((event) => event.id)).size < subjects.length)
        } finally {
          await limitConnections(-1)
          await application.end()
        }
      })
      const delivered = () => new Set(receiver.accepted.map((event) => event.id)).size
      await until(() => delivered() === subjects.length, 'all events are delivered')
      const firsts = receiver.accepted.filter(
        (event, index, all) => all.findIndex((other) => other.id === event.id) === index,
      )
      for (const subject of new Set(subjects)) {
        const sequences = firsts.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
        assert.deepEqual(sequences, sequences.toSorted())
      }
      assert.ok(receiver.requests.every(({ messageId, events: [event] }) => messageId === event?.id))
      await until(async () => {
        const { data } = await admin.events.readWebhook({ params: { id } })
        return data.position === data.newestPosition && data.waiting === 0
      }, 'the position is stored')
    })

  test('sends nothing while the tenant is suspended, and continues when it is active again', async () => {
    await using hub = await deliveryHub()
    await using receiver = await Receiver.open()
    const deliverer = Deliverer.of(hub.contextOf('events'))
    const admin = await hub.as('administrator')
    await createWebhook(admin, receiver.url)
    await emitEvents(hub, ['thing/1'])
    await until(() => receiver.accepted.length === 1, 'the runner has started')
    await hub.asOwner((owner) => suspendTenant(owner, hub.tenant.name))
    await until(() => deliverer.runners === 0, 'the runner has ended')
    await emitEvents(hub, ['thing/2', 'thing/1'])
    await hub.settle()
    await deliverer.start(hub.tenant.tenantId)
    assert.deepEqual([deliverer.runners, receiver.requests.length], [0, 1])
    await hub.asOwner((owner) => resumeTenant(owner, hub.tenant.name))
    await untilSettled(hub, () => receiver.accepted.length === 3, 'the events are delivered after the suspension')
    assert.deepEqual(receiver.subjects.toSorted(), ['thing/1', 'thing/1', 'thing/2'])
  })

  test('ends the runner of a deleted tenant during its requests, and leaves no rows', async () => {
    await using hub = await deliveryHub()
    await using receiver = await Receiver.open()
    const deliverer = Deliverer.of(hub.contextOf('events'))
    const tenant = await hub.anotherTenant()
    const admin = await hub.as('administrator', { tenant })
    const answers: (() => void)[] = []
    receiver.behaviour = () =>
      new Promise((resolve) => {
        answers.push(() => resolve(204))
      })
    await createWebhook(admin, receiver.url)
    await emitEvents({ context: hub.context, tenant } as TestHub, ['thing/1'])
    await until(() => answers.length === 1, 'the receiver has the request')
    await hub.asOwner(async (owner) => {
      await suspendTenant(owner, tenant.name)
      await deleteTenant(owner, tenant.name)
      for (const answer of answers) answer()
      await until(() => deliverer.runners === 0, 'the runner has ended')
      for (const table of ['event_subscriptions', 'event_subscription_progress', 'event_deliveries']) {
        const { rows } = await owner.query(`select 1 from ${table} where tenant_id = $1`, [tenant.tenantId])
        assert.deepEqual(rows, [], table)
      }
    })
    assert.equal(receiver.requests.length, 1)
  })
})
