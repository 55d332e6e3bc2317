import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compareProblems,
  isBold,
  nameableUnreachable,
  type ProblemCounts,
  problemTexts,
  worstProblem,
} from './problems.ts'

const texts = {
  fact: (kind: string, count: number) => `${count} ${kind}`,
  longFact: (kind: string, count: number) => `${count} long ${kind}`,
  outdatedShare: (outdated: number, assets: number) => `${outdated} of ${assets} outdated`,
  outdatedPart: (outdated: number, assets: number) => `${(100 * outdated) / assets} % outdated`,
  unmonitored: 'not monitored',
  noProblem: 'no problem',
}

function group(
  outdated: number,
  monitoring: Partial<ProblemCounts['monitoring']> = {},
  stoppedRead = 0,
  stoppedKnown = 0,
): ProblemCounts {
  return {
    assets: 10,
    outdated,
    stopped: stoppedRead + stoppedKnown,
    stoppedRead,
    monitoring: { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 0, ...monitoring },
  }
}

describe('problems of a group', () => {
  const wordsOf = (
    counts: ProblemCounts,
    { hasMonitoring = true, hasShare = true, hasOnlyProblems = false, names = [] as string[] } = {},
  ) =>
    problemTexts(counts, { average: 0.3, hasMonitoring, hasShare, hasOnlyProblems, names, texts }).map((parts) =>
      parts.map(({ text }) => text).join(', '),
    )

  test('are words, from all problems to the most important one', () => {
    assert.deepEqual(wordsOf(group(4, { unreachable: 2 })), [
      '2 long failed, 4 of 10 outdated',
      '2 long failed, 4 outdated',
      '2 failed, 4 outdated',
      '2 failed',
    ])
    assert.deepEqual(wordsOf(group(4)), ['4 of 10 outdated', '4 outdated'])
    assert.deepEqual(wordsOf(group(0, { unreachable: 1 })), ['1 long failed', '1 failed'])
  })

  test('leave out the share of outdated assets on the map, so that all boxes have the same texts', () => {
    assert.deepEqual(wordsOf(group(4), { hasShare: false }), ['4 outdated'])
    assert.deepEqual(wordsOf(group(4, {}, 1), { hasShare: false })[0], '1 long stopped, 4 outdated')
  })

  test('contain only problems on the map of switches: a usual share of outdated assets is none, and a high one is a percentage', () => {
    const problemsOf = (counts: ProblemCounts) => wordsOf(counts, { hasOnlyProblems: true })
    assert.deepEqual(problemsOf(group(3, { unmonitored: 3 })), [])
    assert.deepEqual(problemsOf(group(0, { reachable: 1 })), [])
    assert.deepEqual(problemsOf(group(3, {}, 1)), ['1 long stopped', '1 stopped'])
    assert.deepEqual(problemsOf(group(4)), ['4 of 10 outdated', '40 % outdated'])
    assert.deepEqual(problemsOf(group(4, {}, 1)), [
      '1 long stopped, 4 of 10 outdated',
      '1 long stopped, 40 % outdated',
      '1 stopped, 40 % outdated',
      '1 stopped',
    ])
  })

  test('name the unreachable devices in the longest text, if their names are known', () => {
    const names = ['A', 'B']
    const counts = group(4, { unreachable: 2 }, 1)
    assert.equal(wordsOf(counts, { names })[0], '2 long failed: A, B, 1 long stopped, 4 of 10 outdated')
    assert.deepEqual(wordsOf(counts, { names }).slice(1), wordsOf(counts))
    assert.deepEqual(wordsOf(group(0, { unreachable: 2 }), { names }), [
      '2 long failed: A, B',
      '2 long failed',
      '2 failed',
    ])
  })

  test('name the controllers in stop after the unreachable devices, then those whose last known mode is stop', () => {
    assert.deepEqual(wordsOf(group(4, { unreachable: 2 }, 3, 5)), [
      '2 long failed, 3 long stopped, 5 long stoppedKnown, 4 of 10 outdated',
      '2 long failed, 3 long stopped, 5 long stoppedKnown, 4 outdated',
      '2 failed, 3 stopped, 5 stoppedKnown, 4 outdated',
      '2 failed, 3 stopped, 5 stoppedKnown',
      '2 failed',
    ])
    assert.deepEqual(wordsOf(group(0, {}, 0, 3)), ['3 long stoppedKnown', '3 stoppedKnown'])
  })

  test('are bold if they are current: the last known mode of a controller and outdated assets after a fault are not', () => {
    const boldOf = (counts: ProblemCounts) =>
      problemTexts(counts, { average: 0.3, hasMonitoring: true, hasShare: true, texts })[0]
        ?.filter(({ isExceptional }) => isExceptional)
        .map(({ problem }) => problem)
    assert.deepEqual(boldOf(group(9, {}, 1, 1)), ['stopped'])
    assert.deepEqual(boldOf(group(9)), ['outdated'])
  })

  test('mark an exceptional share of outdated assets if a worse problem has the colour of the group', () => {
    const markedIn = (counts: ProblemCounts) =>
      problemTexts(counts, { average: 0.3, hasMonitoring: true, hasShare: false, texts })[0]
        ?.filter(({ isMarked }) => isMarked)
        .map(({ problem }) => problem)
    assert.deepEqual([group(9, {}, 1), group(3, {}, 1), group(9)].map(markedIn), [['outdated'], [], []])
  })

  test('mark each problem on the map of switches, also the worst one', () => {
    const markedIn = (counts: ProblemCounts) =>
      problemTexts(counts, { average: 0.3, hasMonitoring: true, hasShare: true, hasOnlyProblems: true, texts })[0]
        ?.filter(({ isMarked }) => isMarked)
        .map(({ problem }) => problem)
    assert.deepEqual(markedIn(group(9, { unreachable: 1 }, 1, 1)), ['failed', 'stopped', 'stoppedKnown', 'outdated'])
    assert.deepEqual(markedIn(group(3, {}, 1)), ['stopped'])
    assert.deepEqual(markedIn(group(9)), ['outdated'])
  })

  test('are not bold with a mark', () => {
    assert.equal(isBold({ isExceptional: true }), true)
    assert.equal(isBold({ isExceptional: true, isMarked: true }), false)
    assert.equal(isBold({ isExceptional: false }), false)
  })

  test('say that nothing is monitored, and only a monitored group has no problem', () => {
    assert.deepEqual(wordsOf(group(0, { unmonitored: 3 })), ['not monitored'])
    assert.deepEqual(wordsOf(group(0, { reachable: 1, unmonitored: 2 })), ['no problem'])
    assert.deepEqual(wordsOf(group(0, { unmonitored: 3 }), { hasMonitoring: false }), [])
    assert.deepEqual(wordsOf(group(0)), [])
  })

  test('have an exceptional share of outdated assets from 5 percentage points above the average', () => {
    const isExceptional = (outdated: number) =>
      problemTexts(group(outdated), { average: 0.3, hasMonitoring: true, hasShare: true, texts })[0]?.[0]?.isExceptional
    assert.deepEqual([3, 4].map(isExceptional), [false, true])
  })

  test('determine the colour of a group: the most important one, and outdated assets only with an exceptional share', () => {
    const groups = [group(9, { unreachable: 1 }, 1), group(9, {}, 1, 1), group(9, {}, 0, 1), group(9), group(1)]
    assert.deepEqual(
      groups.map((each) => worstProblem(each, 0.3)),
      ['failed', 'stopped', 'stoppedKnown', 'outdated', 'none'],
    )
  })

  test('order a list: unreachable devices, then controllers in stop, last known stops, the share of outdated assets, and names', () => {
    const [failed, stopped, known] = [group(0, { unreachable: 1 }), group(0, {}, 1), group(0, {}, 0, 2)]
    const [old, ...quiet] = [group(9), ...['L 1', 'L 2', 'L 10'].map((name) => ({ ...group(1), name }))]
    const [first, second, third] = quiet
    assert.deepEqual(
      [third, old, known, second, stopped, first, failed].flatMap((each) => each ?? []).toSorted(compareProblems),
      [failed, stopped, known, old, first, second, third],
    )
  })
})

test('up to three unreachable assets of the group of the rest are named, if no other asset of the map is unreachable', () => {
  const monitoring = (unreachable: number) => ({ monitoring: { ...group(0).monitoring, unreachable } })
  const countFor = (own: number, all: number) =>
    nameableUnreachable({
      groups: [
        { kind: 'switch', ...monitoring(all - own) },
        { kind: 'rest', ...monitoring(own) },
      ],
      total: monitoring(all),
    })
  assert.deepEqual([countFor(2, 2), countFor(3, 3), countFor(4, 4), countFor(2, 3), countFor(0, 2)], [2, 3, 0, 0, 0])
  assert.equal(nameableUnreachable(undefined), 0)
})
