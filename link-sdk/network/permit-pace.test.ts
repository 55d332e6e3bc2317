import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { PermitPace } from './permit-pace.ts'

/** The shortest interval of a gateway that allows 500 packets per second. */
const intervalMs = 2

/**
 * Gives permits at once, as after a pause of the process. Returns the times at which they are used. They are the times that
 * the pace reads from the clock, because a busy machine can stop the process between this and the use of a permit.
 */
async function usedAfterPause(t: TestContext, count: number): Promise<number[]> {
  let readMs = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => (readMs = now()))
  const pace = new PermitPace()
  const times: number[] = []
  await new Promise<void>((resolve) => {
    for (let index = 0; index < count; index++)
      pace.add(intervalMs, () => {
        times.push(readMs)
        if (times.length === count) resolve()
      })
  })
  return times
}

describe('PermitPace', () => {
  test('uses a permit immediately if the permits before it are used', () => {
    const pace = new PermitPace()
    let used = 0
    for (let index = 0; index < 3; index++) pace.add(intervalMs, () => used++)
    assert.equal(used, 3)
  })

  test('permits that arrive together after a pause are used within the budget in each part of a second', async (t) => {
    const times = await usedAfterPause(t, 300)
    for (const windowMs of [50, 100, 300]) {
      const most = Math.max(
        ...times.map((start, first) => times.filter((at, place) => place >= first && at < start + windowMs).length),
      )
      const allowed = (windowMs + 20) / intervalMs + 1
      assert.ok(most <= allowed, `${most} permits in ${windowMs} ms, allowed are ${allowed}`)
    }
  })

  test('uses the permits in their order', async () => {
    const pace = new PermitPace()
    const used: number[] = []
    await new Promise<void>((resolve) => {
      for (let index = 0; index < 20; index++)
        pace.add(intervalMs, () => {
          used.push(index)
          if (index === 19) resolve()
        })
    })
    assert.deepEqual(
      used,
      Array.from({ length: 20 }, (_, index) => index),
    )
  })

  test('uses no permit after its end', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const pace = new PermitPace()
    let used = 0
    for (let index = 0; index < 100; index++) pace.add(50, () => used++)
    pace.end()
    t.mock.timers.tick(1_000)
    assert.ok(used < 100)
  })
})
