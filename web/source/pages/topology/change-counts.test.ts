import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesText } from './change-counts.ts'
import { timelineMessages } from './timeline-messages.ts'

const textOf = (added: number, changed: number, removed: number) =>
  changesText({ added, changed, removed }, timelineMessages.en, String)

test('lists only the kinds of changes that occurred, with the sum of several kinds', () => {
  assert.equal(textOf(5, 0, 0), 'Assets added: 5')
  assert.equal(textOf(5, 3, 1), '9 assets: 5 added · 3 changed · 1 removed')
  assert.equal(textOf(0, 0, 0), 'no changes')
})
