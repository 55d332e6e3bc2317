import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { emitEvents } from '../testing.ts'
import { Deliverer } from './deliverer.ts'
import { createWebhook, deliveryHub, Receiver, TestClock, until } from './testing.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

describe('retries of failed deliveries', () => {
  const clock = new TestClock()
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await deliveryHub({ clock })
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  const read = async (id: string) => (await admin.events.readWebhook({ params: { id } })).data
  const deliveries = async (id: string, query: { state?: 'failed' | 'waiting'; deadLetters?: boolean } = {}) =>
    (await admin.events.listWebhookDeliveries({ params: { id }, query: { limit: 100, ...query } })).data
  const waits = (id: string, count: number) =>
    until(async () => (await read(id)).waiting === count, `${count} events wait`)
  /** Moves the clock until the condition is true. */
  const advanceUntil = (condition: () => boolean | Promise<boolean>, stepMs: number, what: string) =>
    until(async () => {
      if (await condition()) return true
      clock.advance(stepMs)
      return false
    }, what)

  test('keeps later events of the same subject behind a failed event, and sends those of other subjects', async () => {
    await using receiver = await Receiver.open()
    let isRefusing = true
    receiver.behaviour = ({ events: [event] }) => (isRefusing && event?.subject === 'thing/a' ? 503 : 204)
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, ['thing/a', 'thing/b', 'thing/a', 'thing/c', 'thing/a'])
    await until(() => receiver.accepted.length === 2, 'other subjects are delivered')
    await waits(id, 3)
    assert.deepEqual(receiver.subjects.toSorted(), ['thing/b', 'thing/c'])
    const open = await deliveries(id, { state: 'waiting' })
    assert.equal(open.length, 2)
    const [failed] = await deliveries(id, { state: 'failed' })
    assert.equal(failed?.attemptCount, 1)
    assert.equal(failed.attempts[0]?.status, 503)
    const { position, newestPosition, circuit } = await read(id)
    assert.equal(position, newestPosition)
    assert.equal(circuit, 'closed')

    isRefusing = false
    clock.advance(3_000)
    assert.equal(receiver.accepted.length, 2)
    clock.advance(4_000)
    await until(() => receiver.accepted.length === 5, 'the waiting events are delivered')
    const sequences = receiver.accepted.filter(({ subject }) => subject === 'thing/a').map(({ sequence }) => sequence)
    assert.equal(sequences.length, 3)
    assert.deepEqual(sequences, sequences.toSorted())
    await waits(id, 0)
    await admin.events.deleteWebhook({ params: { id } })
  })

  test('sends each event once and in order after the circuit breaker was open and the runner has ended', async () => {
    await using receiver = await Receiver.open()
    let isRefusing = true
    receiver.behaviour = () => (isRefusing ? 503 : 204)
    const id = await createWebhook(admin, receiver.url)
    const things = (...numbers: number[]) => numbers.map((number) => `thing/${number}`)
    await emitEvents(hub, things(0, 1, 2, 3, 4))
    await until(async () => (await read(id)).circuit === 'open', 'the circuit breaker is open')
    const last = (await read(id)).newestPosition + 18
    for (let round = 0; round < 3; round++) await emitEvents(hub, things(5, 6, 7, 0, 1, 2))
    await until(async () => (await read(id)).newestPosition === last, 'the events are visible')
    clock.advance(7_000)
    await until(() => receiver.requests.length === 6, 'one event is tried')
    await until(() => Deliverer.of(hub.contextOf('events')).runners === 0, 'the runner ends')
    const { position, waiting } = await read(id)
    assert.ok(position < last && waiting > 5, `position ${position} of ${last}, ${waiting} events wait`)
    isRefusing = false
    await advanceUntil(() => receiver.accepted.length >= 23, minuteMs, 'all events are delivered')
    await until(async () => (await read(id)).position === last, 'the position is stored')
    await waits(id, 0)
    assert.equal(receiver.accepted.length, 23)
    for (const subject of new Set(receiver.subjects)) {
      const sequences = receiver.accepted.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
      assert.deepEqual(sequences, sequences.toSorted(), subject)
    }
    const logged = (await deliveries(id)).map(({ eventId }) => eventId)
    assert.equal(new Set(logged).size, logged.length)
    await admin.events.deleteWebhook({ params: { id } })
  })

  test(
    'sends the events of a failed batch separately, so that a refused subject does not stop the others',
    onlyInLongRuns,
    async () => {
      await using receiver = await Receiver.open()
      receiver.behaviour = ({ events }) => (events.some(({ subject }) => subject === 'thing/bad') ? 400 : 204)
      const id = await createWebhook(admin, receiver.url, { batchSize: 50 })
      const others = Array.from({ length: 8 }, (_, number) => `thing/${number}`)
      await emitEvents(hub, [...others, 'thing/bad', ...others, 'thing/bad'])
      await waits(id, 18)
      assert.equal((await read(id)).circuit, 'closed')
      const [waiting] = await deliveries(id, { state: 'waiting' })
      const retry = admin.events.retryWebhookDelivery({ params: { id, deliveryId: waiting?.id ?? '' } })
      await assert.rejects(retry, { code: 'conflict' })
      await advanceUntil(() => receiver.accepted.length >= 16, 1_000, 'the other subjects are delivered')
      await waits(id, 2)
      assert.deepEqual(receiver.subjects.toSorted(), [...others, ...others].toSorted())
      // The other subjects are free again: they are sent in batches.
      await emitEvents(hub, others)
      await until(() => receiver.accepted.length === 24, 'newer events are delivered')
      await advanceUntil(async () => (await read(id)).deadLetters > 0, 30 * minuteMs, 'the event is a dead letter')
      const dead = await deliveries(id, { deadLetters: true })
      assert.ok(dead.every(({ subject }) => subject === 'thing/bad'))
      assert.equal(receiver.accepted.length, 24)
      await admin.events.deleteWebhook({ params: { id } })
    },
  )

  test('makes an event a dead letter after 72 hours, and sends the next event of its subject', async () => {
    await using receiver = await Receiver.open()
    let refused: string | undefined
    receiver.behaviour = ({ events: [event] }) => {
      refused ??= event?.id
      return event?.id === refused ? 500 : 204
    }
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, ['thing/x', 'thing/x'])
    await waits(id, 2)
    const startedAt = clock.now()
    await advanceUntil(async () => (await read(id)).deadLetters === 1, 30 * minuteMs, 'the event is a dead letter')
    const hours = (clock.now() - startedAt) / hourMs
    assert.ok(hours >= 72 && hours < 100, `dead letter after ${hours} h`)
    await until(() => receiver.accepted.length === 1, 'the next event is delivered')
    const [dead] = await deliveries(id, { deadLetters: true })
    assert.ok(dead !== undefined)
    assert.equal(dead.eventId, refused)
    assert.equal(dead.nextAttemptTimestamp, null)
    assert.equal(dead.attempts.length, 10)
    assert.ok(dead.attemptCount > 10, `${dead.attemptCount} attempts`)

    refused = ''
    await admin.events.retryWebhookDelivery({ params: { id, deliveryId: dead.id } })
    await advanceUntil(() => receiver.accepted.length === 2, minuteMs, 'the dead letter is delivered')
    assert.equal(receiver.accepted[1]?.id, dead.eventId)
    await until(async () => (await read(id)).deadLetters === 0, 'there is no dead letter')
    await admin.events.deleteWebhook({ params: { id } })
  })

  test('opens the circuit breaker when the receiver is down, and sends everything in order when it is back', async () => {
    await using receiver = await Receiver.open()
    receiver.behaviour = () => 502
    const id = await createWebhook(admin, receiver.url)
    const subjects = Array.from({ length: 200 }, (_, index) => `thing/${index % 50}`)
    await emitEvents(hub, subjects)
    await until(async () => (await read(id)).circuit === 'open', 'the circuit breaker is open')
    await until(
      async () => (await deliveries(id, { state: 'failed' })).length === receiver.requests.length,
      'all requests have ended',
    )
    const refused = receiver.requests.length
    assert.ok(refused <= 40, `${refused} requests`)
    clock.advance(7_000)
    await until(() => receiver.requests.length > refused, 'one event is tried')
    assert.equal(receiver.requests.length, refused + 1)

    receiver.behaviour = () => 204
    await advanceUntil(() => receiver.accepted.length > 0, 10_000, 'the circuit breaker closes')
    await until(() => receiver.accepted.length === 200, 'all events are delivered')
    assert.equal(new Set(receiver.accepted.map((event) => event.id)).size, 200)
    for (const subject of new Set(subjects)) {
      const sequences = receiver.accepted.filter((event) => event.subject === subject).map(({ sequence }) => sequence)
      assert.deepEqual(sequences, sequences.toSorted())
    }
    await until(async () => (await read(id)).waiting === 0, 'nothing waits')
    assert.equal((await read(id)).circuit, 'closed')
    await admin.events.deleteWebhook({ params: { id } })
  })

  test(
    'makes all events dead letters that are older than 72 hours while the circuit breaker is open',
    onlyInLongRuns,
    async () => {
      await using receiver = await Receiver.open()
      receiver.behaviour = () => 502
      const id = await createWebhook(admin, receiver.url)
      await emitEvents(
        hub,
        Array.from({ length: 150 }, (_, index) => `thing/${index}`),
      )
      await advanceUntil(async () => (await read(id)).deadLetters === 150, 30 * minuteMs, 'all events are dead letters')
      const { position, newestPosition, waiting, circuit } = await read(id)
      assert.deepEqual({ position, waiting, circuit }, { position: newestPosition, waiting: 0, circuit: 'open' })

      receiver.behaviour = () => 204
      const { data } = await admin.events.retryWebhookDeadLetters({ params: { id } })
      assert.equal(data.retried, 150)
      await advanceUntil(() => receiver.accepted.length === 150, 10 * minuteMs, 'all dead letters are delivered')
      await admin.events.deleteWebhook({ params: { id } })
    },
  )

  test('disables the webhook after 410, keeps the event, and continues after activation', async () => {
    await using receiver = await Receiver.open()
    receiver.behaviour = () => 410
    const id = await createWebhook(admin, receiver.url)
    await emitEvents(hub, ['thing/gone'])
    await until(async () => (await read(id)).state === 'disabled', 'the webhook is disabled')
    assert.equal((await read(id)).reason, 'receiver_gone')
    await emitEvents(hub, ['thing/later'])
    await hub.settle()
    const { position } = await read(id)
    const { data: listed } = await admin.events.listEvents({ query: { after: position, limit: 100 } })
    assert.ok(listed.some(({ type, subject }) => type.endsWith('.webhook.disabled') && subject === `webhook/${id}`))
    const requests = receiver.requests.length
    clock.advance(hourMs)
    receiver.behaviour = () => 204
    await admin.events.updateWebhook({ params: { id }, body: { data: { active: true } } })
    await until(() => receiver.accepted.length === 2, 'both events are delivered')
    assert.equal(requests, 1)
    await admin.events.deleteWebhook({ params: { id } })
  })
})
