import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemSigns } from './problem-signs.ts'

const none = { unreachable: 0, stopped: 0, lastStopped: 0, outdated: 0 }
const of100 = { assets: 100, average: 0.4 }

test('a node shows its unreachable devices and all its controllers in stop', () => {
  const { unreachable, inStop } = problemSigns({ ...none, unreachable: 2, stopped: 5, lastStopped: 21 }, of100)
  assert.deepEqual({ unreachable, inStop }, { unreachable: 2, inStop: 26 })
})

test('the sign of a stop is old only if the mode of no controller in stop was read recently', () => {
  assert.equal(problemSigns({ ...none, stopped: 1, lastStopped: 2 }, of100).isStopOld, false)
  assert.equal(problemSigns({ ...none, lastStopped: 2 }, of100).isStopOld, true)
})

test('a node shows its share of outdated assets only if the share is clearly above average', () => {
  const shareOf = (outdated: number | undefined, average: number | undefined) =>
    problemSigns({ ...none, outdated }, { assets: 100, average }).outdatedShare
  assert.deepEqual([shareOf(45, 0.4), shareOf(44, 0.4)], [0.45, undefined])
  assert.deepEqual([shareOf(45, undefined), shareOf(undefined, 0.4)], [undefined, undefined])
})
