import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareProblems, type ProblemCounts, problemTexts, worstProblem } from './problems.ts'

const texts = {
  fact: (kind: string, count: number) => `${count} ${kind}`,
  outdatedShare: (outdated: number, assets: number) => `${outdated} of ${assets} outdated`,
  unmonitored: 'not monitored',
  noProblem: 'no problem',
}

function group(outdated: number, monitoring: Partial<ProblemCounts['monitoring']> = {}, stopped = 0): ProblemCounts {
  return {
    assets: 10,
    outdated,
    stopped,
    monitoring: { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 0, ...monitoring },
  }
}

describe('problems of a group', () => {
  const wordsOf = (counts: ProblemCounts, hasMonitoring = true) =>
    problemTexts(counts, { average: 0.3, hasMonitoring, texts }).map((parts) =>
      parts.map(({ text }) => text).join(', '),
    )

  test('are words, from all problems to the most important one', () => {
    assert.deepEqual(wordsOf(group(4, { unreachable: 2 })), [
      '2 failed, 4 of 10 outdated',
      '2 failed, 4 outdated',
      '2 failed',
    ])
    assert.deepEqual(wordsOf(group(4)), ['4 of 10 outdated', '4 outdated'])
    assert.deepEqual(wordsOf(group(0, { unreachable: 1 })), ['1 failed'])
  })

  test('name the controllers in stop after the unreachable devices, and before the outdated assets', () => {
    assert.deepEqual(wordsOf(group(4, { unreachable: 2 }, 3)), [
      '2 failed, 3 stopped, 4 of 10 outdated',
      '2 failed, 3 stopped, 4 outdated',
      '2 failed, 3 stopped',
      '2 failed',
    ])
    assert.deepEqual(wordsOf(group(0, {}, 3)), ['3 stopped'])
  })

  test('say that nothing is monitored, and only a monitored group has no problem', () => {
    assert.deepEqual(wordsOf(group(0, { unmonitored: 3 })), ['not monitored'])
    assert.deepEqual(wordsOf(group(0, { reachable: 1, unmonitored: 2 })), ['no problem'])
    assert.deepEqual(wordsOf(group(0, { unmonitored: 3 }), false), [])
    assert.deepEqual(wordsOf(group(0)), [])
  })

  test('have an exceptional share of outdated assets from 5 percentage points above the average', () => {
    const isExceptional = (outdated: number) =>
      problemTexts(group(outdated), { average: 0.3, hasMonitoring: true, texts })[0]?.[0]?.isExceptional
    assert.deepEqual([3, 4].map(isExceptional), [false, true])
  })

  test('determine the colour of a group: the most important one, and outdated assets only with an exceptional share', () => {
    const groups = [group(9, { unreachable: 1 }, 1), group(9, {}, 1), group(9), group(1)]
    assert.deepEqual(
      groups.map((each) => worstProblem(each, 0.3)),
      ['failed', 'stopped', 'outdated', 'none'],
    )
  })

  test('order a list: unreachable devices, then assets in stop, then the share of outdated assets', () => {
    const [failed, stopped, old, quiet] = [group(0, { unreachable: 1 }), group(0, {}, 1), group(9), group(1)]
    assert.deepEqual([quiet, old, stopped, failed].toSorted(compareProblems), [failed, stopped, old, quiet])
  })
})
