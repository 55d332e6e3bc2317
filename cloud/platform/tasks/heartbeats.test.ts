import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createLog } from '../log.ts'
import { Heartbeats, heartbeatMs, silenceMs } from './heartbeats.ts'

const log = createLog({ level: 'silent' })

/** Creates processes that hear each other. `ended` counts for each process how often it learned that another one has ended. */
function processes(t: TestContext, count: number) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const all: { heartbeats: Heartbeats; isHeard: boolean; ended: number }[] = []
  let isConnected = true
  for (let index = 0; index < count; index++) {
    const heartbeats = new Heartbeats({
      send: async (text) => {
        if (one.isHeard && isConnected) for (const other of all) other.heartbeats.receive(text)
      },
      onEnded: () => {
        one.ended += 1
      },
      log,
      now: () => now,
    })
    const one = { heartbeats, isHeard: true, ended: 0 }
    all.push(one)
  }
  for (const { heartbeats } of all) heartbeats.start()
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += heartbeatMs) {
      now += heartbeatMs
      t.mock.timers.tick(heartbeatMs)
    }
  }
  /** The time passes, but no process runs. */
  const stall = (ms: number) => {
    now += ms
  }
  /** The database is not reachable for this time, so no process hears another one or itself. */
  const disconnect = (ms: number) => {
    isConnected = false
    pass(ms)
    isConnected = true
  }
  return { all, pass, stall, disconnect, ended: () => all.map((one) => one.ended) }
}

test('other processes learn once that a process is no longer heard', (t) => {
  const { all, pass, ended } = processes(t, 3)
  pass(60_000)
  assert.deepEqual(ended(), [0, 0, 0])
  if (all[2] !== undefined) all[2].isHeard = false
  pass(silenceMs)
  assert.deepEqual(ended(), [0, 0, 0])
  pass(heartbeatMs)
  assert.deepEqual(ended(), [1, 1, 0])
  pass(60_000)
  assert.deepEqual(ended(), [1, 1, 0])
})

test('other processes learn at once that a process stops', async (t) => {
  const { all, pass, ended } = processes(t, 2)
  pass(5_000)
  await all[1]?.heartbeats.stop()
  assert.deepEqual(ended(), [1, 0])
  pass(60_000)
  assert.deepEqual(ended(), [1, 0])
})

test('a process that did not run for some time does not count the others as ended', (t) => {
  const { pass, stall, ended } = processes(t, 2)
  pass(5_000)
  stall(20_000)
  pass(60_000)
  assert.deepEqual(ended(), [0, 0])
})

test('a process learns again that another process has ended after that process was heard again', (t) => {
  const { all, pass, ended } = processes(t, 2)
  const [, second] = all
  assert.ok(second)
  for (const isHeard of [false, true, false]) {
    second.isHeard = isHeard
    pass(10_000)
  }
  assert.deepEqual(ended(), [2, 0])
})

test('no process counts another one as ended while the database is not reachable, and after it is back', (t) => {
  const { pass, disconnect, ended } = processes(t, 3)
  pass(5_000)
  disconnect(20_000)
  pass(60_000)
  assert.deepEqual(ended(), [0, 0, 0])
})

test('ignores texts with another state', (t) => {
  const { all, pass, ended } = processes(t, 1)
  pass(5_000)
  for (const text of ['', 'x', 'x upgrades', 'stopped', ' '.repeat(100)]) all[0]?.heartbeats.receive(text)
  assert.deepEqual(ended(), [0])
})

test('remembers a limited number of processes, and only ids of processes', (t) => {
  const { all, pass, ended } = processes(t, 2)
  const [first] = all
  for (let number = 0; number < 2_000; number++) first?.heartbeats.receive(`${'x'.repeat(1_000)}${number} runs`)
  pass(10_000)
  assert.deepEqual(ended(), [0, 0])
  for (let number = 0; number < 5_000; number++) first?.heartbeats.receive(`${randomUUID()} runs`)
  assert.equal(first?.heartbeats.processes, 1_000)
  pass(10_000)
  assert.deepEqual([ended(), first?.heartbeats.processes], [[1, 0], 1])
})
