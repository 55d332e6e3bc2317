import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ruleMessages } from './messages.ts'
import { conditionTexts, resultText, ruleState } from './rule-words.ts'

const text = ruleMessages.en

test('each condition of a rule has its own text', () => {
  const rule = { gatewayId: 'g', gatewayName: 'Hall 3', ranges: ['10.0.0.0/24'], filter: 'a and b' }
  const filterTexts = (filter: string) => filter.split(' and ')
  assert.deepEqual(conditionTexts(rule, text, filterTexts), ['Gateway: Hall 3', 'IP range: 10.0.0.0/24', 'a', 'b'])
  assert.deepEqual(conditionTexts({ ranges: ['10.0.0.1', '10.0.0.2'] }, text, filterTexts), [
    'IP ranges: 10.0.0.1, 10.0.0.2',
  ])
  assert.deepEqual(conditionTexts({ gatewayId: 'hidden', ranges: [] }, text, filterTexts), ['Gateway: hidden'])
})

test('a rule shows what it does, and a paused rule shows that it is paused', () => {
  const labelOf = (paused: boolean, mode: 'propose' | 'automatic') => ruleState({ paused, mode }, text).label
  assert.deepEqual(
    [labelOf(false, 'propose'), labelOf(false, 'automatic'), labelOf(true, 'automatic')],
    ['Active, proposes only', 'Active, onboards automatically', 'Paused'],
  )
})

test('the result of a rule that has onboarded no assets depends on its mode and its age', () => {
  const formats = { number: String, compact: (time: string) => time }
  const now = Date.parse('2026-06-01T00:00:00Z')
  const unused = (mode: 'propose' | 'automatic', createdTimestamp: string) =>
    resultText({ mode, onboarded: 0, createdTimestamp }, text, formats, now)
  assert.deepEqual(
    [unused('propose', '2026-05-01T00:00:00Z'), unused('propose', '2026-01-01T00:00:00Z')],
    ['No proposal accepted yet.', 'No proposal accepted in the last 90 days.'],
  )
  assert.deepEqual(
    [unused('automatic', '2026-05-01T00:00:00Z'), unused('automatic', '2026-01-01T00:00:00Z')],
    ['Not used yet.', 'Onboarded no asset in the last 90 days.'],
  )
})
