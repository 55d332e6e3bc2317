import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf } from './error-cause.ts'
import { errorMessages } from './error-messages.ts'

test('shows the cause of a device error in words, with advice and its code for the support', () => {
  for (const language of ['en', 'de'] as const) {
    const text = errorMessages[language]
    for (const error of [{ code: 9 }, { code: 16 }, { code: 99 }, { code: 3, reason: 'identity_taken' }]) {
      const { name, advice } = causeOf(error, text)
      assert.doesNotMatch(`${name} ${advice}`, /[A-Z]+_[A-Z]+|[a-z]_[a-z]|\d/, JSON.stringify(error))
      assert.notEqual(advice, '')
    }
  }
  const text = errorMessages.en
  assert.equal(causeOf({ code: 9 }, text).code, 'FAILED_PRECONDITION 9')
  assert.equal(causeOf({ code: 99 }, text).code, '99')
  assert.equal(causeOf({ code: 3, reason: 'identity_taken' }, text).name, 'Identity conflict')
  assert.equal(causeOf({ code: 3, reason: 'invalid_asset' }, text).name, 'Refused by the inventory')
})
