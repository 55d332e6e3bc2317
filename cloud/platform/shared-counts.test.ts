import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { RateLimit } from '../front/rate-limit.ts'
import { Attempts } from './attempts.ts'
import { SharedCounts } from './shared-counts.ts'
import { WindowLimit } from './window-limit.ts'

const log = pino({ level: 'silent' })
const sendMs = 50

/** Creates processes that send each other counts. `sent` contains all notifications. `deliver` sends the waiting counts. */
function processes(t: TestContext, count = 2) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const sent: string[] = []
  const all: SharedCounts[] = []
  const send = async (text: string) => {
    sent.push(text)
    for (const one of all) one.receive(text)
  }
  for (let index = 0; index < count; index++) all.push(new SharedCounts({ send, log, sendMs }))
  const deliver = async () => {
    t.mock.timers.tick(sendMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { all, sent, deliver }
}

describe('counts of several processes', () => {
  test('applies a window limit to all processes together', async (t) => {
    const { all, deliver } = processes(t)
    const [first, second] = all.map(
      (counts) => new WindowLimit({ most: 3, windowMs: 1_000, shared: { name: 'tests', counts }, now: () => 0 }),
    )
    assert.ok(first?.take('a') && first.take('a'))
    await deliver()
    assert.equal(second?.take('a'), true)
    assert.equal(second?.take('a'), false)
    await deliver()
    assert.equal(first?.take('a'), false)
    assert.equal(first?.take('b'), true)
  })

  test('applies the steady rate of the rate limit to all processes together', async (t) => {
    const { all, deliver } = processes(t)
    let now = 0
    const limits = all.map((sharedCounts) => new RateLimit({ perSecond: 100, sharedCounts, now: () => now }))
    let allowed = 0
    const seconds = 10
    for (; now < seconds * 1_000; now += 10) {
      for (const limit of limits)
        for (let request = 0; request < 5; request++) {
          try {
            limit.take('robot')
            allowed += 1
          } catch {}
        }
      if (now % sendMs === 0) await deliver()
    }
    // Each process allows its own burst. Then the rate applies to both together.
    assert.ok(allowed <= 100 * seconds + 2 * 100 + 50, String(allowed))
    assert.ok(allowed >= 90 * seconds, String(allowed))
  })

  test('reports only clients that use much of the rate limit', async (t) => {
    const { all, sent, deliver } = processes(t)
    const [limit] = all.map((sharedCounts) => new RateLimit({ perSecond: 1_000, sharedCounts, now: () => 0 }))
    for (let request = 0; request < 4; request++) limit?.take('quiet')
    for (let request = 0; request < 20; request++) limit?.take('busy')
    await deliver()
    assert.equal(sent.length, 1)
    assert.match(sent[0] ?? '', /"busy",20/)
    assert.doesNotMatch(sent[0] ?? '', /quiet/)
  })

  test('counts wrong passwords of all processes, and forgets them after a correct password in any process', async (t) => {
    const { all, sent, deliver } = processes(t)
    const [first, second] = all.map((counts) => new Attempts({ shared: { name: 'sign-ins', counts }, now: () => 0 }))
    const attempt = { subject: 'jane@default', address: '198.51.100.7' }
    for (let index = 0; index < 3; index++) {
      first?.failed(attempt)
      second?.failed(attempt)
      await deliver()
    }
    assert.deepEqual([first?.waitFor(attempt), second?.waitFor(attempt)], [1, 1])
    assert.equal(first?.waitFor({ ...attempt, subject: 'other@default' }), 0)
    second?.succeeded(attempt, { counted: false })
    await deliver()
    assert.deepEqual([first?.waitFor(attempt), second?.waitFor(attempt)], [0, 0])
    assert.doesNotMatch(sent.join(), /jane|198/)
  })

  test('all processes have the same counts after random attempts', async (t) => {
    const step = fc.record({
      process: fc.nat(2),
      kind: fc.constantFrom('failed', 'succeeded', 'uncount'),
      subject: fc.constantFrom('a', 'b'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { all, deliver } = processes(t, 3)
        const attempts = all.map((counts) => new Attempts({ shared: { name: 'sign-ins', counts }, now: () => 0 }))
        for (const { process, kind, subject } of steps) {
          const attempt = { subject, address: '198.51.100.7' }
          if (kind === 'failed') attempts[process]?.failed(attempt)
          else if (kind === 'uncount') attempts[process]?.uncount(attempt)
          else attempts[process]?.succeeded(attempt, { counted: false })
          await deliver()
        }
        for (const subject of ['a', 'b']) {
          const waits = attempts.map((one) => one.waitFor({ subject, address: '198.51.100.7' }))
          assert.equal(new Set(waits).size, 1, waits.join())
        }
        t.mock.timers.reset()
      }),
    )
  })

  test('sends many keys in notifications with less than 8,000 bytes, and a limited number of keys', async (t) => {
    const { all, sent, deliver } = processes(t)
    const limit = all[0]?.join('many', { onChange: () => {} })
    for (let key = 0; key < 5_000; key++) limit?.add(`key ${key} ${'x'.repeat(60)}`, 1)
    limit?.add('x'.repeat(101), 1)
    await deliver()
    for (const text of sent) assert.ok(Buffer.byteLength(text) < 8_000)
    const keys = sent.flatMap((text) => (JSON.parse(text) as unknown[]).slice(2))
    assert.equal(keys.length, 1_000)
  })
})
