import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemSigns } from './problem-signs.ts'

const none = { unreachable: 0, stopped: 0, lastStopped: 0, outdated: 0 }
const of100 = { assets: 100, average: 0.4 }

test('a node shows the number of its worst problem: unreachable devices before controllers in stop', () => {
  const stopped = { ...none, stopped: 5, lastStopped: 21 }
  assert.deepEqual(problemSigns({ ...stopped, unreachable: 2 }, of100).worst, { tone: 'bad', count: 2 })
  assert.deepEqual(problemSigns(stopped, of100).worst, { tone: 'critical', count: 26 })
  assert.equal(problemSigns(none, of100).worst, undefined)
})

test('a node shows its share of outdated assets only if the share is clearly above average', () => {
  const shareOf = (outdated: number | undefined, average: number | undefined) =>
    problemSigns({ ...none, outdated }, { assets: 100, average }).outdatedShare
  assert.deepEqual([shareOf(45, 0.4), shareOf(44, 0.4)], [0.45, undefined])
  assert.deepEqual([shareOf(45, undefined), shareOf(undefined, 0.4)], [undefined, undefined])
})
