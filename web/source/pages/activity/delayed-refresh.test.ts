import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DelayedRefresh } from './delayed-refresh.ts'

test('events of an interval cause one refresh, and a hidden page refreshes when it is shown again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let [refreshes, isHidden] = [0, false]
  const refresh = new DelayedRefresh({ intervalMs: 60_000, isHidden: () => isHidden, refresh: () => refreshes++ })
  refresh.request()
  refresh.request()
  t.mock.timers.tick(59_999)
  assert.equal(refreshes, 0)
  t.mock.timers.tick(1)
  assert.equal(refreshes, 1)
  isHidden = true
  for (let count = 0; count < 5; count++) {
    refresh.request()
    t.mock.timers.tick(60_000)
  }
  assert.equal(refreshes, 1)
  isHidden = false
  refresh.showChanges()
  refresh.showChanges()
  assert.equal(refreshes, 2)
  refresh.request()
  refresh.stop()
  t.mock.timers.tick(60_000)
  assert.equal(refreshes, 2)
})
