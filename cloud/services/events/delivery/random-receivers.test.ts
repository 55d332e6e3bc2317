import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onlyInLongRuns, randomCases } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import type { TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { emitEvents } from '../testing.ts'
import type { Channel, Message, Outcome } from './channel.ts'
import { Deliverer } from './deliverer.ts'
import { createWebhook, deliveryHub, TestClock, until } from './testing.ts'

/** What a receiver does with a request. `lost`: it gets the events, but its response is lost. */
type Reaction = 'accept' | 'refuse' | 'hang' | 'lost'

const hangMs = 15_000
const minuteMs = 60_000

/** `RandomReceiver` reacts to requests by a plan. After the plan it accepts everything. */
class RandomReceiver {
  /** The events in the order in which the receiver got them, with repetitions. */
  readonly received: { id: string; subject: string; sequence: string; messageId: string }[] = []
  /** The ids of the events that the receiver confirmed. */
  readonly confirmed: string[] = []
  /** The number of requests without a response. */
  hanging = 0
  readonly #plan: Reaction[]
  readonly #idleMs: number
  readonly #clock: TestClock
  /** The subjects of which the receiver got two requests at the same time. */
  readonly overlaps: string[] = []
  readonly #sending = new Map<string, AbortSignal>()

  constructor({ plan, idleMs }: { plan: readonly Reaction[]; idleMs: number }, clock: TestClock) {
    this.#plan = [...plan]
    this.#idleMs = idleMs
    this.#clock = clock
  }

  channel(): Channel {
    return { idleMs: this.#idleMs, send: (message, signal) => this.#send(message, signal), close: async () => {} }
  }

  async #send(message: Message, signal: AbortSignal): Promise<Outcome> {
    const subjects = new Set(message.events.map(({ subject = '' }) => subject))
    for (const subject of subjects) {
      // A runner that was stopped has aborted its requests.
      if (this.#sending.get(subject)?.aborted === false) this.overlaps.push(subject)
      this.#sending.set(subject, signal)
    }
    const reaction = this.#plan.shift() ?? 'accept'
    if (reaction === 'hang') {
      this.hanging++
      await this.#clock.wait(hangMs, signal)
      this.hanging--
    } else await sleep(1)
    for (const subject of subjects) if (this.#sending.get(subject) === signal) this.#sending.delete(subject)
    if ((reaction === 'accept' || reaction === 'lost') && !signal.aborted)
      for (const { id, subject = '', sequence } of message.events)
        this.received.push({ id, subject, sequence, messageId: message.id })
    const isDelivered = reaction === 'accept' && !signal.aborted
    if (isDelivered) this.confirmed.push(...message.events.map(({ id }) => id))
    const time = new Date(this.#clock.now()).toISOString()
    const attempt = { time, durationMs: 1, status: isDelivered ? 200 : null, error: isDelivered ? null : reaction }
    return { isDelivered, isGone: false, attempt }
  }
}

const clock = new TestClock()
let hub: TestHub
let admin: TestCaller

before(async () => {
  hub = await deliveryHub({ clock })
  admin = await hub.as('administrator')
})
after(() => hub[Symbol.asyncDispose]())

test(
  'loses no event, keeps the order of each subject and repeats no confirmed event with receivers that fail, hang and recover',
  onlyInLongRuns,
  async () => {
    const { parts } = Deliverer.of(hub.contextOf('events'))
    const receivers = new Map<string, RandomReceiver>()
    parts.createChannel = async (_context, _tenant, { name }) => {
      const receiver = receivers.get(name)
      if (receiver === undefined) throw new Error(`There is no receiver ${name}`)
      return receiver.channel()
    }
    const reaction = fc.constantFrom<Reaction>('accept', 'accept', 'refuse', 'hang', 'lost')
    const plan = fc.oneof(
      fc.array(reaction, { maxLength: 40 }),
      fc.array(fc.constant<Reaction>('refuse'), { maxLength: 15 }),
    )
    const receiver = fc.record({ plan, batchSize: fc.constantFrom(1, 1, 5), idleMs: fc.constantFrom(1, 20) })
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 30 }) },
      { weight: 2, arbitrary: fc.constantFrom('wait' as const, 'idle' as const, 'restart' as const) },
    )
    /** Waits until all events are read or wait for a retry, and all runners have ended. */
    const untilIdle = async (used: readonly RandomReceiver[]) => {
      await hub.settle()
      await until(() => {
        if (used.some(({ hanging }) => hanging > 0)) clock.advance(hangMs)
        return Deliverer.of(hub.contextOf('events')).runners === 0
      }, 'all runners end')
    }
    // The circuit breaker opens. One more event is tried, and others wait behind failed events when the runner ends.
    const outage: [
      { plan: Reaction[]; batchSize: number; idleMs: number }[],
      (number[] | 'wait' | 'idle' | 'restart')[],
    ] = [
      [{ plan: Array<Reaction>(6).fill('refuse'), batchSize: 1, idleMs: 1 }],
      [[0, 1, 2, 3, 4], 'idle', [5, 6, 7, 0, 1, 2, 5, 6, 7, 0, 1, 2], 'idle', 'wait', 'idle'],
    ]
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(receiver, { minLength: 1, maxLength: 3 }),
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async (chosen, steps) => {
          run++
          const subscriptions: { id: string; name: string; receiver: RandomReceiver }[] = []
          for (const [index, { batchSize, ...reactions }] of chosen.entries()) {
            const name = `receiver-${run}-${index}`
            receivers.set(name, new RandomReceiver(reactions, clock))
            const id = await createWebhook(admin, 'http://127.0.0.1:9/', { name, batchSize, types: [`test${run}.`] })
            subscriptions.push({ id, name, receiver: receivers.get(name) as RandomReceiver })
          }
          let emitted = 0
          for (const one of steps) {
            if (one === 'wait') clock.advance(minuteMs)
            else if (one === 'idle') await untilIdle(subscriptions.map(({ receiver: used }) => used))
            else if (one === 'restart') {
              for (const { id } of subscriptions)
                await admin.events.updateWebhook({ params: { id }, body: { data: { active: true } } })
            } else {
              emitted += one.length
              await emitEvents(
                hub,
                one.map((subject) => `thing/${subject}`),
                `test${run}.thing.changed`,
              )
            }
          }
          for (const {
            id,
            receiver: { received, confirmed, overlaps },
          } of subscriptions) {
            await until(async () => {
              if (new Set(received.map((event) => event.id)).size >= emitted) return true
              clock.advance(minuteMs)
              await sleep(5)
              return false
            }, `all ${emitted} events are received`)
            await until(async () => {
              const { data } = await admin.events.readWebhook({ params: { id } })
              if (data.position === data.newestPosition && data.waiting === 0) return true
              clock.advance(minuteMs)
              return false
            }, 'nothing waits')
            assertFirstInOrder(received)
            assert.deepEqual(overlaps, [])
            // A change of the subscription drops the results of running requests, so their events are sent again.
            if (!steps.includes('restart')) assert.equal(confirmed.length, emitted)
            await admin.events.deleteWebhook({ params: { id } })
          }
        },
      ),
      { numRuns: randomCases(8), endOnFailure: true, examples: [outage] },
    )
  },
)

/** Asserts that each event is first received after the earlier events of its subject. */
function assertFirstInOrder(received: RandomReceiver['received']): void {
  const seen = new Set<string>()
  const last = new Map<string, string>()
  for (const { id, subject, sequence } of received) {
    if (seen.has(id)) continue
    seen.add(id)
    assert.ok((last.get(subject) ?? '') < sequence, `${subject}: ${sequence} after ${last.get(subject)}`)
    last.set(subject, sequence)
  }
}
