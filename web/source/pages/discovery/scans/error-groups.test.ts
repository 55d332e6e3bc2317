import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorGroupsOf, limitedGroups, namedDevice } from './error-groups.ts'
import { errorMessages } from './error-messages.ts'

const silent = { code: 14, description: 'PLC-012-1 does not respond.' }
const locked = { code: 16, description: 'The device is protected: 2 credentials were rejected' }

test('groups errors by cause, the most frequent first, and leaves out problems that repeat the cause', () => {
  const refused = { code: 14, description: 'UNAVAILABLE: The connection was closed by the device' }
  const groups = errorGroupsOf([silent, locked, { ...locked, description: 'SW-1 is protected' }], errorMessages.en)
  assert.deepEqual(
    groups.map(({ name, errors, hasProblems }) => [name, errors.map(({ place }) => place), hasProblems]),
    [
      ['Sign-in failed', [1, 2], false],
      ['No answer', [0], false],
    ],
  )
  assert.equal(errorGroupsOf([silent, refused], errorMessages.en)[0]?.hasProblems, true)
})

test('finds the name of the device at the start of a problem', () => {
  assert.equal(namedDevice('UNAVAILABLE: IO-012-3 does not respond.'), 'IO-012-3')
  assert.equal(namedDevice('IO-012-3 is protected: it needs a user and a password.'), 'IO-012-3')
  assert.equal(namedDevice(locked.description), undefined)
  assert.equal(namedDevice('The connection was closed'), undefined)
})

test('limits the errors so that each cause is among them', () => {
  const errors = [
    ...Array.from({ length: 20 }, () => silent),
    ...Array.from({ length: 8 }, () => locked),
    { code: 5, description: '' },
  ]
  const sizesOf = (limit: number) =>
    limitedGroups(errorGroupsOf(errors, errorMessages.en), limit).map(({ errors: group }) => group.length)
  assert.deepEqual(sizesOf(100), [20, 8, 1])
  assert.deepEqual(sizesOf(20), [11, 8, 1])
  assert.deepEqual(sizesOf(10), [4, 5, 1])
})
