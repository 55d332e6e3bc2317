import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Attempts } from './attempts.ts'
import { processes } from './testing/shared-counts.ts'
import { WindowLimit } from './window-limit.ts'

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
