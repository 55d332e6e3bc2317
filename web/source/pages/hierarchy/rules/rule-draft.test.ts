import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftsOf, hasChanges, isComplete, newDraft, ruleErrors, rulesOf } from './rule-draft.ts'

test('leaves out the empty conditions of an edited rule', () => {
  const rules = [{ nodeId: 'n', subnet: '10.0.0.0/24' }]
  assert.deepEqual(rulesOf(draftsOf(rules)), rules)
  assert.deepEqual(rulesOf([{ ...newDraft(), nodeId: 'n', namePattern: ' PLC* ' }]), [
    { nodeId: 'n', namePattern: 'PLC*' },
  ])
})

test('requires a node and a condition for each rule', () => {
  assert.equal(isComplete(newDraft()), false)
  assert.equal(isComplete({ ...newDraft(), nodeId: 'n' }), false)
  assert.equal(isComplete({ ...newDraft(), namePattern: 'PLC*' }), false)
  assert.equal(isComplete({ ...newDraft(), nodeId: 'n', gatewayId: 'g' }), true)
})

test('finds changes of rules, but not in spaces around a condition', () => {
  const rules = [{ namePattern: 'PLC*', nodeId: 'n' }]
  const [draft = newDraft()] = draftsOf(rules)
  assert.equal(hasChanges([{ ...draft, namePattern: 'PLC* ' }], rules), false)
  assert.equal(hasChanges([{ ...draft, namePattern: 'PLC-*' }], rules), true)
  assert.equal(hasChanges([draft, newDraft()], rules), true)
})

test('finds the rule and the field of a rejected condition', () => {
  const drafts = [newDraft(), newDraft()]
  const error = (pointer: string) => ({ pointer, code: 'invalid_range', detail: 'Invalid' })
  assert.deepEqual(ruleErrors([error('/data/rules/1/subnet'), error('/data/rules/0')], drafts), [
    { key: drafts[1]?.key, field: 'subnet', detail: 'Invalid' },
    { key: drafts[0]?.key, field: 'namePattern', detail: 'Invalid' },
  ])
  assert.deepEqual(ruleErrors([error('/data/rules/2/subnet'), error('/data')], drafts), [])
})
