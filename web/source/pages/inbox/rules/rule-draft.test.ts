import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, hasCondition, inputOf, matchOf, matchText, rangesOf, updateOf } from './rule-draft.ts'

const empty = draftOf(undefined)

test('ranges are separated by lines, commas or semicolons', () => {
  assert.deepEqual(rangesOf({ ranges: '10.0.0.0/24\n10.0.1.1-10.0.1.9, 10.0.2.1 ;\n' }), [
    '10.0.0.0/24',
    '10.0.1.1-10.0.1.9',
    '10.0.2.1',
  ])
})

test('an empty draft has no condition and proposes', () => {
  assert.equal(hasCondition(empty), false)
  assert.deepEqual(matchOf(empty), {})
  assert.deepEqual(inputOf({ ...empty, name: ' Hall 3 ' }), { name: 'Hall 3', mode: 'propose', cap: 200 })
})

test('an update clears the fields that the draft no longer has', () => {
  const draft = { ...empty, name: 'Hall 3', ranges: '10.0.0.0/24', isAutomatic: true, cap: '20' }
  assert.deepEqual(updateOf(draft), {
    name: 'Hall 3',
    mode: 'automatic',
    cap: 20,
    ranges: ['10.0.0.0/24'],
    gatewayId: null,
    filter: null,
    accessGroupId: null,
    nodeId: null,
  })
})

test('a preview reports a search that was stopped', () => {
  const text = {
    matches: (_count: number, shown: string) => `${shown} matches`,
    matchesAtLeast: (shown: string) => `at least ${shown}`,
    matchesNone: 'none',
    matchesNoneYet: 'none yet',
  }
  const shown = (matched: number, isComplete: boolean) => matchText({ matched, isComplete }, text, String(matched))
  assert.deepEqual(
    [shown(2, true), shown(2, false), shown(0, true), shown(0, false)],
    ['2 matches', 'at least 2', 'none', 'none yet'],
  )
})
