import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftsOf, isComplete, newDraft, rulesOf } from './rule-draft.ts'

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
