import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Attempts, networkOf } from './attempts.ts'

function clock() {
  const time = { now: 0, forward: (seconds: number) => (time.now += seconds * 1000) }
  return time
}

const jane = { subject: 'user jane@default', address: '10.0.0.1' }

test('allows five wrong passwords, then doubles the wait after each further one, up to 15 minutes', () => {
  const time = clock()
  const attempts = new Attempts({ now: () => time.now })
  const waits = Array.from({ length: 20 }, () => {
    attempts.failed(jane)
    const wait = attempts.waitFor(jane)
    time.forward(wait)
    return wait
  })
  assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900])
})

test('allows the next sign-in attempt exactly when the wait is over', () => {
  const time = clock()
  const attempts = new Attempts({ now: () => time.now })
  for (let i = 0; i < 8; i++) attempts.failed(jane)
  assert.equal(attempts.waitFor(jane), 4)
  time.forward(3.5)
  assert.equal(attempts.waitFor(jane), 1)
  time.forward(0.5)
  assert.equal(attempts.waitFor(jane), 0)
})

test('does not delay sign-ins with the same name from another address, or other names from the same address', () => {
  const attempts = new Attempts({ now: () => 0 })
  for (let i = 0; i < 10; i++) attempts.failed(jane)
  assert.equal(attempts.waitFor({ ...jane, address: '10.0.0.2' }), 0)
  assert.equal(attempts.waitFor({ ...jane, subject: 'user joe@default' }), 0)
})

test('delays sign-ins from an address that tries many names', () => {
  const attempts = new Attempts({ now: () => 0 })
  for (let i = 0; i < 60; i++) attempts.failed({ subject: `user n${i}@default`, address: '10.0.0.1' })
  assert.ok(attempts.waitFor({ subject: 'user new@default', address: '10.0.0.1' }) > 0)
  assert.equal(attempts.waitFor({ subject: 'user new@default', address: '10.0.0.2' }), 0)
})

test('resets the failed attempts of a name after a correct password, but not those of its address', () => {
  const attempts = new Attempts({ now: () => 0 })
  for (let i = 0; i < 49; i++) attempts.failed({ subject: `user n${i}@default`, address: '10.0.0.1' })
  attempts.failed(jane)
  attempts.succeeded(jane, { counted: true })
  assert.equal(attempts.failed(jane).ofSubject, 1)
  assert.equal(attempts.failed(jane).ofAddress, 51)
})

test('resets the failed sign-in attempts after an hour without a failure', () => {
  const time = clock()
  const attempts = new Attempts({ now: () => time.now })
  for (let i = 0; i < 30; i++) attempts.failed(jane)
  time.forward(3_601)
  assert.equal(attempts.waitFor(jane), 0)
  assert.equal(attempts.failed(jane).ofSubject, 1)
})

test('limits the memory for failed sign-in attempts', () => {
  const attempts = new Attempts({ now: () => 0 })
  for (let i = 0; i < 30_000; i++)
    attempts.failed({ subject: `user n${i}`, address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` })
  assert.equal(attempts.remembered, 20_000)
})

test('delays sign-ins by 0 to 15 minutes after any sequence of failures', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 200 }), (pauses) => {
      const time = clock()
      const attempts = new Attempts({ now: () => time.now })
      for (const pause of pauses) {
        attempts.failed(jane)
        const wait = attempts.waitFor(jane)
        assert.ok(wait >= 0 && wait <= 900)
        time.now += pause
      }
    }),
  )
})

const networks = [
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:aaaa:bbbb:cccc:dddd', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['', ''],
] as const

for (const [address, network] of networks) {
  test(`groups the address ${address === '' ? '(none)' : address} as network ${network === '' ? '(none)' : network}`, () => {
    assert.equal(networkOf(address), network)
  })
}
