import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Attempts } from './attempts.ts'
import { testHub } from './testing/hub.ts'
import { processes } from './testing/shared-counts.ts'
import { WindowLimit } from './window-limit.ts'

describe('counts of several processes', () => {
  test('applies a window limit to all processes together', async () => {
    const { all, deliver } = processes()
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

  test('counts wrong passwords of all processes, and forgets them after a correct password in any process', async () => {
    const { all, sent, deliver } = processes()
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

  test('ignores notifications that no process of the platform has sent', async () => {
    await using hub = await testHub()
    const channel = `limits${hub.channelSuffix}`
    const forged = [
      '',
      'x',
      '[',
      'null',
      '["p","sign-ins",["a",1000000,0]]',
      `AAAA ${JSON.stringify(['p', 'sign-ins', ['a', 1e6, 0]])}`,
    ]
    await hub.asOwner(async (owner) => {
      for (const text of forged) await owner.query('select pg_notify($1, $2)', [channel, text])
      for (const name of ['access', 'keys', `heartbeats${hub.channelSuffix}`])
        await owner.query('select pg_notify($1, $2)', [name, '{x'])
    })
    const admin = await hub.as('administrator')
    await admin.authorization.listRoles({})
  })

  test('many notifications of new keys cause few reads', async () => {
    await using hub = await testHub()
    const { secrets, database, log } = hub.context
    const sent = await hub.statements(async () => {
      const keys = secrets.follow({ database, log })
      for (let number = 0; number < 1_000; number++) keys.refresh()
      await secrets.refresh()
      keys.stop()
    })
    const reads = sent.filter(({ text }) => text.includes('platform_keys'))
    assert.ok(reads.length > 0 && reads.length < 10, `${reads.length} reads`)
  })

  test('counts only finite numbers of other processes', async () => {
    const { all } = processes()
    const changes: unknown[] = []
    all[0]?.join('tests', { onChange: (key, change) => changes.push([key, change]) })
    all[0]?.receive(JSON.stringify(['other', 'tests', ['a', 'x', 0], [1, 1, 0], ['b', null, 0], ['c', 2, 0]]))
    assert.deepEqual(changes, [['c', { count: 2, isReset: false }]])
  })

  test('all processes have the same counts after random attempts', async () => {
    const step = fc.record({
      process: fc.nat(2),
      kind: fc.constantFrom('failed', 'succeeded', 'uncount'),
      subject: fc.constantFrom('a', 'b'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { all, deliver } = processes(3)
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
      }),
    )
  })

  test('sends many keys in notifications with less than 8,000 bytes, and a limited number of keys', async () => {
    const { all, sent, deliver } = processes()
    const limit = all[0]?.join('many', { onChange: () => {} })
    for (let key = 0; key < 5_000; key++) limit?.add(`key ${key} ${'x'.repeat(60)}`, 1)
    limit?.add('x'.repeat(101), 1)
    await deliver()
    for (const text of sent) assert.ok(Buffer.byteLength(text) < 8_000)
    const keys = sent.flatMap((text) => (JSON.parse(text) as unknown[]).slice(2))
    assert.equal(keys.length, 1_000)
  })
})
