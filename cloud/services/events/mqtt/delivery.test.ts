import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { deliveryHub, TestClock, until, useClock } from '../delivery/testing.ts'
import { emitEvents } from '../testing.ts'
import { brokerKinds, type TestBroker } from './testing.ts'

const minuteMs = 60_000

for (const { name, skip, start } of brokerKinds) {
  describe(`delivery of events to the broker ${name}`, { skip }, () => {
    let hub: TestHub
    let admin: TestCaller

    before(async () => {
      hub = await deliveryHub()
      admin = await hub.as('administrator')
    })
    after(() => hub[Symbol.asyncDispose]())

    type Fields = Partial<Parameters<TestCaller['events']['createMqttPublisher']>[0]['body']['data']>
    const create = async ({ port }: Pick<TestBroker, 'port'>, fields: Fields = {}) => {
      const url = `mqtt://127.0.0.1:${port}`
      const data = { url, types: ['test.'], topic: 'events/{kind}/{id}', ...fields }
      return (await admin.events.createMqttPublisher({ body: { data } })).data.id
    }
    const read = async (id: string) => (await admin.events.readMqttPublisher({ params: { id } })).data
    const remove = (id: string) => admin.events.deleteMqttPublisher({ params: { id } })

    test('publishes the events in order, and shows the topic and the payload in the log', async () => {
      await using broker = await start()
      await using reader = await broker.subscribe('events/#')
      const id = await create(broker, { retain: true })
      const subjects = Array.from({ length: 200 }, (_, index) => `thing/${index % 7}`)
      await emitEvents(hub, subjects)
      await until(() => reader.messages.length >= subjects.length, 'all events')
      const events = reader.payloads.map((text) => JSON.parse(text))
      for (const subject of new Set(subjects)) {
        const sequences = events.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
        assert.deepEqual(sequences, sequences.toSorted())
      }
      assert.equal(new Set(events.map((event) => event.id)).size, subjects.length)
      await until(async () => {
        const { position, newestPosition } = await read(id)
        return position === newestPosition
      }, 'the position is stored')
      const { data } = await admin.events.listMqttDeliveries({ params: { id }, query: { limit: 1 } })
      const [delivery] = data
      assert.ok(delivery !== undefined)
      assert.equal(delivery.state, 'succeeded')
      const params = { id, deliveryId: delivery.id }
      const { request } = (await admin.events.readMqttDelivery({ params })).data
      const event = events.find((one) => one.id === delivery.eventId)
      assert.equal(request?.target, `events/${delivery.subject}`)
      assert.deepEqual(JSON.parse(request?.body ?? ''), event)
      assert.deepEqual(request?.headers, {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        qos: '1',
        retain: 'true',
        id: delivery.eventId,
        type: 'io.millwright.test.thing.changed',
      })
      await remove(id)
    })

    test('is online without events while it is active, and offline while it is paused or deleted', async () => {
      await using broker = await start()
      await using status = await broker.subscribe('status')
      const id = await create(broker, { statusTopic: 'status' })
      await until(() => status.messages.length >= 1, 'online')
      const update = (data: Fields) => admin.events.updateMqttPublisher({ params: { id }, body: { data } })
      await update({ active: false })
      await until(() => status.messages.length >= 2, 'offline while paused')
      await update({ active: true })
      await until(() => status.messages.length >= 3, 'online again')
      await remove(id)
      await until(() => status.messages.length >= 4, 'offline after the deletion')
      assert.deepEqual(status.payloads, ['online', 'offline', 'online', 'offline'])
    })

    test('publishes events that waited for the broker, in order, when the broker starts again', async () => {
      const clock = new TestClock()
      useClock(hub, clock)
      const first = await start()
      const { port } = first
      const id = await create(first)
      await first.kill()
      const subjects = Array.from({ length: 70 }, (_, index) => `thing/${index % 7}`)
      await emitEvents(hub, subjects)
      await until(async () => (await read(id)).circuit === 'open', 'the circuit breaker opens')
      const { lastError } = await read(id)
      assert.equal(lastError, 'The broker refused the connection. Check the host and the port')
      await using broker = await start({ port })
      await using reader = await broker.subscribe('events/#')
      clock.advance(60 * minuteMs)
      await until(() => reader.messages.length >= subjects.length, 'all events')
      const events = reader.payloads.map((text) => JSON.parse(text))
      for (const subject of new Set(subjects)) {
        const sequences = events.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
        assert.deepEqual(sequences, sequences.toSorted())
        assert.equal(new Set(sequences).size, 10)
      }
      await until(async () => (await read(id)).waiting === 0, 'no event waits')
      await remove(id)
    })
  })
}
