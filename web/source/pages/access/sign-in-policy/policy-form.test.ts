import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import { changesOf, formOf } from './policy-form.ts'

const policy: SignInPolicy = {
  secondFactor: 'nobody',
  stepUp: ['access', 'updates'],
  stepUpMinutes: 15,
  idleMinutes: 720,
  absoluteHours: 720,
}

test('changesOf returns only the changed fields of the sign-in policy', () => {
  assert.deepEqual(changesOf(formOf(policy), policy), {})
  assert.deepEqual(changesOf({ ...formOf(policy), stepUp: ['updates', 'access'] }, policy), {})
  const form = { ...formOf(policy), secondFactor: 'everyone' as const, stepUp: [], idleMinutes: ' 30 ' }
  assert.deepEqual(changesOf(form, policy), { secondFactor: 'everyone', stepUp: [], idleMinutes: 30 })
})

test('changesOf returns undefined when a number is missing or outside its limits', () => {
  for (const idleMinutes of ['', '4', '43201', 'ten', '-5', '7.5']) {
    assert.equal(changesOf({ ...formOf(policy), idleMinutes }, policy), undefined, idleMinutes)
  }
  assert.deepEqual(changesOf({ ...formOf(policy), idleMinutes: '43200' }, policy), { idleMinutes: 43_200 })
})
