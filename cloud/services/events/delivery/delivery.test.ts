import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { emitEvents } from '../testing.ts'
import { createWebhook, deliveryHub, Receiver, until } from './testing.ts'

describe('delivery of events', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await deliveryHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  test('sends the events after the creation of the webhook, with the order of each subject', async () => {
    await using receiver = await Receiver.open()
    await emitEvents(hub, ['thing/before'])
    await hub.settle()
    const id = await createWebhook(admin, receiver.url)
    const subjects = Array.from({ length: 300 }, (_, index) => `thing/${index % 7}`)
    await emitEvents(hub, subjects)
    await until(() => receiver.accepted.length >= 300, '300 events are delivered')
    for (const subject of new Set(subjects)) {
      const sequences = receiver.accepted.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
      assert.deepEqual(sequences, sequences.toSorted())
    }
    assert.equal(new Set(receiver.accepted.map((event) => event.id)).size, 300)
    await until(async () => {
      const { data } = await admin.events.readWebhook({ params: { id } })
      return data.position === data.newestPosition
    }, 'the position is stored')
    const log = await admin.events.listWebhookDeliveries({ params: { id }, query: { limit: 100 } })
    assert.equal(log.data.length, 100)
    assert.ok(log.data.every(({ state, attemptCount }) => state === 'succeeded' && attemptCount === 1))
    await admin.events.deleteWebhook({ params: { id } })
  })
})
