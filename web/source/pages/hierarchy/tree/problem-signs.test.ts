import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemSigns } from './problem-signs.ts'

const signsOf = (problems: { unreachable?: number; stopped?: number; lastStopped?: number; outdated?: number }) =>
  problemSigns({ unreachable: 0, stopped: 0, lastStopped: 0, outdated: 0, ...problems }).map(
    ({ id, isLastKnown, count }) => [id, isLastKnown, count],
  )

test('a node shows the controllers in stop apart from those whose mode is only the last known one', () => {
  assert.deepEqual(signsOf({ unreachable: 2, stopped: 5, lastStopped: 21 }), [
    ['unreachable', false, 2],
    ['stopped', false, 5],
    ['lastStopped', true, 21],
  ])
})

test('a node shows no sign for a problem that no asset has, and none for outdated firmware', () => {
  assert.deepEqual(signsOf({ lastStopped: 2, outdated: 90 }), [['lastStopped', true, 2]])
  assert.deepEqual(signsOf({}), [])
})
